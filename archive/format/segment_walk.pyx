"""A walk over the frames of a segment that checks their contents (spec archive-tool 8).

There are three rules. ``WALK_CHECKS`` is for verification: each header must match its place, each
body must be complete, and its checksum, where one is kept, must match. ``WALK_LENGTHS`` reads only
lengths, to find the end of a recording. ``WALK_STAMPS`` computes checksums and stores them. Every
walk stops at the first length of zero.

Bytes are read in large pieces into memory that stays in the processor's cache. The walk runs
without Python, so that several threads can walk one segment each.
"""

from libc.stdint cimport INT32_MAX, INT32_MIN, int32_t, int64_t, uint8_t

from aerolog.archive.format.checksum cimport CHECKSUM_NONE, Checksum, crc_of
from aerolog.archive.format.segment_window cimport SegmentWindow
from aerolog.transport.concurrent.atomic cimport get_i32, get_u16
from aerolog.transport.memory.data_file cimport DataFile
from aerolog.transport.protocol.frames cimport (
    DATA_HEADER_LENGTH,
    FRAME_ALIGNMENT,
    FRAME_DATA,
    SESSION_ID_OFFSET,
    STREAM_ID_OFFSET,
    TERM_ID_OFFSET,
    TERM_OFFSET_OFFSET,
    TYPE_OFFSET,
    align_frame,
)

cdef enum:
    BODY_MAX = 1024 * 1024

cdef enum:
    LENGTHS = 0
    CHECKS = 1
    STAMPS = 2

cdef enum:
    END = 0
    NO_HEADER = 1
    MISMATCH = 2
    NEGATIVE = 3
    TOO_LONG = 4
    NO_BODY = 5
    BAD_CHECKSUM = 6
    OVERFLOW = 7
    IO_ERROR = 8
    BACKWARD = 9
    GOES_ON = -1

WALK_LENGTHS = LENGTHS
WALK_CHECKS = CHECKS
WALK_STAMPS = STAMPS
WALK_END = END
WALK_NO_HEADER = NO_HEADER
WALK_MISMATCH = MISMATCH
WALK_NEGATIVE = NEGATIVE
WALK_TOO_LONG = TOO_LONG
WALK_NO_BODY = NO_BODY
WALK_CHECKSUM = BAD_CHECKSUM
WALK_OVERFLOW = OVERFLOW
WALK_IO_ERROR = IO_ERROR
WALK_BACKWARD = BACKWARD
BODY_LENGTH_MAX = BODY_MAX


cdef class SegmentWalk:
    """Steps over the frames of segments of one recording, natively and without the GIL.

    Attributes:
        status: how the last walk ended, one of the ``WALK_`` constants.
        offset: where it ended in the file: after the last frame, or at the frame that stopped it.
        last_offset: offset of the last frame stepped over.
        last_length: aligned length of that frame, 0 when there was none.
        chunk_offset: offset of the logical chunk in which that frame begins.
        frames: number of frames stepped over.
        found: the invalid length or checksum, or the number of an I/O error.
        expected: the checksum that the body has.
        term_offset: term offset in a header that does not match its place.
        term_id: term id in that header.
        stream_id: stream id in that header.
        expected_term_offset: the term offset that belongs there.
        expected_term_id: the term id that belongs there.
        expected_stream_id: the stream id that belongs there.

    Args:
        window: memory to read into, which nothing else uses at the same time.
        term_length: the recording's term length in bytes, a power of two.
        initial_term_id: term id at position 0 of the recording's stream.
        stream_id: stream id that all frames must have.
        checksum: the checksum that frames carry, None to check none.
        rule: ``WALK_CHECKS``, ``WALK_LENGTHS`` or ``WALK_STAMPS``.
        chunk_length: length of the logical chunks by which the last frame is judged, bytes.
        body_length_max: most bytes after a frame's header, 1 MiB or less.
    """

    def __init__(
        self,
        SegmentWindow window not None,
        *,
        int64_t term_length,
        int32_t initial_term_id,
        int32_t stream_id,
        Checksum checksum=None,
        int rule=CHECKS,
        int64_t chunk_length=BODY_MAX,
        int64_t body_length_max=BODY_MAX,
    ):
        if term_length <= 0 or term_length & (term_length - 1) != 0:
            raise ValueError(f"a term length is a power of two, not {term_length}")
        if chunk_length < DATA_HEADER_LENGTH:
            raise ValueError(f"chunks of {chunk_length} bytes hold no frame")
        self._window = window
        if rule == STAMPS and checksum is None:
            raise ValueError("there is no checksum to stamp")
        self._rule = rule
        self._kind = CHECKSUM_NONE if checksum is None else checksum.kind
        self._term_length = term_length
        self._initial_term_id = initial_term_id
        self.expected_stream_id = stream_id
        self._chunk_length = chunk_length
        self._body_length_max = min(body_length_max, BODY_MAX)

    def walk(self, DataFile file not None, int64_t base_position, int64_t start, int64_t limit):
        """Walk from one offset of a file to the limit or the first length of zero.

        Args:
            file: an open segment.
            base_position: stream position at which the segment begins.
            start: offset of the first frame, bytes.
            limit: offset at which the walk ends, bytes.

        Returns:
            The new ``status``.

        Raises:
            ValueError: no segment can have these offsets.
        """
        if not 0 <= start <= INT32_MAX or limit > INT32_MAX or base_position < 0:
            raise ValueError(f"no segment has bytes from {start} to {limit} at {base_position}")
        self._window.open(file)
        self.last_offset = start
        self.last_length = 0
        self.chunk_offset = start
        self.frames = self.found = self.expected = 0
        with nogil:
            self.status = self._walk(file, base_position, start, limit)
        return self.status

    cdef int _need(self, int64_t at, int64_t wanted, int64_t limit) noexcept nogil:
        """Make the window hold bytes from an offset on; returns 0, or -errno."""
        if at >= self._window.begin and at + wanted <= self._window.begin + self._window.length:
            return 0
        return self._window.fill(at, wanted, max(limit, at + wanted))

    cdef int _walk(
        self, DataFile file, int64_t base, int64_t start, int64_t limit
    ) noexcept nogil:
        cdef int64_t at = start, chunk = start, left
        cdef int result
        cdef int32_t frame_length
        self.offset = start
        while at < limit or (self._rule == CHECKS and at == start):  # one header is always expected
            result = self._need(at, DATA_HEADER_LENGTH, limit)
            if result < 0:
                self.found = -result
                return IO_ERROR
            left = self._window.begin + self._window.length - at
            if left < DATA_HEADER_LENGTH and (self._rule != LENGTHS or left < 4):
                return END if self._rule == LENGTHS else NO_HEADER
            frame_length = get_i32(self._window.data + (at - self._window.begin))
            if frame_length == 0 or (frame_length < 0 and self._rule == LENGTHS):
                return END
            if self._rule != LENGTHS:
                result = self._check(file, base, at, limit)
                if result != GOES_ON:
                    return result
            if at - chunk >= min(self._chunk_length, limit - chunk):
                chunk = at
            self.last_offset = at
            self.last_length = align_frame(frame_length)
            self.chunk_offset = chunk
            self.frames += 1
            at += self.last_length
            if self._rule == LENGTHS and at - chunk > INT32_MAX:
                self.found = at - chunk - (<int64_t> 1 << 32)
                return OVERFLOW
            self.offset = at
        return END

    cdef int _check(
        self, DataFile file, int64_t base, int64_t at, int64_t limit
    ) noexcept nogil:
        """Check one frame whose header is in the window."""
        cdef const uint8_t* frame = self._window.data + (at - self._window.begin)
        cdef int64_t body = _body_length(get_i32(frame))
        cdef bint is_data = get_u16(frame + TYPE_OFFSET) == FRAME_DATA
        cdef int result
        cdef int32_t value
        if self._rule == CHECKS and not self._has_place(frame, base + at):
            return MISMATCH
        if self._rule == STAMPS and not is_data:
            return GOES_ON if 0 < get_i32(frame) <= INT32_MAX - (FRAME_ALIGNMENT - 1) else BACKWARD
        self.found = body
        if body < 0:
            return NEGATIVE
        if body > self._body_length_max:
            return TOO_LONG
        result = self._need(at, DATA_HEADER_LENGTH + body, limit)
        if result < 0:
            self.found = -result
            return IO_ERROR
        if self._window.begin + self._window.length < at + DATA_HEADER_LENGTH + body:
            return NO_BODY
        if self._kind == CHECKSUM_NONE or not is_data:
            return GOES_ON
        frame = self._window.data + (at - self._window.begin)
        value = crc_of(self._kind, frame + DATA_HEADER_LENGTH, body)
        if value == get_i32(frame + SESSION_ID_OFFSET):
            return GOES_ON
        if self._rule == STAMPS:
            return self._stamp(file, at, value)
        self.found = get_i32(frame + SESSION_ID_OFFSET)
        self.expected = value
        return BAD_CHECKSUM

    cdef bint _has_place(self, const uint8_t* frame, int64_t position) noexcept nogil:
        """Return whether a header's term offset, term id and stream id match its place."""
        self.term_offset = get_i32(frame + TERM_OFFSET_OFFSET)
        self.term_id = get_i32(frame + TERM_ID_OFFSET)
        self.stream_id = get_i32(frame + STREAM_ID_OFFSET)
        self.expected_term_offset = <int32_t> (position & (self._term_length - 1))
        self.expected_term_id = <int32_t> (
            <int64_t> self._initial_term_id + position // self._term_length
        )
        return (
            self.term_offset == self.expected_term_offset
            and self.term_id == self.expected_term_id
            and self.stream_id == self.expected_stream_id
        )

    cdef int _stamp(self, DataFile file, int64_t at, int32_t value) noexcept nogil:
        cdef int64_t written = file.pwrite(&value, sizeof(value), at + SESSION_ID_OFFSET)
        if written < 0:
            self.found = -written
            return IO_ERROR
        return GOES_ON


cdef int64_t _body_length(int32_t frame_length) noexcept nogil:
    """Return the aligned length of a frame's body, in 32-bit arithmetic as the reference's."""
    cdef int64_t body = <int64_t> frame_length - DATA_HEADER_LENGTH
    if body < INT32_MIN:
        body += <int64_t> 1 << 32
    body = align_frame(body)
    return body if body <= INT32_MAX else body - (<int64_t> 1 << 32)
