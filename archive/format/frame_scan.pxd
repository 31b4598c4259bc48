"""The walk over a segment's frames into columns, for native callers (spec archive-files 8)."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerolog.archive.format.scan_columns cimport batch_columns_t
from aerolog.archive.format.segment_window cimport SegmentWindow
from aerolog.transport.protocol.frames cimport frame_fault

cdef enum scan_status:
    STATUS_FULL = 0       # the columns have no room for further rows or bytes
    STATUS_END = 1        # the end of the range is reached
    STATUS_NO_DATA = 2    # no further frame was committed before the end of the range
    STATUS_TOO_LONG = 3   # the next message alone is longer than the payload column
    STATUS_DAMAGED = -1   # see problem, bad_offset, bad_value
    STATUS_IO_ERROR = -2  # the file could not be read; bad_value is the errno


cdef class SegmentScanner:
    cdef SegmentWindow _window
    cdef int64_t _base_position
    cdef int64_t _end
    cdef int64_t _after
    cdef int64_t _term_length
    cdef int32_t _initial_term_id
    cdef int32_t _stream_id
    cdef int32_t _session_id
    cdef int32_t _last_session_id
    cdef int32_t* _wanted_sessions
    cdef int _wanted_count
    cdef bint _last_is_wanted
    cdef int _checksum_kind
    cdef bint _assemble
    cdef readonly int64_t offset
    cdef readonly int status
    cdef readonly int64_t message_length
    cdef readonly int64_t frames
    cdef readonly int64_t padding_frames
    cdef readonly int64_t skipped_fragments
    cdef readonly int64_t checksum_mismatches
    cdef readonly int64_t bad_offset
    cdef readonly int64_t bad_value
    cdef int _problem
    cdef Py_buffer _view
    cdef bint _held
    cdef int _take_memory(self, object segment) except -1
    cdef int _want_sessions(self, object session_ids) except -1
    cdef int scan_native(self, batch_columns_t* columns) noexcept nogil
    cdef void _run(self, batch_columns_t* columns) noexcept nogil
    cdef bint _step(self, batch_columns_t* columns) noexcept nogil
    cdef bint _stop(self, int64_t check) noexcept nogil
    cdef void _pass(self, int64_t behind, int64_t frames) noexcept nogil
    cdef int64_t _last_fragment(
        self, int64_t first, int64_t* behind, int64_t* length, int64_t* fragments
    ) noexcept nogil
    cdef int32_t _term_id_at(self, int64_t offset) noexcept nogil
    cdef bint _is_session_wanted(self, int32_t session_id) noexcept nogil
    cdef void _see_session(self, int32_t session_id) noexcept nogil
    cdef int64_t _check(self, int64_t offset, int64_t first) noexcept nogil
    cdef bint _holds(self, int64_t offset, int64_t length) noexcept nogil
    cdef int64_t _look(self, int64_t first, int64_t until) noexcept nogil
    cdef const uint8_t* _at(self, int64_t offset) noexcept nogil
    cdef int _reject(self, frame_fault fault, const uint8_t* frame, int64_t offset) noexcept nogil
    cdef int _fail(self, int problem, int64_t offset, int64_t value) noexcept nogil
    cdef bint _is_wanted(self, int64_t first, int64_t behind) noexcept nogil
    cdef int32_t _session_of(self, const uint8_t* frame, int64_t aligned) noexcept nogil
    cdef int _emit(
        self, batch_columns_t* columns, int64_t first, int64_t behind, int64_t length
    ) noexcept nogil
    cdef void _write_row(
        self,
        batch_columns_t* columns,
        const uint8_t* frame,
        int64_t behind,
        int32_t session_id,
        uint8_t flags,
    ) noexcept nogil
