"""The native part of one IPC publication: limits, cleaning, unblocking, liveness of subscribers.

Spec log-buffers 13, 17, 18; spec cnc-and-commands 14.3, 15.4. One conductor owns a stream: native
methods run in its duty cycle without the GIL, the Python ones in its control part on the same
thread, so no lock is needed. Shared words (positions, tails, limits) are accessed by atomics.

The publication limit stays where the disk space of the log ends; see ``term_allocation``.
"""

from libc.stdint cimport int64_t

from aerolog.transport.concurrent.atomic cimport load_plain_i64, store_release_i64
from aerolog.transport.driver.conductor.driver_stream cimport (
    PUBLICATION_ACTIVE,
    PUBLICATION_DONE,
    PUBLICATION_DRAINING,
    PUBLICATION_LINGER,
    PublicationStream,
)
from aerolog.transport.driver.conductor.subscriber_positions cimport SubscriberPositions
from aerolog.transport.driver.logs.term_allocation cimport TermAllocation
from aerolog.transport.logbuffer.cleaner cimport clean_log
from aerolog.transport.logbuffer.descriptor cimport (
    LogBuffers,
    producer_position,
    set_end_of_stream_position,
    set_log_connected,
    set_publication_revoked,
)
from aerolog.transport.memory.counters cimport CountersReader

ACTIVE = PUBLICATION_ACTIVE
DRAINING = PUBLICATION_DRAINING
LINGER = PUBLICATION_LINGER
DONE = PUBLICATION_DONE


cdef class IpcStream(PublicationStream):
    """Limits, positions and states of one IPC publication.

    Args:
        logs: the publication's log.
        counters: the counters to which the ids refer; kept alive.
        pub_pos_id: the counter of the sampled publisher position.
        pub_lmt_id: the counter of the publication limit.
        unblocked_id: the system counter of unblocked publications.
        exclusive: whether it is exclusive: such a publication is unblocked only while it drains.
        sparse: whether disk space is allocated as the limit moves.
        plenty: whether the disk has so much space that it cannot become full in a moment.
        initial_position: the position at which the publication starts.
        window_length: the publication window in bytes.
        unblock_timeout_ns: the time without progress of consumers until publishers are unblocked.
        window_limit_timeout_ns: how long an untethered subscriber may be behind the window.
        linger_timeout_ns: how long such a subscriber then still holds the limit back.
        resting_timeout_ns: how long it then rests before it may join again.
        now_ns: the monotonic time.
    """

    def __cinit__(
        self,
        LogBuffers logs not None,
        CountersReader counters not None,
        *,
        int pub_pos_id,
        int pub_lmt_id,
        int unblocked_id,
        bint exclusive,
        bint sparse,
        bint plenty,
        initial_position,
        window_length,
        unblock_timeout_ns,
        window_limit_timeout_ns,
        linger_timeout_ns,
        resting_timeout_ns,
        now_ns,
    ):
        self._trip_gain = self.window // 8
        self._trip_limit = 0
        self._consumer_position = initial_position
        self._clean_position = initial_position
        self.allocation = TermAllocation(
            logs, initial_position, sparse=sparse, single_writer=exclusive, plenty=plenty
        )
        self._subscribers = SubscriberPositions(
            counters,
            window_limit_timeout_ns=window_limit_timeout_ns,
            linger_timeout_ns=linger_timeout_ns,
            resting_timeout_ns=resting_timeout_ns,
        )

    # ---- the duty cycle -------------------------------------------------------------------

    cdef int update(self, int64_t now_ns) noexcept nogil:
        """Sample the publisher, move the limit, and clean what all subscribers have consumed."""
        cdef int64_t slowest, fastest, limit, granted, made
        cdef int64_t producer
        if self.state != PUBLICATION_ACTIVE:
            return 0
        slowest = self._subscribers.lowest(&fastest)
        producer = producer_position(self.log)
        if load_plain_i64(self.pub_pos) != producer:
            store_release_i64(self.pub_pos, producer)
        if slowest >= 0:
            # A client writes these: what it claims beyond the publisher's position is not believed.
            slowest = min(slowest, producer)
            fastest = min(fastest, producer)
            if fastest > self._consumer_position:
                self._consumer_position = fastest
            limit = slowest + self.window
            if limit < self._trip_limit:
                return 0
            # Only where there is disk space, whatever a client has made of the log's tail.
            clean_log(self.log, &self._clean_position, min(slowest, self.allocation.limit))
            made = self.allocation.made
            granted = self.granted(self.allocation.needed(limit, producer))
            if granted == limit:
                self._trip_limit = limit + self._trip_gain
            elif load_plain_i64(self.pub_lmt) == granted:
                return made != self.allocation.made    # the next cycle allocates more
            store_release_i64(self.pub_lmt, granted)
            return 1
        if load_plain_i64(self.pub_lmt) > self._consumer_position:
            self._trip_limit = self._consumer_position
            store_release_i64(self.pub_lmt, self._consumer_position)
            clean_log(
                self.log,
                &self._clean_position,
                min(self._consumer_position, self.allocation.limit),
            )
            return 1
        return 0

    # ---- timer events -----------------------------------------------------------------------

    cdef bint needs_control(self, int64_t now_ns) noexcept nogil:
        """Return whether this timer event changes something that clients have to be told."""
        if self.state == PUBLICATION_ACTIVE:
            if self._revoked:
                return True
            if self._cooling_down and self._cool_down_end_ns - now_ns <= 0:
                return True
            return self._subscribers.any_due(self._window_limit(), now_ns)
        if self.state == PUBLICATION_DRAINING:
            return self._subscribers.all_reached(producer_position(self.log))
        return self.references == 0

    cdef void tick(self, int64_t now_ns) noexcept nogil:
        """Do the work of a timer event of which clients are told nothing."""
        cdef int64_t producer
        if self.state == PUBLICATION_ACTIVE:
            self._subscribers.note_active(self._window_limit(), now_ns)
            set_log_connected(self.log, self._subscribers.in_flow > 0)
            self.retry_allocation()
            self.allocation.settle()
        if self.state == PUBLICATION_ACTIVE or self.state == PUBLICATION_DRAINING:
            producer = producer_position(self.log)
            if load_plain_i64(self.pub_pos) != producer:
                store_release_i64(self.pub_pos, producer)
            if self.state == PUBLICATION_DRAINING:
                self.unblock(self._consumer_position)
            elif not self.exclusive:
                self.check_blocked(self._consumer_position, now_ns)

    cdef int64_t _window_limit(self) noexcept nogil:
        """Return the position that an untethered subscriber must be past."""
        return self._consumer_position - self.window + self.window // 4

    # ---- control ------------------------------------------------------------------------------

    @property
    def revoked(self) -> bool:
        """Whether a client has revoked the publication."""
        return self._revoked

    @property
    def consumer_position(self) -> int:
        """The highest position at which any subscriber has been seen."""
        return self._consumer_position

    @property
    def drained(self) -> bool:
        """Whether every subscriber has consumed everything."""
        return self._subscribers.all_reached(producer_position(self.log))

    @property
    def cooling_down(self) -> bool:
        """Whether an image was rejected a short while ago, so that no subscriber may join."""
        return self._cooling_down

    def cool_down_until(self, end_ns: int) -> None:
        """Let no subscriber join before a monotonic time."""
        self._cooling_down = True
        self._cool_down_end_ns = end_ns

    def cool_down_is_over(self, now_ns: int) -> bool:
        """Return whether a cool-down has just ended; True only once for each."""
        if not self._cooling_down or self._cool_down_end_ns - <int64_t> now_ns > 0:
            return False
        self._cooling_down = False
        return True

    def revoke(self) -> None:
        """Mark the publication as revoked; the next timer event ends it."""
        self._revoked = True
        set_publication_revoked(self.log)

    def end_stream(self) -> None:
        """End the stream: set the limit and the end of stream to the publisher's position."""
        cdef int64_t producer = producer_position(self.log)
        store_release_i64(self.pub_lmt, producer)
        set_end_of_stream_position(self.log, producer)

    def disconnect(self) -> None:
        """Mark the publication as not connected, for its publishers."""
        set_log_connected(self.log, False)

    def join_position(self) -> int:
        """Return where a new subscriber starts: the lowest of consumer and subscriber positions."""
        cdef int64_t fastest
        cdef int64_t slowest = self._subscribers.lowest(&fastest)
        if slowest < 0:
            return self._consumer_position
        return min(self._consumer_position, slowest)

    def add_subscriber(self, counter_id: int, tethered: bool, now_ns: int) -> None:
        """Add a subscriber's position, which counts for flow control from now on."""
        self._subscribers.add(counter_id, tethered, now_ns)
        set_log_connected(self.log, True)

    def remove_subscriber(self, counter_id: int) -> None:
        """Remove a subscriber's position; an unknown one is no error."""
        known = self._subscribers.remove(counter_id)
        if known and self.state == PUBLICATION_ACTIVE and self._subscribers.in_flow == 0:
            set_log_connected(self.log, False)

    def has_subscriber(self, counter_id: int) -> bool:
        """Return whether a subscriber's position is known, at rest or not."""
        return self._subscribers.has(counter_id)

    def due_subscribers(self, now_ns: int) -> list[int]:
        """Return counter ids of the untethered subscribers that change state, the last first."""
        return self._subscribers.due(self._window_limit(), now_ns)

    def subscriber_state(self, counter_id: int) -> int:
        """Return the state of a subscriber: 0 active, 1 told that its image is gone, 2 at rest."""
        return self._subscribers.state(counter_id)

    def set_subscriber_state(self, counter_id: int, state: int, now_ns: int) -> None:
        """Change the state of a subscriber at a monotonic time."""
        self._subscribers.set_state(counter_id, state, now_ns)
        set_log_connected(self.log, self._subscribers.in_flow > 0)
