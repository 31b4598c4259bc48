"""Finds the parts of messages before they are read: blocks, entries of groups, and data.

Groups whose entries are fixed blocks are found for all messages at once. Only a group that contains
groups or data is walked entry by entry, since each entry determines where the next one begins.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aerolog.catalog.decoders.sbe.context import Batch, Rows
from aerolog.catalog.decoders.sbe.model import PRIMITIVES
from aerolog.catalog.extras import require

if TYPE_CHECKING:
    from aerolog.catalog.decoders.sbe.context import Array
    from aerolog.catalog.decoders.sbe.model import Body, Data, Group

np: Any = require("numpy", "decoding SBE")


@dataclass(slots=True)
class DataExtents:
    """The offset and length of each row's data, in the order of rows."""

    start: Array
    length: Array


@dataclass(slots=True)
class BodyExtents:
    """The rows of a body, and for each row the parts behind the block.

    Attributes:
        counts: for each group the number of entries of each row.
        groups: for each group the entries of all rows.
    """

    rows: Rows
    counts: list[Array] = field(default_factory=list)
    groups: list[BodyExtents] = field(default_factory=list)
    data: list[DataExtents] = field(default_factory=list)


class WalkError(ValueError):
    """A message ends before its parts do."""


def _required(body: Body, version: Array) -> Array:
    """The least block length of each row, by its version."""
    sizes = body.required_sizes()
    versions = np.array([one for one, _ in sizes], dtype=np.int64)
    lengths = np.array([size for _, size in sizes], dtype=np.int64)
    return lengths[np.searchsorted(versions, version, side="right") - 1]


def find_body(
    body: Body, batch: Batch, owner: Array, position: Array, block_length: Array, version: Array,
    order: str,
) -> BodyExtents:  # fmt: skip
    """Find the parts of messages of one kind.

    Messages that end too early are rejected.

    Args:
        body: the body of the message.
        batch: all messages.
        owner: the indices of the messages of this kind, ascending.
        position: the offset at which the block of each begins.
        block_length: the block length in the header of each.
        version: the version in the header of each.
        order: the byte order.
    """
    rows = Rows(batch, owner, position, version)
    end = batch.end[owner]
    rows.reject(block_length > end - position, f"{body.name} ends inside its block")
    short = block_length < _required(body, version)
    rows.reject(short, f"the block of {body.name} is shorter than its fields")
    found = BodyExtents(rows)
    cursor = position + block_length
    for group in body.groups:
        cursor = _find_group(group, found, cursor, end, order)
    for data in body.data:
        cursor = _find_data(data, found, cursor, end, order)
    rows.position = np.where(batch.live[owner], position, 0)
    return found


def _find_data(data: Data, found: BodyExtents, cursor: Array, end: Array, order: str) -> Array:
    rows = found.rows
    there = rows.batch.live[rows.owner] & (rows.version >= data.since)
    outside = there & (cursor + data.header_size > end)
    rows.reject(outside, f"the message ends before {data.name}")
    there &= ~outside
    at = np.where(there, cursor + data.length_offset, 0)
    length = np.where(there, rows.batch.numbers(at, data.length_primitive, order), 0)
    start = cursor + np.where(there, data.header_size, 0)
    outside = there & ((length < 0) | (length > end - start))
    rows.reject(outside, f"{data.name} is longer than the message")
    length = np.where(outside, 0, length)
    live = rows.batch.live[rows.owner]
    ends = np.maximum.accumulate(np.where(live, start + length, 0)) if len(live) else start
    found.data.append(DataExtents(np.where(live, start, ends), np.where(live, length, 0)))
    return start + length


def _find_group(group: Group, found: BodyExtents, cursor: Array, end: Array, order: str) -> Array:
    rows = found.rows
    batch = rows.batch
    there = batch.live[rows.owner] & (rows.version >= group.since)
    outside = there & (cursor + group.dimension_size > end)
    rows.reject(outside, f"the message ends before the group {group.name}")
    there &= ~outside
    offset, primitive = group.block_length_at
    length = batch.numbers(np.where(there, cursor + offset, 0), primitive, order)
    offset, primitive = group.count_at
    count = np.where(there, batch.numbers(np.where(there, cursor + offset, 0), primitive, order), 0)
    length = np.where(there, length, 0)
    bad = there & ((length < 0) | (count < 0))
    rows.reject(bad, f"the group {group.name} has dimensions below zero")
    count = np.where(bad, 0, count)
    start = cursor + np.where(there, group.dimension_size, 0)
    if group.body.is_flat:
        return _flat_entries(group, found, start, length, count, end)
    return _walked_entries(group, found, start, length, count, order)


def _flat_entries(
    group: Group, found: BodyExtents, start: Array, length: Array, count: Array, end: Array
) -> Array:
    rows = found.rows
    some = count > 0
    empty = some & (length == 0)
    rows.reject(empty, f"entries of the group {group.name} have no length")
    outside = some & ~empty & (count > (end - start) // np.maximum(length, 1))
    rows.reject(outside, f"the group {group.name} is longer than the message")
    short = some & (length < _required(group.body, rows.version))
    rows.reject(short, f"the block of {group.name} is shorter than its fields")
    count = np.where(empty | outside | short | ~rows.batch.live[rows.owner], 0, count)
    first = np.cumsum(count) - count
    number = np.arange(int(count.sum()), dtype=np.int64) - np.repeat(first, count)
    position = np.repeat(start, count) + number * np.repeat(length, count)
    entries = Rows(
        rows.batch, np.repeat(rows.owner, count), position, np.repeat(rows.version, count)
    )
    found.counts.append(count)
    found.groups.append(BodyExtents(entries))
    return start + count * length


class _Walk:
    """The parts of the entries of one group, collected entry by entry."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self.position: list[int] = []
        self.counts: list[list[int]] = [[] for _ in body.groups]
        self.groups = [_Walk(group.body) for group in body.groups]
        self.start: list[list[int]] = [[] for _ in body.data]
        self.length: list[list[int]] = [[] for _ in body.data]

    def extend(self, other: _Walk) -> None:
        """Append the parts that were collected from another message."""
        self.position.extend(other.position)
        for mine, theirs in zip(self.counts, other.counts, strict=True):
            mine.extend(theirs)
        for mine_group, their_group in zip(self.groups, other.groups, strict=True):
            mine_group.extend(their_group)
        for mine, theirs in zip(self.start, other.start, strict=True):
            mine.extend(theirs)
        for mine, theirs in zip(self.length, other.length, strict=True):
            mine.extend(theirs)

    def places(self, batch: Batch, owner: Array, version: Array) -> BodyExtents:
        """Convert the parts to arrays; ``owner`` and ``version`` are those of the entries."""
        found = BodyExtents(Rows(batch, owner, np.array(self.position, dtype=np.int64), version))
        for counts, group in zip(self.counts, self.groups, strict=True):
            count = np.array(counts, dtype=np.int64)
            found.counts.append(count)
            found.groups.append(
                group.places(batch, np.repeat(owner, count), np.repeat(version, count))
            )
        for start, length in zip(self.start, self.length, strict=True):
            found.data.append(
                DataExtents(np.array(start, dtype=np.int64), np.array(length, dtype=np.int64))
            )
        return found


class _Walker:
    """Walks one message.

    Args:
        memory: the bytes of the batch.
        end: the offset at which the message ends.
        version: the version of the message.
        order: the byte order.
    """

    def __init__(self, memory: memoryview, end: int, version: int, order: str) -> None:
        self._memory = memory
        self._end = end
        self._version = version
        self._order = "little" if order == "<" else "big"

    def _number(self, at: int, primitive: str) -> int:
        size, kind, _ = PRIMITIVES[primitive]
        order: Any = self._order
        return int.from_bytes(self._memory[at : at + size], order, signed=kind[0] == "i")

    def entries(self, group: Group, length: int, count: int, cursor: int, sink: _Walk) -> int:
        """Collect the entries of a group; return the offset where they end."""
        body = group.body
        required = [size for version, size in body.required_sizes() if version <= self._version][-1]
        if count and length < required:
            raise WalkError(f"the block of {body.name} is shorter than its fields")
        for _ in range(count):
            begin = cursor
            sink.position.append(begin)
            cursor += length
            if cursor > self._end:
                raise WalkError(f"the group {body.name} is longer than the message")
            for at, inner in enumerate(body.groups):
                cursor = self._group(inner, cursor, sink.counts[at], sink.groups[at])
            for at, data in enumerate(body.data):
                cursor = self._data(data, cursor, sink.start[at], sink.length[at])
            if cursor == begin:
                raise WalkError(f"entries of the group {body.name} have no length")
        return cursor

    def _group(self, group: Group, cursor: int, counts: list[int], sink: _Walk) -> int:
        if self._version < group.since:
            counts.append(0)
            return cursor
        start = cursor + group.dimension_size
        if start > self._end:
            raise WalkError(f"the message ends before the group {group.name}")
        length = self._number(cursor + group.block_length_at[0], group.block_length_at[1])
        count = self._number(cursor + group.count_at[0], group.count_at[1])
        if length < 0 or count < 0:
            raise WalkError(f"the group {group.name} has dimensions below zero")
        counts.append(count)
        return self.entries(group, length, count, start, sink)

    def _data(self, data: Data, cursor: int, starts: list[int], lengths: list[int]) -> int:
        if self._version < data.since:
            starts.append(cursor)
            lengths.append(0)
            return cursor
        start = cursor + data.header_size
        if start > self._end:
            raise WalkError(f"the message ends before {data.name}")
        length = self._number(cursor + data.length_offset, data.length_primitive)
        if not 0 <= length <= self._end - start:
            raise WalkError(f"{data.name} is longer than the message")
        starts.append(start)
        lengths.append(length)
        return start + length


def _walked_entries(
    group: Group, found: BodyExtents, start: Array, length: Array, count: Array, order: str
) -> Array:
    rows = found.rows
    batch = rows.batch
    whole = _Walk(group.body)
    cursor = start.copy()
    for row in np.flatnonzero(count > 0).tolist():
        owner = int(rows.owner[row])
        if not batch.live[owner]:
            count[row] = 0
            continue
        walker = _Walker(batch.bytes, int(batch.end[owner]), int(rows.version[row]), order)
        sink = _Walk(group.body)
        try:
            cursor[row] = walker.entries(
                group, int(length[row]), int(count[row]), int(start[row]), sink
            )
        except WalkError as error:
            batch.reject(np.array([owner]), str(error))
            count[row] = 0
            continue
        whole.extend(sink)
    found.counts.append(count)
    found.groups.append(
        whole.places(batch, np.repeat(rows.owner, count), np.repeat(rows.version, count))
    )
    return cursor
