cdef class IdleStrategy:
    cdef void idle(self, int work_count) noexcept nogil
    cdef void reset(self) noexcept nogil
