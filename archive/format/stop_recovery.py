"""Finds the end of a recording that has no stop position (spec archive-files 6).

The walk reads only the last segment, and only the lengths of its frames; then it judges the last
frame. Writes reach the disk page by page, so a frame that spans pages may be there in part. The
reference refuses to start when it cannot tell. Here a padding frame is accepted, because its body
is zeros by design, and a data frame that cannot be verified ends the recording before it. Its
bytes are kept.

Segments are sparse files in which unwritten parts are holes, and most file systems report holes. A
data frame with a hole was not written completely, wherever it stands, because after a loss of power
pages may be missing anywhere. A data frame without a hole was, even if it holds only zeros.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from aerolog.archive.format.frame_walk import WALK_DATA_END, WALK_PAST_HOLE, walk_chunk
from aerolog.archive.format.layout import MAX_I64
from aerolog.archive.format.segment import parse_segment_name, segment_file_name
from aerolog.transport.errors import FileFormatError
from aerolog.transport.protocol.fixed_layout import align, offsets
from aerolog.transport.protocol.frame_header import FRAME_HEADER
from aerolog.transport.protocol.frames import DATA_HEADER_LENGTH, FRAME_ALIGNMENT, FRAME_PAD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerolog.archive.format.checksum import Checksum
    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.transport.memory.data_file import DataFile
    from aerolog.transport.memory.filesystem import FileSystem

IO_LENGTH = 1024 * 1024
PAGE_LENGTH = 4096
_OFFSET = offsets(FRAME_HEADER)
_I32 = struct.Struct("<i")
_U16 = struct.Struct("<H")


@dataclass(frozen=True, slots=True)
class UnverifiedFrame:
    """A data frame that may not have been written completely.

    Attributes:
        file: path of the segment.
        offset: where the frame starts in the segment, bytes.
        length: aligned length of the frame, bytes.
        has_hole: whether a part of the frame certainly was not written.
        is_last: whether no further frame follows it.
    """

    file: str
    offset: int
    length: int
    has_hole: bool = False
    is_last: bool = True

    def __str__(self) -> str:
        return (
            f"potentially incomplete last fragment of {self.length} bytes at offset {self.offset}"
            f" straddling page boundary in file: {self.file}; the recording ends before it"
            + (", and what there was of it is gone" if self.has_hole and self.is_last else "")
        )


@dataclass(frozen=True, slots=True)
class StopPosition:
    """A recovered stop position, and the frame after it that was left out, if any."""

    position: int
    unverified: UnverifiedFrame | None = None


@dataclass(slots=True)
class _Walk:
    """The progress of a walk over a segment's frames; offsets count from the file's start.

    Attributes:
        offset: end of the last frame.
        last_offset: start of the last frame.
        last_length: aligned length of the last frame, 0 before the first one.
        chunk_offset: start of the read in which the last frame begins.
        hole: start of the first hole at or after the frames walked so far.
        is_cut: whether the last frame is a data frame with a hole in it.
    """

    offset: int
    last_offset: int
    last_length: int = 0
    chunk_offset: int = 0
    hole: int = MAX_I64
    is_cut: bool = False


def recover_stop_position(
    files: FileSystem,
    archive_dir: str,
    descriptor: RecordingDescriptor,
    segment_names: Sequence[str],
    *,
    checksum: Checksum | None = None,
    io_length: int = IO_LENGTH,
) -> StopPosition:
    """Find where the data of an active recording ends; neither segments nor catalog change.

    Args:
        files: the file system to read from.
        archive_dir: the folder of the segments.
        descriptor: the recording's descriptor, which ``check`` accepted.
        segment_names: the recording's segment files in that folder, in any order.
        checksum: computes the checksum of frames; None when they carry none.
        io_length: bytes per read; the page rule depends on it (spec archive-files 6.6).

    Raises:
        FileFormatError: a file name is not that of one of the recording's segments.
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
        tells_holes = file.first_hole() < file.file_size()
        walk = _Walk(scan_offset, scan_offset)
        if tells_holes:
            walk.hole = file.first_hole(scan_offset)
        _walk_frames(file, walk, limit, io_length, checksum)
        if walk.last_length and not _is_whole(file, walk, limit, descriptor, checksum):
            behind = file.read_at(_I32.size, walk.offset) if walk.offset < limit else b""
            unverified = UnverifiedFrame(
                path,
                walk.last_offset,
                walk.last_length,
                has_hole=walk.is_cut
                and walk.last_length <= align(descriptor.mtu_length, FRAME_ALIGNMENT),
                is_last=not any(behind),
            )
            return StopPosition(max(base + walk.last_offset, start), unverified)
    return StopPosition(max(base + walk.offset, start))


def make_whole(files: FileSystem, path: str, length: int, keep: int | None = None) -> bool:
    """Give a segment its full length and, with ``keep``, fill it with zeros after that many bytes.

    Returns:
        Whether the file was changed.
    """
    size = files.size(path)
    if size == length and keep is None:
        return False
    with files.open_data_file(path, writable=True) as file:
        if keep is not None:
            file.clear_behind(keep)
        if size != length:
            file.set_length(length)
    return True


def _walk_frames(
    file: DataFile, walk: _Walk, limit: int, io_length: int, checksum: Checksum | None
) -> None:
    """Step from frame to frame by their lengths, in reads of the same size as the reference's."""
    while walk.offset < limit:
        walk.chunk_offset = walk.offset
        chunk = file.read_at(min(io_length, limit - walk.offset), walk.offset)
        at, why = 0, WALK_PAST_HOLE
        while why == WALK_PAST_HOLE:
            at, last, length, why = walk_chunk(chunk, at, walk.hole - walk.chunk_offset)
            walk.offset = walk.chunk_offset + at
            if length:
                walk.last_offset, walk.last_length = walk.chunk_offset + last, length
            if why == WALK_PAST_HOLE and _meets_hole(file, walk, chunk, limit, checksum):
                return
        if why == WALK_DATA_END or walk.offset == walk.chunk_offset:
            return  # the data ends, or the file has no room for a further header


def _meets_hole(
    file: DataFile, walk: _Walk, chunk: bytes, limit: int, checksum: Checksum | None
) -> bool:
    """Return whether the last frame is a data frame with a hole; padding frames may have holes."""
    kind_at = walk.last_offset - walk.chunk_offset + _OFFSET["type"]
    is_data = _U16.unpack_from(chunk, kind_at)[0] != FRAME_PAD
    if is_data and walk.offset <= limit:
        frame = file.read_at(walk.last_length, walk.last_offset)
        walk.is_cut = not _matches(checksum, frame)  # in a copied file zeros may be a hole
    if walk.is_cut:
        return True
    walk.hole = file.first_hole(walk.offset)
    return False


def _is_whole(
    file: DataFile,
    walk: _Walk,
    limit: int,
    descriptor: RecordingDescriptor,
    checksum: Checksum | None,
) -> bool:
    """Return whether the last frame was written completely, as far as that can be known.

    Spec archive-files 6.5 to 6.8.
    """
    begin, end = walk.last_offset, walk.last_offset + walk.last_length
    header = file.read_at(DATA_HEADER_LENGTH, begin)
    term_end = (begin & -descriptor.term_buffer_length) + descriptor.term_buffer_length
    if end > term_end:
        return False
    if _U16.unpack_from(header, _OFFSET["type"])[0] == FRAME_PAD:
        return True
    if end > limit:
        return False
    if begin // PAGE_LENGTH == (end - 1) // PAGE_LENGTH:
        return True
    frame = file.read_at(walk.last_length, begin)
    if _matches(checksum, frame):
        return True
    if walk.is_cut:
        return False
    if walk.hole != MAX_I64 and file.block_length() <= PAGE_LENGTH:
        return True  # the file system reports for each page whether it was written
    # The reference counts pages from the start of its read buffer. When that lies after the start
    # of the frame (spec archive-files 18.10), pages are counted from the start of the file.
    origin = walk.chunk_offset if walk.chunk_offset <= begin else 0
    return _every_page_written(frame, begin - origin)


def _matches(checksum: Checksum | None, frame: bytes) -> bool:
    """Return whether a data frame carries the checksum of its body."""
    if checksum is None:
        return False
    stored: int = _I32.unpack_from(frame, _OFFSET["session_id"])[0]
    return checksum.compute(memoryview(frame)[DATA_HEADER_LENGTH:]) == stored


def _every_page_written(frame: bytes, begin: int) -> bool:
    """Return whether every page after the frame's first one holds a byte other than zero."""
    boundary = align(begin + 1, PAGE_LENGTH)
    while boundary < begin + len(frame):
        page = frame[boundary - begin : boundary - begin + PAGE_LENGTH]
        if not any(page):
            return False
        boundary += PAGE_LENGTH
    return True
