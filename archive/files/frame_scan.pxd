"""The walk over a segment's frames into columns, for native callers (spec archive-files 8)."""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t

cdef enum scan_status:
    STATUS_FULL = 0       # the columns took as many rows or bytes as they can
    STATUS_END = 1        # the end of the range is reached
    STATUS_NO_DATA = 2    # no further frame was committed before the end of the range
    STATUS_TOO_LONG = 3   # the next message alone is longer than the payload column
    STATUS_DAMAGED = -1   # see problem, bad_offset, bad_value

# Where rows go. A column that is NULL is not wanted. Each but the last two has room for rows_max
# values; payload_offset has room for one more.
ctypedef struct scan_columns_t:
    int64_t rows
    int64_t rows_max
    int64_t payload_length
    int64_t payload_capacity
    int64_t* position
    int32_t* term_id
    int32_t* term_offset
    int32_t* session_id
    int32_t* stream_id
    int16_t* flags
    int64_t* reserved_value
    int32_t* payload_offset
    uint8_t* payload


cdef class ScanColumns:
    cdef scan_columns_t c
    cdef readonly dict buffers
    cdef dict _views
    cdef int _place(self, str name, object buffer, int64_t length) except -1


cdef class SegmentScanner:
    cdef const uint8_t* _base
    cdef int64_t _length
    cdef int64_t _base_position
    cdef int64_t _end
    cdef int64_t _term_length
    cdef int32_t _initial_term_id
    cdef int32_t _stream_id
    cdef int32_t _session_id
    cdef int32_t _last_session_id
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
    cdef object _owner
    cdef Py_buffer _view
    cdef bint _held
    cdef int scan_native(self, scan_columns_t* columns) noexcept nogil
    cdef int _stop(self, int64_t check) noexcept nogil
    cdef void _skip(self, int64_t behind, int64_t fragments) noexcept nogil
    cdef int64_t _last_fragment(
        self, int64_t first, int64_t* behind, int64_t* length
    ) noexcept nogil
    cdef int64_t _check(self, int64_t offset) noexcept nogil
    cdef int _fail(self, int problem, int64_t offset, int64_t value) noexcept nogil
    cdef int32_t _session_of(self, const uint8_t* frame, int64_t aligned) noexcept nogil
    cdef int _emit(
        self, scan_columns_t* columns, int64_t first, int64_t behind, int64_t length
    ) noexcept nogil
