"""The conductor's part of a UDP publication: limits, cleaning, unblocking, spies, its end.

Spec wire-protocol 5.7 to 5.9, 11; spec log-buffers 14, 17, 18. The conductor's duty cycle calls the
native methods without the GIL, its control part the Python ones on the same thread; the sender
works with the base class at the same time. Words that both see go through atomics.
"""

from libc.stdint cimport int32_t, int64_t

from aerolog.transport.concurrent.atomic cimport (
    get_and_add_i64,
    load_acquire_i32,
    load_acquire_i64,
    store_release_i32,
    store_release_i64,
)
from aerolog.transport.driver.flow_control.flow_control cimport FlowControl
from aerolog.transport.driver.send.outbound_stream cimport OutboundStream
from aerolog.transport.driver.send.retransmit_handler cimport RetransmitHandler
from aerolog.transport.driver.send.send_endpoint cimport SendEndpoint
from aerolog.transport.driver.conductor.subscriber_positions cimport SubscriberPositions
from aerolog.transport.driver.logs.term_allocation cimport TermRoom
from aerolog.transport.logbuffer.cleaner cimport UNBLOCK_NOTHING, clean_log, unblock_log
from aerolog.transport.logbuffer.descriptor cimport (
    META_ACTIVE_TERM_COUNT,
    LogBuffers,
    active_term_count,
    compute_position,
    index_by_term_count,
    producer_position,
    set_end_of_stream_position,
    set_log_connected,
    set_publication_revoked,
    tail_address,
    tail_offset,
    tail_term_id,
)
from aerolog.transport.memory.counters cimport CountersReader

from aerolog.transport.driver.counters.system_counters import SystemCounter

ACTIVE = PUBLICATION_ACTIVE
DRAINING = PUBLICATION_DRAINING
LINGER = PUBLICATION_LINGER
DONE = PUBLICATION_DONE
NO_TIMESTAMP = -1
RESERVED_VALUE_OFFSET = -8

_SECOND_NS = 1_000_000_000


cdef class NetworkPublication(OutboundStream):
    """Limits, positions and states of one UDP publication, and all that is sent of it.

    Args:
        logs: the publication's log; session, stream, MTU and term length are its.
        counters: holds the counters of the ids and the system counters; kept alive.
        endpoint: that sends it; not yet told to the sender.
        flow_control: of this publication alone; the sender's from now on.
        retransmit: the same.
        pub_pos_id: counter of the sampled publisher position, written by the conductor.
        pub_lmt_id: counter of the publication limit, the same.
        snd_pos_id: counter of the sender's position, written by the sender.
        snd_lmt_id: counter of the sender's limit, the same.
        snd_bpe_id: counter of back-pressure events, the same.
        snd_naks_id: counter of requests for retransmission, the same.
        exclusive: an exclusive publication is unblocked only while it drains.
        sparse: room on disk is made as the limit moves.
        initial_position: where it starts, a multiple of 32 in bytes.
        window_length: publication window in bytes.
        unblock_timeout_ns: how long the sender must stand still before publishers are unblocked.
        now_ns: monotonic time.
        window_limit_timeout_ns: how long an untethered spy may be behind the window.
        linger_timeout_ns: how long such a spy still holds the stream back.
        resting_timeout_ns: how long it then stays away.
        connection_timeout_ns: receivers that are silent for longer are gone.
        signal_eos: whether heartbeats say so when the stream has ended.
        spies_simulate_connection: a spy makes the publication connected, and the sender follows
            it where there is no receiver.
        is_response: sent to where eliciting status messages come from.
        response_correlation_id: of the subscription (request) or image (response), -1 for none.
        send_timestamp_offset: in bytes of payload, RESERVED_VALUE_OFFSET or NO_TIMESTAMP.
        max_datagrams_per_send: most of one send step, 1 to 64.

    Raises:
        ConfigurationError: an argument is out of range.
        IndexError: there is no such counter.
    """

    def __init__(
        self,
        LogBuffers logs not None,
        CountersReader counters not None,
        SendEndpoint endpoint not None,
        FlowControl flow_control not None,
        RetransmitHandler retransmit not None,
        *,
        int pub_pos_id,
        int pub_lmt_id,
        int snd_pos_id,
        int snd_lmt_id,
        int snd_bpe_id,
        int snd_naks_id,
        bint exclusive,
        bint sparse,
        initial_position,
        window_length,
        unblock_timeout_ns,
        now_ns,
        window_limit_timeout_ns=5 * _SECOND_NS,
        linger_timeout_ns=5 * _SECOND_NS,
        resting_timeout_ns=10 * _SECOND_NS,
        connection_timeout_ns=5 * _SECOND_NS,
        bint signal_eos=True,
        bint spies_simulate_connection=False,
        bint is_response=False,
        response_correlation_id=-1,
        int send_timestamp_offset=-1,
        int max_datagrams_per_send=64,
    ):
        """Make a publication of a log.

        Args:
            logs: the publication's log; session, stream, MTU and term length are its.
            counters: holds the counters of the ids and the system counters; kept alive.
            endpoint: that sends it; not yet told to the sender.
            flow_control: of this publication alone; the sender's from now on.
            retransmit: the same.
            pub_pos_id, pub_lmt_id: written by the conductor.
            snd_pos_id, snd_lmt_id, snd_bpe_id, snd_naks_id: written by the sender.
            exclusive: an exclusive publication is unblocked only while it drains.
            sparse: room on disk is made as the limit moves.
            initial_position: where it starts, a multiple of 32 in bytes.
            window_length: publication window in bytes.
            unblock_timeout_ns: how long the sender stands still before publishers are unblocked.
            now_ns: monotonic time.
            window_limit_timeout_ns, linger_timeout_ns, resting_timeout_ns: of untethered spies.
            connection_timeout_ns: receivers silent for longer are gone
                (`aeron.publication.connection.timeout`).
            signal_eos: whether heartbeats say so when the stream has ended (`eos=`).
            spies_simulate_connection: `ssc=`.
            is_response: `control-mode=response`: sent to where eliciting status messages come from.
            response_correlation_id: of the subscription (request) or image (response), -1 for none.
            send_timestamp_offset: `channel-snd-ts-offset` in bytes of payload,
                RESERVED_VALUE_OFFSET (-8) or NO_TIMESTAMP (-1).
            max_datagrams_per_send: most of one send step, 1 to 64.
        """
        OutboundStream.__init__(
            self,
            logs,
            counters,
            endpoint,
            flow_control,
            retransmit,
            snd_pos_id=snd_pos_id,
            snd_lmt_id=snd_lmt_id,
            snd_bpe_id=snd_bpe_id,
            snd_naks_id=snd_naks_id,
            initial_position=initial_position,
            now_ns=now_ns,
            connection_timeout_ns=connection_timeout_ns,
            signal_eos=signal_eos,
            spies_simulate_connection=spies_simulate_connection,
            is_response=is_response,
            response_correlation_id=response_correlation_id,
            send_timestamp_offset=send_timestamp_offset,
            max_datagrams_per_send=max_datagrams_per_send,
        )
        self._pub_pos = self._counter(pub_pos_id)
        self._pub_lmt = self._counter(pub_lmt_id)
        self._unblocked_publications = self._counter(SystemCounter.UNBLOCKED_PUBLICATIONS)
        self._exclusive = exclusive
        self._state = PUBLICATION_ACTIVE
        self._window = window_length
        self._clean_position = initial_position
        self._publisher_limit = initial_position
        self._publisher_seen = initial_position
        self._sender_seen = initial_position
        store_release_i64(self._pub_pos, initial_position)
        store_release_i64(self._pub_lmt, initial_position)
        self._count = self._log.meta + META_ACTIVE_TERM_COUNT
        self._sample()
        self._unblock_timeout_ns = unblock_timeout_ns
        self._last_sender_position = initial_position
        self._last_sender_change_ns = now_ns
        self.room = TermRoom(logs, initial_position, sparse=sparse)
        self.spies = SubscriberPositions(
            counters,
            window_limit_timeout_ns=window_limit_timeout_ns,
            linger_timeout_ns=linger_timeout_ns,
            resting_timeout_ns=resting_timeout_ns,
        )

    # ---- the duty cycle -------------------------------------------------------------------

    cdef int update(self, int64_t now_ns) noexcept nogil:
        """Sample the publisher, move its limit, clean what was sent a term ago."""
        cdef int64_t producer, sender_position
        sender_position = load_acquire_i64(&self._position)
        if self._has_nothing_new(sender_position):
            return 0
        if self._state > PUBLICATION_DRAINING:
            return 0
        producer = self._sample()
        self._show_spies(producer)
        if self._state != PUBLICATION_ACTIVE:
            return 0
        if producer != self._publisher_seen:
            self._publisher_seen = producer
            store_release_i64(self._pub_pos, producer)
        self._sender_seen = sender_position
        self._is_caught_up = producer == sender_position
        self.update_connected()
        self._connected_seen = load_acquire_i32(&self._is_connected)
        # Settled: what there is to clean is clean, and the limit is where it belongs.
        self._is_settled = not self._move_limit(sender_position, producer)
        return not self._is_settled

    cdef bint _has_nothing_new(self, int64_t sender_position) noexcept nogil:
        """Whether all is as the last cycle left it.

        The log is not looked at where the sender would move at once if anything were published:
        an idle publication costs the conductor a look at a few words of its own.
        """
        cdef int32_t connected = self._connected_seen
        if (
            sender_position != self._sender_seen
            or load_acquire_i32(&self._is_connected) != connected
            or load_acquire_i32(&self._is_live) != connected
            or self._spy_count != 0
            or not self._is_settled
        ):
            return False
        if self._is_caught_up and (
            connected == 0 or load_acquire_i64(&self._limit) > sender_position
        ):
            return True
        return (
            load_acquire_i32(self._count) == self._count_seen
            and load_acquire_i64(self._tail) == self._tail_seen
        )

    cdef int64_t _sample(self) noexcept nogil:
        """The publisher's position, from words that the next cycle compares."""
        self._count_seen = load_acquire_i32(self._count)
        self._tail = <int64_t*> tail_address(self._log, index_by_term_count(self._count_seen))
        self._tail_seen = load_acquire_i64(self._tail)
        return compute_position(
            self._log,
            tail_term_id(self._tail_seen),
            tail_offset(self._tail_seen, self._log.term_length),
        )

    cdef void _show_spies(self, int64_t producer) noexcept nogil:
        """How far the fastest spy is, for the sender; what it claims beyond the end is not true."""
        cdef int64_t fastest
        if self.spies.count == 0 and self._spy_count == 0:
            return
        self.spies.lowest(&fastest)
        store_release_i64(&self._spy_position, min(fastest, producer))
        store_release_i32(&self._spy_count, self.spies.in_flow)

    cdef bint _move_limit(self, int64_t sender_position, int64_t producer) noexcept nogil:
        """Whether anything was moved or cleaned, so that there may be more to do."""
        cdef int64_t term_length = self._log.term_length
        cdef int64_t slowest = sender_position
        cdef int64_t lowest, highest, limit, gap
        cdef int64_t cleaned = 0
        if self._connected_seen != 0:
            lowest = self.spies.lowest(&highest)
            if lowest >= 0:
                slowest = min(slowest, lowest)
            limit = slowest + self._window
            if limit <= self._publisher_limit:
                return False
            cleaned = clean_log(
                self._log, &self._clean_position, min(slowest - term_length, self.room.limit)
            )
            # A publisher is never let into a term that is not clean.
            gap = (limit >> self._log.position_bits) - (
                self._clean_position >> self._log.position_bits
            )
            if gap < 2 or (gap == 2 and self._clean_position & self._log.term_mask):
                return self._store_limit(self.granted(limit)) or cleaned > 0
            return cleaned > 0
        if self._publisher_limit > sender_position:
            self._store_limit(sender_position)
            clean_log(
                self._log,
                &self._clean_position,
                min(sender_position - term_length, self.room.limit),
            )
            return True
        return False

    cdef bint _store_limit(self, int64_t limit) noexcept nogil:
        if limit == self._publisher_limit:
            return False
        self._publisher_limit = limit
        store_release_i64(self._pub_lmt, limit)
        return True

    # ---- timer events -----------------------------------------------------------------------

    cdef bint needs_control(self, int64_t now_ns) noexcept nogil:
        """Whether this timer event changes something that clients are told about."""
        if self._state == PUBLICATION_ACTIVE:
            return self._is_revoked != 0 or self.spies.any_due(self._window_limit(), now_ns)
        if self._state == PUBLICATION_DRAINING:
            return self._is_over() and self.spies.all_reached(producer_position(self._log))
        return self._references == 0 and self._state == PUBLICATION_LINGER

    cdef void tick(self, int64_t now_ns) noexcept nogil:
        """What a timer event does when no client has to be told anything."""
        if self._state == PUBLICATION_ACTIVE:
            self.spies.note_active(self._window_limit(), now_ns)
            self.update_connected()
            self.retry_room()
            self._is_settled = False
            store_release_i64(self._pub_pos, producer_position(self._log))
            if not self._exclusive:
                self._check_blocked(now_ns)
        elif self._state == PUBLICATION_DRAINING:
            self._settle()

    cdef int64_t _window_limit(self) noexcept nogil:
        """Position that an untethered spy must be past (11)."""
        return load_acquire_i64(&self._position) - self._window + self._window // 4

    cdef void _check_blocked(self, int64_t now_ns) noexcept nogil:
        """Unblock when data is pending and the sender has got no further for the timeout."""
        cdef int64_t sender_position = load_acquire_i64(&self._position)
        cdef bint pending = (
            active_term_count(self._log)
            != <int32_t> (sender_position >> self._log.position_bits)
            or producer_position(self._log) > sender_position
        )
        if pending and sender_position == self._last_sender_position:
            if now_ns - self._last_sender_change_ns > self._unblock_timeout_ns:
                self._unblock()
        else:
            self._last_sender_change_ns = now_ns
            self._last_sender_position = sender_position

    cdef bint _unblock(self) noexcept nogil:
        """Turn an abandoned claim into padding; only in a term that has room on disk."""
        cdef int64_t sender_position = load_acquire_i64(&self._position)
        if sender_position >= self.room.limit:
            return False
        if unblock_log(self._log, sender_position) == UNBLOCK_NOTHING:
            return False
        get_and_add_i64(self._unblocked_publications, 1)
        return True

    cdef bint _is_over(self) noexcept nogil:
        """Whether all is sent, or there is nobody to send it to."""
        return (
            self._is_end_of_stream != 0
            or load_acquire_i64(&self._position) >= producer_position(self._log)
            or load_acquire_i32(&self._has_receivers) == 0
        )

    cdef void _settle(self) noexcept nogil:
        """A timer event of a publication that drains (5.8)."""
        cdef int64_t producer = producer_position(self._log)
        store_release_i64(self._pub_pos, producer)
        if producer > load_acquire_i64(&self._position):
            if self._unblock() or load_acquire_i32(&self._has_receivers) != 0:
                return
        store_release_i32(&self._is_end_of_stream, 1)

    # ---- control ------------------------------------------------------------------------------

    @property
    def state(self) -> int:
        """ACTIVE, DRAINING, LINGER or DONE."""
        return self._state

    def enter(self, state: int) -> None:
        """Go on to the next state."""
        if not self._state < state <= PUBLICATION_DONE:
            raise ValueError(f"a publication does not go from state {self._state} to {state}")
        self._state = state

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
        return self._is_revoked != 0

    @property
    def publisher_position(self) -> int:
        """Where the next message goes."""
        return producer_position(self._log)

    @property
    def consumer_position(self) -> int:
        """Up to where everything is sent."""
        return load_acquire_i64(&self._position)

    @property
    def sender_position(self) -> int:
        """Up to where everything is sent."""
        return load_acquire_i64(&self._position)

    @property
    def sender_limit(self) -> int:
        """Up to where the sender may send."""
        return load_acquire_i64(self._snd_lmt)

    @property
    def is_connected(self) -> bool:
        """Whether the log says that somebody receives."""
        return load_acquire_i32(&self._is_connected) != 0

    @property
    def has_receivers(self) -> bool:
        """Whether receivers were heard in the connection timeout."""
        return load_acquire_i32(&self._has_receivers) != 0

    @property
    def has_received_unicast_eos(self) -> bool:
        """Whether a unicast receiver has said that it leaves."""
        return load_acquire_i32(&self._has_unicast_eos) != 0

    @property
    def is_end_of_stream(self) -> bool:
        """Whether heartbeats say that the stream has ended."""
        return self._is_end_of_stream != 0

    @property
    def drained(self) -> bool:
        """Whether all is sent or abandoned, so that only spies may still read."""
        return self._is_end_of_stream != 0

    @property
    def spies_drained(self) -> bool:
        """Whether every spy has consumed everything."""
        return self.spies.all_reached(producer_position(self._log))

    def join_position(self) -> int:
        """Where a new spy starts: the sender's position."""
        return load_acquire_i64(&self._position)

    def add_spy(self, counter_id: int, tethered: bool, now_ns: int) -> None:
        """Let a spy's position count from a monotonic time on."""
        self.spies.add(counter_id, tethered, now_ns)
        self._spies_have_changed()

    def remove_spy(self, counter_id: int) -> bool:
        """Let a spy's position count no more; whether it was there."""
        known = self.spies.remove(counter_id)
        self._spies_have_changed()
        return known

    def set_spy_state(self, counter_id: int, state: int, now_ns: int) -> None:
        """Change the state of a spy at a monotonic time."""
        self.spies.set_state(counter_id, state, now_ns)
        self._spies_have_changed()

    def due_spies(self, now_ns: int) -> list[int]:
        """Counter ids of the untethered spies whose state changes, the last one first."""
        return self.spies.due(self._window_limit(), now_ns)

    def _spies_have_changed(self):
        self._show_spies(producer_position(self._log))
        self._is_settled = False
        if self._state == PUBLICATION_ACTIVE:
            self.update_connected()

    def revoke(self) -> None:
        """Mark the publication revoked; the next timer event ends it."""
        set_publication_revoked(self._log)
        store_release_i32(&self._is_revoked, 1)

    def end_stream(self) -> None:
        """Publish nothing more: limit and end of stream are where the publisher is."""
        cdef int64_t producer = producer_position(self._log)
        self._store_limit(producer)
        set_end_of_stream_position(self._log, producer)
        if load_acquire_i64(&self._position) >= producer:
            store_release_i32(&self._is_end_of_stream, 1)

    def mark_end_of_stream(self) -> None:
        """Heartbeats say from now on that the stream has ended, whatever is sent."""
        store_release_i32(&self._is_end_of_stream, 1)

    def settle(self) -> None:
        """A timer event while it drains: free what is blocked, see whether the stream is over."""
        self._settle()

    def sample_publisher(self) -> None:
        """Store the publisher's position in its counter."""
        store_release_i64(self._pub_pos, producer_position(self._log))

    def disconnect(self) -> None:
        """Tell publishers that nobody is there."""
        store_release_i32(&self._is_connected, 0)
        set_log_connected(self._log, False)
