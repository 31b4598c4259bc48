"""``Component``: what an archive and the consensus module of a cluster have in common."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from aerolog.transport.agents.life_cycle import LifeCycle
from aerolog.transport.client.aeron import Aeron
from aerolog.transport.client.options import default_aeron_dir
from aerolog.transport.concurrent.agent_runner import AgentRunner
from aerolog.transport.concurrent.clock import Clock, SystemClock
from aerolog.transport.memory.cnc import CncFile
from aerolog.transport.memory.filesystem import FileSystem, RealFileSystem

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from aerolog.transport.agents.reporter import Reporter
    from aerolog.transport.concurrent.agent import Agent
    from aerolog.transport.concurrent.agent_runner import DutyCycleTracker
    from aerolog.transport.concurrent.idle import IdleStrategy


class Component(LifeCycle):
    """A client of a driver that owns a folder, whose mark file has its errors, until ``close``.

    Args:
        aeron_dir: the driver's directory; the default one when None.
        driver_timeout_ms: greatest age of a live driver's heartbeat.
        clock: source of wall-clock and monotonic time; the system's when None.
        file_system: where all files are; the machine's when None.
        on_fatal: called with the reason when the component cannot go on.
    """

    def __init__(
        self,
        aeron_dir: str | None,
        driver_timeout_ms: int,
        clock: Clock | None,
        file_system: FileSystem | None,
        on_fatal: Callable[[BaseException], None] | None,
    ) -> None:
        super().__init__(on_fatal)
        self._aeron_dir = aeron_dir or default_aeron_dir()
        self._driver_timeout_ms = driver_timeout_ms
        self._clock = clock or SystemClock()
        self._files: FileSystem = file_system or RealFileSystem()
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
