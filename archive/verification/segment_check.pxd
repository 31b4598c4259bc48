"""A check of a segment's frames, piece by piece, for native callers."""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

from aerolog.archive.format.segment_window cimport SegmentWindow
from aerolog.transport.memory.data_file cimport DataFile


@cython.final
cdef class SegmentCheck:
    cdef SegmentWindow _window
    cdef DataFile _file
    cdef int64_t _term_length
    cdef int32_t _initial_term_id
    cdef int32_t _stream_id
    cdef int32_t _session_id
    cdef int32_t _frame_length_max
    cdef int32_t _other_session_id
    cdef int32_t _doubtful_value
    cdef int32_t _doubtful_checksum
    cdef int64_t _doubtful_offset
    cdef int _kind
    cdef bint _is_strict
    cdef bint _is_last
    cdef int64_t _base
    cdef int64_t _limit
    cdef int64_t _step_start
    cdef int64_t _padding_left
    cdef int64_t _padding_offset
    cdef readonly int status
    cdef readonly int64_t offset
    cdef readonly int64_t bad_offset
    cdef readonly int64_t found
    cdef readonly int64_t expected
    cdef readonly int64_t frames
    cdef readonly int64_t odd_sessions
    cdef readonly int64_t odd_offset
    cdef readonly int32_t odd_session_id
    cdef int _step(self) noexcept nogil
    cdef int64_t _take_padding(self, int64_t at, int64_t end) noexcept nogil
    cdef int _frame(self, const uint8_t* frame, int64_t at, int64_t left) noexcept nogil
    cdef int _header(self, const uint8_t* frame, int32_t length, int64_t at) noexcept nogil
    cdef int _session(self, const uint8_t* frame, int64_t at, int64_t aligned) noexcept nogil
    cdef int _guess(self, int32_t stored, const uint8_t* body, int64_t length) noexcept nogil
    cdef int _settle(self) noexcept nogil
    cdef int _fail(self, int status, int64_t offset, int64_t found, int64_t expected) noexcept nogil
