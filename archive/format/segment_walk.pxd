"""A walk over the frames of a segment that checks them, for native callers."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerolog.archive.format.segment_window cimport SegmentWindow
from aerolog.transport.memory.data_file cimport DataFile


cdef class SegmentWalk:
    cdef SegmentWindow _window
    cdef int _rule
    cdef int _kind
    cdef int64_t _term_length
    cdef int32_t _initial_term_id
    cdef int64_t _chunk_length
    cdef int64_t _body_length_max
    cdef readonly int status
    cdef readonly int64_t offset
    cdef readonly int64_t last_offset
    cdef readonly int64_t last_length
    cdef readonly int64_t chunk_offset
    cdef readonly int64_t frames
    cdef readonly int64_t found
    cdef readonly int64_t expected
    cdef readonly int32_t term_offset
    cdef readonly int32_t term_id
    cdef readonly int32_t stream_id
    cdef readonly int32_t expected_term_offset
    cdef readonly int32_t expected_term_id
    cdef readonly int32_t expected_stream_id
    cdef int _walk(
        self, DataFile file, int64_t base, int64_t start, int64_t limit
    ) noexcept nogil
    cdef int _check(
        self, DataFile file, int64_t base, int64_t at, int64_t limit
    ) noexcept nogil
    cdef bint _has_place(self, const uint8_t* frame, int64_t position) noexcept nogil
    cdef int _stamp(self, DataFile file, int64_t at, int32_t value) noexcept nogil
    cdef int _need(self, int64_t at, int64_t wanted, int64_t limit) noexcept nogil
