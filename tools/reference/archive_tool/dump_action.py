"""``dump``: descriptors and frames of all recordings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from aerolog.archive.format.layout import MAX_I64
from aerolog.archive.format.segment import recording_id_of
from aerolog.archive.protocol.enums import NULL_POSITION
from aerolog.tools.archive_files.checked_files import explained, open_catalog
from aerolog.tools.archive_files.java_error import ILLEGAL_ARGUMENT, JavaError, parse_long
from aerolog.tools.archive_files.message_text import (
    descriptor_strings,
    descriptor_text,
    entry_header_text,
    state_of,
)
from aerolog.tools.archive_files.raw_catalog import VALID
from aerolog.tools.archive_files.raw_frames import BLOCK_NAMES, FrameReader, RawFrame, block_fields
from aerolog.tools.command_line.exit_codes import EXIT_FAILED
from aerolog.tools.reference.archive_tool.describe_action import open_with_head
from aerolog.tools.reference.archive_tool.dump_views import JsonDump, TableDump
from aerolog.tools.terminal.hexdump import hex_box
from aerolog.transport.errors import FileFormatError
from aerolog.transport.protocol.frames import (
    DATA_HEADER_LENGTH,
    FLAG_BEGIN,
    FLAG_END,
    FRAME_DATA,
    FRAME_PAD,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from aerolog.archive.format.descriptor import CatalogEntry
    from aerolog.tools.reference.tool_terminal import Terminal

_WHOLE: Final = FLAG_BEGIN | FLAG_END


def classic_dump(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """Frames of each recording, asking after so many of them whether to go on."""
    limit = parse_long(arguments[0]) if arguments else MAX_I64
    if limit <= 0:
        raise JavaError(ILLEGAL_ARGUMENT, f"Invalid fragmentCountLimit={limit}")
    catalog = open_with_head(folder, terminal)
    terminal.line(f"\nDumping up to {limit} fragments per recording")
    for offset, length in zip(catalog.offsets, catalog.lengths, strict=True):
        _classic_recording(folder, catalog.frame(offset, length), limit, terminal)
    return 0


def _classic_recording(folder: str, entry: bytes, limit: int, terminal: Terminal) -> None:
    fields, state = block_fields(entry), state_of(entry)
    recording_id, start, stop = (
        fields[name] for name in ("recording_id", "start_position", "stop_position")
    )
    stream_length = NULL_POSITION if stop == NULL_POSITION else stop - start
    terminal.line(f"\n\nRecording {recording_id}")
    terminal.line(f"  channel: {descriptor_strings(entry)[0]}")
    terminal.line(f"  streamId: {fields['stream_id']}")
    terminal.line(f"  stream length: {stream_length}")
    terminal.line(entry_header_text(entry))
    terminal.line(descriptor_text(entry))
    if stream_length == 0:
        terminal.line("Recording is empty")
        return
    if state != VALID and not _has_segments(folder, recording_id):
        # The reference ends here with an exception, and dumps none of the recordings behind it.
        terminal.line("No segment files")
        return
    reader = FrameReader(folder, fields)
    count = 0
    while not reader.is_done:
        terminal.write(f"\nFrame at position [{reader.position}] ")
        frame = reader.next()
        if frame is None:
            return
        _classic_frame(frame, terminal)
        count += 1
        if count == limit:
            if stop != NULL_POSITION:
                left = stream_length - reader.position
                terminal.line(
                    f"{left} bytes of (from {stream_length}) remaining in recording id"
                    f" {recording_id}"
                )
            if not terminal.ask(f"Specified frame limit {limit} reached. Continue? (y/n)"):
                return
            count = 0


def _has_segments(folder: str, recording_id: int) -> bool:
    return any(recording_id_of(path.name) == recording_id for path in Path(folder).iterdir())


def _classic_frame(frame: RawFrame, terminal: Terminal) -> None:
    terminal.line(
        f"data at offset [{frame.offset + DATA_HEADER_LENGTH}] with length ="
        f" {frame.length - DATA_HEADER_LENGTH}"
    )
    if frame.type == FRAME_PAD:
        terminal.line("PADDING FRAME")
        return
    if frame.type != FRAME_DATA:
        terminal.line(f"Unexpected frame type {frame.type}")
        return
    if frame.flags & _WHOLE != _WHOLE:
        part = {FLAG_BEGIN: "BEGIN_FRAGMENT", FLAG_END: "END_FRAGMENT"}
        terminal.line(f"Fragmented frame. {part.get(frame.flags & _WHOLE, '')}")
    terminal.write(hex_box(frame.payload) + "\n")


def dump(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """Frames of each recording, so many of each at most."""
    limit = _limit(arguments)
    shown: JsonDump | TableDump = JsonDump() if terminal.as_json else TableDump(terminal)
    damaged = False
    with open_catalog(folder) as catalog, explained(folder), shown:
        for entry in catalog.entries():
            shown.begin(entry)
            try:
                for frame in _frames(folder, entry, limit):
                    shown.frame(frame)
            except JavaError as error:
                damaged = True
                shown.problem(str(error.message))
            except FileFormatError as error:
                damaged = True
                shown.problem(str(error))
            shown.end()
    return EXIT_FAILED if damaged else 0


def _limit(arguments: Sequence[str]) -> int:
    if not arguments:
        return MAX_I64
    text = arguments[0].lstrip("0")
    if not text.isdecimal():
        import typer

        raise typer.BadParameter(f"how many frames of each: a number above 0, not {arguments[0]!r}")
    return int(text) if len(text) < len(str(MAX_I64)) else MAX_I64


def _frames(folder: str, entry: CatalogEntry, limit: int) -> Iterator[RawFrame]:
    recording = entry.descriptor
    if recording.stop_position == recording.start_position:
        return
    if not entry.is_valid and not _has_segments(folder, recording.recording_id):
        return
    reader = FrameReader(folder, {name: getattr(recording, name) for name in BLOCK_NAMES})
    for _ in range(limit):
        frame = reader.next()
        if frame is None:
            return
        yield frame
