from libc.stdint cimport int32_t, int64_t, uint8_t

from aerolog.transport.concurrent.clock cimport Clock
from aerolog.transport.memory.mapped_file cimport MappedFile
from aerolog.transport.memory.ring_buffer cimport ManyToOneRingBuffer
from aerolog.transport.network.port cimport address_t

cdef enum:
    # The number of bytes of an event that are kept, as in the reference.
    CAPTURE_LIMIT = 4079
    # Room for the longest address: port, length, 16 bytes.
    ADDRESS_ROOM = 24


cdef class EventLog:
    cdef readonly ManyToOneRingBuffer ring
    cdef MappedFile _mapped
    cdef Clock _clock
    cdef int64_t _lost
    cdef int64_t _lost_told
    # Write an event that consists of head and body, from any thread. An event for which the ring
    # has no room is counted as lost.
    cdef void put(
        self, int32_t code, const void* head, int32_t head_length, const void* body,
        int32_t body_length,
    ) noexcept nogil


# One stream of a channel, as events of the sender's thread name it.
cdef class StreamEvents:
    cdef EventLog _log
    cdef bytes _tail
    cdef const char* _tail_at
    cdef int32_t _tail_length
    cdef int32_t _resend_code
    cdef int32_t _added_code
    cdef int32_t _removed_code
    cdef readonly int32_t session_id
    cdef readonly int32_t stream_id
    cdef void resend(self, int32_t term_id, int32_t term_offset, int32_t length) noexcept nogil
    cdef void receiver_added(self, int64_t receiver_id, int32_t count) noexcept nogil
    cdef void receiver_removed(self, int64_t receiver_id, int32_t count) noexcept nogil
    cdef void _receiver(self, int32_t code, int64_t receiver_id, int32_t count) noexcept nogil


# Write port and host in the form of events into a buffer of ADDRESS_ROOM bytes; returns the length.
cdef int32_t write_address(uint8_t* target, const address_t* address) noexcept nogil
