"""Sleeps while there is nothing to do, deadlines, and intervals between two times."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from aerolog.transport.concurrent.clock import Clock, SystemClock
from aerolog.transport.time_units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable

_FIRST_IDLE_S: Final = 0.000_05
_LAST_IDLE_S: Final = 0.002


class Idle:
    """Sleeps, longer the longer there is nothing to do."""

    def __init__(self, sleep: Callable[[float], object] | None = None) -> None:
        self._sleep = sleep or time.sleep
        self._sleep_s = _FIRST_IDLE_S

    def __call__(self, work_count: int) -> None:
        """Sleeps when there was no work; the next sleep is twice as long, up to 2 ms."""
        if work_count > 0:
            self._sleep_s = _FIRST_IDLE_S
            return
        self._sleep(self._sleep_s)
        self._sleep_s = min(2 * self._sleep_s, _LAST_IDLE_S)


class Deadline:
    """A time until which a caller waits.

    Args:
        seconds: from now to the deadline; infinity for none.
        clock: tells the time; the machine's by default.
    """

    def __init__(self, seconds: float, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._at_ns = self._clock.now_ns() + seconds * NS_PER_S

    @property
    def passed(self) -> bool:
        """Whether the deadline is over."""
        return self._clock.now_ns() >= self._at_ns

    def extend(self, seconds: float) -> None:
        """Moves the deadline to so many seconds later."""
        self._at_ns += seconds * NS_PER_S


class Interval:
    """The time that must pass before something is done again.

    Args:
        seconds: the least time between two times.
        clock: tells the time; the machine's by default.
        at_once: whether it is due for the first time now, or after an interval.
    """

    def __init__(self, seconds: float, clock: Clock | None = None, *, at_once: bool = True) -> None:
        self._clock = clock or SystemClock()
        self._length_ns = seconds * NS_PER_S
        self._next_ns = self._clock.now_ns() + (0 if at_once else self._length_ns)

    def is_due(self) -> bool:
        """Whether it is to be done now; if so, the next interval begins."""
        now_ns = self._clock.now_ns()
        if now_ns < self._next_ns:
            return False
        self._next_ns = now_ns + self._length_ns
        return True
