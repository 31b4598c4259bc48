"""Times until which a caller waits, and intervals between two times."""

from __future__ import annotations

from aerolog.transport.concurrent.clock import Clock, SystemClock
from aerolog.transport.time_units import NS_PER_S


class Deadline:
    """A time until which a caller waits.

    Args:
        seconds: from now to the deadline; None or infinity waits for ever.
        clock: tells the time; the machine's by default.

    Attributes:
        seconds: from the start to the deadline.
    """

    def __init__(self, seconds: float | None, clock: Clock | None = None) -> None:
        self.seconds = seconds
        self._clock = clock or SystemClock()
        self._length_ns = None if seconds is None else seconds * NS_PER_S
        self.restart()

    @property
    def is_over(self) -> bool:
        """Whether the time has passed."""
        return self._at_ns is not None and self._clock.now_ns() >= self._at_ns

    @property
    def rest(self) -> float | None:
        """Seconds that are left, at least 0; None without a deadline."""
        if self._at_ns is None:
            return None
        return max(0.0, self._at_ns - self._clock.now_ns()) / NS_PER_S

    def restart(self) -> None:
        """Wait as long again from now on."""
        length_ns = self._length_ns
        self._at_ns = None if length_ns is None else self._clock.now_ns() + length_ns


class Interval:
    """The time that must pass before something is done again.

    Args:
        seconds: the least time between two times.
        clock: tells the time; the machine's by default.
        at_once: whether it is due for the first time now, or after an interval.
    """

    def __init__(self, seconds: float, clock: Clock | None = None, *, at_once: bool = True) -> None:
        self._next = Deadline(seconds, clock)
        self._is_first = at_once

    def is_due(self) -> bool:
        """Whether it is to be done now; if so, the next interval begins."""
        if not (self._is_first or self._next.is_over):
            return False
        self._is_first = False
        self._next.restart()
        return True
