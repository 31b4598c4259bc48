"""``Archive``: records and replays streams of one driver (spec archive-protocol 18, 20)."""

from __future__ import annotations

import os
import random
import sys
from typing import TYPE_CHECKING

from aerolog.archive.format.catalog_file import CatalogFile
from aerolog.archive.format.crash_repair import finish_interrupted
from aerolog.archive.format.mark_file import ArchiveMarkFile
from aerolog.archive.protocol.mark_header import MarkFileHeader
from aerolog.archive.retention.holds import Holds
from aerolog.archive.retention.retention_folder import RESERVE_LENGTH, reserve_room
from aerolog.archive.service import properties as p
from aerolog.archive.service.access import authenticator_of, authorisation_of
from aerolog.archive.service.conductor.conductor import ArchiveConductor
from aerolog.archive.service.context import ArchiveContext
from aerolog.archive.service.counters import ArchiveCounters
from aerolog.archive.service.event_log import NO_EVENTS, archive_events
from aerolog.archive.service.recorder.recorder import Recorder
from aerolog.archive.service.recorder.segment_files import SegmentFiles
from aerolog.archive.service.recorder.time_indexes import Times
from aerolog.archive.service.replayer.replayer import Replayer
from aerolog.archive.service.reporter import ArchiveReporter
from aerolog.archive.service.session_table import SessionTable
from aerolog.archive.service.verifier.verifier import verifier_of
from aerolog.transport.agents.component import Component
from aerolog.transport.agents.doorbell import Doorbell
from aerolog.transport.concurrent.agent_runner import AgentInvoker, AgentRunner
from aerolog.transport.concurrent.histogram_tracker import cycle_tracker
from aerolog.transport.concurrent.idle import idle_strategy
from aerolog.transport.errors import ConfigurationError, ResourceClosedError
from aerolog.transport.memory.filesystem import FileSystem, RealFileSystem
from aerolog.transport.text_output import write_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.archive.format.checksum import Checksum
    from aerolog.archive.service.event_log import ArchiveEvents
    from aerolog.transport.agents.reporter import OnError
    from aerolog.transport.client.aeron import Aeron
    from aerolog.transport.client.publication import ExclusivePublication
    from aerolog.transport.concurrent.agent import Agent
    from aerolog.transport.concurrent.agent_runner import DutyCycleTracker
    from aerolog.transport.concurrent.clock import Clock
    from aerolog.transport.config.sources import Properties
    from aerolog.transport.security.authentication import Authenticator, AuthorisationService

# How long the thread of segment files and verification sleeps when there is nothing to do;
# several segment files are ready by then.
SEGMENTS_SLEEP = "2ms"


class Archive(Component):
    """An archive in this process. It runs from its construction until ``close``.

    It is a context manager, and ``close`` is idempotent. In INVOKER mode it has no thread and its
    owner calls ``do_work``, from one thread at a time.

    Args:
        archive_dir: the archive's folder; by default as configured.
        aeron_dir: the driver's directory; by default as configured.
        properties: settings by the reference's names; those of the environment when None.
        clock: source of wall-clock and monotonic time; the system's when None.
        file_system: where all files are; the machine's when None.
        authenticator: decides which clients may connect; by default as configured.
        authorisation: decides which requests they may send; by default as configured.
        driver_invoker: runs a duty cycle of a driver that has no thread of its own.
        driver_bell: called after each command to a driver in this process, to wake it.
        on_error: takes each error, and what makes two of them one, in place of the archive's own
            error counter; the error log of the mark file has them all the same.
        on_fatal: called on the conductor's thread when the driver is lost.
        random_source: source of session ids and replay tokens.
        **options: settings by keyword, which override all others: a property's name in snake case
            without ``aeron.archive.``, durations in seconds or text, sizes in bytes or text.

    Raises:
        ConfigurationError: a setting is invalid.
        ActiveArchiveError: a live archive owns the folder.
        DriverTimeoutError: no driver runs.
        FileFormatError: the folder is damaged, or of another version.
        StorageSpaceError: there is no room for the archive's files.
    """

    def __init__(
        self,
        archive_dir: str | os.PathLike[str] | None = None,
        aeron_dir: str | os.PathLike[str] | None = None,
        *,
        properties: Properties | None = None,
        clock: Clock | None = None,
        file_system: FileSystem | None = None,
        authenticator: Authenticator | None = None,
        authorisation: AuthorisationService | None = None,
        driver_invoker: Callable[[], object] | None = None,
        driver_bell: Callable[[], object] | None = None,
        on_error: OnError | None = None,
        on_fatal: Callable[[BaseException], None] | None = None,
        random_source: random.Random | None = None,
        **options: object,
    ) -> None:
        self.config = config = p.ArchiveConfig(
            properties, {"archive_dir": archive_dir, "aeron_dir": aeron_dir, **options}
        )
        if driver_invoker is not None and config[p.THREADING_MODE] != "INVOKER":
            raise ConfigurationError(
                "an embedded driver without a thread needs an archive in threading mode INVOKER"
            )
        config.settings.report()
        super().__init__(
            config[p.AERON_DIR], config[p.DRIVER_TIMEOUT], clock, file_system, on_fatal
        )
        self._driver_invoker = driver_invoker
        self._driver_bell = driver_bell
        self._random = random_source or random.SystemRandom()
        self._make_folders()
        self.archive_id, page_size = self._identity()
        self._mark_file = ArchiveMarkFile.claim(
            config.archive_dir,
            self._mark_header(),
            mark_dir=config.mark_file_dir,
            files=self._files,
            clock=self._clock,
            file_page_size=page_size,
        )
        self._counters: ArchiveCounters | None = None
        self._catalog: CatalogFile | None = None
        self._in_order = not self._mark_file.after_crash
        self.runners: list[AgentInvoker] = []
        self._segments: SegmentFiles | None = None
        self._own_authenticator: Authenticator | None = None
        self._event_log: ArchiveEvents = NO_EVENTS
        try:
            self._event_log = archive_events(config.settings, self._clock)
            if authenticator is None:
                authenticator = self._own_authenticator = authenticator_of(config)
            self._start(
                authenticator,
                authorisation or authorisation_of(config),
                on_error,
            )
        except BaseException:
            self._close_parts()
            raise

    # -- the start --------------------------------------------------------------------------------

    def _make_folders(self) -> None:
        config = self.config
        if config[p.DIR_DELETE_ON_START]:
            ArchiveMarkFile.check_free(
                config.archive_dir,
                mark_dir=config.mark_file_dir,
                files=self._files,
                clock=self._clock,
            )
            self._check_no_hold()
            self._files.remove_tree(config.archive_dir)
        self._files.make_dirs(config.archive_dir)
        self._files.make_dirs(config.mark_file_dir)

    def _check_no_hold(self) -> None:
        """Check that nothing in the folder, which is about to be deleted, is held.

        Raises:
            ConfigurationError: a recording is held.
            HoldsDamagedError: the holds cannot be read.
        """
        config = self.config
        now_ms = self._clock.now_epoch_ms()
        for hold in Holds.open(config.archive_dir, self._files, self._clock):
            if not hold.is_over(now_ms):
                raise ConfigurationError(
                    f"{p.DIR_DELETE_ON_START.name} would delete recording {hold.recording_id} of"
                    f" {config.archive_dir}, which is held: {hold.reason}; release it (aerolog"
                    f" retention release {hold.recording_id} --archive-dir {config.archive_dir}),"
                    " or start without the property"
                )

    def _identity(self) -> tuple[int, int]:
        """Return the archive id, by default from the driver, and the driver's page size."""
        cnc = self._driver_files()
        archive_id: int = self.config[p.ARCHIVE_ID]
        if archive_id == -1:
            archive_id = cnc.to_driver.next_correlation_id()
        return archive_id, cnc.header.file_page_size

    def _sleep(self, seconds: float) -> None:
        if self._driver_invoker is None:
            super()._sleep(seconds)
        else:
            self._driver_invoker()

    def _mark_header(self) -> MarkFileHeader:
        config = self.config
        # Channels stand there as configured, also those that are disabled, as in the reference's.
        return MarkFileHeader(
            start_timestamp=self._clock.now_epoch_ms(),
            pid=os.getpid(),
            control_stream_id=config[p.CONTROL_STREAM_ID],
            local_control_stream_id=config[p.LOCAL_CONTROL_STREAM_ID],
            events_stream_id=config[p.EVENTS_STREAM_ID],
            error_buffer_length=config[p.ERROR_BUFFER_LENGTH],
            archive_id=self.archive_id,
            control_channel=config[p.CONTROL_CHANNEL] or "",
            local_control_channel=config[p.LOCAL_CONTROL_CHANNEL],
            events_channel=config[p.EVENTS_CHANNEL] or "",
            aeron_directory=self._aeron_dir,
        )

    def _start(
        self,
        authenticator: Authenticator,
        authorisation: AuthorisationService,
        on_error: OnError | None,
    ) -> None:
        config = self.config
        self._reporter = reporter = ArchiveReporter(self._mark_file.error_log(), self._event_log)
        if on_error is not None:
            reporter.pass_on(on_error)
        # This comes before the client exists, because recovery does not run the client and may
        # take longer than the timeouts of driver and client.
        catalog, recovered = self._open_catalog(reporter)
        catalog.on_resized = self._event_log.catalog_resized
        self._reserve_room(reporter)
        aeron = self._connect(
            name=f"archive archiveId={self.archive_id}",
            driver_invoker=self._driver_invoker,
            driver_bell=self._driver_bell,
        )
        counters = ArchiveCounters(aeron, config, self.archive_id, own_errors=on_error is None)
        self._counters = counters
        if counters.errors is not None:
            reporter.count_in(counters.errors)
        doorbell = Doorbell()
        context = ArchiveContext(
            archive_id=self.archive_id,
            config=config,
            aeron=aeron,
            clock=self._clock,
            files=self._files,
            catalog=catalog,
            counters=counters,
            reporter=reporter,
            doorbell=doorbell,
            random=self._random,
            times=Times(config, self._files, reporter),
        )
        self._context = context
        context.times.sweep(catalog.__contains__)
        for recording_id in recovered:
            context.times.recovered(catalog.descriptor(recording_id))
        self._make_agents(context, authenticator, authorisation)
        counters.add_own()
        entries, lost = counters.add_times()
        context.times.show_in(aeron.conductor.counters, entries.counter_id, lost.counter_id)
        self._verifier = verifier_of(context)
        self.runners = self._make_runners(context)
        self._mark_file.ready()
        if config[p.PRINT_CONFIGURATION]:
            write_text(format_configuration(self), sys.stdout)
        for runner in self.runners:
            runner.start()

    def _open_catalog(self, reporter: ArchiveReporter) -> tuple[CatalogFile, list[int]]:
        """Open the catalog; returns with it the recordings whose ends were found just now."""
        config = self.config
        catalog = CatalogFile.open(
            config.archive_dir,
            files=self._files,
            capacity=config[p.CATALOG_CAPACITY],
            sync_level=config.catalog_sync_level,
            checksum=config.record_checksum,
        )
        self._catalog = catalog
        recovered = catalog.refresh(
            self._clock.now_epoch_ms(),
            io_length=config[p.FILE_IO_LENGTH],
            on_doubtful=lambda recording_id, error: reporter.event(
                f"recording {recording_id} has no end, and none was found: {error}; it is listed,"
                " and kept as it is"
            ),
        )
        for recording in recovered:
            if recording.stop.unverified is not None:
                reporter.event(f"recording {recording.recording_id}: {recording.stop.unverified}")
        finished = finish_interrupted(
            catalog,
            after_crash=self._mark_file.after_crash,
            io_length=config[p.FILE_IO_LENGTH],
        )
        for line in finished:
            write_text(f"WARNING: {line}\n")
        self._in_order = True
        found = [one.recording_id for one in recovered if one.recording_id in catalog]
        return catalog, found

    def _reserve_room(self, reporter: ArchiveReporter) -> None:
        """Reserve what retention needs to make room on a full disk."""
        error = reserve_room(self.config.archive_dir, self._files)
        if error is not None:
            reporter.event(
                f"no room is reserved for retention, which cannot delete anything if the disk is"
                f" full: {error}; free {RESERVE_LENGTH} bytes, and the next start or the next run"
                " of retention reserves them"
            )

    def _make_agents(
        self,
        context: ArchiveContext,
        authenticator: Authenticator,
        authorisation: AuthorisationService,
    ) -> None:
        config, shared = self.config, context.aeron.conductor.counters
        recorder_table, replayer_table = SessionTable(), SessionTable()
        checksum: Checksum | None = config.record_checksum
        events = self._events(context.aeron)  # before the control channel, as the reference
        self._conductor = ArchiveConductor(
            context,
            self._mark_file,
            authenticator,
            authorisation,
            recorder_table,
            replayer_table,
            before_close=self._end_agents,
            on_fatal=self._fail,
        )
        sync_folder = config.catalog_sync_level > 0 and config[p.FILE_SYNC_LEVEL] > 0
        self._segments = self._segment_files(sync_folder)
        self._recorder = Recorder(
            recorder_table,
            context.doorbell,
            self._clock,
            scratch_length=0 if checksum is None else config[p.FILE_IO_LENGTH],
            counters=shared,
            counter_ids=context.counters.write_ids(),
            folder=config.archive_dir,
            files=self._files,
            segments=self._segments,
            preallocate=config[p.SEGMENT_PREALLOCATE],
            reporter=context.reporter,
            sync_folder=sync_folder,
            describe=self._conductor.recordings.describe,
            events=events,
        )
        self._replayer = Replayer(
            replayer_table,
            context.doorbell,
            self._clock,
            buffer_length=config[p.FILE_IO_LENGTH],
            counters=shared,
            counter_ids=context.counters.read_ids(),
            folder=config.archive_dir,
            files=self._files,
            reporter=context.reporter,
            details=self._conductor.replays.details,
        )

    def _segment_files(self, sync_folder: bool) -> SegmentFiles | None:
        """Return the native maker of segments, None unless files are on the machine's own disk."""
        config = self.config
        if type(self._files) is not RealFileSystem:
            return None
        return SegmentFiles(
            config.archive_dir,
            length=config[p.SEGMENT_LENGTH],
            preallocate=config[p.SEGMENT_PREALLOCATE],
            sync_folder=sync_folder,
            space_to_leave=config[p.LOW_STORAGE_THRESHOLD],
            ahead=config[p.THREADING_MODE] == "DEDICATED",
        )

    def _events(self, aeron: Aeron) -> ExclusivePublication | None:
        if not self.config[p.EVENTS_ENABLED]:
            return None
        return aeron.add_exclusive_publication(
            self.config[p.EVENTS_CHANNEL], self.config[p.EVENTS_STREAM_ID]
        )

    def _make_runners(self, context: ArchiveContext) -> list[AgentInvoker]:
        """Make the runners without starting them, in the order of spec archive-protocol 18."""
        config = self.config
        mode = config[p.THREADING_MODE]
        agents: list[Agent] = [self._conductor, self._replayer, self._recorder, context.times]
        if mode == "INVOKER":
            agents += [] if self._verifier is None else [self._verifier]
            tracker = self._tracker(context, "archive-conductor")
            return [
                AgentInvoker(
                    agents,
                    clock=self._clock,
                    error_handler=context.reporter.error,
                    trackers=[tracker] + [None] * (len(agents) - 1),
                    on_failure=self._fail,
                )
            ]
        idle = config[p.IDLE_STRATEGY]
        beside = [] if self._verifier is None else [self._beside(self._verifier)]
        if mode == "SHARED":
            shared = self._measured(context, agents, idle)
            context.doorbell.wakes(shared.idle_strategy)
            return [shared, *beside]
        recorder, replayer, conductor = (
            self._measured(context, [agent], config[prop] or idle)
            for agent, prop in (
                (self._recorder, p.RECORDER_IDLE_STRATEGY),
                (self._replayer, p.REPLAYER_IDLE_STRATEGY),
                (self._conductor, p.IDLE_STRATEGY),
            )
        )
        # An agent that hands something to another thread ends that thread's park.
        self._recorder.table.wakes(recorder.idle_strategy)
        self._replayer.table.wakes(replayer.idle_strategy)
        context.doorbell.wakes(conductor.idle_strategy)
        runners: list[AgentInvoker] = [recorder, replayer, conductor]
        # Segment files and time indexes share a thread, because nothing waits for either.
        made = [] if self._segments is None else [self._segments]
        runners.append(self._beside(*made, context.times))
        return [*runners, *beside]

    def _beside(self, *agents: Agent) -> AgentRunner:
        """Return a runner, with its own thread, for agents that no other agent waits for."""
        return self._runner(agents, idle_strategy("sleep-ns", SEGMENTS_SLEEP))

    def _measured(self, context: ArchiveContext, agents: list[Agent], idle: str) -> AgentRunner:
        """Return a runner whose first agent's duty cycles are shown in counters."""
        tracker = self._tracker(context, agents[0].role_name)
        return self._runner(agents, idle_strategy(idle), tracker)

    def _tracker(self, context: ArchiveContext, name: str) -> DutyCycleTracker:
        maximum, exceeded = context.counters.trackers[name]
        threshold = {
            "archive-conductor": p.CONDUCTOR_THRESHOLD,
            "archive-recorder": p.RECORDER_THRESHOLD,
            "archive-replayer": p.REPLAYER_THRESHOLD,
        }[name]
        return cycle_tracker(
            context.aeron.conductor.counters,
            maximum.counter_id,
            exceeded.counter_id,
            self.config[threshold],
        )

    # -- state and end ----------------------------------------------------------------------------

    @property
    def archive_dir(self) -> str:
        """The archive's folder, an absolute path."""
        return self.config.archive_dir

    @property
    def local_control_channel(self) -> str:
        """The channel on which clients of the same driver send their requests."""
        channel: str = self.config[p.LOCAL_CONTROL_CHANNEL]
        return channel

    @property
    def control_channel(self) -> str | None:
        """The channel for clients of other drivers, with the port in use; None without one."""
        return self._conductor.control_channel

    def wake(self) -> None:
        """Make the conductor look for messages of the driver at once; callable from any thread."""
        self._context.doorbell.ring_bell()

    def do_work(self) -> int:
        """Run one duty cycle of every agent, in INVOKER mode.

        Returns:
            A work count, 0 when there was nothing to do.

        Raises:
            ConfigurationError: the archive has threads of its own.
            ResourceClosedError: the archive is closed.
        """
        if self.config[p.THREADING_MODE] != "INVOKER":
            raise ConfigurationError(
                f"threading mode {self.config[p.THREADING_MODE]}: the archive turns itself; do_work"
                " is for INVOKER"
            )
        if self.is_closed:
            raise ResourceClosedError(
                f"the archive of {self.archive_dir} is closed"
            ) from self.failure
        return self.runners[0].invoke()

    def _fail(self, reason: BaseException) -> None:
        super()._fail(reason)
        self._end_runners()

    def _end_runners(self) -> None:
        """End recorder and replayer first, so that the conductor finds their sessions ended."""
        for runner in self.runners:
            if isinstance(runner, AgentRunner):
                runner.close()  # of its own thread, this only asks for the end

    def _end_agents(self) -> None:
        """End recordings and replays; recorder and replayer have no other running thread."""
        self._recorder.end_all()
        self._replayer.end_all()

    def close(self) -> None:
        """End all recordings and replays, notify the clients and leave the folder in order."""
        super().close()

    def abandon(self) -> None:
        """Stop without closing anything, as a killed process does; for simulations."""
        self._closed = True
        if self._aeron is not None:
            self._aeron.conductor.abandon()

    def _close_parts(self) -> None:
        # Recorder and replayer end first, so that the conductor finds their sessions ended.
        for runner in self.runners:
            runner.close()
        if self._segments is not None:
            self._segments.close()
        if self._counters is not None:
            self._counters.release_archive_id()
        if self._aeron is not None:
            self._aeron.close()
        if self._catalog is not None:
            self._catalog.close()
        if self._in_order:
            self._mark_file.terminated()
        else:
            self._mark_file.given_up()
        self._event_log.close()
        close = getattr(self._own_authenticator, "close", None)
        if close is not None:
            close()

    def __repr__(self) -> str:
        state = "closed" if self._closed else self.config[p.THREADING_MODE]
        return f"<Archive {self.archive_dir} archive_id={self.archive_id} {state}>"


def format_configuration(archive: Archive) -> str:
    """Return all settings, one per line, in the form in which the reference prints its contexts."""
    lines = ["Archive.Context", "{", f"    archiveId={archive.archive_id}"]
    for prop, value in archive.config.settings:
        first, *rest = prop.keyword.split("_")
        name = first + "".join(word.capitalize() for word in rest)
        text = str(value).lower() if isinstance(value, bool) else value
        lines.append(f"    {name}={'null' if text is None else text}")
    lines.append("}")
    return "\n".join(lines) + "\n"
