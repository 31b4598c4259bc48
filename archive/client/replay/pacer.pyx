"""The pacer: when messages are due, and waiting until then, natively.

A wait sleeps until shortly before the message is due and then looks at the clock without a pause:
a sleep ends as late as the system likes. It sleeps on a pipe, into which each change writes a
byte, so that a pause, another speed or the end takes effect at once, and a signal as well.
"""

import os

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport INT64_MAX, int64_t

from aerolog.transport.concurrent.atomic cimport (
    cpu_pause,
    load_acquire_i32,
    load_acquire_i64,
    store_release_i32,
    store_release_i64,
)
from aerolog.transport.concurrent.clock cimport Clock, SystemClock

from aerolog.transport.errors import ConfigurationError

cdef extern from *:
    """
    #include <poll.h>
    #include <stddef.h>
    #include <stdint.h>
    #include <time.h>
    #include <unistd.h>

    /* Whether something was written or a signal came before the time was over. */
    static int aerolog_sleep_on(int fd, int64_t duration_ns)
    {
        struct pollfd wanted = {fd, POLLIN, 0};
    #if defined(__linux__)
        struct timespec most = {duration_ns / 1000000000, duration_ns % 1000000000};
        return ppoll(&wanted, 1, &most, NULL) != 0;
    #else
        return poll(&wanted, 1, (int)(duration_ns / 1000000)) != 0;
    #endif
    }

    /* Takes what is there; the descriptor does not block. */
    static void aerolog_drain(int fd)
    {
        char bytes[64];
        while (read(fd, bytes, sizeof(bytes)) == (ssize_t)sizeof(bytes)) { }
    }

    /* A full pipe wakes as well. */
    static void aerolog_wake(int fd)
    {
        ssize_t written = write(fd, "", 1);
        (void)written;
    }
    """
    int sleep_on "aerolog_sleep_on" (int fd, int64_t duration_ns) noexcept nogil
    void drain_pipe "aerolog_drain" (int fd) noexcept nogil
    void wake_pipe "aerolog_wake" (int fd) noexcept nogil

SPEED_MIN = 0.000_001
SPEED_MAX = 1_000_000.0

cdef int64_t _MILLION = 1_000_000
# By how much a sleep may end later than asked for.
cdef int64_t _SPIN_NS = 120_000
# The longest time between two checks for signals, which may come to another thread.
cdef int64_t _SLICE_NS = 50_000_000
cdef int64_t _NEVER = INT64_MAX

cdef enum _Outcome:
    DUE
    EXPIRED
    STOPPED
    LOOK


cdef int64_t _millionths(object speed) except -1:
    """A speed as it is kept, 0 for None."""
    if speed is None:
        return 0
    if not SPEED_MIN <= speed <= SPEED_MAX:
        raise ConfigurationError(
            f"speed {speed!r} is outside {SPEED_MIN:f} to {SPEED_MAX:.0f}; "
            "None is as fast as can be"
        )
    return max(1, round(speed * _MILLION))


cdef class Pacer:
    """Says when each message of a stream is due, and waits until then.

    The first message is due at once, and the others as long after it as they were recorded after
    it, divided by the speed. A message that comes too late is due at once and moves nothing: the
    stream catches up. Where times go back, as after a step of the clock, no time passes.

    One thread waits; any thread may pause, resume, change the speed and stop. Such a change ends a
    wait's sleep at once.

    Args:
        speed: how many recorded seconds pass in one; None: as fast as can be.
        clock: for the time that passes; the machine's by default.
        paused: begin paused.

    Raises:
        ConfigurationError: a speed outside 0.000001 to 1000000.

    Attributes:
        steps_back: how often a message's time lay before that of the message before.
        due_ns: when the last message was due, in the clock's monotonic time.
        late_ns_max: by how much the latest message was late.
    """

    def __cinit__(self, speed=1.0, *, Clock clock=None, paused=False):
        self._read_fd = self._write_fd = -1
        self._wanted_speed = self._speed = _millionths(speed)
        self._wanted_pause = self._paused = 1 if paused else 0
        self._clock = SystemClock() if clock is None else clock
        self._read_fd, self._write_fd = os.pipe()
        os.set_blocking(self._read_fd, False)
        os.set_blocking(self._write_fd, False)

    def __dealloc__(self):
        # They are closed only here, since a thread may have slept on them until now.
        if self._read_fd >= 0:
            os.close(self._read_fd)
            os.close(self._write_fd)

    # -- any thread ------------------------------------------------------------------------------

    cdef void _changed(self) noexcept:
        wake_pipe(self._write_fd)

    @property
    def speed(self):
        """Recorded seconds per second; None means as fast as possible."""
        cdef int64_t wanted = load_acquire_i64(&self._wanted_speed)
        return wanted / 1e6 if wanted else None

    @speed.setter
    def speed(self, speed):
        store_release_i64(&self._wanted_speed, _millionths(speed))
        self._changed()

    def pause(self):
        """Let nothing be due until ``resume``."""
        store_release_i32(&self._wanted_pause, 1)
        self._changed()

    def resume(self):
        """Go on from where it was paused."""
        store_release_i32(&self._wanted_pause, 0)
        self._changed()

    @property
    def paused(self):
        """Whether it is paused."""
        return load_acquire_i32(&self._wanted_pause) != 0

    def stop(self):
        """End the wait that is under way and all that follow, which return False."""
        store_release_i32(&self._stopped, 1)
        self._changed()

    @property
    def stopped(self):
        """Whether it was stopped."""
        return load_acquire_i32(&self._stopped) != 0

    # -- the thread that waits -------------------------------------------------------------------

    cdef void _advance(self, int64_t time_ns) noexcept nogil:
        """Take note of a message's time; an index may hold any number, so the sum is checked."""
        cdef unsigned long long passed
        if not self._begun:
            self._begun = True
            self._anchor_ns = self._clock.nano_time()
        elif time_ns > self._time_ns:
            passed = <unsigned long long> time_ns - <unsigned long long> self._time_ns
            if passed > <unsigned long long> (INT64_MAX // 4):
                passed = <unsigned long long> (INT64_MAX // 4)
            self._elapsed_ns = min(self._elapsed_ns + <int64_t> passed, INT64_MAX // 4)
        elif time_ns < self._time_ns:
            self.steps_back += 1
        self._time_ns = time_ns

    cdef void _anchor(self, int64_t now_ns, int64_t before_ns) noexcept nogil:
        """Count from here on: what has elapsed until now does not change any more.

        As fast as can be, that is up to the message before this one.
        """
        cdef double passed
        if not self._paused:
            if self._speed == 0:
                self._anchor_elapsed_ns = before_ns
            else:
                passed = <double> (now_ns - self._anchor_ns) * <double> self._speed / 1e6
                if passed < <double> (self._elapsed_ns - self._anchor_elapsed_ns):
                    self._anchor_elapsed_ns += <int64_t> passed
                else:
                    self._anchor_elapsed_ns = self._elapsed_ns
        self._anchor_ns = now_ns

    cdef int64_t remaining_ns(self, int64_t time_ns, int64_t now_ns) noexcept nogil:
        """How long until a message of that time is due; sets `due_ns`."""
        cdef int64_t speed = load_acquire_i64(&self._wanted_speed)
        cdef int32_t paused = load_acquire_i32(&self._wanted_pause)
        cdef int64_t before = self._elapsed_ns
        cdef int64_t ahead
        cdef double wait
        if not self._begun or time_ns != self._time_ns:
            self._advance(time_ns)
        if speed != self._speed or paused != self._paused:
            self._anchor(now_ns, before)
            self._speed = speed
            self._paused = paused
        if paused:
            return _NEVER
        if speed == 0:
            self.due_ns = now_ns
            return 0
        ahead = self._elapsed_ns - self._anchor_elapsed_ns
        if speed != _MILLION:
            wait = <double> ahead * 1e6 / <double> speed
            ahead = <int64_t> wait if wait < <double> (INT64_MAX // 4) else INT64_MAX // 4
        self.due_ns = self._anchor_ns + ahead
        return self.due_ns - now_ns

    cdef int _sleep(self, int64_t duration_ns) noexcept nogil:
        if not sleep_on(self._read_fd, duration_ns):
            return 0
        drain_pipe(self._read_fd)
        return 1

    cdef int _wait(self, int64_t time_ns, int64_t deadline_ns) noexcept nogil:
        cdef int64_t now
        cdef int64_t remaining
        while True:
            if load_acquire_i32(&self._stopped):
                return STOPPED
            now = self._clock.nano_time()
            remaining = self.remaining_ns(time_ns, now)
            if remaining <= 0:
                self.late_ns_max = max(self.late_ns_max, -remaining)
                return DUE
            if now >= deadline_ns:
                return EXPIRED
            if remaining <= _SPIN_NS:
                cpu_pause()
                continue
            remaining = min(remaining - _SPIN_NS, deadline_ns - now)
            if self._sleep(min(remaining, _SLICE_NS)) or remaining > _SLICE_NS:
                return LOOK

    def delay_ns(self, int64_t time_ns):
        """How long until a message of that time is due: 0 or less when it is, None while paused."""
        cdef int64_t remaining = self.remaining_ns(time_ns, self._clock.nano_time())
        if remaining == _NEVER:
            return None
        if remaining <= 0:
            self.late_ns_max = max(self.late_ns_max, -remaining)
        return remaining

    def wait(self, int64_t time_ns, int64_t at_most_ns=50_000_000):
        """Wait until a message of that time is due, without the GIL.

        Returns:
            Whether it is due. False: stopped, or ``at_most_ns`` have passed; ask again then.

        Raises:
            KeyboardInterrupt: or whatever else a signal's handler raises.
        """
        cdef int64_t now = self._clock.nano_time()
        cdef int64_t deadline = now + max(0, min(at_most_ns, INT64_MAX // 4))
        cdef int outcome
        while True:
            with nogil:
                outcome = self._wait(time_ns, deadline)
            if outcome == DUE:
                return True
            PyErr_CheckSignals()
            if outcome != LOOK:
                return False

    def nap(self, int64_t at_most_ns):
        """Sleep so long, or until something changes; for a source that has nothing to give now."""
        cdef int64_t most = max(0, min(at_most_ns, _SLICE_NS))
        with nogil:
            self._sleep(most)
        PyErr_CheckSignals()

    # -- event loops -----------------------------------------------------------------------------

    def fileno(self):
        """A descriptor that becomes readable with every change; for event loops."""
        return self._read_fd

    def drain(self):
        """Take note of the changes, so that the descriptor is not readable any more."""
        drain_pipe(self._read_fd)
