from libc.stdint cimport int32_t, int64_t, uint8_t

from aerolog.transport.memory.mapped_file cimport MappedFile

cdef enum broadcast_status:
    BROADCAST_NOTHING = 0
    BROADCAST_MESSAGE = 1
    BROADCAST_LAPPED = -1


cdef class BroadcastTransmitter:
    cdef readonly int64_t capacity
    cdef readonly int32_t max_message_length
    cdef uint8_t* _data
    cdef uint8_t* _trailer
    cdef MappedFile _mapped
    cdef bint transmit(self, int32_t type_id, const void* message, int32_t length) noexcept nogil


cdef class BroadcastReceiver:
    cdef readonly int64_t capacity
    cdef readonly int64_t lapped_count
    # The last message received, which is valid until the next call of receive.
    cdef readonly int32_t type_id
    cdef readonly int32_t length
    cdef uint8_t* message
    cdef int64_t _cursor
    cdef int64_t _next
    cdef int32_t _max_message_length
    cdef uint8_t* _data
    cdef uint8_t* _trailer
    cdef MappedFile _mapped
    cdef int receive(self) noexcept nogil
    cdef bint has_message(self) noexcept nogil
    cdef bint _valid(self) noexcept nogil
    cdef int _lapped(self) noexcept nogil
