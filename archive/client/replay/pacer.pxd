"""The pacer, for native callers."""

from libc.stdint cimport int32_t, int64_t

from aerolog.transport.concurrent.clock cimport Clock


cdef class Pacer:
    cdef Clock _clock
    cdef int _read_fd
    cdef int _write_fd
    # Written by any thread, read by the one that waits.
    cdef int64_t _wanted_speed            # millionths, 0: as fast as can be
    cdef int32_t _wanted_pause
    cdef int32_t _stopped
    # Of the thread that waits; `elapsed` is recorded time since the first message.
    cdef bint _begun
    cdef int32_t _paused
    cdef int64_t _speed
    cdef int64_t _time_ns                 # of the last message
    cdef int64_t _elapsed_ns              # at the last message
    cdef int64_t _anchor_elapsed_ns
    cdef int64_t _anchor_ns               # when that much had elapsed, monotonic
    cdef readonly int64_t due_ns
    cdef readonly int64_t late_ns_max
    cdef readonly int64_t steps_back
    cdef int64_t remaining_ns(self, int64_t time_ns, int64_t now_ns) noexcept nogil
    cdef void _advance(self, int64_t time_ns) noexcept nogil
    cdef void _anchor(self, int64_t now_ns, int64_t before_ns) noexcept nogil
    cdef int _wait(self, int64_t time_ns, int64_t deadline_ns) noexcept nogil
    cdef int _sleep(self, int64_t duration_ns) noexcept nogil
    cdef void _changed(self) noexcept
