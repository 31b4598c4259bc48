"""Figures over time: a number that only grows, its rate, and the curve of its rates."""

from __future__ import annotations

from collections import deque
from typing import Final

#: Looks that a curve remembers: more than any terminal is wide.
KEPT: Final = 240


class Series:
    """The last values of a figure."""

    __slots__ = ("_values",)

    def __init__(self) -> None:
        self._values: deque[float] = deque(maxlen=KEPT)

    def add(self, value: float) -> None:
        """Appends the newest value."""
        self._values.append(value)

    def last(self, count: int) -> list[float]:
        """At most that many, oldest first."""
        values = list(self._values)
        return values[-count:] if count > 0 else []

    def __len__(self) -> int:
        return len(self._values)


class Meter:
    """A total that grows.

    Attributes:
        total: as it was last; 0 before.
        rate: a second, None until there were two.
        curve: the latest rates, oldest first.
    """

    __slots__ = ("curve", "rate", "seen", "total")

    def __init__(self) -> None:
        self.total = 0
        self.seen = False
        self.rate: float | None = None
        self.curve = Series()

    def take(self, total: int, interval_s: float) -> None:
        """Takes the total so many seconds later; 0 when nobody knows how many."""
        if self.seen and interval_s > 0:
            self.rate = max(total - self.total, 0) / interval_s
            self.curve.add(self.rate)
        self.total, self.seen = total, True
