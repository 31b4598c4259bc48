"""The base classes of every stream that the conductor's agent runs."""

from libc.stdint cimport int32_t, int64_t

from aerolog.transport.concurrent.atomic cimport (
    get_and_add_i64,
    store_release_i32,
    store_release_i64,
)
from aerolog.transport.driver.conductor.subscriber_positions cimport SubscriberPositions
from aerolog.transport.logbuffer.cleaner cimport UNBLOCK_NOTHING, unblock_log
from aerolog.transport.logbuffer.descriptor cimport (
    LogBuffers,
    active_term_count,
    producer_position,
    set_end_of_stream_position,
    set_log_connected,
    set_publication_revoked,
)
from aerolog.transport.memory.counters cimport CountersReader

from aerolog.transport.counters.system_counters import SystemCounter

ACTIVE = PUBLICATION_ACTIVE
DRAINING = PUBLICATION_DRAINING
LINGER = PUBLICATION_LINGER
DONE = PUBLICATION_DONE


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

    cdef void on_room(self) noexcept nogil:
        pass

    cdef int64_t granted(self, int64_t limit) noexcept nogil:
        cdef int error_before = self.allocation.error
        if limit <= self.allocation.limit:
            return limit
        limit = self.allocation.granted(limit)
        if self.allocation.error != error_before or self.allocation.wants_term:
            self.allocation_due = True
        return limit

    cdef void retry_allocation(self) noexcept nogil:
        self.allocation.retry()
        self.allocation_due = self.allocation.wants_term

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
        if not self.allocation_due or self.allocation.error == 0:
            return 0
        self.allocation_due = False
        return self.allocation.error

    def allocate_apart(self) -> None:
        """Have large terms allocated beside the conductor, which asks for `wanted_term`."""
        self.allocation.allocate_apart()

    def wanted_term(self) -> TermAllocation | None:
        """Return the allocation when a term is to be allocated, only once; else None.

        `on_term` takes the result.
        """
        if not self.allocation.wants_term:
            return None
        self.allocation_due = False
        self.allocation.begin_term()
        return self.allocation

    def on_term(self, result: int) -> None:
        """Go on with a term that was allocated, or could not be: 0 or a negative errno."""
        self.allocation.end_term(result)
        if result < 0:
            self.allocation_due = True
        self.on_room()


cdef class PublicationStream(DriverStream):
    """One stream that clients of this driver publish to, whatever its media.

    Sub-classes take these arguments too, know the position of their readers, and override
    ``read_position`` and ``on_subscribers_changed``.

    Args:
        logs: the publication's log.
        counters: the counters to which the ids refer, and the system counters; kept alive.
        pub_pos_id: the counter of the sampled publisher position.
        pub_lmt_id: the counter of the publication limit.
        exclusive: whether it is exclusive: such a publication is unblocked only while it drains.
        initial_position: the position at which the publication starts.
        window_length: the publication window in bytes.
        unblock_timeout_ns: the time without progress of readers until publishers are unblocked.
        now_ns: the monotonic time.
        window_limit_timeout_ns: how long an untethered subscriber may be behind the window.
        linger_timeout_ns: how long such a subscriber then still holds the stream back.
        resting_timeout_ns: how long it then rests before it may join again.

    Attributes:
        state: ACTIVE, DRAINING, LINGER or DONE.
        references: the number of publication links.
        subscribers: the positions of those who read the log in this machine.

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
        bint exclusive,
        initial_position,
        window_length,
        unblock_timeout_ns,
        now_ns,
        window_limit_timeout_ns=5_000_000_000,
        linger_timeout_ns=5_000_000_000,
        resting_timeout_ns=10_000_000_000,
        **__,
    ):
        self.logs = logs
        self.log = &logs.log
        self.counters = counters
        self.pub_pos = self.counter(pub_pos_id)
        self.pub_lmt = self.counter(pub_lmt_id)
        self.unblocked_publications = self.counter(SystemCounter.UNBLOCKED_PUBLICATIONS)
        self.state = PUBLICATION_ACTIVE
        self.exclusive = exclusive
        self.window = window_length
        self.unblock_timeout_ns = unblock_timeout_ns
        self.last_read_position = initial_position
        self.last_read_change_ns = now_ns
        self.subscribers = SubscriberPositions(
            counters,
            window_limit_timeout_ns=window_limit_timeout_ns,
            linger_timeout_ns=linger_timeout_ns,
            resting_timeout_ns=resting_timeout_ns,
        )

    cdef int64_t* counter(self, int32_t counter_id) except NULL:
        cdef int64_t* address = self.counters.value_address(counter_id)
        if address == NULL:
            raise IndexError(f"no such counter: {counter_id}")
        return address

    cdef int64_t read_position(self) noexcept nogil:
        return 0

    cdef void on_subscribers_changed(self) noexcept nogil:
        pass

    cdef int64_t window_limit(self) noexcept nogil:
        return self.read_position() - self.window + self.window // 4

    cdef void check_blocked(self, int64_t now_ns) noexcept nogil:
        cdef int64_t position = self.read_position()
        cdef bint pending = (
            active_term_count(self.log) != <int32_t> (position >> self.log.position_bits)
            or producer_position(self.log) > position
        )
        if pending and position == self.last_read_position:
            if now_ns - self.last_read_change_ns > self.unblock_timeout_ns:
                self.unblock()
        else:
            self.last_read_change_ns = now_ns
            self.last_read_position = position

    cdef bint unblock(self) noexcept nogil:
        cdef int64_t position = self.read_position()
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

    @property
    def revoked(self) -> bool:
        """Whether a client has revoked the publication."""
        return self.is_revoked != 0

    @property
    def subscribers_drained(self) -> bool:
        """Whether every subscriber has consumed everything."""
        return self.subscribers.all_reached(producer_position(self.log))

    def enter(self, state: int) -> None:
        """Change to another state."""
        if not self.state < state <= PUBLICATION_DONE:
            raise ValueError(f"a publication does not go from state {self.state} to {state}")
        self.state = state

    def sample_publisher(self) -> None:
        """Store the publisher's position in its counter."""
        store_release_i64(self.pub_pos, producer_position(self.log))

    def revoke(self) -> None:
        """Mark the publication as revoked; the next timer event ends it."""
        set_publication_revoked(self.log)
        store_release_i32(&self.is_revoked, 1)

    def end_stream(self) -> None:
        """End the stream: set the limit and the end of stream to the publisher's position."""
        cdef int64_t producer = producer_position(self.log)
        store_release_i64(self.pub_lmt, producer)
        set_end_of_stream_position(self.log, producer)

    def disconnect(self) -> None:
        """Mark the publication as not connected, for its publishers."""
        set_log_connected(self.log, False)

    def join_position(self) -> int:
        """Return where a new subscriber starts: where the readers are."""
        return self.read_position()

    def add_subscriber(self, counter_id: int, tethered: bool, now_ns: int) -> None:
        """Add a subscriber's position, which counts for flow control from now on."""
        self.subscribers.add(counter_id, tethered, now_ns)
        self.on_subscribers_changed()

    def remove_subscriber(self, counter_id: int) -> bool:
        """Remove a subscriber's position; return whether it was there."""
        known = self.subscribers.remove(counter_id)
        self.on_subscribers_changed()
        return known

    def set_subscriber_state(self, counter_id: int, state: int, now_ns: int) -> None:
        """Change the state of a subscriber at a monotonic time."""
        self.subscribers.set_state(counter_id, state, now_ns)
        self.on_subscribers_changed()

    def due_subscribers(self, now_ns: int) -> list[int]:
        """Return counter ids of the untethered subscribers that change state, the last first."""
        return self.subscribers.due(self.window_limit(), now_ns)
