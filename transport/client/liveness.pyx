"""Liveness of a client: its heartbeat, the driver's, and the check for messages, without the GIL.

A Python program that holds the interpreter lock for a long time must not lose its client. So the
client's thread stays in ``wait``, which updates the client's heartbeat counter, watches the
driver's heartbeat, and returns to Python only when there is a message to act on or the client has
to end (spec client 4). While it waits for the lock then, the standby gives the heartbeats. One
thread at a time may call it, except for ``stop``, ``await_message`` and pulses.
"""

from cpython.pythread cimport (
    WAIT_LOCK,
    PyThread_acquire_lock,
    PyThread_allocate_lock,
    PyThread_free_lock,
    PyThread_release_lock,
)
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy
from posix.time cimport clock_nanosleep, timespec

from aerolog.transport.concurrent.atomic cimport (
    get_i64,
    load_acquire_i32,
    load_plain_i32,
    store_release_i32,
    store_release_i64,
)
from aerolog.transport.concurrent.clock cimport Clock
from aerolog.transport.concurrent.standby_runner cimport (
    add_duty,
    begin_wait,
    end_wait,
    remove_duty,
)
from aerolog.transport.counters.counter_types cimport CLIENT_HEARTBEAT
from aerolog.transport.memory.broadcast cimport BroadcastReceiver
from aerolog.transport.memory.counters cimport (
    COUNTER_ALLOCATED,
    COUNTER_KEY_AT,
    COUNTER_LABEL_AT,
    COUNTER_LABEL_LENGTH_AT,
    COUNTER_LABEL_MAX,
    COUNTER_METADATA_LENGTH,
    COUNTER_TYPE_AT,
    COUNTER_UNUSED,
    CountersReader,
)
from aerolog.transport.memory.heartbeat cimport heartbeat_seen, silence_of
from aerolog.transport.memory.ring_buffer cimport ManyToOneRingBuffer
from aerolog.transport.time_units cimport NS_PER_MS, NS_PER_S

cdef extern from "<pthread.h>" nogil:
    int pthread_atfork(void (*prepare)() noexcept nogil, void (*parent)() noexcept nogil,
                       void (*child)() noexcept nogil) noexcept

cdef extern from "<time.h>" nogil:
    const int CLOCK_MONOTONIC

QUIET = LIVENESS_QUIET
MESSAGE = LIVENESS_MESSAGE
STOPPED = LIVENESS_STOPPED
SERVICE_INTERVAL_EXCEEDED = LIVENESS_SERVICE_INTERVAL_EXCEEDED
DRIVER_SHUT_DOWN = LIVENESS_DRIVER_SHUT_DOWN
DRIVER_SILENT = LIVENESS_DRIVER_SILENT
HEARTBEAT_COUNTER_GONE = LIVENESS_HEARTBEAT_COUNTER_GONE

# The first looks for a message are close together, since a driver answers within microseconds.
cdef enum:
    FIRST_SLEEP_NS = 20_000
    LONGEST_SLEEP_NS = NS_PER_MS

cdef int64_t fork_generation = 0


cdef void _after_fork_in_child() noexcept nogil:
    global fork_generation
    fork_generation += 1


pthread_atfork(NULL, NULL, _after_fork_in_child)


def current_fork_generation() -> int:
    """Return the number of forks between this process and the one that imported the module."""
    return fork_generation


cdef inline void _sleep(int64_t duration_ns) noexcept nogil:
    cdef timespec duration
    duration.tv_sec = duration_ns // NS_PER_S
    duration.tv_nsec = duration_ns % NS_PER_S
    clock_nanosleep(CLOCK_MONOTONIC, 0, &duration, NULL)


cdef int run_for(void* liveness) noexcept nogil:
    (<Liveness> liveness).stand_in()
    return 0


cdef class Pulse:
    """What a client does from time to time, whoever has the interpreter; by default nothing."""

    cdef void beat(self, int64_t now_ns) noexcept nogil:
        pass


cdef class Liveness:
    """Heartbeats and message detection of one client.

    Args:
        receiver: the buffer of the driver's messages; only the conductor takes them from it.
        ring: holds the driver's heartbeat.
        counters: where the client's own heartbeat counter appears.
        clock: monotonic for intervals, wall clock for heartbeats.
        client_id: the id by which the client's heartbeat counter is found.
        driver_timeout_ns: the driver is gone when its heartbeat has stood still for longer.
        keepalive_interval_ns: the time between two heartbeats of this client.
        inter_service_timeout_ns: the longest gap between two services before the driver will
            have given this client up.
        label_suffix: ASCII, appended once to the label of the heartbeat counter.
    """

    def __cinit__(
        self,
        BroadcastReceiver receiver not None,
        ManyToOneRingBuffer ring not None,
        CountersReader counters not None,
        Clock clock not None,
        *,
        client_id: int,
        driver_timeout_ns: int,
        keepalive_interval_ns: int,
        inter_service_timeout_ns: int,
        label_suffix: bytes,
    ) -> None:
        self._receiver = receiver
        self._ring = ring
        self._counters = counters
        self._clock = clock
        self.client_id = client_id
        self.driver_timeout_ms = driver_timeout_ns // NS_PER_MS
        self.keepalive_interval_ns = keepalive_interval_ns
        self.inter_service_timeout_ns = inter_service_timeout_ns
        self.heartbeat_counter_id = -1
        self._label_suffix = label_suffix
        self._suffix = label_suffix
        self._suffix_length = <int32_t> len(label_suffix)
        self._last_service_ns = clock.nano_time()
        self._next_keepalive_ns = self._last_service_ns + self.keepalive_interval_ns
        self._driver = heartbeat_seen(ring.heartbeat_ms(), self._last_service_ns)
        self._pulses = ()
        self._pulse_lock = PyThread_allocate_lock()
        if self._pulse_lock == NULL:
            raise MemoryError()

    def __dealloc__(self) -> None:
        if self._has_standby:
            with nogil:
                remove_duty(&self._duty)
        if self._pulse_lock != NULL:
            PyThread_free_lock(self._pulse_lock)
        free(self._pulse_array)

    # -- pulses ----------------------------------------------------------------------------------

    def add_pulse(self, Pulse pulse not None) -> None:
        """Begin to call a pulse with each check, from any thread."""
        self._set_pulses((*self._pulses, pulse))

    def remove_pulse(self, Pulse pulse not None) -> None:
        """Call a pulse no more; afterwards nobody is in it. An unknown one is no error."""
        self._set_pulses(tuple([each for each in self._pulses if each is not pulse]))

    cdef int _set_pulses(self, tuple pulses) except -1:
        cdef int32_t index
        cdef void** before
        cdef void** array = <void**> malloc((len(pulses) + 1) * sizeof(void*))
        if array == NULL:
            raise MemoryError()
        for index in range(len(pulses)):
            array[index] = <void*> pulses[index]
        # Those that are called hold this lock for a moment only, and need no interpreter for it.
        PyThread_acquire_lock(self._pulse_lock, WAIT_LOCK)
        before = self._pulse_array
        self._pulse_array = array
        self._pulse_count = <int32_t> len(pulses)
        PyThread_release_lock(self._pulse_lock)
        self._pulses = pulses
        free(before)
        return 0

    cdef void _beat_pulses(self, int64_t now_ns) noexcept nogil:
        cdef int32_t index
        if self._pulse_count == 0:
            return
        PyThread_acquire_lock(self._pulse_lock, WAIT_LOCK)
        for index in range(self._pulse_count):
            (<Pulse> self._pulse_array[index]).beat(now_ns)
        PyThread_release_lock(self._pulse_lock)

    # -- checks ----------------------------------------------------------------------------------

    cdef void stand_in(self) noexcept nogil:
        """Give heartbeats for a thread that has to act on something and waits for the lock."""
        cdef int64_t now_ns = self._clock.nano_time()
        if now_ns - self._last_service_ns > self.inter_service_timeout_ns:
            return  # the process was paused, which is left for the thread to find
        self._last_service_ns = now_ns
        self._beat_pulses(now_ns)
        if now_ns - self._next_keepalive_ns >= 0:
            # What it finds is still there when the thread looks again.
            self._next_keepalive_ns = now_ns + self.keepalive_interval_ns
            self._keep_alive(now_ns)

    cdef int check(self, int64_t now_ns) noexcept nogil:
        """Check everything once; a negative result means that the client has to end."""
        cdef int code
        cdef int64_t gap_ns = now_ns - self._last_service_ns
        if gap_ns > self.inter_service_timeout_ns:
            self.service_gap_ns = gap_ns
            return LIVENESS_SERVICE_INTERVAL_EXCEEDED
        self._last_service_ns = now_ns
        self._beat_pulses(now_ns)
        if now_ns - self._next_keepalive_ns >= 0:
            self._next_keepalive_ns = now_ns + self.keepalive_interval_ns
            code = self._keep_alive(now_ns)
            if code != LIVENESS_QUIET:
                return code
        if load_acquire_i32(&self._requested):
            store_release_i32(&self._requested, 0)
            return LIVENESS_MESSAGE
        return LIVENESS_MESSAGE if self._receiver.has_message() else LIVENESS_QUIET

    cdef int _keep_alive(self, int64_t now_ns) noexcept nogil:
        cdef int64_t now_ms = self._clock.epoch_ms()
        cdef int64_t driver_ms = self._ring.heartbeat_ms()
        cdef int64_t silence_ms
        if driver_ms == -1:
            return LIVENESS_DRIVER_SHUT_DOWN
        silence_ms = silence_of(&self._driver, driver_ms, now_ns, now_ms) // NS_PER_MS
        if silence_ms > self.driver_timeout_ms:
            self.driver_age_ms = silence_ms
            return LIVENESS_DRIVER_SILENT
        if self.heartbeat_counter_id < 0:
            self.heartbeat_counter_id = self._find_heartbeat_counter()
            if self.heartbeat_counter_id < 0:
                return LIVENESS_QUIET
            store_release_i64(self._counters.value_address(self.heartbeat_counter_id), now_ms)
            self._sign_label(self.heartbeat_counter_id)
            return LIVENESS_QUIET
        if not self._is_own_heartbeat(self.heartbeat_counter_id):
            return LIVENESS_HEARTBEAT_COUNTER_GONE
        store_release_i64(self._counters.value_address(self.heartbeat_counter_id), now_ms)
        return LIVENESS_QUIET

    cdef int32_t _find_heartbeat_counter(self) noexcept nogil:
        cdef int32_t counter_id
        cdef int32_t state
        for counter_id in range(self._counters.max_counter_id + 1):
            state = self._counters.state(counter_id)
            if state == COUNTER_UNUSED:
                return -1
            if state == COUNTER_ALLOCATED and self._is_own_heartbeat(counter_id):
                return counter_id
        return -1

    cdef bint _is_own_heartbeat(self, int32_t counter_id) noexcept nogil:
        cdef const uint8_t* record = (
            self._counters.metadata + <int64_t> counter_id * COUNTER_METADATA_LENGTH
        )
        return (
            load_acquire_i32(record) == COUNTER_ALLOCATED
            and load_plain_i32(record + COUNTER_TYPE_AT) == CLIENT_HEARTBEAT
            and get_i64(record + COUNTER_KEY_AT) == self.client_id
        )

    cdef void _sign_label(self, int32_t counter_id) noexcept nogil:
        """Append the suffix; the driver leaves the label as it is (spec cnc-and-commands 22)."""
        cdef uint8_t* record = (
            self._counters.metadata + <int64_t> counter_id * COUNTER_METADATA_LENGTH
        )
        cdef int32_t used = load_plain_i32(record + COUNTER_LABEL_LENGTH_AT)
        cdef int32_t length
        if used < 0 or used > COUNTER_LABEL_MAX:
            return
        length = min(self._suffix_length, COUNTER_LABEL_MAX - used)
        memcpy(record + COUNTER_LABEL_AT + used, self._suffix, length)
        store_release_i32(record + COUNTER_LABEL_LENGTH_AT, used + length)

    def service(self) -> int:
        """Do what is due now and return what was found; for a client without a thread."""
        return self.check(self._clock.nano_time())

    def wait(self, idle_ns: int) -> int:
        """Sleep, then look, over and over until something was found.

        Args:
            idle_ns: the time to sleep between two checks, in nanoseconds.

        Returns:
            MESSAGE, STOPPED, or a negative code: the client has to end.
        """
        cdef int64_t sleep_ns = idle_ns
        cdef int code = LIVENESS_QUIET
        if not self._has_standby:
            self._duty.cycle = run_for
            self._duty.context = <void*> self
            self._has_standby = add_duty(&self._duty) == 0
        with nogil:
            while code == LIVENESS_QUIET:
                _sleep(sleep_ns)
                if load_acquire_i32(&self._stop):
                    code = LIVENESS_STOPPED
                else:
                    code = self.check(self._clock.nano_time())
            begin_wait(&self._duty)
        end_wait(&self._duty)
        return code

    def await_message(self, timeout_ns: int) -> bool:
        """Wait for a message, at most about this long; another thread may be in ``wait``.

        It also returns at once when the client is stopped.
        """
        cdef int64_t most_ns = timeout_ns
        cdef int64_t slept_ns = 0
        cdef int64_t sleep_ns = FIRST_SLEEP_NS
        cdef bint found
        with nogil:
            found = self._receiver.has_message()
            while not found and slept_ns < most_ns and not load_acquire_i32(&self._stop):
                _sleep(sleep_ns)
                slept_ns += sleep_ns
                sleep_ns = min(2 * sleep_ns, LONGEST_SLEEP_NS)
                found = self._receiver.has_message()
        return found

    def request(self) -> None:
        """Have the conductor look after something as if a message had come."""
        store_release_i32(&self._requested, 1)

    def stop(self) -> None:
        """End ``wait``, whichever thread runs it."""
        store_release_i32(&self._stop, 1)
