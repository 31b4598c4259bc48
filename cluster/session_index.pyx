"""Values of open sessions by session id, for native code."""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free

cdef enum:
    NO_SESSION = -1
    SMALLEST = 8


cdef class SessionIndex:
    """A number for each open session, which native code finds and changes."""

    def __dealloc__(self) -> None:
        free(self._slots)

    cdef int64_t* find(self, int64_t session_id) noexcept nogil:
        cdef int32_t at
        if self._slots == NULL or session_id < 0:
            return NULL
        at = <int32_t> (session_id & self._mask)
        while self._slots[at].session_id != session_id:
            if self._slots[at].session_id == NO_SESSION:
                return NULL
            at = (at + 1) & self._mask
        return &self._slots[at].value

    cdef int assign(self, list entries) except -1:
        cdef int32_t size = SMALLEST
        cdef int32_t at
        cdef int64_t session_id, value
        cdef slot_t* slots
        while size < 2 * len(entries) + 1:
            size *= 2
        slots = <slot_t*> calloc(size, sizeof(slot_t))
        if slots == NULL:
            raise MemoryError()
        for at in range(size):
            slots[at].session_id = NO_SESSION
        for session_id, value in entries:
            at = <int32_t> (session_id & (size - 1))
            while slots[at].session_id != NO_SESSION:
                at = (at + 1) & (size - 1)
            slots[at].session_id = session_id
            slots[at].value = value
        free(self._slots)
        self._slots = slots
        self._mask = size - 1
        return 0
