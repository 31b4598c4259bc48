"""What the files of a cluster's folder hold: mark files, recording log, node state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.cluster.files import EntryType, walk_recording_log
from aerolog.cluster.files.layout import (
    ENDPOINT_OFFSET,
    ENTRY_FIELDS,
    FIRST_FRAME_OFFSET,
    FRAME_ALIGNMENT,
)
from aerolog.cluster.protocol.mark_header import ClusterComponentType, MarkFileHeader
from aerolog.cluster.protocol.node_state_messages import (
    NODE_STATE_SCHEMA,
    NodeStateFooter,
    NodeStateHeader,
)
from aerolog.cluster.protocol.schema import NULL_POSITION
from aerolog.tools.explain import number_notes
from aerolog.tools.explain.archive_files import items, mark_sections
from aerolog.tools.explain.explanation import (
    Item,
    Section,
    joined,
    left_out,
    number,
    rows_of,
    text_row,
)
from aerolog.transport.errors import FileFormatError
from aerolog.transport.protocol.fixed_layout import Field, align
from aerolog.transport.protocol.sbe import FRAME_LENGTH_FIELDS, FRAMED_HEADER_LENGTH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from aerolog.cluster.files import LogEntry
    from aerolog.transport.protocol.sbe import Layout

_NOTES: Final[dict[str, Callable[[int], str]]] = {
    "version": number_notes.version,
    "component_type": lambda value: ClusterComponentType(value).name.lower().replace("_", " "),
    "start_timestamp": number_notes.time_ms,
    "activity_timestamp": number_notes.time_ms,
    "error_buffer_length": number_notes.size,
    "service_id": lambda value: "the consensus module" if value == -1 else "",
}
_STATE_NOTES: Final[dict[str, Callable[[int], str]]] = {
    "version": number_notes.version,
    "timestamp": number_notes.time_ms,
}


def mark(data: memoryview, name: str, limit: int) -> Iterator[Section]:
    """Header and error log of a module's or a service's mark file."""
    del name
    yield from mark_sections(data, MarkFileHeader, limit, _NOTES)


def recording_log(data: memoryview, name: str, limit: int) -> Iterator[Section]:
    """The entries, in the order of the file."""
    shown = total = end = 0
    for offset, length, entry in walk_recording_log(data, name):
        total += 1
        end = offset + length
        if limit and shown >= limit:
            continue
        shown += 1
        kind, notes = _entry_notes(entry)
        title = f"Entry {total - 1 if entry is None else entry.index}: {kind}"
        rows = rows_of(data, offset, items(ENTRY_FIELDS, notes))
        if entry is not None and entry.archive_endpoint:
            rows.append(text_row(data, offset + ENDPOINT_OFFSET, "archive_endpoint"))
        yield Section(title, offset, length, rows)
    remark = joined(f"{total} entries end at offset {end}", left_out(shown, total, "entries"))
    yield Section("Behind the entries", end, max(len(data) - end, 0), [], remark)


def _entry_notes(entry: LogEntry | None) -> tuple[str, dict[str, Callable[[int], str]]]:
    """What an entry of a recording log is, and what its fields mean."""
    if entry is None:
        return "removed", {"type": lambda _: "removed"}
    kind = entry.type.name.lower().replace("_", " ") + ("" if entry.is_valid else ", invalidated")
    notes: dict[str, Callable[[int], str]] = {"type": lambda _: kind}
    if entry.type == EntryType.TERM:
        notes["log_position"] = lambda value: "the term is open" if value == NULL_POSITION else ""
    else:
        notes["service_id"] = _NOTES["service_id"]
    return kind, notes


def node_state(data: memoryview, name: str, limit: int) -> Iterator[Section]:
    """The head of the file and its messages."""
    del name, limit
    head = rows_of(data, 0, _items(NodeStateHeader.LAYOUT))
    yield Section("Header", 0, FIRST_FRAME_OFFSET, head)
    at = FIRST_FRAME_OFFSET
    while True:
        rows = rows_of(data, at, items(FRAME_LENGTH_FIELDS, {}))
        template_id, length = number(data, at + 2, "H"), number(data, at + 8, "i")
        kind = NODE_STATE_SCHEMA.messages.get(template_id)
        if not FRAMED_HEADER_LENGTH <= length <= len(data) - at:
            raise FileFormatError(f"message at offset {at}: length {length}")
        if kind is not None:
            rows += rows_of(data, at + FRAMED_HEADER_LENGTH, _items(kind.LAYOUT))
        title = kind.__name__ if kind is not None else f"Message {template_id}"
        yield Section(title, at, length, rows)
        if kind is NodeStateFooter:
            return
        at += align(length, FRAME_ALIGNMENT)


def _items(layout: Layout) -> list[Item]:
    fields = [Field(each.name, each.offset, each.kind.code) for each in layout.fixed]
    return items(fields, _STATE_NOTES)
