"""What the files of an archive's folder hold: catalog, segment, mark file, and the small ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.archive.format.layout import (
    CATALOG_HEADER,
    CATALOG_HEADER_LENGTH,
    DESCRIPTOR,
    DESCRIPTOR_BLOCK_LENGTH,
    DESCRIPTOR_STRINGS,
    ENTRY_HEADER,
    ENTRY_HEADER_LENGTH,
)
from aerolog.archive.protocol.mark_header import MarkFileHeader
from aerolog.tools.explain import number_notes
from aerolog.tools.explain.error_log_section import error_section
from aerolog.tools.explain.explanation import (
    Item,
    Row,
    Section,
    joined,
    left_out,
    number,
    rows_of,
    text_row,
)
from aerolog.tools.explain.frame_run import first_frame, walk
from aerolog.transport.errors import FileFormatError
from aerolog.transport.protocol.fixed_layout import Field
from aerolog.transport.protocol.mark_header import MARK_HEADER_LENGTH
from aerolog.transport.protocol.sbe import HEADER_LENGTH, MESSAGE_HEADER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from aerolog.transport.protocol.sbe import Message

_STATES: Final = {0: "invalid", 1: "valid", 2: "deleted"}
_LEGACY_LENGTH: Final = 1024
_NOTES: Final[dict[str, Callable[[int], str]]] = {
    "version": number_notes.version,
    "state": lambda value: _STATES.get(value, "unknown"),
    "start_timestamp": number_notes.time_ms,
    "stop_timestamp": number_notes.time_ms,
    "activity_timestamp": number_notes.time_ms,
    "stop_position": lambda value: "none: active, or left by a crash" if value == -1 else "",
    "segment_file_length": number_notes.size,
    "term_buffer_length": number_notes.size,
    "error_buffer_length": number_notes.size,
}
_TEXT_SHOWN: Final = 4096


def items(
    fields: Iterable[Field], meanings: Mapping[str, Callable[[int], str]] = _NOTES
) -> list[Item]:
    """A layout of the archive's as items, with what the values of named fields mean."""
    return [Item(f.name, f.offset, f.format, meanings.get(f.name, "")) for f in fields]


def catalog(data: memoryview, name: str, limit: int) -> Iterator[Section]:
    """Explains the catalog's header and its entries."""
    del name
    head = rows_of(data, 0, items(CATALOG_HEADER))
    yield Section("Header", 0, CATALOG_HEADER_LENGTH, head)
    alignment = number(data, 16, "i")
    if alignment < 0 or alignment & (alignment - 1):
        raise FileFormatError(f"alignment {alignment} at offset 16 is no power of two")
    at = CATALOG_HEADER_LENGTH if alignment else _LEGACY_LENGTH
    alignment = alignment or _LEGACY_LENGTH
    shown = total = 0
    while at + ENTRY_HEADER_LENGTH <= len(data) and (length := number(data, at, "i")) > 0:
        size = (ENTRY_HEADER_LENGTH + length + alignment - 1) & -alignment
        if at + size > len(data):
            raise FileFormatError(
                f"entry at offset {at}: its {size} bytes pass the end, {len(data)}"
            )
        total += 1
        if limit == 0 or shown < limit:
            shown += 1
            yield _entry(data, at, size)
        at += size
    remark = joined(f"{total} entries end at offset {at}", left_out(shown, total, "entries"))
    yield Section("Behind the entries", at, len(data) - at, [], remark)


def _entry(data: memoryview, at: int, size: int) -> Section:
    rows = rows_of(data, at, items(ENTRY_HEADER))
    block = at + ENTRY_HEADER_LENGTH
    entry = data[: at + size]
    rows += rows_of(entry, block, items(DESCRIPTOR))
    rows += _strings(entry, block + DESCRIPTOR_BLOCK_LENGTH, DESCRIPTOR_STRINGS)
    return Section(f"Entry of recording {number(data, block + 16, 'q')}", at, size, rows)


def _strings(data: memoryview, at: int, names: Iterable[str]) -> list[Row]:
    rows = []
    for name in names:
        row = text_row(data, at, name)
        rows.append(row)
        at += row.size
    return rows


def mark(data: memoryview, name: str, limit: int) -> Iterator[Section]:
    """Header and error log of an archive's mark file."""
    del name
    yield from mark_sections(data, MarkFileHeader, limit)


def mark_sections(
    data: memoryview,
    header: type[Message],
    limit: int,
    meanings: Mapping[str, Callable[[int], str]] = _NOTES,
) -> Iterator[Section]:
    """Header and error log of a mark file that begins with a message."""
    layout = header.LAYOUT
    fields = [
        Field(each.name, each.offset, each.kind.code)
        for each in layout.fixed
        if each.name != "reserved"
    ]
    ids = (layout.template_id, layout.schema.id)
    has_head = len(data) >= HEADER_LENGTH and (number(data, 2, "H"), number(data, 4, "H")) == ids
    base = HEADER_LENGTH if has_head else 0
    rows = rows_of(data, 0, items(MESSAGE_HEADER)) if base else []
    rows += rows_of(data, base, items(fields, meanings))
    yield Section("Header", 0, MARK_HEADER_LENGTH, rows)
    at = base + layout.block_length
    names = [each.name for each in layout.var]
    strings = Section("Strings", at, 0, _strings(data, at, names))
    strings.length = sum(row.size for row in strings.rows)
    yield strings
    found = {field.name: number(data, base + field.offset, field.format) for field in fields}
    start, length = found["header_length"] or MARK_HEADER_LENGTH, found["error_buffer_length"]
    if start < 0 or length < 0 or start + length > len(data):
        raise FileFormatError(
            f"an error log of {length} bytes at offset {start} passes the end, {len(data)}"
        )
    yield error_section(data, start, length, limit)


def segment(data: memoryview, name: str, limit: int) -> Iterator[Section]:
    """The name's meaning and the frames."""
    head, dash, rest = name.partition("-")
    rows = []
    if dash and rest.partition(".")[0].isdecimal():
        rows = [
            Row(0, 0, "recording_id", head, "from the file's name"),
            Row(0, 0, "base_position", rest.partition(".")[0], "from the file's name"),
        ]
    start = first_frame(data, 0, len(data))
    run = walk(data, start, len(data), limit)
    rows += [
        Row(start, run.end - start, "frames", run.count, f"{run.padding} of them padding"),
        Row(start, run.end - start, "messages", run.messages, "begun in this segment"),
        Row(run.end, len(data) - run.end, "unused", len(data) - run.end, "bytes behind the frames"),
        *(Row(start, 0, "session_id", one) for one in sorted(run.sessions)),
        *(Row(start, 0, "stream_id", one) for one in sorted(run.streams)),
    ]
    yield Section("Segment", 0, len(data), rows)
    remark = joined(
        f"the frames begin at offset {start}: the recording does" if start else "",
        left_out(len(run.rows), run.count, "frames"),
    )
    yield Section("Frames", start, run.end - start, run.rows, remark)
    if run.problem:
        raise FileFormatError(run.problem)


def text(data: memoryview, name: str, limit: int) -> Iterator[Section]:
    """A file of text."""
    del name
    shown = min(len(data), _TEXT_SHOWN) if limit else len(data)
    content = str(data[:shown], "utf-8", "replace")
    rows = [Row(0, shown, "text", content.rstrip("\n"))] if content else []
    yield Section("Text", 0, len(data), rows, left_out(shown, len(data), "bytes"))


_REDO: Final = (
    Item("offset", 8, "q", "in the catalog"),
    Item("length", 16, "q"),
    Item("crc32", 24, "I"),
)


def redo(data: memoryview, name: str, limit: int) -> Iterator[Section]:
    """A noted change of a catalog."""
    del name, limit
    if bytes(data[:6]) != b"redo 1":
        raise FileFormatError("it does not begin with 'redo 1': a crash left it incomplete")
    rows = [Row(0, 8, "magic", "redo 1"), *rows_of(data, 0, _REDO)]
    yield Section("Header", 0, 28, rows)
    length = number(data, 16, "q")
    if length != len(data) - 28:
        raise FileFormatError(f"{length} bytes are told of, {len(data) - 28} are there")
    yield Section("Bytes of the catalog", 28, length)
