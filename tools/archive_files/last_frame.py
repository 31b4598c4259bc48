"""Where a recording ends by the reference's rule, which its verification applies to each of them.

The last segment's frames are stepped over by their lengths. A last frame that spans pages counts as
written when its checksum fits, or when each page of it that it does not begin holds something other
than zeros (spec archive-files 6). Pages are counted from where the reference's read buffer begins.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aerolog.archive.format.segment_walk import BODY_LENGTH_MAX
from aerolog.transport.protocol.fixed_layout import align, offsets
from aerolog.transport.protocol.frame_header import FRAME_HEADER
from aerolog.transport.protocol.frames import DATA_HEADER_LENGTH

if TYPE_CHECKING:
    from aerolog.archive.format.checksum import Checksum
    from aerolog.archive.format.segment_walk import SegmentWalk
    from aerolog.transport.memory.data_file import DataFile

PAGE_LENGTH: Final = 4096
#: What the reference reads at a time, and how far it looks into a frame.
CHUNK_LENGTH: Final = BODY_LENGTH_MAX
_SESSION_ID: Final = offsets(FRAME_HEADER)["session_id"]
_I32 = struct.Struct("<i")


@dataclass(frozen=True, slots=True)
class LastFrame:
    """Where the frames of a segment end, offsets in the file.

    Attributes:
        end: the offset behind the last frame, which may be behind the file's end.
        length: the length of the last frame, aligned; 0 when there is none.
        chunk: the offset of the read in which the last frame begins.
        limit: the end of the file, or of what a recording may have of it.
    """

    end: int
    offset: int
    length: int
    chunk: int
    limit: int

    @classmethod
    def of(cls, walk: SegmentWalk, limit: int) -> LastFrame:
        """What a walk has found."""
        return cls(walk.offset, walk.last_offset, walk.last_length, walk.chunk_offset, limit)


def is_verified(file: DataFile, last: LastFrame, checksum: Checksum | None) -> bool:
    """Whether the last frame was written whole, as far as the reference can tell."""
    if last.length == 0:
        return True
    if last.offset // PAGE_LENGTH == (last.offset + last.length - 1) // PAGE_LENGTH:
        return True
    chunk_end = last.chunk + min(CHUNK_LENGTH, last.limit - last.chunk)
    if chunk_end <= last.end < last.limit:
        return True  # its buffer holds what comes behind by then, and it looks at nothing
    seen = min(last.length, last.chunk + CHUNK_LENGTH - last.offset)
    frame = file.read_at(min(seen, last.limit - last.offset), last.offset).ljust(seen, b"\0")
    if checksum is not None and seen == last.length and _matches(checksum, frame):
        return True
    return _every_page_written(frame, last.length, last.offset - last.chunk)


def _matches(checksum: Checksum, frame: bytes) -> bool:
    stored: int = _I32.unpack_from(frame, _SESSION_ID)[0]
    return checksum.compute(memoryview(frame)[DATA_HEADER_LENGTH:]) == stored


def _every_page_written(frame: bytes, length: int, begin: int) -> bool:
    """Whether each page behind the frame's first one holds something."""
    boundary = align(begin + 1, PAGE_LENGTH)
    while boundary < begin + length:
        at = boundary - begin
        if not any(frame[at : at + PAGE_LENGTH]):
            return False
        boundary += PAGE_LENGTH
    return True
