"""``ServiceContainer``: runs a clustered service beside a consensus module (spec cluster 11)."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from aerolog.cluster.errors import ClusterError, ClusterEvent
from aerolog.cluster.files import ClusterMarkFile, service_mark_name
from aerolog.cluster.protocol import ClusterComponentType, MarkFileHeader
from aerolog.cluster.service.object_name import object_of
from aerolog.cluster.service.options import ERROR_HANDLER, ServiceContainerOptions
from aerolog.cluster.service.service_agent import ServiceAgent
from aerolog.cluster.service.service_counters import ServiceCounters
from aerolog.transport.agents.reporter import Reporter
from aerolog.transport.client import Aeron
from aerolog.transport.client.options import default_aeron_dir
from aerolog.transport.concurrent.agent_runner import AgentRunner, AgentTerminated
from aerolog.transport.concurrent.histogram_tracker import cycle_tracker
from aerolog.transport.concurrent.idle import idle_strategy
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.memory.cnc import CncFile
from aerolog.transport.resource import Resource

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.cluster.service.clustered_service import ClusteredService
    from aerolog.transport.config.sources import Properties


class ServiceContainer(Resource):
    """Runs a service in a thread of this process, from its construction until ``close``.

    It connects to the driver, archive and consensus module of its node. The service starts when the
    consensus module is there; the constructor does not wait for that.

    Args:
        service: the service to run.
        properties: settings by the reference's names; those of the environment when None.
        on_error: called with each error, besides its entry in the mark file's error log; by default
            what ``aeron.cluster.service.delegating.error.handler`` names.
        on_ready: called with the container, on the service's thread, when the service has joined
            the log that clients write to, and again for each later one.
        on_end: called with the container, on the service's thread, when the service has ended.
        options: attributes of ServiceContainerOptions: aeron_dir, cluster_dir, cluster_id,
            service_id, ...

    Raises:
        ConfigurationError: a setting is invalid.
        ActiveClusterError: a live container runs the service in that folder.
        DriverTimeoutError: no driver runs.

    Example:
        with ServiceContainer(Auction(), cluster_dir="node0/cluster") as container:
            container.wait()
    """

    def __init__(
        self,
        service: ClusteredService,
        *,
        properties: Properties | None = None,
        on_error: Callable[[BaseException], object] | None = None,
        on_ready: Callable[[ServiceContainer], object] | None = None,
        on_end: Callable[[ServiceContainer], object] | None = None,
        **options: Any,
    ) -> None:
        self.options = ServiceContainerOptions.of(properties=properties, **options)
        self.aeron_dir = self.options.aeron_dir or default_aeron_dir()
        self.failure: BaseException | None = None
        self._on_error = on_error or self._error_handler()
        self._on_end = on_end
        self._ended = threading.Event()
        self._counters: ServiceCounters | None = None
        self._runner: AgentRunner | None = None
        self._agent: ServiceAgent | None = None
        self._mark_file = self._claim()
        self._reporter = Reporter(
            self._mark_file.error_log(), "aerolog.cluster.service", ClusterEvent
        )
        try:
            self.aeron = Aeron(
                self.aeron_dir,
                name=self.options.name,
                driver_timeout=self.options.driver_timeout / 1000,
                on_error=self._report,
                clock=self.options.clock,
            )
        except BaseException:
            self._mark_file.failed_start()
            raise
        try:
            self._counters = ServiceCounters(self.aeron, self.options)
            self._reporter.count_in(self._counters.errors)
            self._agent = ServiceAgent(
                service, self.options, self.aeron, self._mark_file, self._counters, self._report
            )
            self._agent.on_end = self._end
            if on_ready is not None:
                self._agent.on_ready = lambda: on_ready(self)
            self._runner = AgentRunner(
                self._agent,
                idle_strategy(self.options.idle_strategy),
                name=self.options.name,
                clock=self.options.clock,
                error_handler=self._on_agent_error,
                on_failure=self._fail,
                trackers=[
                    cycle_tracker(
                        self.aeron.conductor.counters,
                        self._counters.max_cycle_time.counter_id,
                        self._counters.cycle_time_exceeded.counter_id,
                        self.options.service_cycle_threshold,
                    )
                ],
            )
            self._mark_file.ready()
            self._runner.start()
        except BaseException:
            self._mark_file.failed_start()
            self.close()
            raise

    def _claim(self) -> ClusterMarkFile:
        options = self.options
        folder = Path(os.path.realpath(options.cluster_dir))
        folder.mkdir(parents=True, exist_ok=True)
        if options.mark_file_dir is not None:
            Path(options.mark_file_dir).mkdir(parents=True, exist_ok=True)
        cnc = CncFile.connect(
            self.aeron_dir, timeout_ms=options.driver_timeout, clock=options.clock
        )
        return ClusterMarkFile.claim(
            folder,
            MarkFileHeader(
                component_type=ClusterComponentType.CONTAINER,
                start_timestamp=options.clock.now_epoch_ms(),
                pid=os.getpid(),
                archive_stream_id=options.archive_stream_id,
                service_stream_id=options.service_stream_id,
                consensus_module_stream_id=options.consensus_module_stream_id,
                ingress_stream_id=-1,
                member_id=-1,
                service_id=options.service_id,
                error_buffer_length=options.service_error_buffer_length,
                cluster_id=options.cluster_id,
                aeron_directory=self.aeron_dir,
                control_channel=options.control_channel,
                ingress_channel="",
                service_name=options.name,
                authenticator="",
                services_cluster_dir="",
            ),
            name=service_mark_name(options.service_id),
            mark_dir=options.mark_file_dir,
            clock=options.clock,
            file_page_size=cnc.header.file_page_size,
        )

    # -- errors ----------------------------------------------------------------------------------

    def _error_handler(self) -> Callable[[BaseException], object] | None:
        name = self.options.error_handler
        if name is None:
            return None
        found = object_of(name, ERROR_HANDLER.name)
        handler = found() if isinstance(found, type) else found
        if not callable(handler):
            raise ConfigurationError(f"{ERROR_HANDLER.name}: {name} cannot be called")
        return cast("Callable[[BaseException], object]", handler)

    def _report(self, error: BaseException) -> None:
        """Log an error in the mark file, with its traceback, and count it."""
        self._reporter.error(error)
        if (handler := self._on_error) is not None:
            self._reporter.run(lambda: handler(error))

    def _is_ending(self) -> bool:
        """Whether the service ends in good order, so that what its agent raises is no failure."""
        agent = self._agent
        return agent is None or agent.stopping or agent.is_terminated

    def _on_agent_error(self, error: BaseException) -> None:
        if not self._is_ending():
            cause = error.__cause__ if isinstance(error, AgentTerminated) else None
            self._report(error if cause is None else cause)

    def _fail(self, reason: BaseException) -> None:
        if not self._is_ending():
            self.failure = reason

    def _end(self) -> None:
        """Leave the driver as well: the module would take a client that lives for the service."""
        self._mark_file.terminated()
        self.aeron.close()
        self._ended.set()
        if self._on_end is not None:
            self._on_end(self)

    # -- life ------------------------------------------------------------------------------------

    @property
    def is_running(self) -> bool:
        """Whether the service has not ended."""
        return not self._ended.is_set()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the service ends, as the consensus module asks of it.

        Args:
            timeout: seconds to wait at most.

        Returns:
            Whether it has ended.

        Raises:
            AerologError: it could not start, or has lost its driver.
        """
        ended = self._ended.wait(timeout)
        if ended and self.failure is not None:
            raise ClusterError(f"the service has ended: {self.failure}") from self.failure
        return ended

    def close(self) -> None:
        """End the service, without an acknowledgement, and the transport client."""
        if self._agent is not None:
            self._agent.stopping = True
        if self._runner is not None:
            self._runner.close()
        self.aeron.close()
        self._mark_file.close()
