"""Copies of messages of sessions, as a sequence and as columns."""

from libc.stdint cimport int32_t, int64_t, uint8_t


ctypedef struct entry_t:
    int64_t session_id
    int64_t term_id         # the leader's term
    int64_t timestamp
    int64_t position
    int64_t end             # where the message ends in the bytes


cdef class MessageColumns:
    cdef entry_t* entries
    cdef int32_t count
    cdef int32_t _room
    cdef uint8_t* _bytes
    cdef int64_t _length
    cdef int64_t _byte_room
    # Copy a message behind the others; false without memory. The entry's end is filled in.
    cdef bint copy(
        self, const entry_t* entry, const uint8_t* data, int64_t length
    ) noexcept nogil
    cdef int copy_from(self, MessageColumns other, int32_t first) except -1
    cdef bytes payload(self, int32_t index)
    cdef object message(self, int32_t index)
    cdef object _column(self, int64_t* first)
