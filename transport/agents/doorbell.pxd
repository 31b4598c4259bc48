"""A bell by which an agent on another thread calls its conductor."""

from libc.stdint cimport int32_t

from aerolog.transport.concurrent.idle cimport IdleStrategy


cdef class Doorbell:
    cdef IdleStrategy _listener_idle
    # Set by any thread and cleared by the thread that listens.
    cdef int32_t _rung
    cdef void ring(self) noexcept nogil
    cdef bint take(self) noexcept nogil
    cdef bint is_rung(self) noexcept nogil
