"""``describe`` and ``describe-all``: the descriptors in the catalog."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from aerolog.tools.archive_files.checked_files import explained, open_catalog, open_mark
from aerolog.tools.archive_files.java_error import parse_long
from aerolog.tools.archive_files.message_text import (
    descriptor_text,
    descriptor_writer,
    mark_text,
    state_name,
    state_of,
)
from aerolog.tools.archive_files.raw_catalog import VALID, RawCatalog
from aerolog.tools.archive_files.raw_mark import RawMark
from aerolog.transport.errors import AerologError
from aerolog.transport.protocol.sbe import semantic_version_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerolog.archive.format.descriptor import CatalogEntry
    from aerolog.tools.reference.tool_terminal import Terminal

_TEXT_AT_ONCE = 256 * 1024
_STATE_NAMES: Final = {0: "invalid", 1: "valid", 2: "deleted"}
#: Column -> the field of a row that stands there.
_COLUMNS: Final = {
    "id": "recording_id",
    "state": "state",
    "stream": "stream_id",
    "session": "session_id",
    "start": "start_position",
    "stop": "stop_position",
    "bytes": "length",
    "started": "start_timestamp",
    "stopped": "stop_timestamp",
    "channel": "original_channel",
    "source": "source_identity",
}
_RIGHT: Final = ("id", "stream", "session", "start", "stop", "bytes")


def classic_describe(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """VALID entries, or the one of a given id."""
    if arguments:
        catalog = RawCatalog.open(folder, writable=True)
        terminal.line(descriptor_text(catalog.frame(*catalog.find(parse_long(arguments[0])))))
        return 0
    return _describe(folder, terminal, only_valid=True)


def classic_describe_all(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """All entries and their states."""
    del arguments
    return _describe(folder, terminal, only_valid=False)


def _describe(folder: str, terminal: Terminal, *, only_valid: bool) -> int:
    catalog = open_with_head(folder, terminal)
    writer = descriptor_writer("\n" if only_valid else f"|{state_name(VALID)}\n")
    offsets, lengths, index = catalog.offsets, catalog.lengths, 0
    while index < len(offsets):
        text, index = writer.write(catalog.data, offsets, lengths, index, _TEXT_AT_ONCE)
        catalog.check()
        if text:
            terminal.write(text.decode("ascii"))
            continue
        terminal.write(_line(catalog.frame(offsets[index], lengths[index]), only_valid=only_valid))
        index += 1
    return 0


def _line(entry: bytes, *, only_valid: bool) -> str:
    """The line of any entry, valid or not, sound or not."""
    state = state_of(entry)
    if not only_valid:
        return f"{descriptor_text(entry)}|{state_name(state)}\n"
    if state == VALID:
        return f"{descriptor_text(entry)}\n"
    state_name(state)  # one that is none ends the reference here
    return ""


def open_with_head(folder: str, terminal: Terminal) -> RawCatalog:
    """Opens the catalog and prints what stands above its entries, the mark file's fields."""
    catalog = RawCatalog.open(folder)
    mark = RawMark.open(folder, terminal)
    now, start = local_time(terminal.clock.now_epoch_ms()), local_time(mark.start_timestamp)
    activity = local_time(mark.activity_timestamp)
    terminal.line(f"{now[-8:]} (start: {start}, activity: {activity})")
    terminal.line(mark_text(mark.data, mark.base))
    terminal.line(f"Catalog capacity in bytes: {catalog.capacity}")
    return catalog


def local_time(epoch_ms: float) -> str:
    """A timestamp as the reference prints it: local, to the second."""
    try:
        return f"{datetime.fromtimestamp(epoch_ms // 1000).astimezone():%Y-%m-%d %H:%M:%S}"
    except (OverflowError, OSError, ValueError):
        return f"{epoch_ms:.0f}ms"


def describe(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """Valid recordings, or the one of a given id."""
    if not arguments:
        return _show(folder, terminal, only_valid=True)
    try:
        recording_id = int(arguments[0])
    except ValueError as error:
        import typer

        raise typer.BadParameter(f"a recording's id is a number, not {arguments[0]!r}") from error
    with open_catalog(folder) as catalog, explained(folder):
        found = next(
            (e for e in catalog.entries() if e.descriptor.recording_id == recording_id), None
        )
    if found is None:
        raise AerologError(
            f"{folder} has no recording {recording_id}: describe-all lists all there are"
        )
    row = entry_row(found)
    if terminal.as_json:
        _json(row)
    else:
        from aerolog.tools.terminal.console import print_fields

        print_fields(_readable(row))
    return 0


def describe_all(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """All recordings, whatever their state."""
    del arguments
    return _show(folder, terminal, only_valid=False)


def _show(folder: str, terminal: Terminal, *, only_valid: bool) -> int:
    with open_catalog(folder) as catalog, explained(folder):
        rows = [entry_row(e) for e in catalog.entries() if e.is_valid or not only_valid]
        head: dict[str, Any] = {
            "catalog": {
                "path": catalog.path,
                "version": semantic_version_text(catalog.version),
                "capacity": catalog.capacity,
                "used": catalog.end_offset,
                "next_recording_id": catalog.next_recording_id,
                "valid": len(catalog),
            },
            "mark": mark_row(folder),
        }
    if terminal.as_json:
        _json({**head, "recordings": rows})
        return 0
    from aerolog.tools.terminal.console import print_fields, print_table

    print_fields(_head_lines(head))
    terminal.line()
    print_table(list(_COLUMNS), [_table_row(row) for row in rows], right=_RIGHT)
    return 0


def mark_row(folder: str) -> dict[str, Any] | None:
    """Fields of the mark file; with what is wrong with it alone when it cannot be read."""
    try:
        mark = open_mark(folder)
    except AerologError as error:
        return {"problem": str(error)}
    header = mark.header
    return {
        "path": mark.path,
        "version": semantic_version_text(header.version),
        "active": mark.is_active(),
        "pid": header.pid,
        "archive_id": header.archive_id,
        "start_timestamp": header.start_timestamp,
        "activity_timestamp": header.activity_timestamp,
        "aeron_directory": header.aeron_directory,
        "control_channel": header.control_channel,
        "control_stream_id": header.control_stream_id,
        "local_control_channel": header.local_control_channel,
        "local_control_stream_id": header.local_control_stream_id,
        "events_channel": header.events_channel,
        "events_stream_id": header.events_stream_id,
        "error_buffer_length": header.error_buffer_length,
    }


def entry_row(entry: CatalogEntry) -> dict[str, Any]:
    """An entry's fields by name; positions and times that are not there yet are None."""
    recording = entry.descriptor
    active = recording.is_active
    return {
        "recording_id": recording.recording_id,
        "state": _STATE_NAMES.get(entry.state, str(entry.state)),
        "stream_id": recording.stream_id,
        "session_id": recording.session_id,
        "start_position": recording.start_position,
        "stop_position": None if active else recording.stop_position,
        "length": None if active else recording.stop_position - recording.start_position,
        "start_timestamp": recording.start_timestamp,
        "stop_timestamp": None if recording.stop_timestamp < 0 else recording.stop_timestamp,
        "initial_term_id": recording.initial_term_id,
        "term_buffer_length": recording.term_buffer_length,
        "segment_file_length": recording.segment_file_length,
        "mtu_length": recording.mtu_length,
        "stripped_channel": recording.stripped_channel,
        "original_channel": recording.original_channel,
        "source_identity": recording.source_identity,
        "control_session_id": recording.control_session_id,
        "correlation_id": recording.correlation_id,
        "checksum": entry.checksum,
        "offset": entry.offset,
    }


def _table_row(row: dict[str, Any]) -> list[Any]:
    shown = _readable(row)
    return [shown[name] for name in _COLUMNS.values()]


def _readable(row: dict[str, Any]) -> dict[str, Any]:
    shown = dict(row)
    for name in ("start_timestamp", "stop_timestamp"):
        if shown[name] is not None:
            shown[name] = local_time(shown[name])
    if shown["stop_position"] is None:
        shown["stop_position"] = "none yet"
    return shown


def _head_lines(head: dict[str, Any]) -> dict[str, Any]:
    catalog, mark = head["catalog"], head["mark"]
    lines = {
        "catalog": f"{catalog['path']}, version {catalog['version']}, {catalog['used']} of"
        f" {catalog['capacity']} bytes used, {catalog['valid']} valid recordings",
    }
    if "problem" in mark:
        return {**lines, "archive": mark["problem"]}
    lines["archive"] = f"id {mark['archive_id']}, " + (
        f"running as process {mark['pid']}" if mark["active"] else "not running"
    )
    lines["started"] = local_time(mark["start_timestamp"])
    seen = mark["activity_timestamp"]
    lines["last seen"] = "ended in good order" if seen == -1 else local_time(seen)
    lines["driver"] = mark["aeron_directory"]
    lines["control"] = mark["control_channel"] or mark["local_control_channel"]
    return lines


def _json(value: Any) -> None:
    from aerolog.tools.terminal.console import print_json

    print_json(value)
