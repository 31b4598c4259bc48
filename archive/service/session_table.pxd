"""Hand-over of native sessions from a conductor to an agent on another thread.

A slot holds a borrowed pointer. Only the conductor fills an empty slot and only the agent empties a
full one; both use release stores that pair with the acquire loads of the other. The conductor keeps
the object alive until the session itself shows that the agent has released it.
"""

from libc.stdint cimport int32_t, int64_t

from aerolog.transport.concurrent.idle cimport IdleStrategy


cdef class SessionTable:
    cdef readonly int32_t capacity
    cdef IdleStrategy _agent_idle
    cdef int64_t* _slots
    cdef int32_t _high_water
    # All slots in use are below this index.
    cdef int32_t limit(self) noexcept nogil
    # Returns the session in a slot, NULL when the slot is empty.
    cdef void* at(self, int32_t index) noexcept nogil
    # Called by the agent only; the slot may be filled again afterwards.
    cdef void empty(self, int32_t index) noexcept nogil
