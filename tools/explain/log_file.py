"""What a log holds (spec log-buffers 1, 2, 5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.tools.archive_files.segment_names import is_term_length
from aerolog.tools.explain import number_notes
from aerolog.tools.explain.explanation import Item, Section, joined, left_out, number, rows_of
from aerolog.tools.explain.frame_run import walk
from aerolog.transport.errors import FileFormatError
from aerolog.transport.logbuffer.metadata import (
    DEFAULT_HEADER_OFFSET,
    END_OF_STREAM_UNKNOWN,
    FIELDS,
    LENGTH,
    SHARED_FIELDS,
)
from aerolog.transport.protocol.frame_header import FRAME_HEADER
from aerolog.transport.protocol.frames import DATA_HEADER_LENGTH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from aerolog.transport.protocol.fixed_layout import Field

TERMS: Final = 3
_TYPES: Final = {0: "publication", 1: "exclusive publication", 2: "image"}
_IS_FLAG: Final = {
    "is_connected",
    "is_publication_revoked",
    "group",
    "is_response",
    "rejoin",
    "reliable",
    "sparse",
    "signal_eos",
    "spies_simulate_connection",
    "tether",
}
_NOTES: Final[dict[str, Callable[[int], str]]] = {
    "end_of_stream_position": lambda v: "not known yet" if v == END_OF_STREAM_UNKNOWN else "",
    "type": lambda v: _TYPES.get(v, "unknown"),
}


def explain(data: memoryview, name: str, limit: int) -> Iterator[Section]:
    """Metadata, tails and terms."""
    del name
    start = len(data) - LENGTH
    if start < 0:
        raise FileFormatError(f"a log has {LENGTH} bytes of metadata at its end: {len(data)} bytes")
    rows = rows_of(data, start, [_item(one.name, one.offset, one.format) for one in _all()])
    yield Section("Metadata", start, LENGTH, rows)
    at = start + DEFAULT_HEADER_OFFSET
    header = rows_of(data, at, [Item(f.name, f.offset, f.format) for f in FRAME_HEADER])
    yield Section("Default header", at, DATA_HEADER_LENGTH, header)
    term_length = number(data, start + 276, "i")
    if not is_term_length(term_length):
        raise FileFormatError(f"term length {term_length} at offset {start + 276}")
    if TERMS * term_length > start:
        raise FileFormatError(f"three terms of {term_length} bytes pass the metadata at {start}")
    initial = number(data, start + 264, "i")
    for index in range(TERMS):
        yield _term(
            data, index, term_length, (number(data, start + 8 * index, "q"), initial), limit
        )


def _term(data: memoryview, index: int, length: int, tail: tuple[int, int], limit: int) -> Section:
    raw_tail, initial = tail
    run = walk(data, index * length, (index + 1) * length, limit)
    term_id, offset = raw_tail >> 32, raw_tail & 0xFFFFFFFF
    count = (term_id - initial + 2**31) % 2**32 - 2**31
    where = f"term {term_id}, tail {min(offset, length)}, position " + str(
        count * length + min(offset, length)
    )
    remark = joined(
        where if raw_tail else "no tail: an image's",
        f"{run.count} frames, {run.padding} of them padding" if run.count else "no frames",
        run.problem or "",
        left_out(len(run.rows), run.count, "frames"),
    )
    return Section(f"Term {index}", index * length, length, run.rows, remark)


def _all() -> list[Field]:
    return sorted((*SHARED_FIELDS, *FIELDS), key=lambda one: one.offset)


def _item(name: str, offset: int, code: str) -> Item:
    if name in _IS_FLAG:
        return Item(name, offset, code, number_notes.yes_no)
    if name.endswith("_ns"):
        return Item(name, offset, code, number_notes.seconds_ns)
    if name.endswith("_length"):
        return Item(name, offset, code, number_notes.size)
    return Item(name, offset, code, _NOTES.get(name, ""))
