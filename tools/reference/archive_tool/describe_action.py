"""``describe`` and ``describe-all``: the descriptors in the catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from aerolog.archive.format.layout import ENTRY_HEADER_LENGTH
from aerolog.tools.archive_files.message_text import (
    descriptor_text,
    descriptor_writer,
    header_of,
    mark_text,
    state_name,
    state_of,
)
from aerolog.tools.archive_files.raw_catalog import VALID, RawCatalog
from aerolog.tools.archive_files.raw_mark import RawMark
from aerolog.tools.command_line.java_error import parse_long
from aerolog.tools.terminal.local_time import local_time, time_of_day
from aerolog.transport.protocol.sbe import semantic_version_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerolog.tools.reference.tool_terminal import Terminal

_TEXT_AT_ONCE: Final = 256 * 1024


def describe(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """VALID entries, or the one of a given id."""
    if not arguments:
        return _describe(folder, terminal, only_valid=True)
    catalog = RawCatalog.open(folder, writable=True)
    offset, length = catalog.find(parse_long(arguments[0]))
    entry = catalog.frame(offset, length)
    if terminal.as_json:
        terminal.document(entry_row(entry, offset))
    else:
        terminal.line(descriptor_text(entry))
    return 0


def describe_all(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """All entries and their states."""
    del arguments
    return _describe(folder, terminal, only_valid=False)


def _describe(folder: str, terminal: Terminal, *, only_valid: bool) -> int:
    if terminal.as_json:
        terminal.document(_document(folder, terminal, only_valid=only_valid))
        return 0
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
    now, start = time_of_day(terminal.clock.now_epoch_ms()), local_time(mark.start_timestamp)
    activity = local_time(mark.activity_timestamp)
    terminal.line(f"{now} (start: {start}, activity: {activity})")
    terminal.line(mark_text(mark.data, mark.base))
    terminal.line(f"Catalog capacity in bytes: {catalog.capacity}")
    return catalog


def _document(folder: str, terminal: Terminal, *, only_valid: bool) -> dict[str, Any]:
    catalog = RawCatalog.open(folder)
    pairs = zip(catalog.offsets, catalog.lengths, strict=True)
    entries = ((offset, catalog.frame(offset, length)) for offset, length in pairs)
    rows = [
        entry_row(entry, offset)
        for offset, entry in entries
        if not only_valid or state_of(entry) == VALID
    ]
    return {
        "catalog": {
            "path": catalog.path,
            "version": semantic_version_text(catalog.version),
            "capacity": catalog.capacity,
            "next_recording_id": catalog.next_recording_id,
            "valid": catalog.valid_count,
        },
        "mark": _mark_row(RawMark.open(folder), terminal),
        "recordings": rows,
    }


def _mark_row(mark: RawMark, terminal: Terminal) -> dict[str, Any]:
    from aerolog.archive.format.mark_file import ArchiveMarkFile
    from aerolog.tools.reference.tool import row_of

    row = row_of(ArchiveMarkFile(mark.mapped, terminal.clock).header)
    row["version"] = semantic_version_text(mark.version)
    return {"path": mark.path, "active": mark.is_active(terminal.clock), **row}


def entry_row(entry: bytes, offset: int) -> dict[str, Any]:
    """An entry's fields by name; positions and times that are not there yet are None.

    Args:
        entry: the bytes of the entry, its header included.
        offset: where it stands in the catalog.

    Raises:
        FileFormatError: its descriptor is damaged.
    """
    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.tools.archive_files.catalog_editor import state_name as state_word

    state, checksum = header_of(entry)
    recording = RecordingDescriptor.decode(entry[ENTRY_HEADER_LENGTH:])
    active = recording.is_active
    return {
        "recording_id": recording.recording_id,
        "state": state_word(state).lower(),
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
        "checksum": checksum,
        "offset": offset,
    }
