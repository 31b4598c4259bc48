"""Values of open sessions by session id, for native code; one thread at a time."""

from libc.stdint cimport int32_t, int64_t


ctypedef struct slot_t:
    int64_t session_id
    int64_t value


cdef class SessionIndex:
    cdef slot_t* _slots      # by hash of the id, open addressing
    cdef int32_t _mask
    # The place of a session's value, which stays until the next assign(); NULL for another session.
    cdef int64_t* find(self, int64_t session_id) noexcept nogil
    # Have these sessions, and no others; each entry is a pair of id and value.
    cdef int assign(self, list entries) except -1
