"""The clockwork of one IPC publication: limits, cleaning, unblocking, liveness of subscribers.

Spec log-buffers 13, 17, 18 and cnc-and-commands 14.3, 15.4. One conductor owns a stream: native
methods run in its duty cycle without the GIL, the Python ones in its control part on the same
thread, so nothing here is locked. Shared words (positions, tails, limits) go through atomics.

A sparse log gets its room on disk term by term, always before publishers may enter the term: the
publication limit is withheld at the end of the last term that has room. The first page of every
term has room from the start, because a subscriber that has read a whole term looks there.
"""

from libc.stdint cimport INT64_MAX, int32_t, int64_t
from libc.stdlib cimport free, realloc

from aerolog.transport.concurrent.atomic cimport (
    get_and_add_i64,
    load_acquire_i64,
    load_plain_i64,
    store_release_i64,
)
from aerolog.transport.logbuffer.cleaner cimport UNBLOCK_NOTHING, clean_log, unblock_log
from aerolog.transport.logbuffer.descriptor cimport (
    LogBuffers,
    active_term_count,
    index_by_position,
    producer_position,
    set_end_of_stream_position,
    set_log_connected,
    set_publication_revoked,
)
from aerolog.transport.memory.counters cimport CountersReader

ACTIVE = STREAM_ACTIVE
DRAINING = STREAM_DRAINING
LINGER = STREAM_LINGER
DONE = STREAM_DONE
SUBSCRIBER_ACTIVE = IN_ACTIVE
SUBSCRIBER_LINGER = IN_LINGER
SUBSCRIBER_RESTING = IN_RESTING


cdef int64_t* _address(CountersReader counters, int32_t counter_id) except NULL:
    cdef int64_t* address = counters.value_address(counter_id)
    if address is NULL:
        raise IndexError(f"no such counter: {counter_id}")
    return address


cdef class IpcStream:
    """Limits, positions and states of one IPC publication.

    Args:
        logs: the publication's log.
        counters: holds the counters named by the ids; kept alive.
        pub_pos_id: counter of the sampled publisher position.
        pub_lmt_id: counter of the publication limit.
        unblocked_id: system counter of unblocked publications.
        exclusive: an exclusive publication is unblocked only while it drains.
        sparse: room on disk is allocated as the limit moves.
        initial_position: where the publication starts.
        window_length: publication window in bytes.
        unblock_timeout_ns: how long a consumer must stand still before publishers are unblocked.
        window_limit_timeout_ns: how long an untethered subscriber may be behind the window.
        linger_timeout_ns: how long such a subscriber still holds the limit back.
        resting_timeout_ns: how long it then stays away.
        now_ns: monotonic time.
    """

    def __init__(
        self,
        LogBuffers logs not None,
        CountersReader counters not None,
        *,
        int pub_pos_id,
        int pub_lmt_id,
        int unblocked_id,
        bint exclusive,
        bint sparse,
        initial_position,
        window_length,
        unblock_timeout_ns,
        window_limit_timeout_ns,
        linger_timeout_ns,
        resting_timeout_ns,
        now_ns,
    ):
        self._logs = logs
        self._counters = counters
        self._log = &logs.log
        self._pub_pos = _address(counters, pub_pos_id)
        self._pub_lmt = _address(counters, pub_lmt_id)
        self._unblocked_publications = _address(counters, unblocked_id)
        self._exclusive = exclusive
        self._state = STREAM_ACTIVE
        self._references = 0
        self._window = window_length
        self._trip_gain = self._window // 8
        self._trip_limit = 0
        self._consumer_position = initial_position
        self._clean_position = initial_position
        self._last_consumer_position = initial_position
        self._last_consumer_change_ns = now_ns
        self._first_term_begin = self._consumer_position & ~<int64_t> self._log.term_mask
        self._allocated_limit = self._first_term_begin if sparse else INT64_MAX
        self._unblock_timeout_ns = unblock_timeout_ns
        self._window_limit_timeout_ns = window_limit_timeout_ns
        self._linger_timeout_ns = linger_timeout_ns
        self._resting_timeout_ns = resting_timeout_ns

    def __dealloc__(self):
        free(self._subscribers)

    # ---- the duty cycle -------------------------------------------------------------------

    cdef int update(self) noexcept nogil:
        """Sample the publisher, move the limit, clean what everybody has consumed."""
        cdef int64_t slowest, fastest, limit, granted
        cdef int64_t producer
        if self._state != STREAM_ACTIVE:
            return 0
        slowest = self._flow_minimum(&fastest)
        producer = producer_position(self._log)
        if load_plain_i64(self._pub_pos) != producer:
            store_release_i64(self._pub_pos, producer)
        if slowest >= 0:
            # A client writes these: what it claims beyond the publisher's position is not believed.
            slowest = min(slowest, producer)
            fastest = min(fastest, producer)
            if fastest > self._consumer_position:
                self._consumer_position = fastest
            limit = slowest + self._window
            if limit < self._trip_limit:
                return 0
            # Only where there is room on disk, whatever a client has made of the log's tail.
            clean_log(self._log, &self._clean_position, min(slowest, self._allocated_limit))
            granted = self._granted(limit)
            if granted == limit:
                self._trip_limit = limit + self._trip_gain
            elif load_plain_i64(self._pub_lmt) == granted:
                return 0
            store_release_i64(self._pub_lmt, granted)
            return 1
        if load_plain_i64(self._pub_lmt) > self._consumer_position:
            self._trip_limit = self._consumer_position
            store_release_i64(self._pub_lmt, self._consumer_position)
            clean_log(
                self._log,
                &self._clean_position,
                min(self._consumer_position, self._allocated_limit),
            )
            return 1
        return 0

    cdef int64_t _flow_minimum(self, int64_t* maximum) noexcept nogil:
        """Lowest and highest position of the subscribers that count; -1 when there is none."""
        cdef int64_t lowest = INT64_MAX
        cdef int64_t highest = -1
        cdef int64_t position
        cdef int index
        for index in range(self._subscriber_count):
            if self._subscribers[index].state != IN_RESTING:
                position = max(<int64_t> 0, load_acquire_i64(self._subscribers[index].position))
                lowest = min(lowest, position)
                highest = max(highest, position)
        maximum[0] = highest
        return lowest if highest >= 0 else -1

    cdef int64_t _granted(self, int64_t limit) noexcept nogil:
        """The part of a limit for which the log has room on disk; makes room term by term."""
        cdef int64_t term_length = self._log.term_length
        cdef int error
        while limit > self._allocated_limit and self._allocation_error == 0:
            error = self._logs.file.allocate(
                index_by_position(self._log, self._allocated_limit) * term_length, term_length
            )
            if error < 0:
                self._allocation_error = -error
                break
            self._allocated_limit += term_length
            if self._allocated_limit - self._first_term_begin >= 3 * term_length:
                self._allocated_limit = INT64_MAX
        return min(limit, self._allocated_limit)

    # ---- timer events -----------------------------------------------------------------------

    cdef bint needs_control(self, int64_t now_ns) noexcept nogil:
        """Whether this timer event changes something that clients are told about."""
        cdef int index
        if self._state == STREAM_ACTIVE:
            if self._revoked:
                return True
            if self._cooling_down and self._cool_down_end_ns - now_ns <= 0:
                return True
            for index in range(self._subscriber_count):
                if self._is_due(&self._subscribers[index], now_ns):
                    return True
            return False
        if self._state == STREAM_DRAINING:
            return self._drained()
        return self._references == 0

    cdef void tick(self, int64_t now_ns) noexcept nogil:
        """What a timer event does when no client has to be told anything."""
        cdef int64_t limit, producer
        cdef int index
        cdef int in_flow = 0
        if self._state == STREAM_ACTIVE:
            limit = self._window_limit()
            for index in range(self._subscriber_count):
                if self._subscribers[index].state == IN_RESTING:
                    continue
                in_flow += 1
                if (
                    self._subscribers[index].state == IN_ACTIVE
                    and load_acquire_i64(self._subscribers[index].position) > limit
                ):
                    self._subscribers[index].since_ns = now_ns
            set_log_connected(self._log, in_flow > 0)
            self._allocation_error = 0
            self._allocation_reported = False
        if self._state == STREAM_ACTIVE or self._state == STREAM_DRAINING:
            producer = producer_position(self._log)
            if load_plain_i64(self._pub_pos) != producer:
                store_release_i64(self._pub_pos, producer)
            if self._state == STREAM_DRAINING:
                self._unblock()
            elif not self._exclusive:
                self._check_blocked(now_ns)

    cdef bint _is_due(self, const subscriber_t* subscriber, int64_t now_ns) noexcept nogil:
        cdef int64_t waited_ns
        if subscriber.tethered:
            return False
        waited_ns = now_ns - subscriber.since_ns
        if subscriber.state == IN_ACTIVE:
            return (
                waited_ns >= self._window_limit_timeout_ns
                and load_acquire_i64(subscriber.position) <= self._window_limit()
            )
        if subscriber.state == IN_LINGER:
            return waited_ns >= self._linger_timeout_ns
        return waited_ns >= self._resting_timeout_ns

    cdef int64_t _window_limit(self) noexcept nogil:
        """Position that an untethered subscriber must be past."""
        return self._consumer_position - self._window + self._window // 4

    cdef bint _drained(self) noexcept nogil:
        """Whether every subscriber has consumed everything."""
        cdef int64_t producer = producer_position(self._log)
        cdef int index
        for index in range(self._subscriber_count):
            if (
                self._subscribers[index].state != IN_RESTING
                and load_acquire_i64(self._subscribers[index].position) < producer
            ):
                return False
        return True

    cdef void _check_blocked(self, int64_t now_ns) noexcept nogil:
        """Unblock when data is pending and nobody has got any further for the timeout."""
        cdef int64_t consumer = self._consumer_position
        cdef bint pending = (
            active_term_count(self._log) != <int32_t> (consumer >> self._log.position_bits)
            or producer_position(self._log) > consumer
        )
        if pending and consumer == self._last_consumer_position:
            if now_ns - self._last_consumer_change_ns > self._unblock_timeout_ns:
                self._unblock()
        else:
            self._last_consumer_change_ns = now_ns
            self._last_consumer_position = consumer

    cdef void _unblock(self) noexcept nogil:
        """Turn an abandoned claim into padding; only in a term that has room on disk."""
        if self._consumer_position >= self._allocated_limit:
            return
        if unblock_log(self._log, self._consumer_position) != UNBLOCK_NOTHING:
            get_and_add_i64(self._unblocked_publications, 1)

    # ---- control ------------------------------------------------------------------------------

    @property
    def state(self) -> int:
        """ACTIVE, DRAINING, LINGER or DONE."""
        return self._state

    @property
    def references(self) -> int:
        """Number of publication links."""
        return self._references

    @references.setter
    def references(self, count: int) -> None:
        self._references = count

    @property
    def revoked(self) -> bool:
        """Whether a client has revoked the publication."""
        return self._revoked

    @property
    def consumer_position(self) -> int:
        """Highest position that any subscriber has been seen at."""
        return self._consumer_position

    @property
    def publisher_position(self) -> int:
        """Where the next message goes."""
        return producer_position(self._log)

    @property
    def drained(self) -> bool:
        """Whether every subscriber has consumed everything."""
        return self._drained()

    @property
    def cooling_down(self) -> bool:
        """Whether an image was rejected a short while ago, so that nobody may join."""
        return self._cooling_down

    def cool_down_until(self, end_ns: int) -> None:
        """Let nobody join before a monotonic time."""
        self._cooling_down = True
        self._cool_down_end_ns = end_ns

    def cool_down_is_over(self, now_ns: int) -> bool:
        """Whether a cool-down has just come to its end; true once."""
        if not self._cooling_down or self._cool_down_end_ns - <int64_t> now_ns > 0:
            return False
        self._cooling_down = False
        return True

    def needs_attention(self, now_ns: int) -> bool:
        """Whether a timer event at this time has something to tell clients."""
        return self.needs_control(now_ns)

    def on_timer(self, now_ns: int) -> None:
        """The native share of a timer event."""
        self.tick(now_ns)

    def on_cycle(self) -> int:
        """The native share of a duty cycle; returns a work count."""
        return self.update()

    def refused_allocation(self) -> int:
        """The errno of room refused since the last timer event, once; else 0."""
        if self._allocation_error == 0 or self._allocation_reported:
            return 0
        self._allocation_reported = True
        return self._allocation_error

    def revoke(self) -> None:
        """Mark the publication revoked; the next timer event ends it."""
        self._revoked = True
        set_publication_revoked(self._log)

    def end_stream(self) -> None:
        """Publish nothing more: limit and end of stream are where the publisher is."""
        cdef int64_t producer = producer_position(self._log)
        store_release_i64(self._pub_lmt, producer)
        set_end_of_stream_position(self._log, producer)

    def sample_publisher(self) -> None:
        """Store the publisher's position in its counter."""
        store_release_i64(self._pub_pos, producer_position(self._log))

    def disconnect(self) -> None:
        """Tell publishers that nobody is there."""
        set_log_connected(self._log, False)

    def enter(self, state: int) -> None:
        """Go on to the next state."""
        if not self._state < state <= STREAM_DONE:
            raise ValueError(f"a stream does not go from state {self._state} to {state}")
        self._state = state

    def join_position(self) -> int:
        """Where a new subscriber starts: the lowest of consumer and subscriber positions."""
        cdef int64_t fastest
        cdef int64_t slowest = self._flow_minimum(&fastest)
        if slowest < 0:
            return self._consumer_position
        return min(self._consumer_position, slowest)

    def add_subscriber(self, counter_id: int, tethered: bool, now_ns: int) -> None:
        """Let a subscriber position count."""
        cdef subscriber_t* grown
        cdef subscriber_t* added
        cdef int capacity
        if self._subscriber_count == self._subscriber_capacity:
            capacity = max(4, 2 * self._subscriber_capacity)
            grown = <subscriber_t*> realloc(self._subscribers, capacity * sizeof(subscriber_t))
            if grown is NULL:
                raise MemoryError
            self._subscribers = grown
            self._subscriber_capacity = capacity
        added = &self._subscribers[self._subscriber_count]
        added.position = _address(self._counters, counter_id)
        added.counter_id = counter_id
        added.since_ns = now_ns
        added.state = IN_ACTIVE
        added.tethered = tethered
        self._subscriber_count += 1
        set_log_connected(self._log, True)

    def remove_subscriber(self, counter_id: int) -> None:
        """Let a subscriber position count no more; nothing happens when it did not."""
        cdef int index = self._find(counter_id)
        if index < 0:
            return
        self._subscriber_count -= 1
        self._subscribers[index] = self._subscribers[self._subscriber_count]
        if self._state == STREAM_ACTIVE and self._in_flow() == 0:
            set_log_connected(self._log, False)

    def has_subscriber(self, counter_id: int) -> bool:
        """Whether a subscriber position is known, resting or not."""
        return self._find(counter_id) >= 0

    def due_subscribers(self, now_ns: int) -> list[int]:
        """Counter ids of the untethered subscribers that change state, the last one first."""
        return [
            self._subscribers[index].counter_id
            for index in range(self._subscriber_count - 1, -1, -1)
            if self._is_due(&self._subscribers[index], now_ns)
        ]

    def subscriber_state(self, counter_id: int) -> int:
        """State of a subscriber: 0 active, 1 told that it is out, 2 resting."""
        cdef int index = self._find(counter_id)
        if index < 0:
            raise KeyError(counter_id)
        return self._subscribers[index].state

    def set_subscriber_state(self, counter_id: int, state: int, now_ns: int) -> None:
        """Change the state of a subscriber at a time."""
        cdef int index = self._find(counter_id)
        if index < 0:
            raise KeyError(counter_id)
        self._subscribers[index].state = state
        self._subscribers[index].since_ns = now_ns
        set_log_connected(self._log, self._in_flow() > 0)

    def _in_flow(self) -> int:
        cdef int index
        cdef int count = 0
        for index in range(self._subscriber_count):
            count += self._subscribers[index].state != IN_RESTING
        return count

    cdef int _find(self, int32_t counter_id) noexcept:
        cdef int index
        for index in range(self._subscriber_count):
            if self._subscribers[index].counter_id == counter_id:
                return index
        return -1
