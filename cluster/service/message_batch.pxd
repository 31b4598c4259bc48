"""Messages of a log, for a service that takes them in batches."""

from libc.stdint cimport int32_t, int64_t, uint8_t


ctypedef struct entry_t:
    int64_t session_id
    int64_t timestamp
    int64_t position
    int64_t end             # where the message ends in the batch's bytes


cdef class MessageBatch:
    cdef list _sessions     # of each message: a ClientSession or None
    cdef entry_t* _entries
    cdef int32_t _count
    cdef int32_t _room
    cdef uint8_t* _bytes
    cdef int64_t _length
    cdef int64_t _byte_room
    cdef int add(
        self, object session, int64_t session_id, int64_t timestamp, int64_t position,
        const uint8_t* data, int64_t length,
    ) except -1
    cdef object _message(self, int32_t index)
    cdef object _column(self, int64_t* first)
