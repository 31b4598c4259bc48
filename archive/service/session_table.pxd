"""Hand-over of native sessions between a conductor and an agent on another thread.

A slot holds a borrowed pointer. Only the conductor fills an empty slot, only the agent empties a
full one; both by release stores that pair with the other's acquire loads. The conductor keeps the
object alive until the session itself says that the agent has let go of it.
"""

from libc.stdint cimport int32_t, int64_t

from aerolog.transport.concurrent.idle cimport IdleStrategy


cdef class SessionTable:
    cdef readonly int32_t capacity
    cdef IdleStrategy _agent_idle
    cdef int64_t* _slots
    cdef int32_t _high_water
    # Slots that may be in use are below this index.
    cdef int32_t limit(self) noexcept nogil
    # The session of a slot, NULL when it is empty.
    cdef void* at(self, int32_t index) noexcept nogil
    # Only the agent: the slot may be filled again after this.
    cdef void empty(self, int32_t index) noexcept nogil


cdef class Doorbell:
    cdef IdleStrategy _listener_idle
    # Set by any thread, taken by the one that listens.
    cdef int32_t _rung
    cdef void ring(self) noexcept nogil
    cdef bint take(self) noexcept nogil
    cdef bint is_rung(self) noexcept nogil
