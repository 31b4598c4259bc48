"""Idle strategies: what a loop does after it found no work (spec configuration 9), without the GIL.

An instance belongs to one thread; other threads may call only wake().
"""

from libc.stdint cimport int32_t, int64_t


cdef class IdleStrategy:
    # A positive work count resets the strategy; otherwise it idles once.
    cdef void idle(self, int work_count) noexcept nogil
    cdef void reset(self) noexcept nogil
    # End the current park of the owning thread, or its next one, at once.
    cdef void wake(self) noexcept nogil
    # Wait so long; whether a wake ended it.
    cdef bint park(self, int64_t duration_ns) noexcept nogil
    # Nanoseconds for which the next idle parks when that is the longest park, else 0.
    cdef int64_t longest_park(self) noexcept nogil
    cdef int32_t _signal


cdef class NoOpIdleStrategy(IdleStrategy):
    pass


cdef class BusySpinIdleStrategy(IdleStrategy):
    pass


cdef class YieldingIdleStrategy(IdleStrategy):
    pass


cdef class SleepingIdleStrategy(IdleStrategy):
    cdef readonly int64_t period_ns


cdef class SleepingMillisIdleStrategy(SleepingIdleStrategy):
    pass


cdef class BackoffIdleStrategy(IdleStrategy):
    cdef readonly int64_t max_spins
    cdef readonly int64_t max_yields
    cdef readonly int64_t min_park_ns
    cdef readonly int64_t max_park_ns
    cdef int64_t _spins
    cdef int64_t _yields
    cdef int64_t _park_ns


cdef class ControllableIdleStrategy(IdleStrategy):
    cdef int64_t* _mode_counter
    cdef object _counter_owner
    # Set the counter that holds the mode; the strategy parks for NULL or an unknown value.
    cdef void bind(self, int64_t* mode_counter, object owner)


cdef class CallableIdleStrategy(IdleStrategy):
    cdef readonly object function
    cdef readonly object error
