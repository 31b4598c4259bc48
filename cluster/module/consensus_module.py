"""``ConsensusModule``: a node of a cluster, beside a driver and an archive (spec cluster 1, 12)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from aerolog.archive.client.aeron_archive import SteppedArchive
from aerolog.cluster.counter_types import ModuleState
from aerolog.cluster.errors import ClusterEvent
from aerolog.cluster.files import (
    SUMS_OF_MODULE,
    ClusterMarkFile,
    FolderSums,
    NodeStateFile,
    RecordingLog,
)
from aerolog.cluster.module import properties as p
from aerolog.cluster.module.access import authenticator_of, authorisation_of
from aerolog.cluster.module.counters import ModuleCounters
from aerolog.cluster.module.event_log import NO_EVENTS, cluster_events
from aerolog.cluster.module.module_agent import ModuleAgent
from aerolog.cluster.module.module_context import ModuleContext
from aerolog.cluster.protocol import NULL_VALUE, ClusterComponentType, MarkFileHeader
from aerolog.transport.agents.component import Component
from aerolog.transport.agents.doorbell import Doorbell
from aerolog.transport.agents.reporter import Reporter
from aerolog.transport.concurrent.histogram_tracker import cycle_tracker
from aerolog.transport.concurrent.idle import idle_strategy
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.text_output import logger

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.transport.concurrent.agent_runner import AgentRunner
    from aerolog.transport.concurrent.clock import Clock
    from aerolog.transport.config.sources import Properties
    from aerolog.transport.memory.filesystem import FileSystem
    from aerolog.transport.security.authentication import Authenticator, AuthorisationService

_LOG: Final = logger("aerolog.cluster")


class ConsensusModule(Component):
    """A node's consensus module, with a thread of its own, until ``close``.

    It needs a driver and an archive of that driver, and services that run in containers. This
    version runs clusters of one member.

    Args:
        cluster_dir: the node's folder; by default as configured.
        aeron_dir: the driver's directory; by default as configured.
        properties: settings by the reference's names; those of the environment when None.
        clock: source of wall-clock and monotonic time; the system's when None.
        file_system: where the files are; the machine's when None.
        authenticator: decides which clients may connect; by default as configured.
        authorisation: decides who may have a snapshot taken; by default as configured.
        on_fatal: called on the module's thread with the reason when it cannot go on.
        on_terminated: called when the cluster was shut down or aborted in good order.
        **options: settings by keyword, which override all others: a property's name in snake case
            without ``aeron.cluster.``, durations in seconds or text, sizes in bytes or text; and
            ``extension``, a ``ConsensusModuleExtension`` in place of services.

    Raises:
        ConfigurationError: a setting is invalid, or another module of this cluster uses the driver.
        ActiveArchiveError: a live module owns the folder.
        DriverTimeoutError: no driver runs.
        FileFormatError: a file of the folder is damaged, or of another version.
    """

    def __init__(
        self,
        cluster_dir: str | os.PathLike[str] | None = None,
        aeron_dir: str | os.PathLike[str] | None = None,
        *,
        properties: Properties | None = None,
        clock: Clock | None = None,
        file_system: FileSystem | None = None,
        authenticator: Authenticator | None = None,
        authorisation: AuthorisationService | None = None,
        on_fatal: Callable[[BaseException], None] | None = None,
        on_terminated: Callable[[], None] | None = None,
        **options: object,
    ) -> None:
        self.config = config = p.ModuleConfig(
            properties, {"cluster_dir": cluster_dir, "aeron_dir": aeron_dir, **options}
        )
        config.settings.report()
        if len(config.members) > 1:
            raise ConfigurationError(
                f"{len(config.members)} members: this version runs clusters of one member"
            )
        super().__init__(
            config[p.AERON_DIR], config[p.DRIVER_TIMEOUT], clock, file_system, on_fatal
        )
        self._on_terminated = on_terminated
        for folder in (config.cluster_dir, config.mark_file_dir, config.services_dir):
            self._files.make_dirs(folder)
        self._mark_file = ClusterMarkFile.claim(
            config.cluster_dir,
            self._mark_header(),
            mark_dir=config.mark_file_dir,
            files=self._files,
            clock=self._clock,
            file_page_size=self._driver_files().header.file_page_size,
        )
        self._counters: ModuleCounters | None = None
        self._recording_log: RecordingLog | None = None
        self._thread: AgentRunner | None = None
        self._events = NO_EVENTS
        try:
            self._events = cluster_events(config.settings, self._clock, config.member.member_id)
            self._start(authenticator, authorisation)
        except BaseException:
            self._close_parts()
            self._mark_file.failed_start()
            raise

    def _mark_header(self) -> MarkFileHeader:
        config = self.config
        return MarkFileHeader(
            version=0,
            component_type=ClusterComponentType.CONSENSUS_MODULE,
            activity_timestamp=0,
            start_timestamp=self._clock.now_epoch_ms(),
            pid=os.getpid(),
            candidate_term_id=NULL_VALUE,
            archive_stream_id=config[p.ARCHIVE_STREAM],
            service_stream_id=config[p.SERVICE_STREAM],
            consensus_module_stream_id=config[p.MODULE_STREAM],
            ingress_stream_id=config[p.INGRESS_STREAM],
            member_id=config.member.member_id,
            service_id=NULL_VALUE,
            error_buffer_length=config[p.ERROR_BUFFER_LENGTH],
            cluster_id=config[p.CLUSTER_ID],
            aeron_directory=self._aeron_dir,
            control_channel=config[p.CONTROL_CHANNEL],
            ingress_channel=config[p.INGRESS_CHANNEL],
            service_name="",
            authenticator=config[p.AUTHENTICATOR],
            services_cluster_dir=config.services_dir,
        )

    def _start(
        self, authenticator: Authenticator | None, authorisation: AuthorisationService | None
    ) -> None:
        config = self.config
        level = config[p.FILE_SYNC_LEVEL]
        node_state = NodeStateFile(
            config.cluster_dir, create=True, sync_level=level, files=self._files
        )
        sums = FolderSums(config.cluster_dir, SUMS_OF_MODULE, self._files)
        self._reporter = reporter = Reporter(
            self._mark_file.error_log(), "aerolog.cluster", ClusterEvent
        )
        self._recording_log = log = RecordingLog(
            config.cluster_dir,
            create=True,
            sync_level=level,
            files=self._files,
            on_change=lambda log: reporter.run(lambda: sums.cover_log(log)),
        )
        changed = sums.check_log(log)
        if changed:
            reporter.event(changed)
            _LOG.warning("%s", changed)
        aeron = self._connect()
        self._counters = counters = ModuleCounters(aeron, config)
        reporter.count_in(counters.errors)
        name = f"consensus-module-{config[p.CLUSTER_ID]}-{config.member.member_id}"
        archive = SteppedArchive(
            aeron,
            request_channel=config[p.ARCHIVE_CHANNEL],
            request_stream_id=config[p.ARCHIVE_STREAM],
            response_channel="aeron:ipc",
            name=name,
            clock=self._clock,
        )
        context = ModuleContext(
            config=config,
            aeron=aeron,
            archive=archive,
            clock=self._clock,
            counters=counters,
            recording_log=self._recording_log,
            node_state=node_state,
            sums=sums,
            reporter=reporter,
            events=self._events,
            cluster_time=lambda: 0,
        )
        self._agent = ModuleAgent(
            context,
            self._mark_file,
            authenticator or authenticator_of(config),
            authorisation or authorisation_of(config),
            Doorbell(),
            on_terminated=self._terminate,
        )
        self._thread = self._runner(
            [self._agent],
            idle_strategy(config[p.IDLE_STRATEGY]),
            cycle_tracker(
                aeron.conductor.counters,
                counters.max_cycle_time.counter_id,
                counters.cycle_time_exceeded.counter_id,
                config[p.CYCLE_THRESHOLD],
            ),
        )
        self._mark_file.ready()
        self._thread.start()

    @property
    def state(self) -> ModuleState:
        """What the module does at present."""
        return ModuleState.CLOSED if self._closed else self._agent.module_state

    @property
    def cluster_dir(self) -> str:
        """The node's folder, an absolute path."""
        return self.config.cluster_dir

    def _terminate(self) -> None:
        if self._on_terminated is not None:
            self._on_terminated()

    def close(self) -> None:
        """End the module; sessions stay open in the log, as after a crash."""
        if not self._closed:
            super().close()
            self._mark_file.terminated()

    def _close_parts(self) -> None:
        if self._thread is not None:
            self._thread.close()
        if self._counters is not None:
            self._counters.close()
        if self._aeron is not None:
            self._aeron.close()
        if self._recording_log is not None:
            self._recording_log.close()
        self._events.close()

    def __repr__(self) -> str:
        member = self.config.member.member_id
        return f"<ConsensusModule {self.cluster_dir} member {member} {self.state.name}>"
