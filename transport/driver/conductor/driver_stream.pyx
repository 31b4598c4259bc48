"""The base classes of every stream that the conductor's agent runs."""

from libc.stdint cimport int32_t, int64_t

from aerolog.transport.concurrent.atomic cimport get_and_add_i64, store_release_i64
from aerolog.transport.logbuffer.cleaner cimport UNBLOCK_NOTHING, unblock_log
from aerolog.transport.logbuffer.descriptor cimport (
    LogBuffers,
    active_term_count,
    producer_position,
)
from aerolog.transport.memory.counters cimport CountersReader

from aerolog.transport.driver.counters.system_counters import SystemCounter


cdef class DriverStream:
    """One stream that the conductor's agent runs.

    Sub-classes override ``update``, ``needs_control`` and ``tick``, and make ``allocation``.
    """

    cdef int update(self, int64_t now_ns) noexcept nogil:
        return 0

    cdef bint needs_control(self, int64_t now_ns) noexcept nogil:
        return False

    cdef void tick(self, int64_t now_ns) noexcept nogil:
        pass

    cdef int64_t granted(self, int64_t limit) noexcept nogil:
        cdef int error_before = self.allocation.error
        if limit <= self.allocation.limit:
            return limit
        limit = self.allocation.granted(limit)
        if self.allocation.error != error_before:
            self.allocation_refused = True
        return limit

    cdef void retry_allocation(self) noexcept nogil:
        self.allocation.retry()
        self.allocation_refused = False

    def needs_attention(self, now_ns: int) -> bool:
        """Return whether a timer event at this time has something to tell clients."""
        return self.needs_control(now_ns)

    def on_timer(self, now_ns: int) -> None:
        """Do the native part of a timer event."""
        self.tick(now_ns)

    def on_cycle(self, now_ns: int = 0) -> int:
        """Do the native part of a duty cycle at a monotonic time; return a work count."""
        return self.update(now_ns)

    def refused_allocation(self) -> int:
        """Return the errno of space refused since the last timer event, only once; else 0."""
        if not self.allocation_refused:
            return 0
        self.allocation_refused = False
        return self.allocation.error


cdef class PublicationStream(DriverStream):
    """One stream that clients of this driver publish to, whatever its media.

    Sub-classes take these arguments too, and know the position of their readers.

    Args:
        logs: the publication's log.
        counters: the counters to which the ids refer; kept alive.
        pub_pos_id: the counter of the sampled publisher position.
        pub_lmt_id: the counter of the publication limit.
        unblocked_id: the system counter of unblocked publications.
        exclusive: whether it is exclusive: such a publication is unblocked only while it drains.
        initial_position: the position at which the publication starts.
        window_length: the publication window in bytes.
        unblock_timeout_ns: the time without progress of readers until publishers are unblocked.
        now_ns: the monotonic time.

    Attributes:
        state: ACTIVE, DRAINING, LINGER or DONE.
        references: the number of publication links.

    Raises:
        IndexError: a counter id does not exist.
    """

    def __cinit__(
        self,
        LogBuffers logs not None,
        CountersReader counters not None,
        *_,
        int pub_pos_id,
        int pub_lmt_id,
        int unblocked_id=SystemCounter.UNBLOCKED_PUBLICATIONS,
        bint exclusive,
        initial_position,
        window_length,
        unblock_timeout_ns,
        now_ns,
        **__,
    ):
        self.logs = logs
        self.log = &logs.log
        self.counters = counters
        self.pub_pos = self.counter(pub_pos_id)
        self.pub_lmt = self.counter(pub_lmt_id)
        self.unblocked_publications = self.counter(unblocked_id)
        self.state = PUBLICATION_ACTIVE
        self.exclusive = exclusive
        self.window = window_length
        self.unblock_timeout_ns = unblock_timeout_ns
        self.last_read_position = initial_position
        self.last_read_change_ns = now_ns

    cdef int64_t* counter(self, int32_t counter_id) except NULL:
        cdef int64_t* address = self.counters.value_address(counter_id)
        if address == NULL:
            raise IndexError(f"no such counter: {counter_id}")
        return address

    cdef void check_blocked(self, int64_t position, int64_t now_ns) noexcept nogil:
        cdef bint pending = (
            active_term_count(self.log) != <int32_t> (position >> self.log.position_bits)
            or producer_position(self.log) > position
        )
        if pending and position == self.last_read_position:
            if now_ns - self.last_read_change_ns > self.unblock_timeout_ns:
                self.unblock(position)
        else:
            self.last_read_change_ns = now_ns
            self.last_read_position = position

    cdef bint unblock(self, int64_t position) noexcept nogil:
        if position >= self.allocation.limit:
            return False
        if unblock_log(self.log, position) == UNBLOCK_NOTHING:
            return False
        get_and_add_i64(self.unblocked_publications, 1)
        return True

    @property
    def publisher_position(self) -> int:
        """Return the position at which the next message will be published."""
        return producer_position(self.log)

    def enter(self, state: int) -> None:
        """Change to another state."""
        if not self.state < state <= PUBLICATION_DONE:
            raise ValueError(f"a publication does not go from state {self.state} to {state}")
        self.state = state

    def sample_publisher(self) -> None:
        """Store the publisher's position in its counter."""
        store_release_i64(self.pub_pos, producer_position(self.log))
