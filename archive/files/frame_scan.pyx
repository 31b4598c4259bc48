"""The walk over a segment's frames into columns (spec archive-files 8, log-buffers 4 and 23).

Segments are hostile until checked, and the last one of a live recording is being written while it
is read: a frame's length is loaded once, every field is compared with what its place demands, and
nothing outside the segment is read. Rows are messages, put together from their fragments, or the
fragments themselves. Nothing here allocates but ScanColumns, once a batch.

A record checksum replaces the session id in a frame, and no file says whether one was used. So a
session id that is neither the recording's nor the previous frame's is compared with the payload's
CRC; when it is that, the recording's session id is given instead.
"""

from cpython.buffer cimport (
    PyBUF_SIMPLE,
    PyBUF_WRITABLE,
    PyBuffer_Release,
    PyObject_GetBuffer,
)
from cpython.bytearray cimport PyByteArray_FromStringAndSize
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from aerolog.archive.files.checksum cimport CHECKSUM_CRC32, CHECKSUM_CRC32C, CHECKSUM_NONE, crc_of
from aerolog.transport.concurrent.atomic cimport get_i32, get_i64, get_u16, load_acquire_i32

cdef enum:
    HEADER_LENGTH = 32
    FLAGS_OFFSET = 5
    TYPE_OFFSET = 6
    TERM_OFFSET_OFFSET = 8
    SESSION_ID_OFFSET = 12
    STREAM_ID_OFFSET = 16
    TERM_ID_OFFSET = 20
    RESERVED_VALUE_OFFSET = 24
    TYPE_PAD = 0
    TYPE_DATA = 1
    FLAG_BEGIN = 0x80
    FLAG_END = 0x40
    PAYLOAD_CAPACITY_MAX = 0x7FFFFFFF

# Results of _check that are no frame lengths.
cdef enum:
    CHECK_END = 0
    CHECK_NO_DATA = -1
    CHECK_DAMAGED = -2

cdef enum scan_problem:
    PROBLEM_NONE
    PROBLEM_CUT_OFF
    PROBLEM_LENGTH
    PROBLEM_TYPE
    PROBLEM_TERM_OFFSET
    PROBLEM_TERM_ID
    PROBLEM_STREAM_ID

_PROBLEMS = {
    PROBLEM_NONE: "",
    PROBLEM_CUT_OFF: "segment ends inside a frame of length",
    PROBLEM_LENGTH: "impossible frame length",
    PROBLEM_TYPE: "unexpected frame type",
    PROBLEM_TERM_OFFSET: "wrong term offset in a frame",
    PROBLEM_TERM_ID: "wrong term id in a frame",
    PROBLEM_STREAM_ID: "wrong stream id in a frame",
}

SCAN_FULL = STATUS_FULL
SCAN_END = STATUS_END
SCAN_NO_DATA = STATUS_NO_DATA
SCAN_TOO_LONG = STATUS_TOO_LONG
SCAN_DAMAGED = STATUS_DAMAGED

# Name to memoryview format and bytes a value. payload_offset has a row more than the others.
COLUMNS = {
    "position": ("q", 8),
    "term_id": ("i", 4),
    "term_offset": ("i", 4),
    "session_id": ("i", 4),
    "stream_id": ("i", 4),
    "flags": ("h", 2),
    "reserved_value": ("q", 8),
    "payload_offset": ("i", 4),
    "payload": ("B", 1),
}


cdef class ScanColumns:
    """See the stub file."""

    def __cinit__(self, rows_max, payload_capacity, names=None, allocate=None):
        if rows_max < 1:
            raise ValueError(f"a batch needs room for rows, not {rows_max}")
        if not 0 <= payload_capacity <= PAYLOAD_CAPACITY_MAX:
            raise ValueError(f"payload capacity must be 0 to {PAYLOAD_CAPACITY_MAX} bytes")
        self.buffers = {}
        self._views = {}
        self.c.rows_max = rows_max
        self.c.payload_capacity = payload_capacity
        wanted = tuple(COLUMNS) if names is None else tuple(names)
        for name in wanted:
            if name not in COLUMNS:
                raise ValueError(f"no such column: {name}; there are {', '.join(COLUMNS)}")
        if "payload" in wanted and "payload_offset" not in wanted:
            wanted += ("payload_offset",)
        for name in wanted:
            size = COLUMNS[name][1]
            count = rows_max + 1 if name == "payload_offset" else rows_max
            length = payload_capacity if name == "payload" else count * size
            self._place(name, _new_bytes(length) if allocate is None else allocate(length), length)

    cdef int _place(self, str name, object buffer, int64_t length) except -1:
        cdef Py_buffer view
        PyObject_GetBuffer(buffer, &view, PyBUF_SIMPLE | PyBUF_WRITABLE)
        cdef void* address = view.buf
        if view.len < length:
            PyBuffer_Release(&view)
            raise ValueError(f"column {name} was given {view.len} bytes and needs {length}")
        # A memoryview keeps the memory where it is while this object lives.
        self._views[name] = memoryview(buffer).cast("B")
        PyBuffer_Release(&view)
        self.buffers[name] = buffer
        if name == "position":
            self.c.position = <int64_t*> address
        elif name == "term_id":
            self.c.term_id = <int32_t*> address
        elif name == "term_offset":
            self.c.term_offset = <int32_t*> address
        elif name == "session_id":
            self.c.session_id = <int32_t*> address
        elif name == "stream_id":
            self.c.stream_id = <int32_t*> address
        elif name == "flags":
            self.c.flags = <int16_t*> address
        elif name == "reserved_value":
            self.c.reserved_value = <int64_t*> address
        elif name == "payload_offset":
            self.c.payload_offset = <int32_t*> address
            self.c.payload_offset[0] = 0
        else:
            self.c.payload = <uint8_t*> address
        return 0

    @property
    def rows(self):
        """Rows filled so far."""
        return self.c.rows

    @property
    def rows_max(self):
        """Rows that there is room for."""
        return self.c.rows_max

    @property
    def payload_length(self):
        """Bytes filled in the payload column."""
        return self.c.payload_length

    @property
    def payload_capacity(self):
        """Bytes that the payload column has room for."""
        return self.c.payload_capacity

    def column(self, str name):
        """The filled part of a column, as a typed memoryview over its memory."""
        text, size = COLUMNS[name]
        if name == "payload":
            return self._views[name][: self.c.payload_length]
        rows = self.c.rows + 1 if name == "payload_offset" else self.c.rows
        return self._views[name][: rows * size].cast(text)


cdef object _new_bytes(int64_t length):
    """Memory that nobody cleared."""
    return PyByteArray_FromStringAndSize(NULL, length)


cdef class SegmentScanner:
    """See the stub file."""

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
    ):
        if term_length < 1024 or term_length & (term_length - 1) or term_length > 1 << 30:
            raise ValueError(f"not a term length: {term_length}")
        if not 0 <= base_position <= term_length << 31 or base_position % term_length:
            raise ValueError(f"not a segment base with terms of {term_length}: {base_position}")
        if start_offset < 0 or start_offset % 32 or end_offset < start_offset:
            raise ValueError(f"not a range of frames: {start_offset} to {end_offset}")
        PyObject_GetBuffer(segment, &self._view, PyBUF_SIMPLE)
        self._held = True
        self._owner = segment
        self._base = <const uint8_t*> self._view.buf
        self._length = self._view.len
        self._base_position = base_position
        self._end = end_offset
        self._term_length = term_length
        self._initial_term_id = initial_term_id
        self._stream_id = stream_id
        self._session_id = session_id
        self._last_session_id = session_id
        self._assemble = assemble
        self.offset = start_offset
        self.bad_offset = -1

    def __dealloc__(self):
        if self._held:
            PyBuffer_Release(&self._view)

    @property
    def problem(self):
        """What stopped the walk with SCAN_DAMAGED, in words."""
        return _PROBLEMS[self._problem]

    def scan(self, ScanColumns columns not None):
        """Append rows until the columns are full or the range ends.

        Returns:
            The status: SCAN_FULL, SCAN_END, SCAN_NO_DATA, SCAN_TOO_LONG or SCAN_DAMAGED.
        """
        cdef int status
        with nogil:
            status = self.scan_native(&columns.c)
        return status

    cdef int scan_native(self, scan_columns_t* columns) noexcept nogil:
        cdef int64_t aligned
        cdef int64_t first
        cdef int64_t behind
        cdef int64_t length
        cdef int flags
        self.status = STATUS_FULL
        while columns.rows < columns.rows_max:
            first = self.offset
            aligned = self._check(first)
            if aligned <= 0:
                return self._stop(aligned)
            if get_u16(self._base + first + TYPE_OFFSET) == TYPE_PAD:
                self.padding_frames += 1
                self.offset = first + aligned
                continue
            flags = self._base[first + FLAGS_OFFSET]
            behind = first + aligned
            length = <int64_t> get_i32(self._base + first) - HEADER_LENGTH
            if self._assemble and not (flags & FLAG_BEGIN):
                self._skip(behind, 1)
                continue
            if self._assemble and not (flags & FLAG_END):
                aligned = self._last_fragment(first, &behind, &length)
                if aligned == CHECK_END and behind < 0:
                    continue
                if aligned <= 0:
                    return self._stop(aligned)
            if self._emit(columns, first, behind, length) != STATUS_FULL:
                return self.status
        return self.status

    cdef int _stop(self, int64_t check) noexcept nogil:
        if check == CHECK_END:
            self.status = STATUS_END
        elif check == CHECK_NO_DATA:
            self.status = STATUS_NO_DATA
        else:
            self.status = STATUS_DAMAGED
        return self.status

    cdef void _skip(self, int64_t behind, int64_t fragments) noexcept nogil:
        self.skipped_fragments += fragments
        self.frames += fragments
        self.offset = behind

    cdef int64_t _last_fragment(
        self, int64_t first, int64_t* behind, int64_t* length
    ) noexcept nogil:
        """Find the end of the message that begins at ``first``, without taking anything yet.

        Returns 1 and sets both when it is whole. A message that is cut short by a frame of another
        one is skipped: CHECK_END with ``behind`` set to -1. Any other result is that of _check, at
        the frame where the message should have gone on; a message that the range cuts off is
        skipped on CHECK_END and stays in front on CHECK_NO_DATA, for more may come.
        """
        cdef int64_t at = behind[0]
        cdef int64_t fragments = 1
        cdef int64_t aligned
        cdef int flags
        while True:
            aligned = self._check(at)
            if aligned == CHECK_END:
                self._skip(at, fragments)
                return CHECK_END
            if aligned <= 0:
                return aligned
            flags = self._base[at + FLAGS_OFFSET]
            if flags & FLAG_BEGIN or get_u16(self._base + at + TYPE_OFFSET) == TYPE_PAD:
                self._skip(at, fragments)
                behind[0] = -1
                return CHECK_END
            length[0] += <int64_t> get_i32(self._base + at) - HEADER_LENGTH
            fragments += 1
            at += aligned
            if flags & FLAG_END:
                behind[0] = at
                return 1

    cdef int64_t _check(self, int64_t offset) noexcept nogil:
        """The aligned length of a sound frame at ``offset``, or one of the CHECK results."""
        cdef const uint8_t* frame = self._base + offset
        cdef int64_t aligned
        cdef int64_t term_offset
        cdef int32_t length
        cdef int32_t term_id
        cdef int frame_type
        if offset >= self._end:
            return CHECK_END
        if self._length - offset < HEADER_LENGTH:
            return CHECK_NO_DATA
        length = load_acquire_i32(frame)
        if length <= 0:
            return CHECK_NO_DATA
        term_offset = offset & (self._term_length - 1)
        aligned = (<int64_t> length + 31) & -32
        if length < HEADER_LENGTH or aligned > self._term_length - term_offset:
            return self._fail(PROBLEM_LENGTH, offset, length)
        if aligned > self._end - offset:
            return CHECK_END
        frame_type = get_u16(frame + TYPE_OFFSET)
        if frame_type != TYPE_DATA and frame_type != TYPE_PAD:
            return self._fail(PROBLEM_TYPE, offset + TYPE_OFFSET, frame_type)
        if get_i32(frame + TERM_OFFSET_OFFSET) != term_offset:
            return self._fail(
                PROBLEM_TERM_OFFSET,
                offset + TERM_OFFSET_OFFSET,
                get_i32(frame + TERM_OFFSET_OFFSET),
            )
        term_id = <int32_t> (
            self._initial_term_id + (self._base_position + offset) // self._term_length
        )
        if get_i32(frame + TERM_ID_OFFSET) != term_id:
            return self._fail(
                PROBLEM_TERM_ID, offset + TERM_ID_OFFSET, get_i32(frame + TERM_ID_OFFSET)
            )
        if get_i32(frame + STREAM_ID_OFFSET) != self._stream_id:
            return self._fail(
                PROBLEM_STREAM_ID, offset + STREAM_ID_OFFSET, get_i32(frame + STREAM_ID_OFFSET)
            )
        if frame_type == TYPE_DATA and aligned > self._length - offset:
            return self._fail(PROBLEM_CUT_OFF, offset, length)
        return aligned

    cdef int _fail(self, int problem, int64_t offset, int64_t value) noexcept nogil:
        self._problem = problem
        self.bad_offset = offset
        self.bad_value = value
        return CHECK_DAMAGED

    cdef int32_t _session_of(self, const uint8_t* frame, int64_t aligned) noexcept nogil:
        cdef int32_t stored = get_i32(frame + SESSION_ID_OFFSET)
        cdef const uint8_t* payload = frame + HEADER_LENGTH
        cdef int64_t length = aligned - HEADER_LENGTH
        cdef int kind = self._checksum_kind
        if stored == self._last_session_id or stored == self._session_id:
            self._last_session_id = stored
            return stored
        if length == 0 and stored == 0:
            return self._session_id  # the checksum of nothing, which is no sign of either kind
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
        self._last_session_id = stored
        return stored

    cdef int _emit(
        self, scan_columns_t* columns, int64_t first, int64_t behind, int64_t length
    ) noexcept nogil:
        """Write the row of the message in ``first`` to ``behind``, and pass it."""
        cdef const uint8_t* frame = self._base + first
        cdef int64_t row = columns.rows
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
                self.status = STATUS_FULL if row > 0 else STATUS_TOO_LONG
                return STATUS_TOO_LONG
        while at < behind:
            part = <int64_t> get_i32(self._base + at) - HEADER_LENGTH
            aligned = (part + HEADER_LENGTH + 31) & -32
            # Another process may have changed the length since it was checked.
            if part < 0 or aligned > behind - at or part > length:
                self._fail(PROBLEM_LENGTH, at, part + HEADER_LENGTH)
                self.status = STATUS_DAMAGED
                return STATUS_DAMAGED
            length -= part
            flags |= self._base[at + FLAGS_OFFSET]
            if columns.payload != NULL:
                memcpy(columns.payload + target, self._base + at + HEADER_LENGTH, part)
                target += part
            if columns.session_id != NULL:
                if at == first:
                    session_id = self._session_of(self._base + at, aligned)
                else:
                    self._session_of(self._base + at, aligned)
            self.frames += 1
            at += aligned
        if columns.payload_offset != NULL:
            columns.payload_length = payload_end
            columns.payload_offset[row + 1] = <int32_t> payload_end
        if columns.position != NULL:
            columns.position[row] = self._base_position + behind
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
        self.offset = behind
        return STATUS_FULL
