"""When a gap is reported, first and again (spec wire-protocol 9.3), for native code."""

from libc.stdint cimport int64_t, uint64_t


cdef class FeedbackDelay:
    cdef int64_t first_delay_ns(self) noexcept nogil
    cdef int64_t retry_delay_ns(self) noexcept nogil


cdef class StaticDelay(FeedbackDelay):
    cdef int64_t _first_ns
    cdef int64_t _retry_ns


cdef class OptimalMulticastDelay(FeedbackDelay):
    cdef uint64_t _state
    cdef double _span       # lambda / T
    cdef double _scale      # e^lambda - 1
