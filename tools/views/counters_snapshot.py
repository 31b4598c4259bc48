"""Snapshots of all counters of a driver: numbers in columns, texts decoded when wanted.

A snapshot belongs to no file any more: it stays as it is whatever the driver does.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.memory.counters import MAX_KEY_LENGTH

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from aerolog.tools.views.counter_scan import ScannedCounters
    from aerolog.transport.counters.counter_kind import CounterKind
    from aerolog.transport.counters.system_counters import SystemCounter


class Counter(NamedTuple):
    """One counter; the key with its unused tail of zeros."""

    id: int
    type_id: int
    key: bytes
    label: str
    value: int
    registration_id: int
    owner_id: int
    reference_id: int


class CountersSnapshot:
    """All allocated counters at one moment, by id. Rows count from 0; an id is not a row.

    Attributes:
        ids: the ids of the counters, ascending.
        type_ids: the types of the counters (spec counters 2 to 9).
        values: read in one pass, before anything else.
        registration_ids: what they belong to.
        owner_ids: the clients they belong to; -1 the driver, 0 never set.
        reference_ids: what else they refer to, by type.
        taken_ms: when, epoch milliseconds.
        taken_ns: when, of the monotonic clock.
    """

    def __init__(self, scanned: ScannedCounters, *, taken_ms: int, taken_ns: int) -> None:
        self._scanned = scanned
        self.ids = scanned.ids
        self.type_ids = scanned.type_ids
        self.values = scanned.values
        self.registration_ids = scanned.registration_ids
        self.owner_ids = scanned.owner_ids
        self.reference_ids = scanned.reference_ids
        self.taken_ms = taken_ms
        self.taken_ns = taken_ns

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[Counter]:
        for row in range(len(self.ids)):
            yield self.counter(row)

    def counter(self, row: int) -> Counter:
        """All fields of one counter."""
        return Counter(
            self.ids[row],
            self.type_ids[row],
            self.key(row),
            self.label(row),
            self.values[row],
            self.registration_ids[row],
            self.owner_ids[row],
            self.reference_ids[row],
        )

    def label(self, row: int) -> str:
        """The label of one counter."""
        offsets = self._scanned.label_offsets
        return self._text[offsets[row] : offsets[row + 1]]

    @cached_property
    def _text(self) -> str:
        # A byte is a character, also what is none in ASCII: offsets stay as they are.
        return self._scanned.labels.decode("ascii", "replace")

    def key(self, row: int) -> bytes:
        """The 112 bytes of one counter's key."""
        return self._scanned.keys[row * MAX_KEY_LENGTH : (row + 1) * MAX_KEY_LENGTH]

    @cached_property
    def labels(self) -> list[str]:
        """The labels of all counters."""
        return [self.label(row) for row in range(len(self.ids))]

    @cached_property
    def keys(self) -> list[bytes]:
        """The keys of all counters."""
        return [self.key(row) for row in range(len(self.ids))]

    def row_of(self, counter_id: int) -> int | None:
        """The row of a counter, None when it is not allocated."""
        row = bisect_left(self.ids, counter_id)
        return row if row < len(self.ids) and self.ids[row] == counter_id else None

    def value(self, counter_id: int) -> int | None:
        """The value of a counter, None when it is not allocated."""
        row = self.row_of(counter_id)
        return None if row is None else self.values[row]

    def system(self, counter: SystemCounter) -> int:
        """The value of a system counter (spec counters 2), 0 when there is none."""
        row = self.row_of(counter)
        if row is None or self.type_ids[row] != CounterType.SYSTEM:
            return 0
        return self.values[row]

    def same_layout(self, other: CountersSnapshot) -> bool:
        """Whether the two have the same counters of the same owners, whatever their values."""
        ours, theirs = self._scanned, other._scanned
        return (
            ours.ids == theirs.ids
            and ours.type_ids == theirs.type_ids
            and ours.registration_ids == theirs.registration_ids
            and ours.owner_ids == theirs.owner_ids
            and ours.reference_ids == theirs.reference_ids
            and ours.keys == theirs.keys
            and ours.labels == theirs.labels
        )

    def rows_of(self, type_ids: Iterable[CounterKind]) -> list[int]:
        """Rows of the counters of some kinds, by id."""
        wanted = frozenset(type_ids)
        return [row for row, type_id in enumerate(self.type_ids) if type_id in wanted]
