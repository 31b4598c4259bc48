"""Values of metrics as they are collected: merged by label set, bounded in their number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from aerolog.tools.metrics.families import FAMILIES, Family, Merge

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator

Labels = tuple[str, ...]

#: Label value of what is over the limit.
OTHER: Final = "other"


class Collected(NamedTuple):
    """A metric and its values by the values of its labels."""

    family: Family
    values: dict[Labels, float]


class Samples:
    """The values of one collection.

    Attributes:
        now_ms: the time of the samples, epoch milliseconds.
    """

    def __init__(self, now_ms: int) -> None:
        self.now_ms = now_ms
        self._values: dict[str, dict[Labels, float]] = {name: {} for name in FAMILIES}

    def add(self, name: str, value: float, *labels: str) -> None:
        """Adds a value; one with the same labels is merged with it.

        Args:
            name: the name of the metric without ``aerolog_``.
            value: the value, in the unit of the metric.
            labels: values of all its labels, in their order.
        """
        family = FAMILIES[f"aerolog_{name}"]
        if len(labels) != len(family.labels):
            raise ValueError(f"{family.name} has the labels {family.labels}, not {labels}")
        values = self._values[family.name]
        known = values.get(labels)
        if known is None:
            values[labels] = value
        elif family.merge is Merge.SUM:
            values[labels] = known + value
        else:
            values[labels] = (max if family.merge is Merge.MAX else min)(known, value)

    def collected(self) -> Iterator[Collected]:
        """The metrics that have values, in the table's order."""
        for name, values in self._values.items():
            if values:
                yield Collected(FAMILIES[name], values)


class Bound:
    """Admits label sets up to a limit; those that come later share ``other``.

    One that is admitted keeps its place as long as it is there. A place that is free goes to the
    first of those that are waiting, by name.

    Attributes:
        overflowed: how many of the last ones share ``other``.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._admitted: set[Labels] = set()
        self.overflowed = 0

    def admit(self, wanted: Iterable[Labels]) -> dict[Labels, Labels]:
        """What each label set becomes: itself, or as many times ``other``."""
        here = set(wanted)
        self._admitted &= here
        waiting = sorted(here - self._admitted)
        room = max(self._limit - len(self._admitted), 0)
        self._admitted.update(waiting[:room])
        over = waiting[room:]
        self.overflowed = len(over)
        shown = {one: one for one in self._admitted}
        shown.update((one, (OTHER,) * len(one)) for one in over)
        return shown


class Totals:
    """Counters over streams that come and go, which never fall while one of a label set is there.

    A stream's position counts from where it began, if that is known, else from where it was first
    seen.
    """

    def __init__(self) -> None:
        self._positions: dict[Hashable, int] = {}
        self._sums: dict[tuple[str, Labels], int] = {}
        self._seen: dict[Hashable, int] = {}
        self._grown: dict[tuple[str, Labels], int] = {}

    def add(
        self, name: str, labels: Labels, source: Hashable, position: int, begin: int | None
    ) -> None:
        """Counts on from the position that a stream has reached.

        Args:
            name: the name of the metric without ``aerolog_``.
            labels: the labels to which the position counts.
            source: what has the position, as long as it is there.
            position: bytes in the stream, or a count.
            begin: the position at the beginning, None when nobody knows.
        """
        identity = (name, source)
        known = self._positions.get(identity)
        if known is None:
            known = position if begin is None else begin
        self._seen[identity] = max(position, known)
        group = name, labels
        self._grown[group] = self._grown.get(group, 0) + max(position - known, 0)

    def finish(self, samples: Samples) -> None:
        """Ends a collection: what was not there any more is forgotten."""
        self._sums = {
            group: self._sums.get(group, 0) + grown for group, grown in self._grown.items()
        }
        self._positions, self._seen, self._grown = self._seen, {}, {}
        for (name, labels), value in self._sums.items():
            samples.add(name, value, *labels)
