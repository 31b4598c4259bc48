from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t

from aerolog.transport.logbuffer.fragment cimport fragment_t


cdef class Header:
    cdef readonly int64_t position
    cdef readonly int64_t reserved_value
    cdef readonly int32_t frame_length
    cdef readonly int32_t term_offset
    cdef readonly int32_t session_id
    cdef readonly int32_t stream_id
    cdef readonly int32_t term_id
    cdef readonly int32_t initial_term_id
    cdef readonly int32_t position_bits_to_shift
    cdef readonly uint16_t type
    cdef readonly uint8_t version
    cdef readonly uint8_t flags
    cdef void fill(self, const fragment_t* message) noexcept


cdef class Message:
    cdef readonly bytes data
    cdef readonly int64_t position
    cdef readonly int64_t reserved_value
    cdef readonly int32_t session_id
    cdef readonly int32_t stream_id
    cdef readonly int32_t term_id
    cdef readonly int32_t term_offset
    cdef readonly uint8_t flags


cdef Message copy_message(const fragment_t* message)
