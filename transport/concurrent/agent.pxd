from libc.stdint cimport int64_t


cdef class Agent:
    cdef readonly str role_name
    cdef bint control_due
    cdef int duty_cycle(self, int64_t now_ns) noexcept nogil
