from collections.abc import Callable, Sequence
from threading import Thread
from types import TracebackType
from typing import Self

from aerolog.transport.concurrent.agent import Agent
from aerolog.transport.concurrent.clock import Clock
from aerolog.transport.concurrent.idle import IdleStrategy

class DutyCycleTracker:
    threshold_ns: int
    def __init__(self, threshold_ns: int = ...) -> None: ...
    @property
    def max_cycle_time_ns(self) -> int: ...
    @property
    def threshold_exceeded_count(self) -> int: ...

class AgentTerminated(Exception): ...  # noqa: N818

class AgentInvoker:
    agents: tuple[Agent, ...]
    trackers: tuple[DutyCycleTracker | None, ...]
    clock: Clock
    error_handler: Callable[[BaseException], None]
    on_failure: Callable[[BaseException], None] | None
    def __init__(
        self,
        agents: Agent | Sequence[Agent],
        *,
        clock: Clock | None = None,
        error_handler: Callable[[BaseException], None] | None = None,
        trackers: Sequence[DutyCycleTracker | None] | None = None,
        on_failure: Callable[[BaseException], None] | None = None,
    ) -> None: ...
    @property
    def role_name(self) -> str: ...
    @property
    def is_running(self) -> bool: ...
    @property
    def is_closed(self) -> bool: ...
    def start(self) -> None: ...
    def invoke(self) -> int: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...

class AgentRunner(AgentInvoker):
    idle_strategy: IdleStrategy
    name: str
    affinity: int
    thread: Thread | None
    def __init__(
        self,
        agents: Agent | Sequence[Agent],
        idle_strategy: IdleStrategy,
        *,
        name: str = "",
        clock: Clock | None = None,
        error_handler: Callable[[BaseException], None] | None = None,
        trackers: Sequence[DutyCycleTracker | None] | None = None,
        on_failure: Callable[[BaseException], None] | None = None,
        affinity: int = -1,
    ) -> None: ...
    def wake(self) -> None: ...
    def close(self, timeout_s: float = 10.0) -> None: ...
