"""A check of every frame of a segment, a piece at a time (spec archive-files 8 and 10).

Like ``segment_walk`` it reads pieces into memory that stays in the processor's cache. It stops
after each piece, so that a caller can hash the same bytes while they are cached, wait, or end.
It asks for more than the walk of the tools does: types, ends of terms and of the segment, the
zeros of padding, and checksums. Nothing in a file says whether frames have checksums, or of which
kind, so a session id that is not the recording's is compared with both kinds.
"""

cimport cython
from cpython.memoryview cimport PyMemoryView_FromMemory
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t
from libc.string cimport memcmp

from aerolog.archive.format.checksum cimport (
    CHECKSUM_CRC32,
    CHECKSUM_CRC32C,
    CHECKSUM_NONE,
    Checksum,
    crc_of,
)
from aerolog.archive.format.segment_window cimport SegmentWindow
from aerolog.transport.concurrent.atomic cimport get_i32, get_u16
from aerolog.transport.memory.data_file cimport DataFile
from aerolog.transport.protocol.frames cimport (
    CURRENT_VERSION,
    DATA_HEADER_LENGTH,
    FRAME_ALIGNMENT,
    FRAME_BAD_LENGTH,
    FRAME_BAD_TERM_ID,
    FRAME_BAD_TERM_OFFSET,
    FRAME_BAD_TYPE,
    FRAME_DATA,
    FRAME_LENGTH_MAX,
    FRAME_PAD,
    FRAME_SOUND,
    SESSION_ID_OFFSET,
    STREAM_ID_OFFSET,
    TERM_ID_OFFSET,
    TERM_OFFSET_OFFSET,
    TYPE_OFFSET,
    VERSION_OFFSET,
    align_frame,
    check_header,
    frame_fault,
    frame_fits,
)

cdef extern from "Python.h":
    enum:
        PyBUF_READ

cdef enum:
    END = 0
    LENGTH = 1
    TYPE = 2
    VERSION = 3
    TERM_OFFSET = 4
    TERM_ID = 5
    STREAM_ID = 6
    PADDING = 8
    BAD_CHECKSUM = 9
    NO_FRAME = 10
    CUT_OFF = 11
    IO_ERROR = 12
    GOES_ON = -1

CHECK_END = END
CHECK_LENGTH = LENGTH
CHECK_TYPE = TYPE
CHECK_VERSION = VERSION
CHECK_TERM_OFFSET = TERM_OFFSET
CHECK_TERM_ID = TERM_ID
CHECK_STREAM_ID = STREAM_ID
CHECK_PADDING = PADDING
CHECK_CHECKSUM = BAD_CHECKSUM
CHECK_NO_FRAME = NO_FRAME
CHECK_CUT_OFF = CUT_OFF
CHECK_IO_ERROR = IO_ERROR
CHECK_GOES_ON = GOES_ON

# Length of a window: long enough that a read costs little more than its copy, short enough for
# the cache.
PIECE_LENGTH = 256 * 1024
PIECE_LENGTH_MIN = 128 * 1024


@cython.final
cdef class SegmentCheck:
    """Checks the frames of segments of one recording, a piece at a time, without the GIL.

    One object checks the segments of a recording in their order, since it remembers the checksum
    and the sessions that it has found.

    Args:
        term_length: bytes of a term, a power of two.
        initial_term_id: the recording's initial term id.
        stream_id: the recording's stream id.
        session_id: the id of the recording's last session.
        mtu_length: most bytes in a DATA frame.
        checksum: the checksum that all DATA frames have; None detects whether they have one.
        piece_length: most bytes in a piece, 128 KiB or more.

    Attributes:
        status: the status of the check so far, one of the CHECK_ constants.
        offset: offset in the file after the last frame or piece of padding that was checked.
        bad_offset: offset of the faulty frame.
        found: the value found there, or the number of an I/O error.
        expected: the value expected there.
        frames: number of frames checked.
        odd_sessions: frames of this segment with a session id that neither the recording nor the
            frame before or behind has: a session of one frame, or a damaged session id.
        odd_offset: offset of the first of them, -1 when there is none.
        odd_session_id: session id of the first of them.
    """

    def __init__(
        self,
        *,
        int64_t term_length,
        int32_t initial_term_id,
        int32_t stream_id,
        int32_t session_id,
        int32_t mtu_length=FRAME_LENGTH_MAX,
        Checksum checksum=None,
        int64_t piece_length=PIECE_LENGTH,
    ):
        if term_length < 1024 or term_length & (term_length - 1) or term_length > 1 << 30:
            raise ValueError(f"not a term length: {term_length}")
        # A window that holds the longest frame never grows.
        if piece_length < PIECE_LENGTH_MIN:
            raise ValueError(f"pieces are of {PIECE_LENGTH_MIN} bytes or more, not {piece_length}")
        self._window = SegmentWindow(piece_length)
        self._term_length = term_length
        self._initial_term_id = initial_term_id
        self._stream_id = stream_id
        self._session_id = session_id
        # An invalid mtu is not used as a limit.
        is_mtu = DATA_HEADER_LENGTH < mtu_length <= FRAME_LENGTH_MAX
        self._frame_length_max = mtu_length if is_mtu else FRAME_LENGTH_MAX
        self._other_session_id = session_id
        self._doubtful_offset = -1
        self._kind = CHECKSUM_NONE if checksum is None else checksum.kind
        self._is_strict = checksum is not None
        self.status = END

    def begin(
        self,
        DataFile file not None,
        base_position: int,
        start: int,
        limit: int,
        *,
        bint is_last=False,
    ) -> None:
        """Begin the check of a segment.

        Args:
            file: the segment file, which stays open until the check ends.
            base_position: position at which the segment begins.
            start: offset of its first frame.
            limit: offset after its last frame, up to which frames are expected.
            is_last: whether no frame of the recording follows.

        Raises:
            ValueError: no segment can have these offsets.
        """
        if not 0 <= start <= limit <= INT32_MAX or (start | limit) % FRAME_ALIGNMENT:
            raise ValueError(f"no segment has frames from offset {start} to {limit}")
        if base_position < 0 or base_position % self._term_length:
            raise ValueError(f"no segment begins at position {base_position}")
        self._window.open(file)
        self._file = file
        self._base = base_position
        self._limit = limit
        self._step_start = self.offset = start
        self._padding_left = self._padding_offset = 0
        self._doubtful_offset = -1
        self._is_last = is_last
        self.frames = self.found = self.expected = 0
        self.odd_sessions = self.odd_session_id = 0
        self.bad_offset = self.odd_offset = -1
        self.status = GOES_ON if start < limit else END

    def step(self) -> int:
        """Check the next piece; CHECK_GOES_ON until the limit is reached or damage is met."""
        if self.status != GOES_ON:
            return self.status
        with nogil:
            self.status = self._step()
        return self.status

    def passed(self) -> memoryview:
        """The bytes that the last step has checked; valid until the next one."""
        cdef int64_t begin = self._step_start - self._window.begin
        cdef int64_t length = self.offset - self._step_start
        if length <= 0 or begin < 0 or begin + length > self._window.length:
            return memoryview(b"")
        return PyMemoryView_FromMemory(<char*> self._window.data + begin, length, PyBUF_READ)

    cdef int _step(self) noexcept nogil:
        cdef int64_t at = self.offset, end
        cdef int result
        cdef const uint8_t* frame
        self._step_start = at
        result = self._window.fill(at, DATA_HEADER_LENGTH, self._limit)
        if result < 0:
            return self._fail(IO_ERROR, at, -result, 0)
        end = min(at + self._window.length, self._limit)
        at = self._take_padding(at, end)
        while self._padding_left == 0 and end - at >= DATA_HEADER_LENGTH:
            frame = self._window.data + (at - self._step_start)
            result = self._frame(frame, at, end - at)
            if result == CUT_OFF:
                break  # the rest of the frame is in the next piece, if the file has it
            if result != END:
                return result
            self.frames += 1
            if self._padding_left:
                at = self._take_padding(at + DATA_HEADER_LENGTH, end)
            else:
                at += align_frame(get_i32(frame))
        if self.status == PADDING:
            return PADDING
        if at == self._step_start:
            # A piece holds any frame whole: there is no more in the file.
            return self._fail(CUT_OFF, at, at + self._window.length, self._limit)
        self.offset = at
        if at < self._limit:
            return GOES_ON
        # The next segment may go on with the session of its last frame; a wrong checksum stays one.
        return self._settle() if self._is_last or self._kind != CHECKSUM_NONE else END

    cdef int64_t _take_padding(self, int64_t at, int64_t end) noexcept nogil:
        """Check that the body of a padding frame holds zeros, as far as it was read."""
        cdef int64_t length = min(self._padding_left, end - at)
        cdef const uint8_t* body = self._window.data + (at - self._step_start)
        if self._padding_left == 0 or length <= 0:
            return at
        if body[0] != 0 or memcmp(body, body + 1, length - 1) != 0:
            self.status = self._fail(PADDING, self._padding_offset, 0, 0)
            return at
        self._padding_left -= length
        return at + length

    cdef int _frame(self, const uint8_t* frame, int64_t at, int64_t left) noexcept nogil:
        """Check one frame whose header is there; CUT_OFF when its end is not."""
        cdef int32_t length = get_i32(frame)
        cdef int64_t aligned = align_frame(length)
        cdef int64_t term_left = self._term_length - (at & (self._term_length - 1))
        cdef int result
        if length == 0:
            return self._fail(NO_FRAME, at, self._base + at, self._base + self._limit)
        if not frame_fits(length, min(term_left, self._limit - at)):
            return self._fail(LENGTH, at, length, min(term_left, self._limit - at))
        result = self._header(frame, length, at)
        if result != END:
            return result
        if get_u16(frame + TYPE_OFFSET) == FRAME_PAD:
            self._padding_offset = at
            self._padding_left = aligned - DATA_HEADER_LENGTH
            return END
        if aligned > left:
            return CUT_OFF
        return self._session(frame, at, aligned)

    cdef int _header(self, const uint8_t* frame, int32_t length, int64_t at) noexcept nogil:
        """Check a header's fields, and that they match its place."""
        cdef int64_t term_offset = at & (self._term_length - 1)
        cdef int32_t term_id = <int32_t> (
            <int64_t> self._initial_term_id + (self._base + at) // self._term_length
        )
        cdef frame_fault fault = check_header(
            frame, length, term_offset, term_id, self._stream_id, self._frame_length_max
        )
        if fault == FRAME_BAD_TYPE:
            return self._fail(TYPE, at, get_u16(frame + TYPE_OFFSET), FRAME_DATA)
        if frame[VERSION_OFFSET] != CURRENT_VERSION:
            return self._fail(VERSION, at, frame[VERSION_OFFSET], CURRENT_VERSION)
        if fault == FRAME_SOUND:
            return END
        if fault == FRAME_BAD_LENGTH:
            return self._fail(LENGTH, at, length, self._frame_length_max)
        if fault == FRAME_BAD_TERM_OFFSET:
            return self._fail(TERM_OFFSET, at, get_i32(frame + TERM_OFFSET_OFFSET), term_offset)
        if fault == FRAME_BAD_TERM_ID:
            return self._fail(TERM_ID, at, get_i32(frame + TERM_ID_OFFSET), term_id)
        return self._fail(STREAM_ID, at, get_i32(frame + STREAM_ID_OFFSET), self._stream_id)

    cdef int _session(self, const uint8_t* frame, int64_t at, int64_t aligned) noexcept nogil:
        """Check the session id field: it holds an id or a checksum of what follows the header.

        A recording that was extended has frames of several sessions, and its descriptor tells only
        the last one. So a value that is neither a known id nor a checksum is in doubt until the
        next frame, which may have it too. If it does not, the value was the only frame's of its
        session, or a checksum that is wrong where the others have checksums.
        """
        cdef int32_t stored = get_i32(frame + SESSION_ID_OFFSET)
        cdef const uint8_t* body = frame + DATA_HEADER_LENGTH
        cdef int64_t length = aligned - DATA_HEADER_LENGTH
        cdef int32_t computed = self._session_id
        if self._is_strict or self._kind != CHECKSUM_NONE:
            computed = crc_of(self._kind, body, length)
            if computed == stored:
                return self._settle()
            if self._is_strict:
                return self._fail(BAD_CHECKSUM, at, stored, computed)
            if self._guess(stored, body, length) != CHECKSUM_NONE:
                return self._settle()
        if stored == self._session_id or stored == self._other_session_id:
            return self._settle()
        if length == 0 and stored == 0:
            return END  # the checksum of nothing, which is no sign of either kind
        if self._kind == CHECKSUM_NONE:
            self._kind = self._guess(stored, body, length)
            if self._kind != CHECKSUM_NONE:
                return self._settle()
        if self._doubtful_offset >= 0:
            if stored == self._doubtful_value:
                self._other_session_id = stored
                self._doubtful_offset = -1
                return END
            if self._settle() != END:
                return BAD_CHECKSUM
        self._doubtful_value = stored
        self._doubtful_offset = at
        self._doubtful_checksum = computed
        return END

    cdef int _guess(self, int32_t stored, const uint8_t* body, int64_t length) noexcept nogil:
        """Return the kind of checksum that a value is, if it is one."""
        if crc_of(CHECKSUM_CRC32C, body, length) == stored:
            return CHECKSUM_CRC32C
        if crc_of(CHECKSUM_CRC32, body, length) == stored:
            return CHECKSUM_CRC32
        return CHECKSUM_NONE

    cdef int _settle(self) noexcept nogil:
        """End a doubt: no neighbour of the doubtful frame has its value."""
        if self._doubtful_offset < 0:
            return END
        if self._kind != CHECKSUM_NONE:
            return self._fail(
                BAD_CHECKSUM, self._doubtful_offset, self._doubtful_value, self._doubtful_checksum
            )
        if self.odd_sessions == 0:
            self.odd_offset = self._doubtful_offset
            self.odd_session_id = self._doubtful_value
        self.odd_sessions += 1
        self._doubtful_offset = -1
        return END

    cdef int _fail(
        self, int status, int64_t offset, int64_t found, int64_t expected
    ) noexcept nogil:
        self.bad_offset = offset
        self.found = found
        self.expected = expected
        return status
