"""``dump``: descriptors and frames of all recordings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from aerolog.archive.format.layout import MAX_I64
from aerolog.archive.format.segment import recording_id_of
from aerolog.archive.protocol.enums import NULL_POSITION
from aerolog.tools.archive_files.message_text import (
    descriptor_strings,
    descriptor_text,
    entry_header_text,
    state_of,
)
from aerolog.tools.archive_files.raw_catalog import VALID, RawCatalog
from aerolog.tools.archive_files.raw_frames import FrameReader, RawFrame, block_fields
from aerolog.tools.command_line.exit_codes import EXIT_FAILED
from aerolog.tools.command_line.java_error import ILLEGAL_ARGUMENT, JavaError, parse_long
from aerolog.tools.reference.archive_tool.describe_action import open_with_head
from aerolog.tools.reference.archive_tool.json_dump import JsonDump
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

    from aerolog.tools.reference.tool_terminal import Terminal

_WHOLE: Final = FLAG_BEGIN | FLAG_END


def dump(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """Frames of each recording, asking after so many of them whether to go on; JSON has no more."""
    limit = parse_long(arguments[0]) if arguments else MAX_I64
    if limit <= 0:
        raise JavaError(ILLEGAL_ARGUMENT, f"Invalid fragmentCountLimit={limit}")
    if terminal.as_json:
        return _dump_as_json(RawCatalog.open(folder), folder, limit, terminal)
    catalog = open_with_head(folder, terminal)
    terminal.line(f"\nDumping up to {limit} fragments per recording")
    for offset, length in zip(catalog.offsets, catalog.lengths, strict=True):
        _dump_recording(folder, catalog.frame(offset, length), limit, terminal)
    return 0


def _dump_recording(folder: str, entry: bytes, limit: int, terminal: Terminal) -> None:
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
        _dump_frame(frame, terminal)
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


def _dump_frame(frame: RawFrame, terminal: Terminal) -> None:
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


def _dump_as_json(catalog: RawCatalog, folder: str, limit: int, terminal: Terminal) -> int:
    """All recordings, with a limit of frames for each; damage in one does not end the others."""
    damaged = False
    with JsonDump(terminal) as shown:
        for offset, length in zip(catalog.offsets, catalog.lengths, strict=True):
            entry = catalog.frame(offset, length)
            shown.begin(entry, offset)
            problem: str | None = None
            try:
                for frame in _frames(folder, entry, limit):
                    shown.frame(frame)
            except JavaError as error:
                problem = str(error.message)
            except FileFormatError as error:
                problem = str(error)
            shown.end(problem)
            damaged = damaged or problem is not None
    return EXIT_FAILED if damaged else 0


def _frames(folder: str, entry: bytes, limit: int) -> Iterator[RawFrame]:
    fields = block_fields(entry)
    if fields["stop_position"] == fields["start_position"]:
        return
    if state_of(entry) != VALID and not _has_segments(folder, fields["recording_id"]):
        return
    reader = FrameReader(folder, fields)
    for _ in range(limit):
        frame = reader.next()
        if frame is None:
            return
        yield frame
