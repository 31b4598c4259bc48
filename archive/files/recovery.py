"""Where a recording ends that nobody stopped (spec archive-files 6).

Only the last segment is looked at, and of its frames only their lengths; then the last frame is
judged. Writes reach the disk by pages, so a frame that spans pages may be there in part. The
reference refuses to start when it cannot tell. Here a padding frame is accepted (its body is zeros
by design), and a data frame that cannot be verified ends the recording before it, its bytes kept.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from aerolog.archive.files.layout import (
    FRAME_ALIGNMENT,
    FRAME_HEADER,
    FRAME_HEADER_LENGTH,
    FRAME_TYPE_PAD,
    align,
    offsets,
)
from aerolog.archive.files.segment import parse_segment_name, segment_file_name
from aerolog.transport.errors import FileFormatError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerolog.archive.files.checksum import Checksum
    from aerolog.archive.files.descriptor import RecordingDescriptor
    from aerolog.transport.memory.data_file import DataFile
    from aerolog.transport.memory.filesystem import FileSystem

IO_LENGTH = 1024 * 1024
PAGE_LENGTH = 4096
_WORD_LENGTH = 8
_OFFSET = offsets(FRAME_HEADER)
_I32 = struct.Struct("<i")
_U16 = struct.Struct("<H")


@dataclass(frozen=True, slots=True)
class UnverifiedFrame:
    """A last data frame that may not have been written whole; its bytes stay in the file."""

    file: str
    offset: int
    length: int

    def __str__(self) -> str:
        return (
            f"potentially incomplete last fragment of {self.length} bytes at offset {self.offset}"
            f" straddling page boundary in file: {self.file}; the recording ends before it"
        )


@dataclass(frozen=True, slots=True)
class StopPosition:
    """A recovered stop position, and the frame behind it that was left out, if any."""

    position: int
    unverified: UnverifiedFrame | None = None


@dataclass(slots=True)
class _Walk:
    """Where a walk over a segment's frames has come to. Offsets are those in the file."""

    offset: int
    last_offset: int
    last_length: int = 0
    chunk_offset: int = 0


def recover_stop_position(
    files: FileSystem,
    archive_dir: str,
    descriptor: RecordingDescriptor,
    segment_names: Sequence[str],
    *,
    checksum: Checksum | None = None,
    io_length: int = IO_LENGTH,
) -> StopPosition:
    """Find where the data of an active recording ends.

    Reads only; nothing is changed, in the file or in the catalog.

    Args:
        files: the file system door.
        archive_dir: folder of the segments.
        descriptor: of the recording, checked.
        segment_names: the recording's segment files in that folder, in any order.
        checksum: of the recording's frames, when they have one.
        io_length: bytes read at a time; the page rule depends on it (spec 6.6).

    Raises:
        FileFormatError: a segment's name is impossible.
    """
    start, segment_length = descriptor.start_position, descriptor.segment_file_length
    if not segment_names:
        return StopPosition(start)
    base = max(parse_segment_name(name).base_position for name in segment_names)
    name = segment_file_name(descriptor.recording_id, base)
    path = str(Path(archive_dir) / name)
    first_base = descriptor.segment_base(start)
    if (base - first_base) % segment_length or base > descriptor.term_buffer_length << 31:
        raise FileFormatError(
            f"not a segment of recording {descriptor.recording_id}, whose first one is at"
            f" {first_base} and whose segments are {segment_length} long: {path}"
        )
    scan_offset = start - first_base if base == first_base else 0
    with files.open_data_file(path) as file:
        limit = min(segment_length, file.file_size())
        walk = _walk_frames(file, scan_offset, limit, io_length)
        if walk.last_length and not _is_whole(file, walk, limit, descriptor, checksum):
            unverified = UnverifiedFrame(path, walk.last_offset, walk.last_length)
            return StopPosition(max(base + walk.last_offset, start), unverified)
    return StopPosition(max(base + walk.offset, start))


def _walk_frames(file: DataFile, scan_offset: int, limit: int, io_length: int) -> _Walk:
    """Step from frame to frame by their lengths, reading as the reference reads."""
    walk = _Walk(scan_offset, scan_offset)
    while walk.offset < limit:
        walk.chunk_offset = walk.offset
        chunk = file.read_at(min(io_length, limit - walk.offset), walk.offset)
        at = 0
        while at + FRAME_HEADER_LENGTH <= len(chunk):
            length = _I32.unpack_from(chunk, at)[0]
            if length <= 0:
                return walk
            walk.last_offset = walk.chunk_offset + at
            walk.last_length = align(length, FRAME_ALIGNMENT)
            at += walk.last_length
            walk.offset = walk.chunk_offset + at
        if walk.offset == walk.chunk_offset:
            return walk  # not even a header is left in the file
    return walk


def _is_whole(
    file: DataFile,
    walk: _Walk,
    limit: int,
    descriptor: RecordingDescriptor,
    checksum: Checksum | None,
) -> bool:
    """Whether the last frame was written whole, as far as that can be told (spec 6.5 to 6.8)."""
    begin, end = walk.last_offset, walk.last_offset + walk.last_length
    header = file.read_at(FRAME_HEADER_LENGTH, begin)
    term_end = (begin & -descriptor.term_buffer_length) + descriptor.term_buffer_length
    if end > term_end:
        return False
    if _U16.unpack_from(header, _OFFSET["type"])[0] == FRAME_TYPE_PAD:
        return True
    if end > limit:
        return False
    if begin // PAGE_LENGTH == (end - 1) // PAGE_LENGTH:
        return True
    frame = file.read_at(walk.last_length, begin)
    if checksum is not None:
        stored = _I32.unpack_from(header, _OFFSET["session_id"])[0]
        if checksum.compute(memoryview(frame)[FRAME_HEADER_LENGTH:]) == stored:
            return True
    # The reference counts pages from the start of its read buffer. Where that would be behind the
    # frame (spec 18.10) they are counted from the start of the file.
    origin = walk.chunk_offset if walk.chunk_offset <= begin else 0
    return _every_page_written(frame, begin - origin)


def _every_page_written(frame: bytes, begin: int) -> bool:
    """Whether each page after the frame's first one holds a word other than zero."""
    boundary = align(begin + 1, PAGE_LENGTH)
    while boundary < begin + len(frame):
        page = frame[boundary - begin : boundary - begin + PAGE_LENGTH]
        if not any(page):
            return False
        boundary += PAGE_LENGTH
    return True
