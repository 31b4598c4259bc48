from libc.stdint cimport int64_t


cdef class Clock:
    cdef int64_t nano_time(self) noexcept nogil
    cdef int64_t epoch_ns(self) noexcept nogil
    cdef int64_t epoch_ms(self) noexcept nogil


cdef class SystemClock(Clock):
    pass


cdef class ManualClock(Clock):
    cdef int64_t _nano_time
    cdef int64_t _epoch_offset_ns
