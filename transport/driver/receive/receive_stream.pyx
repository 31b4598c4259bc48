"""An image for its two threads: datagrams come in, status messages and NAKs go out.

Spec wire-protocol 8.5, 9 to 11, 13; spec log-buffers 15. The receiver writes datagrams into the log
and answers them; the conductor scans the log, finds gaps and decides on the window and the end.
Each field has one writer. The conductor's decisions (window, loss) reach the receiver through two
counters each: it writes `begin`, the values, `end`; a reader takes the values when both counters
are equal. Subscriber positions come from clients and are believed only as far as data can have been
received.
"""

from libc.stdint cimport INT64_MIN, int32_t, int64_t, uint64_t, uint8_t

from aerolog.transport.concurrent.atomic cimport (
    fence_acquire,
    fence_release,
    get_and_add_i64,
    get_i32,
    load_acquire_i32,
    load_acquire_i64,
    load_plain_i32,
    load_plain_i64,
    store_plain_i32,
    store_plain_i64,
    store_release_i32,
    store_release_i64,
)
from aerolog.transport.concurrent.clock cimport Clock
from aerolog.transport.driver.conductor.driver_stream cimport DriverStream
from aerolog.transport.driver.conductor.subscriber_positions cimport SubscriberPositions
from aerolog.transport.driver.congestion_control.congestion_control cimport (
    CongestionControl,
    Cubic,
    StaticWindow,
    rebuild_t,
    window_t,
)
from aerolog.transport.driver.logs.term_allocation cimport ImageAllocation
from aerolog.transport.driver.receive.loss_detector cimport (
    FeedbackDelay,
    LossDetector,
    LossRanges,
    fill_gap,
    gap_t,
    loss_scan_t,
)
from aerolog.transport.driver.receive.image_connections cimport ImageConnections
from aerolog.transport.driver.receive.receive_context cimport (
    ReceiveContext,
    count,
    elapsed,
    status_t,
)
from aerolog.transport.driver.receive.receive_transport cimport ReceiveTransport, TransportSet
from aerolog.transport.driver.receive.term_insert cimport (
    INSERT_REFUSED,
    PACKET_ACCEPTED,
    PACKET_OVER_RUN,
    PACKET_UNDER_RUN_LAGGING,
    clean_image,
    insert_datagram,
    judge_packet,
    set_receive_window,
)
from aerolog.transport.logbuffer.descriptor cimport (
    META_ACTIVE_TRANSPORT_COUNT,
    LogBuffers,
    compute_position,
    offset_by_position,
    publication_is_revoked,
    set_end_of_stream_position,
    set_publication_revoked,
    term_id_by_position,
)
from aerolog.transport.memory.counters cimport CountersReader
from aerolog.transport.memory.loss_report cimport LossReport
from aerolog.transport.network.port cimport address_t, set_address
from aerolog.transport.protocol.frames cimport (
    ERROR_TEXT_LIMIT,
    FLAGS_OFFSET,
    FLAG_EOS,
    FLAG_REVOKED,
    FRAME_ALIGNMENT,
    RTTM_FLAG_REPLY,
    STATUS_FLAG_EOS,
    TERM_ID_OFFSET,
    TERM_OFFSET_OFFSET,
    is_heartbeat,
    rttm_t,
)

from aerolog.transport.errors import ConfigurationError
from aerolog.transport.network.port import Address


cdef inline int64_t _later(int64_t now_ns, int64_t by_ns) noexcept nogil:
    return <int64_t> (<uint64_t> now_ns + <uint64_t> by_ns)


INIT = IMAGE_INIT
ACTIVE = IMAGE_ACTIVE
DRAINING = IMAGE_DRAINING
LINGER = IMAGE_LINGER
DONE = IMAGE_DONE

# The number of status messages that a draining image still sends, so that one of them arrives.
cdef int64_t _LAST_STATUS_MESSAGES = 5
# Values of a loss report entry: none yet, and none any more.
cdef int64_t _NO_ENTRY = -1
cdef int64_t _NO_REPORT = -2


cdef int64_t* _address(CountersReader counters, int32_t counter_id) except NULL:
    cdef int64_t* address = counters.value_address(counter_id)
    if address is NULL:
        raise IndexError(f"no such counter: {counter_id}")
    return address


cdef class ReceiveStream(DriverStream):
    """The image of one session of one stream: its log, its missing data, its subscribers.

    The receiver makes it ACTIVE when it takes it, and DRAINING at the end of stream, after the
    liveness timeout without a frame, or when no subscription wants it any more. At a timer event
    with `linger_is_due` the conductor enters LINGER and calls `Receiver.remove_image`; with
    `done_is_due` and after `ImageReleased` it enters DONE and frees log and counters.

    The conductor makes it, runs it (as a `DriverStream`) and ends it; between
    `Receiver.add_image` and the event `ImageReleased` the receiver writes into it. Making it
    allocates the disk space of the first term that data may enter.

    Args:
        logs: the image's log, all zeros.
        counters: the counters to which the ids refer; kept alive. Hwm and rcv-pos are set to the
            initial position here.
        endpoint: the `ReceiveEndpoint` that answers for it.
        clock: the driver's clock, for the loss report.
        transport_index: of the transport that received the SETUP.
        control: the address for status messages, from the event `CreateImage`.
        rcv_hwm_id, rcv_pos_id, rcv_naks_sent_id: counter ids.
        initial_position: the position of the SETUP in bytes.
        subscribers: the positions of its subscribers, kept as `image.subscribers`.
        feedback_delay: the delays of NAKs; `StaticDelay.unreliable()` if not reliable.
        congestion: the congestion control, which decides on the window.
        loss_report: records its losses, None for no record.
        channel: the subscription's channel, for the loss report.
        source: the identity of the source, for the loss report.
        reliable: whether gaps are reported; if not, they are filled.
        sparse: whether disk space is allocated before the window lets data in.
        status_message_timeout_ns: `aeron.rcv.status.message.timeout`.
        image_liveness_timeout_ns: `aeron.image.liveness.timeout`.

    Raises:
        IndexError: a counter id does not exist.
        ConfigurationError: an address, position or index is not valid.
    """

    def __cinit__(
        self,
        LogBuffers logs not None,
        CountersReader counters not None,
        TransportSet endpoint not None,
        Clock clock not None,
        *,
        transport_index: int,
        control: Address,
        rcv_hwm_id: int,
        rcv_pos_id: int,
        rcv_naks_sent_id: int,
        initial_position: int,
        SubscriberPositions subscribers not None,
        FeedbackDelay feedback_delay not None,
        CongestionControl congestion not None,
        LossReport loss_report=None,
        channel: str = "",
        source: str = "",
        reliable: bool = True,
        sparse: bool = True,
        status_message_timeout_ns: int = 200_000_000,
        image_liveness_timeout_ns: int = 10_000_000_000,
    ) -> None:
        if initial_position < 0 or initial_position % FRAME_ALIGNMENT:
            raise ConfigurationError(
                f"initial position is {initial_position}; use a multiple of {FRAME_ALIGNMENT}"
            )
        self.logs = logs
        self._log = &logs.log
        self.session_id = self._log.session_id
        self.stream_id = self._log.stream_id
        self.endpoint = endpoint
        self.connections = ImageConnections(endpoint)
        self._transport_index = transport_index
        set_address(&self._control, control)
        self._counters = counters
        self._hwm = _address(counters, rcv_hwm_id)
        self._rcv_pos = _address(counters, rcv_pos_id)
        self._naks_sent = _address(counters, rcv_naks_sent_id)
        self._clock = clock
        self.subscribers = subscribers
        self._detector = LossDetector(feedback_delay)
        self._ranges = LossRanges()
        self._loss_report = loss_report
        self._loss_entry = _NO_REPORT if loss_report is None else _NO_ENTRY
        self.channel = channel
        self.source = source
        self._congestion = congestion
        self._measures = not (
            isinstance(congestion, StaticWindow)
            or (isinstance(congestion, Cubic) and not (<Cubic> congestion).measures_rtt)
        )
        self._reliable = reliable
        self._status_timeout_ns = status_message_timeout_ns
        self._liveness_timeout_ns = image_liveness_timeout_ns
        self._response_session = INT64_MIN
        self.allocation = ImageAllocation(logs, initial_position, sparse=sparse)
        self._start_at(initial_position)

    def _start_at(self, initial_position: int) -> None:
        cdef int64_t position = initial_position
        cdef int32_t window = self._congestion.initial_window_length()
        store_release_i64(self._hwm, position)
        self._hwm_reached = position
        store_release_i64(self._rcv_pos, position)
        set_receive_window(
            &self._window,
            position,
            self._congestion.max_window_length(),
            self._log.term_length,
        )
        self._max_window = self._congestion.max_window_length()
        self._clean_position = position
        self._next_status_position = position
        self._next_window = self._window_with_room(position, window)
        self._status_position = position
        self._status_window = self._next_window

    # ---- the receiver: life ---------------------------------------------------------------------

    cdef void activate(self, int64_t now_ns) noexcept nogil:
        self._last_packet_ns = now_ns
        self._status_deadline_ns = _later(now_ns, -1)
        self._status_enabled = True
        self.wake_ns = now_ns
        self.connections.ensure(self._transport_index, &self._control, now_ns)
        store_release_i32(&self._phase, IMAGE_ACTIVE)

    cdef void deactivate(self, int64_t now_ns) noexcept nogil:
        if self._phase >= IMAGE_DRAINING:
            return
        # An end that is known but not reached yet would mislead a sender that still repairs.
        if not self._ended or load_acquire_i64(self._rcv_pos) >= load_plain_i64(self._hwm):
            self._status_ends = True
            self._status_deadline_ns = _later(now_ns, -1)
        self.wake_ns = now_ns
        self._draining_since_ns = now_ns
        store_release_i32(&self._phase, IMAGE_DRAINING)

    cdef void silence(self) noexcept nogil:
        """Stop answering, because a younger image of the same session answers from now on."""
        self._status_enabled = False

    cdef bint is_active(self) noexcept nogil:
        return self._phase == IMAGE_ACTIVE

    cdef bint has_ended(self) noexcept nogil:
        return self._ended

    cdef bint was_revoked(self) noexcept nogil:
        return publication_is_revoked(self._log)

    # ---- the receiver: datagrams ----------------------------------------------------------------

    cdef void on_packet(
        self,
        ReceiveContext context,
        int32_t index,
        const uint8_t* data,
        int32_t length,
        const address_t* source,
    ) noexcept nogil:
        cdef int32_t term_offset = get_i32(data + TERM_OFFSET_OFFSET)
        cdef bint heartbeat = is_heartbeat(data, length)
        cdef int64_t position, proposed
        cdef int judged
        if load_plain_i32(&self._rejected):
            return
        if not 0 <= term_offset < self._log.term_length or term_offset & (FRAME_ALIGNMENT - 1):
            count(context.counters.invalid_packets)
            return
        position = compute_position(self._log, get_i32(data + TERM_ID_OFFSET), term_offset)
        proposed = position if heartbeat else position + length
        if proposed > load_acquire_i64(&self._room_limit):
            count(context.counters.over_runs)
            return
        judged = judge_packet(&self._window, position, length, heartbeat)
        if judged != PACKET_ACCEPTED:
            if judged == PACKET_OVER_RUN:
                count(context.counters.over_runs)
                return
            count(context.counters.under_runs)
            if judged == PACKET_UNDER_RUN_LAGGING and position >= 0:
                self.connections.heard(index, source, context.now_ns)
            return
        if heartbeat:
            self._on_heartbeat(context, index, position, data[FLAGS_OFFSET], source)
        elif position < max(self._filled_to, load_acquire_i64(self._rcv_pos)):
            # Known or filled already: readers may be reading the bytes that it claims to cover.
            self.connections.heard(index, source, context.now_ns)
            proposed = 0
        elif insert_datagram(self._log, position, data, length) == INSERT_REFUSED:
            count(context.counters.invalid_packets)
            return
        else:
            self.connections.heard(index, source, context.now_ns)
        self._last_packet_ns = context.now_ns
        self._hwm_reached = max(self._hwm_reached, proposed)

    cdef void _on_heartbeat(
        self,
        ReceiveContext context,
        int32_t index,
        int64_t position,
        uint8_t flags,
        const address_t* source,
    ) noexcept nogil:
        self.connections.heard(index, source, context.now_ns)
        if flags & FLAG_EOS:
            self.connections.end_at(index, position)
            if not self._ended and self.connections.are_all_ended():
                self._end(context, flags)
        count(context.counters.heartbeats_received)

    cdef void _end(self, ReceiveContext context, uint8_t flags) noexcept nogil:
        if flags & FLAG_REVOKED:
            set_publication_revoked(self._log)
            count(context.counters.images_revoked)
        set_end_of_stream_position(self._log, self.connections.last_end_position())
        store_release_i32(&self._ended, 1)
        self.wake_ns = context.now_ns

    cdef void publish_hwm(self) noexcept nogil:
        if self._hwm_reached > load_plain_i64(self._hwm):
            store_release_i64(self._hwm, self._hwm_reached)

    cdef void on_setup(
        self, ReceiveContext context, int32_t index, const address_t* source
    ) noexcept nogil:
        self.connections.ensure(index, source, context.now_ns)

    cdef void on_round_trip(self, ReceiveContext context, const rttm_t* rttm) noexcept nogil:
        cdef int64_t away_ns = elapsed(rttm.echo_timestamp_ns, context.now_ns)
        self._congestion.on_rtt(context.now_ns, elapsed(rttm.reception_delta_ns, away_ns))

    cdef bint is_of(self, ReceiveStream other) noexcept nogil:
        """Return whether both are images of one session at one endpoint."""
        return (
            self.session_id == other.session_id
            and self.stream_id == other.stream_id
            and <void*> self.endpoint == <void*> other.endpoint
        )

    cdef void add_transport(
        self, ReceiveContext context, ReceiveTransport transport
    ) noexcept nogil:
        """Add a destination; its source is answered once its address is known."""
        if transport.has_group:
            self.connections.ensure(transport.index, &transport.group, context.now_ns)
        elif transport.has_control:
            self.connections.ensure(transport.index, &transport.control, context.now_ns)

    cdef void drop_transport(self, ReceiveContext context, int32_t index) noexcept nogil:
        self.connections.drop(index)
        self._note_active_transports(context.now_ns)

    # ---- the receiver: a cycle ------------------------------------------------------------------

    cdef int work(self, ReceiveContext context) noexcept nogil:
        cdef int64_t now_ns = context.now_ns
        cdef int64_t changed = load_acquire_i64(&self.change)
        cdef int work_count
        if elapsed(self._last_packet_ns, now_ns) > self._liveness_timeout_ns:
            return -1
        self.change_seen = changed
        if (
            self._ended
            and self._phase == IMAGE_ACTIVE
            and load_acquire_i64(self._rcv_pos) >= load_plain_i64(self._hwm)
        ):
            self.deactivate(now_ns)
        work_count = self._work_status(context)
        work_count += self._work_loss(context)
        if self._measures and self._phase == IMAGE_ACTIVE:
            self._measure(context)
        if self._measures or (self._ended and self._phase == IMAGE_ACTIVE):
            self.wake_ns = now_ns
        else:
            self.wake_ns = _later(self._last_packet_ns, self._liveness_timeout_ns)
            if self._status_enabled and elapsed(self._status_deadline_ns, self.wake_ns) > 0:
                self.wake_ns = self._status_deadline_ns
        return work_count

    cdef int _work_status(self, ReceiveContext context) noexcept nogil:
        cdef bint timed_out = (
            self._status_enabled and elapsed(self._status_deadline_ns, context.now_ns) > 0
        )
        cdef int64_t end, position, response
        cdef int32_t window
        if load_acquire_i32(&self._rejected):
            if timed_out:
                self._send_rejection(context)
            return timed_out
        end = load_acquire_i64(&self._status_end)
        if not self._status_enabled or not (timed_out or end != self._status_seen):
            return 0
        position = load_plain_i64(&self._status_position)
        window = load_plain_i32(&self._status_window)
        fence_acquire()
        if load_plain_i64(&self._status_begin) != end:
            self.change_seen -= 1  # a write is under way: look again in the next cycle
            return 0
        if timed_out:
            response = load_acquire_i64(&self._response_session)
            if response != INT64_MIN:
                self._announce_response(context, response)
        self._send_status(context, position, window)
        self._status_seen = end
        return 1

    cdef void _send_status(
        self, ReceiveContext context, int64_t position, int32_t window
    ) noexcept nogil:
        cdef status_t status
        cdef const address_t* target
        cdef int32_t index
        cdef bint sent = False
        status.session_id = self.session_id
        status.stream_id = self.stream_id
        status.term_id = term_id_by_position(self._log, position)
        status.term_offset = offset_by_position(self._log, position)
        status.window = window
        status.flags = STATUS_FLAG_EOS if self._status_ends else 0
        for index in range(self.connections.slot_limit()):
            target = self.connections.target(index, context.now_ns)
            if target is not NULL:
                context.send_status(
                    self.endpoint,
                    <ReceiveTransport> self.endpoint.transport_at(index),
                    target,
                    &status,
                )
                sent = True
        self._status_deadline_ns = _later(context.now_ns, self._status_timeout_ns)
        if sent:
            count(context.counters.status_messages_sent)
        set_receive_window(&self._window, position, self._window.max_window, self._log.term_length)
        self._note_active_transports(context.now_ns)

    cdef void send_last_status(self, ReceiveContext context) noexcept nogil:
        if self._rejected or not self._status_enabled:
            return
        self._status_ends = True
        self._send_status(
            context, self._window.last_status_position, load_plain_i32(&self._status_window)
        )

    cdef void _send_rejection(self, ReceiveContext context) noexcept nogil:
        cdef const address_t* target
        cdef int32_t index
        for index in range(self.connections.slot_limit()):
            target = self.connections.target(index, context.now_ns)
            if target is not NULL:
                context.send_rejection(
                    self.endpoint,
                    <ReceiveTransport> self.endpoint.transport_at(index),
                    target,
                    self.session_id,
                    self.stream_id,
                    self._reason_text,
                    self._reason_length,
                )
        self._status_deadline_ns = _later(context.now_ns, self._status_timeout_ns)
        count(context.counters.error_frames_sent)

    cdef void _announce_response(self, ReceiveContext context, int64_t session) noexcept nogil:
        cdef const address_t* target
        cdef int32_t index
        for index in range(self.connections.slot_limit()):
            target = self.connections.target(index, context.now_ns)
            if target is not NULL:
                context.send_response_setup(
                    <ReceiveTransport> self.endpoint.transport_at(index),
                    target,
                    self.session_id,
                    self.stream_id,
                    <int32_t> session,
                )

    cdef int _work_loss(self, ReceiveContext context) noexcept nogil:
        cdef int64_t end = load_acquire_i64(&self._loss_end)
        cdef gap_t gap
        if end == self._loss_seen:
            return 0
        gap.term_id = load_plain_i32(&self._loss.term_id)
        gap.term_offset = load_plain_i32(&self._loss.term_offset)
        gap.length = load_plain_i32(&self._loss.length)
        fence_acquire()
        if load_plain_i64(&self._loss_begin) != end:
            self.change_seen -= 1  # a write is under way: look again in the next cycle
            return 0
        self._loss_seen = end
        self._report_gap(context, &gap)
        return 1

    cdef void _report_gap(self, ReceiveContext context, const gap_t* gap) noexcept nogil:
        cdef const address_t* target
        cdef int32_t index
        if publication_is_revoked(self._log):
            return
        if not self._reliable:
            if fill_gap(self._log, gap):
                self._filled_to = gap.length + compute_position(
                    self._log, gap.term_id, gap.term_offset
                )
                count(context.counters.gap_fills)
            return
        for index in range(self.connections.slot_limit()):
            target = self.connections.target(index, context.now_ns)
            if target is not NULL:
                context.send_nak(
                    <ReceiveTransport> self.endpoint.transport_at(index),
                    target,
                    self.session_id,
                    self.stream_id,
                    gap,
                )
        count(context.counters.naks_sent)
        get_and_add_i64(self._naks_sent, 1)

    cdef void _measure(self, ReceiveContext context) noexcept nogil:
        cdef const address_t* target
        cdef rttm_t rttm
        cdef int32_t index
        if not self._congestion.wants_rtt(context.now_ns):
            return
        rttm.flags = RTTM_FLAG_REPLY
        rttm.session_id = self.session_id
        rttm.stream_id = self.stream_id
        rttm.echo_timestamp_ns = context.now_ns
        rttm.reception_delta_ns = 0
        rttm.receiver_id = self.endpoint.receiver_id
        for index in range(self.connections.slot_limit()):
            target = self.connections.target(index, context.now_ns)
            if target is not NULL:
                context.send_rttm(
                    <ReceiveTransport> self.endpoint.transport_at(index), target, &rttm
                )
        self._congestion.on_rtt_request(context.now_ns)

    cdef void _note_active_transports(self, int64_t now_ns) noexcept nogil:
        store_release_i32(
            self._log.meta + META_ACTIVE_TRANSPORT_COUNT,
            self.connections.count_active(now_ns, self._liveness_timeout_ns),
        )

    # ---- the conductor: the duty cycle ----------------------------------------------------------

    cdef int update(self, int64_t now_ns) noexcept nogil:
        """Follow subscribers and data, find gaps, open the window."""
        cdef loss_scan_t found
        cdef rebuild_t step
        cdef window_t decided
        cdef int64_t slowest, fastest, hwm, rebuilt
        cdef int64_t received = load_plain_i64(self._rcv_pos)
        cdef int work_count = 0
        if self._conductor_state != 0 or load_acquire_i32(&self._phase) != IMAGE_ACTIVE:
            return 0
        slowest = self.subscribers.lowest(&fastest)
        if slowest < 0:
            return 0
        hwm = load_acquire_i64(self._hwm)
        rebuilt = max(received, self._believed(fastest, hwm))
        self._detector.scan(self._log, rebuilt, hwm, now_ns, &found)
        step.rebuild_start = rebuilt
        rebuilt = max(rebuilt, found.rebuild_position)
        if rebuilt > received:
            store_release_i64(self._rcv_pos, rebuilt)
        # A revoked stream repairs nothing any more: NAKs would never end.
        if found.report and not publication_is_revoked(self._log):
            self._publish_loss(&found.gap)
            self._account_loss(&found.gap)
            work_count = 1
        slowest = max(min(slowest, rebuilt), self._next_status_position)
        step.now_ns = now_ns
        step.consumption_position = slowest
        step.status_position = self._next_status_position
        step.hwm_position = hwm
        step.rebuild_end = rebuilt
        step.loss_found = found.loss_found
        decided = self._congestion.on_rebuild(&step)
        decided.window = self._window_with_room(slowest, decided.window)
        if (
            decided.force_status
            or slowest > self._next_status_position + decided.window // 4
            or self._opens(slowest, decided.window)
        ):
            while clean_image(self._log, &self._clean_position, slowest) > 0:
                pass
            self._publish_status(slowest, decided.window)
            work_count = 1
        return work_count

    cdef int64_t _believed(self, int64_t position, int64_t hwm) noexcept nogil:
        """Bound a position by the end of the mark's term: padding may lead past the mark."""
        cdef int64_t mask = self._log.term_mask
        return min(position, (hwm + mask) & ~mask)

    cdef int32_t _window_with_room(self, int64_t position, int32_t window) noexcept nogil:
        """Return the part of a window that has disk space; the receiver inserts no farther.

        A sender that follows other receivers may be ahead of this window by half a term at most, so
        there is always space for one more window behind the data received.
        """
        cdef int64_t limit = max(position, load_plain_i64(self._rcv_pos)) + self._max_window
        limit = self.granted(min(limit, position + self._log.term_length // 2))
        if self.allocation.limit > load_plain_i64(&self._room_limit):
            store_release_i64(&self._room_limit, self.allocation.limit)
        limit = (limit - position) & ~<int64_t> (FRAME_ALIGNMENT - 1)
        return <int32_t> max(<int64_t> 0, min(limit, <int64_t> window))

    cdef bint _opens(self, int64_t position, int32_t window) noexcept nogil:
        """Return whether a window differs from one that ends, as before, where the space ends."""
        return window != self._next_window and (
            position + window != self._next_status_position + self._next_window
        )

    cdef void _publish_status(self, int64_t position, int32_t window) noexcept nogil:
        cdef int64_t number = self._status_end + 1
        self._next_status_position = position
        self._next_window = window
        store_release_i64(&self._status_begin, number)
        fence_release()
        store_plain_i64(&self._status_position, position)
        store_plain_i32(&self._status_window, window)
        store_release_i64(&self._status_end, number)
        store_release_i64(&self.change, self.change + 1)

    cdef void _publish_loss(self, const gap_t* gap) noexcept nogil:
        cdef int64_t number = self._loss_end + 1
        store_release_i64(&self._loss_begin, number)
        fence_release()
        store_plain_i32(&self._loss.term_id, gap.term_id)
        store_plain_i32(&self._loss.term_offset, gap.term_offset)
        store_plain_i32(&self._loss.length, gap.length)
        store_release_i64(&self._loss_end, number)
        store_release_i64(&self.change, self.change + 1)

    cdef void _account_loss(self, const gap_t* gap) noexcept nogil:
        cdef int32_t bytes_lost
        if self._loss_entry == _NO_REPORT:
            return
        bytes_lost = self._ranges.add_gap(gap)
        if bytes_lost <= 0:
            return
        if self._loss_entry == _NO_ENTRY:
            self._first_loss(bytes_lost)
        else:
            self._loss_report.add_loss(self._loss_entry, bytes_lost, self._clock.epoch_ms())

    cdef void _first_loss(self, int32_t bytes_lost) noexcept nogil:
        """Write the image's entry, with its texts, to the loss report; it needs the GIL, once."""
        self._loss_entry = _NO_REPORT
        with gil:
            entry = self._loss_report.create_entry(
                bytes_lost,
                self._clock.now_epoch_ms(),
                self.session_id,
                self.stream_id,
                self.channel,
                self.source,
            )
            if entry is not None:
                self._loss_entry = entry

    # ---- timer events ---------------------------------------------------------------------------

    cdef bint needs_control(self, int64_t now_ns) noexcept nogil:
        """Return whether clients have to be told of its end or of an untethered subscriber's."""
        cdef int32_t state = self._state()
        if state == IMAGE_ACTIVE:
            return self._linger_is_due(now_ns) or self.subscribers.any_due(
                self._untethered_limit(), now_ns
            )
        if state == IMAGE_DRAINING:
            return self._linger_is_due(now_ns)
        return state == IMAGE_LINGER and self._done_is_due(now_ns)

    cdef void tick(self, int64_t now_ns) noexcept nogil:
        """Retry disk space, and note the untethered subscribers that keep up."""
        if self._state() == IMAGE_ACTIVE:
            self.retry_allocation()
            self.subscribers.note_active(self._untethered_limit(), now_ns)

    cdef int32_t _state(self) noexcept nogil:
        return max(self._conductor_state, load_acquire_i32(&self._phase))

    cdef bint _linger_is_due(self, int64_t now_ns) noexcept nogil:
        cdef int32_t state = self._state()
        if state != IMAGE_ACTIVE and state != IMAGE_DRAINING:
            return False
        if publication_is_revoked(self._log):
            return True
        return (
            state == IMAGE_DRAINING
            and elapsed(self._draining_since_ns, now_ns)
            >= _LAST_STATUS_MESSAGES * self._status_timeout_ns
            and self.subscribers.all_reached(load_plain_i64(self._rcv_pos))
        )

    cdef bint _done_is_due(self, int64_t now_ns) noexcept nogil:
        return self._conductor_state == IMAGE_LINGER and (
            self.subscribers.count == 0
            or elapsed(self._conductor_state_since_ns, now_ns) >= self._liveness_timeout_ns
        )

    cdef int64_t _untethered_limit(self) noexcept nogil:
        cdef int64_t fastest
        self.subscribers.lowest(&fastest)
        return fastest - self._next_window + self._next_window // 4

    # ---- control --------------------------------------------------------------------------------

    @property
    def state(self) -> int:
        """INIT until the receiver has it, ACTIVE, DRAINING (receiver), LINGER, DONE (conductor)."""
        return self._state()

    def enter(self, state: int, now_ns: int) -> None:
        """Change to LINGER or DONE.

        Raises:
            ValueError: the state is not a later one of these two.
        """
        if state not in (IMAGE_LINGER, IMAGE_DONE) or state <= self._conductor_state:
            raise ValueError(f"an image does not go from state {self._state()} to {state}")
        self._conductor_state = state
        self._conductor_state_since_ns = now_ns

    @property
    def is_end_of_stream(self) -> bool:
        """Whether all its sources have ended; the log holds the position of the end."""
        return load_acquire_i32(&self._ended) != 0

    @property
    def is_revoked(self) -> bool:
        return publication_is_revoked(self._log)

    @property
    def is_drained(self) -> bool:
        """Whether all subscribers have consumed the rebuilt data."""
        return self.subscribers.all_reached(load_plain_i64(self._rcv_pos))

    def linger_is_due(self, now_ns: int) -> bool:
        """Return whether the timer has to end it.

        That is so when it is revoked, or DRAINING, drained and five status message timeouts old.
        """
        return self._linger_is_due(now_ns)

    def done_is_due(self, now_ns: int) -> bool:
        """Return whether LINGER is over: no subscriber is left, or the liveness timeout is past."""
        return self._done_is_due(now_ns)

    def accepts_subscribers(self) -> bool:
        """Return whether it is INIT, ACTIVE, or DRAINING and not drained."""
        cdef int32_t state = self._state()
        return state < IMAGE_DRAINING or (state == IMAGE_DRAINING and not self.is_drained)

    def join_position(self) -> int:
        """Return where a new subscriber starts: the lowest of rcv-pos and subscriber positions."""
        cdef int64_t fastest
        cdef int64_t slowest = self.subscribers.lowest(&fastest)
        cdef int64_t received = load_plain_i64(self._rcv_pos)
        return received if slowest < 0 else min(slowest, received)

    def untethered_limit(self) -> int:
        """Return the position that untethered subscribers must be past (spec wire-protocol 11)."""
        return self._untethered_limit()

    @property
    def rebuild_position(self) -> int:
        """The position before which everything has been received: rcv-pos."""
        return load_acquire_i64(self._rcv_pos)

    @property
    def hwm_position(self) -> int:
        """The end of the farthest data received: rcv-hwm."""
        return load_acquire_i64(self._hwm)

    @property
    def window_length(self) -> int:
        """The window of the status message that was scheduled last, in bytes."""
        return self._next_window

    def reject(self, reason: str) -> None:
        """Send error frames to the source from now on, until the image times out.

        Args:
            reason: the text for the publication's clients, ASCII; cut after 1023 bytes.
        """
        cdef const uint8_t[::1] text
        if self.is_rejected:
            return
        self._reason = reason.encode("ascii", "replace")[:ERROR_TEXT_LIMIT] or b" "
        text = self._reason
        self._reason_text = &text[0]
        self._reason_length = <int32_t> text.shape[0]
        store_release_i32(&self._rejected, 1)

    @property
    def is_rejected(self) -> bool:
        return load_plain_i32(&self._rejected) != 0

    @property
    def response_session_id(self) -> int | None:
        """The session announced with every timed status message; None announces nothing."""
        if self._response_session == INT64_MIN:
            return None
        return self._response_session

    @response_session_id.setter
    def response_session_id(self, session_id: int | None) -> None:
        cdef int64_t announced = INT64_MIN
        if session_id is not None:
            announced = <int32_t> session_id
        store_release_i64(&self._response_session, announced)
