"""What lies beside the recordings of our archives: time indexes, health, the files of retention."""

from __future__ import annotations

import time
import zlib
from typing import TYPE_CHECKING, Final

from aerolog.archive.format.checksum import CRC32C_NAME, checksum_for
from aerolog.archive.time_index import layout as times_layout
from aerolog.archive.time_index.layout import BLOCK_LENGTH, ENTRIES_PER_BLOCK, ENTRY_LENGTH
from aerolog.archive.verification import layout as health_layout
from aerolog.archive.verification.layout import SegmentRecord, SegmentState
from aerolog.tools.explain import number_notes
from aerolog.tools.explain.archive_files import items
from aerolog.tools.explain.explanation import Row, Section, joined, left_out, number, rows_of
from aerolog.transport.errors import FileFormatError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_NOTES: Final[dict[str, Callable[[int], str]]] = {
    "time_ns": number_notes.time_ns,
    "prior_max_ns": number_notes.time_ns,
    "min_ns": number_notes.time_ns,
    "max_ns": number_notes.time_ns,
    "mtime_ns": number_notes.time_ns,
    "start_timestamp": number_notes.time_ms,
    "verified_ms": number_notes.time_ms,
    "term_length": number_notes.size,
    "segment_length": number_notes.size,
    "rebuilt": number_notes.yes_no,
}
_ATTEMPTS: Final = 50
_PAUSE_S: Final = 0.002
_STATES: Final = {state.value: state.name.lower() for state in SegmentState}


def time_index(data: memoryview, name: str, limit: int) -> Iterator[Section]:
    """Both copies of the header, and the entries of each block."""
    del name
    whole = 0
    for at in times_layout.HEADER_COPIES:
        sound = _matches(data, at, times_layout.HEADER_COPY_LENGTH)
        whole += sound
        remark = "" if sound else "damaged: the other copy counts"
        rows = rows_of(data, at, items(times_layout.HEADER, _NOTES))
        yield Section("Header", at, times_layout.HEADER_COPY_LENGTH, rows, remark)
    if not whole:
        raise FileFormatError("both copies of the header are damaged")
    damaged = []
    for at in range(BLOCK_LENGTH, len(data) - BLOCK_LENGTH + 1, BLOCK_LENGTH):
        number_here = at // BLOCK_LENGTH - 1
        block = data[at : at + BLOCK_LENGTH]
        if not any(block):
            continue  # it was let go of, with the segments that it told of
        is_last = at + 2 * BLOCK_LENGTH > len(data)
        if not (_settles(data, at) if is_last else _matches(data, at, BLOCK_LENGTH)):
            damaged.append(number_here)
            continue
        yield _block(data, at, number_here, limit)
    rest = len(data) % BLOCK_LENGTH
    if damaged or rest:
        shown = ", ".join(map(str, damaged[:8])) + (" ..." if len(damaged) > 8 else "")
        blocks = f"damaged blocks of entries: {shown}" if damaged else ""
        end = f"it ends within a block, {rest} bytes of it" if rest else ""
        raise FileFormatError(joined(blocks, end))


def _settles(data: memoryview, at: int) -> bool:
    """Whether the last block is whole; a running archive may be writing it this moment."""
    for _ in range(_ATTEMPTS):
        if _matches(data, at, BLOCK_LENGTH):
            return True
        time.sleep(_PAUSE_S)
    return False


def _block(data: memoryview, at: int, index: int, limit: int) -> Section:
    count = min(max(number(data, at + _COUNT_AT, "i"), 0), ENTRIES_PER_BLOCK)
    shown = count if limit == 0 else min(limit, count)
    rows = []
    for entry in range(shown):
        start = at + entry * ENTRY_LENGTH
        time_ns = number(data, start, "q")
        text = f"from {number_notes.time_ns(time_ns)} on"
        rows.append(Row(start, ENTRY_LENGTH, "position", number(data, start + 8, "q"), text))
    rows += rows_of(data, at, items(times_layout.TRAILER, _NOTES))
    return Section(f"Block {index}", at, BLOCK_LENGTH, rows, left_out(shown, count, "entries"))


def health(data: memoryview, name: str, limit: int) -> Iterator[Section]:
    """The header, and a record for each verification of a segment."""
    del name
    yield Section("Header", 0, health_layout.HEADER_LENGTH, rows_of(data, 0, _HEALTH_HEADER))
    length = health_layout.RECORD_LENGTH
    starts = range(health_layout.HEADER_LENGTH, len(data) - length + 1, length)
    damaged = 0
    for index, at in enumerate(starts):
        sound = SegmentRecord.decode(bytes(data[at : at + length])) is not None
        damaged += not sound
        if limit == 0 or index < limit:
            remark = "" if sound else "damaged: it is passed over"
            yield Section(f"Record {index}", at, length, rows_of(data, at, _HEALTH_RECORD), remark)
    more = left_out(min(limit or len(starts), len(starts)), len(starts), "records")
    yield Section("Records", health_layout.HEADER_LENGTH, len(starts) * length, [], more)
    body = bytes(data[:_HEALTH_CHECKSUM_AT])
    if number(data, _HEALTH_CHECKSUM_AT, "I") != zlib.crc32(body):
        raise FileFormatError("the header is damaged")
    if damaged:
        raise FileFormatError(f"{damaged} damaged records, which are passed over")


def _matches(data: memoryview, at: int, length: int) -> bool:
    """Whether bytes end in the CRC-32C of those before."""
    checksum = checksum_for(CRC32C_NAME)
    assert checksum is not None
    end = at + length - 4
    return number(data, end, "i") == checksum.compute(data[at:end])


_COUNT_AT: Final = next(f.offset for f in times_layout.TRAILER if f.name == "count")
_HEALTH_HEADER: Final = items(health_layout.HEADER, _NOTES)
_HEALTH_RECORD: Final = [
    item._replace(note=lambda value: _STATES.get(value, "unknown"))
    if item.name == "state"
    else item
    for item in items(health_layout.RECORD, _NOTES)
]
_HEALTH_CHECKSUM_AT: Final = next(f.offset for f in health_layout.HEADER if f.name == "checksum")


def reserve(data: memoryview, name: str, limit: int) -> Iterator[Section]:
    """The room that is reserved, of which only the length matters."""
    del name, limit
    yield Section("Room", 0, len(data), [])
