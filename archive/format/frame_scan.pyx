"""The walk over a segment's frames into columns (spec archive-files 8, spec log-buffers 4 and 23).

The bytes of a segment are not trusted: every field is compared with what its place demands, and
nothing outside the window is read. A row is a message put together from its fragments, or a single
fragment. Memory is allocated only when a long message does not fit in the window.

There are two walks. ``_run`` takes messages of one frame as long as every field has its expected
value, with a handful of comparisons each. ``_step`` takes everything else, one message at a time,
and reports what is wrong.

A record checksum replaces the session id in a frame, and no file says whether one was used. A
session id that is neither the recording's nor the previous frame's is therefore compared with the
payload's CRC; when they are equal, the row gets the recording's session id.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport INT32_MAX, INT32_MIN, int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from aerolog.archive.format.checksum cimport CHECKSUM_CRC32, CHECKSUM_CRC32C, CHECKSUM_NONE, crc_of
from aerolog.archive.format.scan_columns cimport ScanColumns, batch_columns_t
from aerolog.archive.format.segment_window cimport SegmentWindow
from aerolog.transport.concurrent.atomic cimport get_i32, get_i64, get_u16, load_acquire_i32
from aerolog.transport.protocol.frames cimport (
    DATA_HEADER_LENGTH,
    FLAGS_OFFSET,
    FLAG_BEGIN,
    FLAG_END,
    FRAME_ALIGNMENT,
    FRAME_BAD_LENGTH,
    FRAME_BAD_STREAM_ID,
    FRAME_BAD_TERM_ID,
    FRAME_BAD_TERM_OFFSET,
    FRAME_BAD_TYPE,
    FRAME_LENGTH_MAX,
    FRAME_PAD,
    FRAME_SOUND,
    RESERVED_VALUE_OFFSET,
    SESSION_ID_OFFSET,
    STREAM_ID_OFFSET,
    TERM_ID_OFFSET,
    TERM_OFFSET_OFFSET,
    TYPE_OFFSET,
    align_frame,
    check_header,
    check_place,
    frame_fault,
    frame_fits,
    is_whole_message,
)

cdef enum:
    # Longest window for the frames of one message: twice the longest message, to cover headers.
    MESSAGE_SPAN_MAX = 64 * 1024 * 1024
    # Payloads up to this length are copied together with the padding after them, in whole pieces.
    PIECE = 32
    SHORT_MAX = 256

# Results of _check that are not frame lengths.
cdef enum:
    CHECK_END = 0
    CHECK_NO_DATA = -1
    CHECK_DAMAGED = -2
    CHECK_IO_ERROR = -3

cdef enum scan_problem:
    PROBLEM_NONE
    PROBLEM_CUT_OFF
    PROBLEM_LENGTH
    PROBLEM_TYPE
    PROBLEM_TERM_OFFSET
    PROBLEM_TERM_ID
    PROBLEM_STREAM_ID
    PROBLEM_MESSAGE
    PROBLEM_IO

_PROBLEMS = {
    PROBLEM_NONE: "",
    PROBLEM_CUT_OFF: "segment ends inside a frame of length",
    PROBLEM_LENGTH: "impossible frame length",
    PROBLEM_TYPE: "unexpected frame type",
    PROBLEM_TERM_OFFSET: "wrong term offset in a frame",
    PROBLEM_TERM_ID: "wrong term id in a frame",
    PROBLEM_STREAM_ID: "wrong stream id in a frame",
    PROBLEM_MESSAGE: "message longer than any can be",
    PROBLEM_IO: "segment cannot be read",
}

SCAN_FULL = STATUS_FULL
SCAN_END = STATUS_END
SCAN_NO_DATA = STATUS_NO_DATA
SCAN_TOO_LONG = STATUS_TOO_LONG
SCAN_DAMAGED = STATUS_DAMAGED
SCAN_IO_ERROR = STATUS_IO_ERROR


cdef inline void _copy(
    uint8_t* target, const uint8_t* source, int64_t length, int64_t room
) noexcept nogil:
    """Copy a payload in whole pieces, together with the padding that follows it in the frame."""
    cdef int64_t at = 0
    if length > SHORT_MAX or room < SHORT_MAX:
        memcpy(target, source, length)
        return
    while at < length:
        memcpy(target + at, source + at, PIECE)
        at += PIECE


cdef class SegmentScanner:
    """Walks the frames of one segment from ``start_offset`` to ``end_offset``.

    Args:
        segment: a window on the segment's file, or all its bytes.
        base_position: stream position at which the segment begins.
        start_offset: offset of the first frame in the segment.
        end_offset: end of the range; a frame that ends after it is not examined.
        initial_term_id: term id at position 0 of the recording's stream.
        term_length: the recording's term length, bytes.
        session_id: the recording's session id, used for frames with a checksum in its place.
        stream_id: stream id that all frames must have.
        assemble: True for one row per message, False for one row per fragment.
        after_position: rows that end at or before this position are skipped.
        session_ids: rows of other sessions are skipped; None for all sessions.

    Attributes:
        offset: offset of the next frame to examine.
        status: how the last call ended, one of the SCAN constants.
        message_length: bytes that the payload column needs after SCAN_TOO_LONG.
        frames: DATA frames passed.
        padding_frames: padding frames passed.
        skipped_fragments: fragments of messages whose beginning or end is not in the range.
        checksum_mismatches: frames in checksummed data whose checksum does not match.
        bad_offset: offset of the value that stopped the walk with SCAN_DAMAGED.
        bad_value: that value; with SCAN_IO_ERROR the system's error number.
        problem: what is wrong with that value, "" when nothing is.
    """

    def __cinit__(
        self,
        segment,
        *,
        int64_t base_position,
        int64_t start_offset,
        int64_t end_offset,
        int32_t initial_term_id,
        int64_t term_length,
        int32_t session_id,
        int32_t stream_id,
        bint assemble=True,
        int64_t after_position=-1,
        session_ids=None,
    ):
        if term_length < 1024 or term_length & (term_length - 1) or term_length > 1 << 30:
            raise ValueError(f"not a term length: {term_length}")
        if not 0 <= base_position <= term_length << 31 or base_position % term_length:
            raise ValueError(f"not a segment base with terms of {term_length}: {base_position}")
        if start_offset < 0 or start_offset % FRAME_ALIGNMENT or end_offset < start_offset:
            raise ValueError(f"not a range of frames: {start_offset} to {end_offset}")
        if isinstance(segment, SegmentWindow):
            self._window = segment
        else:
            self._take_memory(segment)
        self._base_position = base_position
        self._end = end_offset
        self._after = after_position - base_position
        self._term_length = term_length
        self._initial_term_id = initial_term_id
        self._stream_id = stream_id
        self._session_id = session_id
        self._last_session_id = session_id
        self._assemble = assemble
        self._wanted_count = -1
        if session_ids is not None:
            self._want_sessions(session_ids)
        self._last_is_wanted = self._is_session_wanted(session_id)
        self.offset = start_offset
        self.bad_offset = -1

    def __dealloc__(self):
        free(self._wanted_sessions)
        if self._held:
            PyBuffer_Release(&self._view)

    cdef int _take_memory(self, object segment) except -1:
        PyObject_GetBuffer(segment, &self._view, PyBUF_SIMPLE)
        self._held = True
        self._window = SegmentWindow()
        self._window.data = <const uint8_t*> self._view.buf
        self._window.length = self._view.len
        self._window.file_length = self._view.len
        return 0

    cdef int _want_sessions(self, object session_ids) except -1:
        # No frame has a session id that does not fit its field.
        wanted = sorted({one for one in session_ids if INT32_MIN <= one <= INT32_MAX})
        self._wanted_sessions = <int32_t*> malloc(max(len(wanted), 1) * sizeof(int32_t))
        if self._wanted_sessions == NULL:
            raise MemoryError
        for index, session_id in enumerate(wanted):
            self._wanted_sessions[index] = session_id
        self._wanted_count = <int> len(wanted)
        return 0

    @property
    def problem(self):
        """Describe what stopped the walk with SCAN_DAMAGED or SCAN_IO_ERROR."""
        return _PROBLEMS[self._problem]

    def scan(self, ScanColumns columns not None):
        """Append rows until the columns are full or the range ends.

        Returns:
            The new ``status``, one of the SCAN constants.
        """
        cdef int status
        with nogil:
            status = self.scan_native(&columns.c)
        return status

    cdef int scan_native(self, batch_columns_t* columns) noexcept nogil:
        self.status = STATUS_FULL
        while columns.rows < columns.rows_max:
            self._run(columns)
            if columns.rows == columns.rows_max or not self._step(columns):
                break
        return self.status

    cdef void _run(self, batch_columns_t* columns) noexcept nogil:
        """Take messages of one frame from the window, within a term, until one needs ``_step``."""
        cdef const uint8_t* data = self._window.data - self._window.begin
        cdef int64_t offset = self.offset
        cdef int64_t mask = self._term_length - 1
        cdef int64_t end = min(self._window.begin + self._window.length, self._end)
        cdef int32_t term_id = self._term_id_at(offset)
        cdef bint checks_session = columns.session_id != NULL or self._wanted_count >= 0
        cdef bint drops = self._wanted_count >= 0 and not self._last_is_wanted
        cdef int32_t session_id = self._last_session_id
        cdef const uint8_t* frame
        cdef int64_t aligned
        cdef int64_t length
        cdef int64_t target = columns.payload_length
        end = min(end, (offset | mask) + 1)
        while columns.rows < columns.rows_max and end - offset >= DATA_HEADER_LENGTH:
            frame = data + offset
            length = get_i32(frame)
            aligned = align_frame(length)
            if length > FRAME_LENGTH_MAX or not frame_fits(<int32_t> length, end - offset):
                break
            if not is_whole_message(frame):
                break
            if check_place(frame, offset & mask, term_id, self._stream_id) != FRAME_SOUND:
                break
            if checks_session and get_i32(frame + SESSION_ID_OFFSET) != session_id:
                break
            if not drops and offset + aligned > self._after:
                length -= DATA_HEADER_LENGTH
                if columns.payload_offset != NULL:
                    if length > columns.payload_capacity - target:
                        break
                    if columns.payload != NULL:
                        _copy(
                            columns.payload + target,
                            frame + DATA_HEADER_LENGTH,
                            length,
                            columns.payload_capacity - target,
                        )
                    target += length
                    columns.payload_length = target
                self._write_row(columns, frame, offset + aligned, session_id, frame[FLAGS_OFFSET])
            self.frames += 1
            offset += aligned
        self.offset = offset

    cdef bint _step(self, batch_columns_t* columns) noexcept nogil:
        """Take the next frame or message of any kind; returns False when the scan stops."""
        cdef int64_t first = self.offset
        cdef int64_t aligned = self._check(first, first)
        cdef int64_t behind = first + aligned
        cdef int64_t fragments = 1
        cdef int64_t length
        cdef int flags
        if aligned <= 0:
            return self._stop(aligned)
        if get_u16(self._at(first) + TYPE_OFFSET) == FRAME_PAD:
            self.padding_frames += 1
            self.offset = behind
            return True
        flags = self._at(first)[FLAGS_OFFSET]
        length = <int64_t> get_i32(self._at(first)) - DATA_HEADER_LENGTH
        if self._assemble and not (flags & FLAG_BEGIN):
            self.skipped_fragments += 1
            self._pass(behind, 1)
            return True
        if self._assemble and not (flags & FLAG_END):
            aligned = self._last_fragment(first, &behind, &length, &fragments)
            if aligned == CHECK_END and behind < 0:
                return True
            if aligned <= 0:
                return self._stop(aligned)
        if not self._is_wanted(first, behind):
            self._pass(behind, fragments)
            return True
        return self._emit(columns, first, behind, length) == STATUS_FULL

    cdef bint _stop(self, int64_t check) noexcept nogil:
        if check == CHECK_END:
            self.status = STATUS_END
        elif check == CHECK_NO_DATA:
            self.status = STATUS_NO_DATA
        elif check == CHECK_IO_ERROR:
            self.status = STATUS_IO_ERROR
        else:
            self.status = STATUS_DAMAGED
        return False

    cdef void _pass(self, int64_t behind, int64_t frames) noexcept nogil:
        self.frames += frames
        self.offset = behind

    cdef int64_t _last_fragment(
        self, int64_t first, int64_t* behind, int64_t* length, int64_t* fragments
    ) noexcept nogil:
        """Find the end of the message that begins at ``first``, without passing it yet.

        Returns 1 and sets the three values when the message is complete. A message that a frame of
        another one, or the end of its term, cuts short is skipped: the result is CHECK_END and
        ``behind`` becomes -1. Any other result is that of _check at the frame where the message
        should continue. A message that the range cuts off is skipped on CHECK_END; it stays on
        CHECK_NO_DATA, because more frames may come.
        """
        cdef int64_t at = behind[0]
        cdef int64_t aligned
        cdef int flags
        while True:
            aligned = self._check(at, first)
            if aligned == CHECK_END:
                self.skipped_fragments += fragments[0]
                self._pass(at, fragments[0])
                return CHECK_END
            if aligned <= 0:
                return aligned
            flags = self._at(at)[FLAGS_OFFSET]
            if (
                flags & FLAG_BEGIN
                or get_u16(self._at(at) + TYPE_OFFSET) == FRAME_PAD
                or at & (self._term_length - 1) == 0
            ):
                self.skipped_fragments += fragments[0]
                self._pass(at, fragments[0])
                behind[0] = -1
                return CHECK_END
            length[0] += <int64_t> get_i32(self._at(at)) - DATA_HEADER_LENGTH
            fragments[0] += 1
            at += aligned
            if flags & FLAG_END:
                behind[0] = at
                return 1

    cdef bint _holds(self, int64_t offset, int64_t length) noexcept nogil:
        return (
            self._window.length - (offset - self._window.begin) >= length
            and offset >= self._window.begin
        )

    cdef const uint8_t* _at(self, int64_t offset) noexcept nogil:
        return self._window.data + (offset - self._window.begin)

    cdef int64_t _look(self, int64_t first, int64_t until) noexcept nogil:
        """Move the window to show the message at ``first``; returns 0, or a CHECK result."""
        cdef int result
        if until - first > MESSAGE_SPAN_MAX:
            return self._fail(PROBLEM_MESSAGE, first, until - first)
        result = self._window.fill(first, until - first, self._end)
        if result < 0:
            self._fail(PROBLEM_IO, first, -result)
            return CHECK_IO_ERROR
        return 0

    cdef int32_t _term_id_at(self, int64_t offset) noexcept nogil:
        return <int32_t> (
            self._initial_term_id + (self._base_position + offset) // self._term_length
        )

    cdef int64_t _check(self, int64_t offset, int64_t first) noexcept nogil:
        """Return the aligned length of a valid frame at ``offset``, or one of the CHECK results.

        A valid DATA frame is completely in the window, together with all bytes from ``first`` on.
        """
        cdef const uint8_t* frame
        cdef int64_t aligned
        cdef int64_t result
        cdef int64_t term_offset = offset & (self._term_length - 1)
        cdef int32_t length
        cdef frame_fault fault
        if offset >= self._end:
            return CHECK_END
        if not self._holds(offset, DATA_HEADER_LENGTH):
            result = self._look(first, offset + DATA_HEADER_LENGTH)
            if result < 0:
                return result
            if not self._holds(offset, DATA_HEADER_LENGTH):
                return CHECK_NO_DATA
        frame = self._at(offset)
        length = load_acquire_i32(frame)
        if length <= 0:
            return CHECK_NO_DATA
        aligned = align_frame(length)
        if not frame_fits(length, self._term_length - term_offset):
            return self._reject(FRAME_BAD_LENGTH, frame, offset)
        if aligned > self._end - offset:
            return CHECK_END
        fault = check_header(
            frame, length, term_offset, self._term_id_at(offset), self._stream_id, FRAME_LENGTH_MAX
        )
        if fault != FRAME_SOUND:
            return self._reject(fault, frame, offset)
        if get_u16(frame + TYPE_OFFSET) == FRAME_PAD:
            return aligned
        if not self._holds(offset, aligned):
            result = self._look(first, offset + aligned)
            if result < 0:
                return result
            if not self._holds(offset, aligned):
                return self._fail(PROBLEM_CUT_OFF, offset, length)
        return aligned

    cdef int _reject(self, frame_fault fault, const uint8_t* frame, int64_t offset) noexcept nogil:
        """Record the offset and value of the fault in a frame."""
        if fault == FRAME_BAD_TYPE:
            return self._fail(PROBLEM_TYPE, offset + TYPE_OFFSET, get_u16(frame + TYPE_OFFSET))
        if fault == FRAME_BAD_TERM_OFFSET:
            offset, frame = offset + TERM_OFFSET_OFFSET, frame + TERM_OFFSET_OFFSET
            return self._fail(PROBLEM_TERM_OFFSET, offset, get_i32(frame))
        if fault == FRAME_BAD_TERM_ID:
            offset, frame = offset + TERM_ID_OFFSET, frame + TERM_ID_OFFSET
            return self._fail(PROBLEM_TERM_ID, offset, get_i32(frame))
        if fault == FRAME_BAD_STREAM_ID:
            offset, frame = offset + STREAM_ID_OFFSET, frame + STREAM_ID_OFFSET
            return self._fail(PROBLEM_STREAM_ID, offset, get_i32(frame))
        return self._fail(PROBLEM_LENGTH, offset, get_i32(frame))

    cdef int _fail(self, int problem, int64_t offset, int64_t value) noexcept nogil:
        self._problem = problem
        self.bad_offset = offset
        self.bad_value = value
        return CHECK_DAMAGED

    cdef bint _is_session_wanted(self, int32_t session_id) noexcept nogil:
        cdef int index
        if self._wanted_count < 0:
            return True
        for index in range(self._wanted_count):
            if self._wanted_sessions[index] == session_id:
                return True
        return False

    cdef bint _is_wanted(self, int64_t first, int64_t behind) noexcept nogil:
        """Return whether the position and session of a message are wanted."""
        cdef int64_t mismatches = self.checksum_mismatches
        cdef int64_t aligned
        cdef bint is_wanted
        if behind <= self._after:
            return False
        if self._wanted_count < 0:
            return True
        aligned = align_frame(get_i32(self._at(first)))
        is_wanted = self._is_session_wanted(self._session_of(self._at(first), aligned))
        if is_wanted:
            self.checksum_mismatches = mismatches  # they are counted when the row is written
        return is_wanted

    cdef int32_t _session_of(self, const uint8_t* frame, int64_t aligned) noexcept nogil:
        cdef int32_t stored = get_i32(frame + SESSION_ID_OFFSET)
        cdef const uint8_t* payload = frame + DATA_HEADER_LENGTH
        cdef int64_t length = aligned - DATA_HEADER_LENGTH
        cdef int kind = self._checksum_kind
        if stored == self._last_session_id or stored == self._session_id:
            self._see_session(stored)
            return stored
        if length == 0 and stored == 0:
            return self._session_id  # the checksum of an empty payload, which proves nothing
        if kind == CHECKSUM_NONE:
            kind = CHECKSUM_CRC32
        if crc_of(kind, payload, length) == stored:
            self._checksum_kind = kind
            return self._session_id
        kind = CHECKSUM_CRC32C if kind == CHECKSUM_CRC32 else CHECKSUM_CRC32
        if crc_of(kind, payload, length) == stored:
            self._checksum_kind = kind
            return self._session_id
        if self._checksum_kind != CHECKSUM_NONE:
            self.checksum_mismatches += 1
            return self._session_id
        self._see_session(stored)
        return stored

    cdef void _see_session(self, int32_t session_id) noexcept nogil:
        if session_id != self._last_session_id:
            self._last_session_id = session_id
            self._last_is_wanted = self._is_session_wanted(session_id)

    cdef int _emit(
        self, batch_columns_t* columns, int64_t first, int64_t behind, int64_t length
    ) noexcept nogil:
        """Write the row of the message from ``first`` to ``behind``, and pass the message."""
        cdef const uint8_t* frame = self._at(first)
        cdef int64_t at = first
        cdef int64_t aligned
        cdef int64_t part
        cdef int64_t target = columns.payload_length
        cdef int64_t payload_end = target + length
        cdef int32_t session_id = 0
        cdef uint8_t flags = 0
        if columns.payload_offset != NULL:
            if length > columns.payload_capacity - target:
                self.message_length = length
                self.status = STATUS_FULL if columns.rows > 0 else STATUS_TOO_LONG
                return STATUS_TOO_LONG
        while at < behind:
            part = <int64_t> get_i32(self._at(at)) - DATA_HEADER_LENGTH
            aligned = align_frame(part + DATA_HEADER_LENGTH)
            # Memory of the caller may have changed since it was checked.
            if part < 0 or aligned > behind - at or part > length:
                self._fail(PROBLEM_LENGTH, at, part + DATA_HEADER_LENGTH)
                self.status = STATUS_DAMAGED
                return STATUS_DAMAGED
            length -= part
            flags |= self._at(at)[FLAGS_OFFSET]
            if columns.payload != NULL:
                memcpy(columns.payload + target, self._at(at) + DATA_HEADER_LENGTH, part)
                target += part
            if columns.session_id != NULL:
                if at == first:
                    session_id = self._session_of(self._at(at), aligned)
                else:
                    self._session_of(self._at(at), aligned)
            self.frames += 1
            at += aligned
        if columns.payload_offset != NULL:
            columns.payload_length = payload_end
        self._write_row(columns, frame, behind, session_id, flags)
        self.offset = behind
        return STATUS_FULL

    cdef void _write_row(
        self,
        batch_columns_t* columns,
        const uint8_t* frame,
        int64_t behind,
        int32_t session_id,
        uint8_t flags,
    ) noexcept nogil:
        """Fill the wanted fields of the next row; its payload was copied before."""
        cdef int64_t row = columns.rows
        if columns.position != NULL:
            columns.position[row] = self._base_position + behind
        if columns.payload_offset != NULL:
            columns.payload_offset[row + 1] = <int32_t> columns.payload_length
        if columns.term_id != NULL:
            columns.term_id[row] = get_i32(frame + TERM_ID_OFFSET)
        if columns.term_offset != NULL:
            columns.term_offset[row] = get_i32(frame + TERM_OFFSET_OFFSET)
        if columns.session_id != NULL:
            columns.session_id[row] = session_id
        if columns.stream_id != NULL:
            columns.stream_id[row] = self._stream_id
        if columns.flags != NULL:
            columns.flags[row] = flags
        if columns.reserved_value != NULL:
            columns.reserved_value[row] = get_i64(frame + RESERVED_VALUE_OFFSET)
        columns.rows = row + 1
