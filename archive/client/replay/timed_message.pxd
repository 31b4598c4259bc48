"""Messages of recordings with their time, for native callers."""

from libc.stdint cimport int32_t, int64_t, uint8_t


cdef class TimedMessage:
    cdef readonly int64_t time_ns
    cdef readonly int64_t recording_id
    cdef readonly int64_t position
    cdef readonly int64_t reserved_value
    cdef readonly int32_t session_id
    cdef readonly int32_t stream_id
    cdef readonly int32_t term_id
    cdef readonly int32_t term_offset
    cdef readonly uint8_t flags
    cdef readonly bytes payload
