"""A recording's frames as the reference's tool reads them: one by one, from segment to segment.

Rules: spec archive-tool 5. Lengths are checked against the segment before they are used.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from aerolog.archive.format.layout import (
    DESCRIPTOR,
    DESCRIPTOR_BLOCK_LENGTH,
    ENTRY_HEADER_LENGTH,
    MAX_I64,
)
from aerolog.archive.format.segment import segment_file_name
from aerolog.archive.protocol.enums import NULL_POSITION
from aerolog.tools.archive_files.raw_catalog import file_in, size_of_file
from aerolog.tools.archive_files.segment_names import check_term_length
from aerolog.tools.command_line.java_error import (
    ILLEGAL_ARGUMENT,
    IO_ERROR,
    OUT_OF_BOUNDS,
    JavaError,
    out_of_bounds,
)
from aerolog.transport.memory.mapped_file import MappedFile
from aerolog.transport.protocol.fixed_layout import align, packer
from aerolog.transport.protocol.frame_header import FRAME_HEADER_STRUCT
from aerolog.transport.protocol.frames import DATA_HEADER_LENGTH, FRAME_ALIGNMENT

if TYPE_CHECKING:
    from typing import Any

_BLOCK = packer(DESCRIPTOR, DESCRIPTOR_BLOCK_LENGTH)
#: Numbers of a descriptor.
BLOCK_NAMES: Final = tuple(field.name for field in DESCRIPTOR)


class RawFrame(NamedTuple):
    """A frame as it lies in its segment.

    Attributes:
        position: the position of its header in the stream.
        offset: the offset of its header in its term.
        term: the bytes of that term, as far as its segment has them.
        segment: the segment's file, which says whether it still has them.
        length: header included, without alignment fill; whatever stands there.
    """

    position: int
    offset: int
    term: memoryview
    segment: MappedFile
    length: int
    version: int
    flags: int
    type: int
    term_offset: int
    session_id: int
    stream_id: int
    term_id: int
    reserved_value: int

    @property
    def payload(self) -> bytes:
        """What follows the header.

        Raises:
            FileFormatError: the segment's file became shorter.
            JavaError: it does not fit in the term.
        """
        start, size = self.offset + DATA_HEADER_LENGTH, self.length - DATA_HEADER_LENGTH
        if size < 0 or start + size > len(self.term):
            raise JavaError(
                OUT_OF_BOUNDS,
                f"expected: 0 <= offset({start}) <= offset + length({size}) <="
                f" buffer.capacity({len(self.term)})",
            )
        payload = bytes(self.term[start : start + size])
        self.segment.check()
        return payload


def block_fields(entry: bytes | memoryview) -> dict[str, Any]:
    """The numbers of the descriptor in an entry, by name."""
    if len(entry) < ENTRY_HEADER_LENGTH + DESCRIPTOR_BLOCK_LENGTH:
        raise out_of_bounds(ENTRY_HEADER_LENGTH, DESCRIPTOR_BLOCK_LENGTH, len(entry))
    return dict(zip(BLOCK_NAMES, _BLOCK.unpack_from(entry, ENTRY_HEADER_LENGTH), strict=True))


class FrameReader:
    """Walks over the frames of a recording from its start to its stop position.

    Attributes:
        position: the position of the next frame.
        limit: stop position, the largest there is without one.
    """

    def __init__(self, folder: str, fields: dict[str, Any]) -> None:
        self._folder = folder
        self._id: int = fields["recording_id"]
        self._segment_length: int = fields["segment_file_length"]
        self._term_length: int = fields["term_buffer_length"]
        check_term_length(self._term_length)
        self.position: int = fields["start_position"]
        stop: int = fields["stop_position"]
        self.limit = MAX_I64 if stop == NULL_POSITION else stop
        if self.position < 0:
            raise JavaError(ILLEGAL_ARGUMENT, f"invalid position: {self.position}")
        if self.limit <= self.position:
            raise JavaError(ILLEGAL_ARGUMENT, "length must be positive")
        self._base = self.position - (self.position & (self._term_length - 1))
        self._segment = self._open(self._base)

    @property
    def is_done(self) -> bool:
        """Whether the stop position is reached."""
        return self.position >= self.limit

    def next(self) -> RawFrame | None:
        """The next frame, None where there is none (yet).

        Raises:
            FileFormatError: the segment's file became shorter.
            JavaError: the next segment is missing or cut off.
        """
        if self.is_done:
            return None
        at = self.position - self._base
        if at >= self._segment_length:
            self._base += self._segment_length
            self._segment = self._open(self._base)
            at = 0
        term_offset = at & (self._term_length - 1)
        segment = memoryview(self._segment)[: self._segment_length]
        term = segment[at - term_offset : at - term_offset + self._term_length]
        length, *rest = FRAME_HEADER_STRUCT.unpack_from(term, term_offset)
        self._segment.check()
        if length <= 0:
            return None
        frame = RawFrame(self.position, term_offset, term, self._segment, length, *rest)
        self.position += align(length, FRAME_ALIGNMENT)
        return frame

    def _open(self, base: int) -> MappedFile:
        name = segment_file_name(self._id, base)
        path = file_in(self._folder, name)
        if not Path(path).exists():
            raise JavaError(ILLEGAL_ARGUMENT, f"failed to open recording segment file {name}")
        if size_of_file(path) < max(self._segment_length, 1):
            raise JavaError(
                IO_ERROR, "Channel not open for writing - cannot extend file to required size"
            )
        if self._segment_length < self._term_length:
            raise out_of_bounds(0, self._term_length, self._segment_length)
        return MappedFile.open(path, writable=False, min_length=self._segment_length)
