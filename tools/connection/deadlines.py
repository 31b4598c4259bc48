"""The time; sleeps while there is nothing to do, deadlines, and what is due again."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_FIRST_IDLE_S = 0.000_05
_LAST_IDLE_S = 0.002


def epoch_ms() -> int:
    """The time of the machine, epoch milliseconds."""
    return time.time_ns() // 1_000_000


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
    """A time until which somebody waits."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        """Make one.

        Args:
            seconds: from now on.
            clock: gives monotonic seconds.
        """
        self._clock = clock
        self._at = clock() + seconds

    @property
    def passed(self) -> bool:
        """Whether it is over."""
        return self._clock() >= self._at

    def extend(self, seconds: float) -> None:
        """Wait longer."""
        self._at += seconds


class Every:
    """Something that is to be done again and again, but not more often than so."""

    def __init__(
        self,
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
        *,
        at_once: bool = True,
    ) -> None:
        """Make one.

        Args:
            seconds: between two times.
            clock: gives monotonic seconds.
            at_once: whether it is due now.
        """
        self._seconds = seconds
        self._clock = clock
        self._next = clock() + (0.0 if at_once else seconds)

    def is_due(self) -> bool:
        """Whether it is to be done now; then it is not for a while."""
        now = self._clock()
        if now < self._next:
            return False
        self._next = now + self._seconds
        return True
