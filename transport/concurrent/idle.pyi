from collections.abc import Callable
from typing import Final, TypeAlias

class IdleStrategy:
    """Base of the native strategies; call it with the work count of the last cycle."""

    def __call__(self, work_count: int = 0) -> None: ...
    def reset_idle(self) -> None: ...
    def wake_up(self) -> None: ...
    @property
    def alias(self) -> str: ...

class NoOpIdleStrategy(IdleStrategy): ...
class BusySpinIdleStrategy(IdleStrategy): ...
class YieldingIdleStrategy(IdleStrategy): ...

class SleepingIdleStrategy(IdleStrategy):
    period_ns: int
    def __init__(self, period_ns: int = 1_000) -> None: ...

class SleepingMillisIdleStrategy(SleepingIdleStrategy):
    def __init__(self, period_ms: int = 1) -> None: ...

class BackoffIdleStrategy(IdleStrategy):
    max_spins: int
    max_yields: int
    min_park_ns: int
    max_park_ns: int
    def __init__(
        self,
        max_spins: int = 10,
        max_yields: int = 20,
        min_park_ns: int = 1_000,
        max_park_ns: int = 1_000_000,
    ) -> None: ...

class ControllableIdleStrategy(IdleStrategy): ...

class CallableIdleStrategy(IdleStrategy):
    function: Callable[[int], object]
    error: BaseException | None
    def __init__(self, function: Callable[[int], object]) -> None: ...
    def take_error(self) -> BaseException | None: ...

_IdleLike: TypeAlias = IdleStrategy | Callable[[int], object] | str
ALIASES: Final[dict[str, str]]

def idle_strategy(name: _IdleLike, init_args: str | None = None) -> IdleStrategy: ...
