"""``Component``: what an archive and the consensus module of a cluster have in common."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from aerolog.archive.service.event_log import NO_EVENTS
from aerolog.archive.service.reporter import ArchiveEvent, Reporter
from aerolog.transport.client.aeron import Aeron
from aerolog.transport.client.options import default_aeron_dir
from aerolog.transport.concurrent.agent_runner import AgentRunner
from aerolog.transport.concurrent.clock import Clock, SystemClock
from aerolog.transport.memory.cnc import CncFile
from aerolog.transport.memory.filesystem import FileSystem, RealFileSystem
from aerolog.transport.resource import Resource

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from aerolog.archive.service.event_log import NoArchiveEvents
    from aerolog.transport.concurrent.agent import Agent
    from aerolog.transport.concurrent.agent_runner import DutyCycleTracker
    from aerolog.transport.concurrent.idle import IdleStrategy
    from aerolog.transport.errors import AerologError
    from aerolog.transport.memory.mark_file import MarkFile


class Component(Resource, ABC):
    """A client of a driver that owns a folder, whose mark file has its errors, until ``close``.

    Args:
        aeron_dir: the driver's directory; the default one when None.
        driver_timeout_ms: greatest age of a live driver's heartbeat.
        clock: source of wall-clock and monotonic time; the system's when None.
        file_system: where all files are; the machine's when None.
        on_fatal: called with the reason when the component cannot go on.

    Attributes:
        failure: why it cannot go on; None while it can.
    """

    _EVENT_CLASS: ClassVar[type[AerologError]] = ArchiveEvent

    def __init__(
        self,
        aeron_dir: str | None,
        driver_timeout_ms: int,
        clock: Clock | None,
        file_system: FileSystem | None,
        on_fatal: Callable[[BaseException], None] | None,
    ) -> None:
        self.failure: BaseException | None = None
        self._aeron_dir = aeron_dir or default_aeron_dir()
        self._driver_timeout_ms = driver_timeout_ms
        self._clock = clock or SystemClock()
        self._files: FileSystem = file_system or RealFileSystem()
        self._on_fatal = on_fatal
        self._closed = False
        self._aeron: Aeron | None = None
        self._reporter: Reporter

    # -- the start --------------------------------------------------------------------------------

    def _sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def _driver_files(self) -> CncFile:
        """Wait for the driver.

        Raises:
            DriverTimeoutError: no driver runs.
        """
        return CncFile.connect(
            self._aeron_dir,
            timeout_ms=self._driver_timeout_ms,
            file_system=self._files,
            clock=self._clock,
            sleep=self._sleep,
        )

    def _report_in(self, mark_file: MarkFile[Any], events: NoArchiveEvents = NO_EVENTS) -> Reporter:
        """Report errors in the mark file from now on."""
        self._reporter = Reporter(mark_file.error_log(), events, self._EVENT_CLASS)
        return self._reporter

    def _connect(self, **options: Any) -> Aeron:
        """Make the client that one of the component's agents runs."""
        self._aeron = Aeron(
            self._aeron_dir,
            driver_timeout=self._driver_timeout_ms / 1000,
            on_error=self._reporter.error,
            invoker=True,
            clock=self._clock,
            file_system=self._files,
            **options,
        )
        return self._aeron

    def _runner(
        self, agents: Sequence[Agent], idle: IdleStrategy, tracker: DutyCycleTracker | None = None
    ) -> AgentRunner:
        """Make a runner, with a thread named after its first agent, which the tracker measures."""
        return AgentRunner(
            agents,
            idle,
            name=agents[0].role_name,
            clock=self._clock,
            error_handler=self._reporter.error,
            trackers=[tracker] + [None] * (len(agents) - 1),
            on_failure=self._fail,
        )

    # -- state and end ----------------------------------------------------------------------------

    @property
    def aeron_dir(self) -> str:
        """The driver's directory."""
        return self._aeron_dir

    @property
    def is_closed(self) -> bool:
        """Whether it was closed or cannot go on, as when its driver is lost."""
        return self._closed or self.failure is not None

    def _fail(self, reason: BaseException) -> None:
        """Note and tell why the component cannot go on; on the thread that failed."""
        if self.failure is not None:
            return
        self.failure = reason
        if self._on_fatal is not None:
            self._on_fatal(reason)

    def close(self) -> None:
        """End the component in good order."""
        if not self._closed:
            self._closed = True
            self._close_parts()

    @abstractmethod
    def _close_parts(self) -> None:
        """Close what was started; the rest may be missing."""
