"""Clocks: every part of aerolog that needs the time receives one of these.

A clock has a monotonic time for durations and deadlines (``nano_time``), and the wall-clock time
for files and counters (``epoch_ms``, ``epoch_ns``). Any thread may read a clock; the native methods
run without the GIL.
"""

from libc.stdint cimport int64_t
from posix.time cimport CLOCK_MONOTONIC, CLOCK_REALTIME, clock_gettime, timespec

from aerolog.transport.time_units cimport NS_PER_MS, NS_PER_S


cdef inline int64_t _read(int clock_id) noexcept nogil:
    cdef timespec now
    clock_gettime(clock_id, &now)
    return <int64_t> now.tv_sec * NS_PER_S + now.tv_nsec


cdef class Clock:
    """Base of the clocks SystemClock and ManualClock."""

    cdef int64_t nano_time(self) noexcept nogil:
        return 0

    cdef int64_t epoch_ns(self) noexcept nogil:
        return 0

    cdef int64_t epoch_ms(self) noexcept nogil:
        return self.epoch_ns() // NS_PER_MS

    def now_ns(self) -> int:
        """Monotonic time in nanoseconds, for durations and deadlines."""
        return self.nano_time()

    def now_epoch_ns(self) -> int:
        """Wall-clock time in nanoseconds since the epoch."""
        return self.epoch_ns()

    def now_epoch_ms(self) -> int:
        """Wall-clock time in milliseconds since the epoch, as files and counters hold it."""
        return self.epoch_ms()


cdef class SystemClock(Clock):
    """The machine's clocks."""

    cdef int64_t nano_time(self) noexcept nogil:
        return _read(CLOCK_MONOTONIC)

    cdef int64_t epoch_ns(self) noexcept nogil:
        return _read(CLOCK_REALTIME)


cdef class ManualClock(Clock):
    """A clock that moves only on request, for simulations and tests.

    Args:
        epoch_ms: wall-clock time at the start, milliseconds since the epoch.
        nano_time: monotonic time at the start, nanoseconds.
    """

    def __init__(self, epoch_ms: int = 1_700_000_000_000, nano_time: int = NS_PER_S) -> None:
        self._nano_time = nano_time
        self._epoch_offset_ns = <int64_t> epoch_ms * NS_PER_MS - self._nano_time

    cdef int64_t nano_time(self) noexcept nogil:
        return self._nano_time

    cdef int64_t epoch_ns(self) noexcept nogil:
        return self._nano_time + self._epoch_offset_ns

    def advance_ns(self, duration_ns: int) -> None:
        """Move both times forward by a number of nanoseconds."""
        if duration_ns < 0:
            raise ValueError(f"a clock does not run backwards: duration_ns={duration_ns}")
        self._nano_time += <int64_t> duration_ns

    def step_epoch_ms(self, difference_ms: int) -> None:
        """Set the wall clock forward or back, as NTP does; the monotonic time does not change."""
        self._epoch_offset_ns += <int64_t> difference_ms * NS_PER_MS
