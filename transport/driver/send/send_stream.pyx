"""A UDP publication for its two threads: the sender's transmission, the conductor's limits.

Spec wire-protocol 5.2 to 5.9, 7, 11, 14, 16; spec log-buffers 14, 17, 18. The sender's methods and
the conductor's duty cycle hold no GIL; the conductor's control part calls the Python ones on its
own thread. Each field has one writer, and words that both see go through atomics. Nothing of the
data path allocates, except for receivers that join.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerolog.transport.concurrent.atomic cimport (
    get_and_add_i64,
    get_i32,
    load_acquire_i32,
    load_acquire_i64,
    store_release_i32,
    store_release_i64,
)
from aerolog.transport.driver.conductor.driver_stream cimport (
    PUBLICATION_ACTIVE,
    PUBLICATION_DRAINING,
    PUBLICATION_LINGER,
    PublicationStream,
)
from aerolog.transport.driver.flow_control.flow_control cimport FlowControl
from aerolog.transport.driver.logs.term_allocation cimport TermAllocation
from aerolog.transport.driver.send.live_receivers cimport LiveReceivers
from aerolog.transport.driver.send.retransmit_handler cimport (
    RETRANSMIT_INVALID,
    RETRANSMIT_NOW,
    RETRANSMIT_NO_SLOT,
    RETRANSMIT_OVER_BUDGET,
    RetransmitHandler,
    can_resend,
    resend_t,
)
from aerolog.transport.driver.send.send_context cimport (
    BATCH_MESSAGES,
    EVENT_PUBLICATION_ERROR,
    EVENT_RESPONSE_CONNECTED,
    EVENT_RESPONSE_SETUP,
    SENT_DATA,
    SENT_HEARTBEAT,
    SENT_SETUP,
    BatchStream,
    SendContext,
    report_t,
)
from aerolog.transport.driver.send.send_endpoint cimport SendEndpoint
from aerolog.transport.driver.send.term_scan cimport cut_t, cut_term
from aerolog.transport.logbuffer.cleaner cimport clean_log
from aerolog.transport.logbuffer.descriptor cimport (
    META_ACTIVE_TERM_COUNT,
    LogBuffers,
    compute_position,
    index_by_position,
    index_by_term_count,
    offset_by_position,
    producer_position,
    set_log_connected,
    tail_address,
    tail_offset,
    tail_term_id,
    term_id_by_position,
)
from aerolog.transport.memory.counters cimport CountersReader
from aerolog.transport.network.port cimport address_t, outgoing_t
from aerolog.transport.protocol.frames cimport (
    DATA_HEADER_LENGTH,
    FLAGS_UNFRAGMENTED,
    FLAG_EOS,
    FLAG_REVOKED,
    FRAME_ALIGNMENT,
    FRAME_DATA,
    RTTM_FLAG_REPLY,
    RTTM_LENGTH,
    SETUP_FLAG_GROUP,
    SETUP_FLAG_SEND_RESPONSE,
    SETUP_LENGTH,
    STATUS_FLAG_EOS,
    STATUS_FLAG_SETUP,
    TERM_ID_OFFSET,
    TERM_OFFSET_OFFSET,
    data_header_t,
    error_t,
    nak_t,
    response_setup_t,
    rttm_t,
    setup_t,
    status_message_t,
    write_data_header,
    write_rttm,
    write_setup,
)

from aerolog.transport.driver.flow_control.flow_control import MaxFlowControl
from aerolog.transport.errors import ConfigurationError


NO_TIMESTAMP = -1
RESERVED_VALUE_OFFSET = -8

_SECOND_NS = 1_000_000_000

cdef enum:
    ECHO_LIMIT = 64                 # answers to RTT measurements in 10 ms
    NO_TIMESTAMP_OFFSET = -1
    RESERVED_OFFSET = -8
    # A batch with less room is sent before a stream adds to it.
    LEAST_ROOM = 8

cdef int64_t _ECHO_PERIOD_NS = 10_000_000
cdef int64_t _SETUP_PERIOD_NS = 100_000_000
cdef int64_t _HEARTBEAT_PERIOD_NS = 100_000_000
# How often a strategy that tracks its receivers is called while nothing is sent.
cdef int64_t _FLOW_CONTROL_PERIOD_NS = 10_000_000


cdef class SendStream(BatchStream):
    """One UDP publication: its transmission, its limits, its positions and its states.

    The position of its readers is the sender's, and its subscribers are spies.

    Args besides those of `PublicationStream`:
        endpoint: the endpoint that sends it; the sender does not know it yet.
        flow_control: the strategy of this publication alone; from now on the sender owns it.
        retransmit: the retransmit handler, likewise.
        snd_pos_id: the counter of the sender's position, written by the sender.
        snd_lmt_id: the counter of the sender's limit, written by the sender.
        snd_bpe_id: the counter of back-pressure events, written by the sender.
        snd_naks_id: the counter of NAKs received, written by the sender.
        sparse: whether disk space is allocated as the limit moves.
        initial_position: the position at which it starts, a multiple of 32 in bytes.
        connection_timeout_ns: receivers that are silent for longer are forgotten.
        signal_eos: whether heartbeats announce the end of the stream.
        spies_simulate_connection: whether a spy makes the publication connected, so that the sender
            follows it where there is no receiver.
        is_response: whether it is sent to the source of eliciting status messages.
        response_correlation_id: of the subscription (request) or image (response), -1 for none.
        send_timestamp_offset: in bytes of payload, RESERVED_VALUE_OFFSET or NO_TIMESTAMP.
        max_datagrams_per_send: the most datagrams of one send step, 1 to 64.

    Raises:
        ConfigurationError: an argument is out of range.
        IndexError: a counter id does not exist.
    """

    def __cinit__(
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
        if initial_position < 0 or initial_position % FRAME_ALIGNMENT:
            raise ConfigurationError(f"a stream starts at a multiple of 32: {initial_position}")
        if send_timestamp_offset < NO_TIMESTAMP_OFFSET and send_timestamp_offset != RESERVED_OFFSET:
            raise ConfigurationError(f"no offset of timestamps: {send_timestamp_offset}")
        if not 1 <= max_datagrams_per_send <= BATCH_MESSAGES:
            raise ConfigurationError(
                f"datagrams of one send step must be in 1..64: {max_datagrams_per_send}"
            )
        self.endpoint = endpoint
        self._flow_control = flow_control
        self._retransmit = retransmit
        self._receivers = LiveReceivers(connection_timeout_ns)
        self._timestamp_offset = send_timestamp_offset
        self._max_datagrams = max_datagrams_per_send
        self._ttl = endpoint.port.ttl
        self._is_group = endpoint.is_group
        self._signal_eos = signal_eos
        self._ssc = spies_simulate_connection
        self._asks_flow_control = type(flow_control) is not MaxFlowControl
        self.is_response = is_response
        self.response_correlation_id = response_correlation_id
        self._snd_pos = self.counter(snd_pos_id)
        self._snd_lmt = self.counter(snd_lmt_id)
        self._snd_bpe = self.counter(snd_bpe_id)
        self._snd_naks = self.counter(snd_naks_id)
        self._start_at(initial_position, now_ns)
        self.allocation = TermAllocation(logs, initial_position, sparse=sparse)

    cdef int _start_at(self, int64_t position, int64_t now_ns) except -1:
        """Set every position, counter and time to the start of the stream."""
        self._position = self._limit = position
        store_release_i64(self._snd_pos, position)
        store_release_i64(self._snd_lmt, position)
        # The first setup is sent at once, and the first heartbeat right after the first answer.
        self._setup_sent_ns = now_ns - _SETUP_PERIOD_NS - 1
        self._last_sent_ns = now_ns - _HEARTBEAT_PERIOD_NS - 1
        self._echo_period_end_ns = now_ns
        self._clean_position = position
        self._publisher_limit = position
        self._publisher_seen = position
        self._sender_seen = position
        store_release_i64(self.pub_pos, position)
        store_release_i64(self.pub_lmt, position)
        self._count = self.log.meta + META_ACTIVE_TERM_COUNT
        self._sample()
        return 0

    # ---- the sender: one step -------------------------------------------------------------------

    cdef void send(self, SendContext context) noexcept nogil:
        cdef int64_t now_ns = context.now_ns
        cdef bint was_short = self._was_short
        cdef resend_t resend
        cdef int sent
        self._was_short = False
        if (
            not self._has_been_heard or self._is_setup_elicited
        ) and self._setup_sent_ns + _SETUP_PERIOD_NS - now_ns < 0:
            self._send_setup(context)
        sent = self._compose(context)
        if sent <= 0 or was_short:
            if (
                self._has_been_heard
                and self._last_sent_ns + _HEARTBEAT_PERIOD_NS - now_ns < 0
            ):
                self._send_heartbeat(context)
            self._idle(context)
        if self._retransmit.active_count > 0:
            while self._retransmit.next_due(now_ns, &resend):
                self._resend(context, &resend)
        if self._response_connected_due:
            self._response_connected_due = not context.tell(
                EVENT_RESPONSE_CONNECTED, <void*> self, 0, 0
            )
        self.turn.due_ns = self._next_due(now_ns, sent > 0 or was_short)
        self.turn.watched = NULL
        if sent == 0 and self._limit > self._position:
            self.turn.watched = self.log.terms[
                index_by_position(self.log, self._position)
            ] + offset_by_position(self.log, self._position)

    cdef int64_t _next_due(self, int64_t now_ns, bint has_sent) noexcept nogil:
        cdef int64_t due_ns
        if (
            has_sent
            or self._retransmit.active_count > 0
            or self._response_connected_due
            or (self._ssc and self._has_receivers == 0)
        ):
            return now_ns
        due_ns = now_ns + _HEARTBEAT_PERIOD_NS
        if self._has_been_heard:
            due_ns = self._last_sent_ns + _HEARTBEAT_PERIOD_NS + 1
        if not self._has_been_heard or self._is_setup_elicited:
            due_ns = min(due_ns, self._setup_sent_ns + _SETUP_PERIOD_NS + 1)
        if self._receivers.count > 0:
            due_ns = min(due_ns, self._receivers.first_expiry_ns + 1)
        if self._asks_flow_control:
            due_ns = min(due_ns, now_ns + _FLOW_CONTROL_PERIOD_NS)
        return due_ns

    cdef int _compose(self, SendContext context) noexcept nogil:
        """Add data to the batch; return the datagrams, 0 when there are none, -1 when blocked."""
        cdef outgoing_t[BATCH_MESSAGES] messages
        cdef int32_t[BATCH_MESSAGES] paddings
        cdef int64_t window = self._limit - self._position
        cdef int64_t shared_room
        cdef int32_t offset = offset_by_position(self.log, self._position)
        cdef uint8_t* term = self.log.terms[index_by_position(self.log, self._position)]
        cdef cut_t cut
        cdef int i
        if window <= 0:
            self._note_limit_event(context)
            return -1
        if load_acquire_i32(term + offset) <= 0:
            return 0
        shared_room = self.endpoint.shared.room(context.now_ns)
        if shared_room < window:
            # Room for a whole datagram or none: a frame that does not fit is not flow control's.
            if shared_room < self.log.mtu:
                return 0
            window = shared_room
        context.aim(self.endpoint, &self._response_address, LEAST_ROOM)
        cut = cut_term(
            term,
            self.log.term_length,
            offset,
            min(window, <int64_t> (self.log.term_length - offset)),
            self.log.mtu,
            self._max_datagrams,
            context.room(),
            messages,
            paddings,
            self._timestamp_offset,
            context.clock.epoch_ns() if self._timestamp_offset != NO_TIMESTAMP_OFFSET else 0,
        )
        for i in range(cut.messages):
            context.push(
                self,
                SENT_DATA,
                messages[i].data,
                messages[i].length,
                messages[i].segment,
                paddings[i],
            )
        # At once, for the next stream of this batch.
        self._in_flight += cut.bytes
        self.endpoint.shared.sent(cut.bytes)
        if cut.is_blocked:
            self._note_limit_event(context)
            return -1
        return cut.datagrams

    cdef void _note_limit_event(self, SendContext context) noexcept nogil:
        if self._tracks_limit:
            self._tracks_limit = False
            get_and_add_i64(self._snd_bpe, 1)
            get_and_add_i64(context.counters.flow_control_limits, 1)

    cdef int64_t on_sent(
        self, SendContext context, int kind, int64_t taken, int32_t length, int32_t padding
    ) noexcept nogil:
        if kind == SENT_SETUP:
            return 0
        if kind == SENT_HEARTBEAT:
            if taken < length:
                return 0
            get_and_add_i64(context.counters.heartbeats_sent, 1)
            return length
        if taken < length:
            self._was_short = True
            self._forget(length + padding - taken)
            if taken == 0:
                return 0
        else:
            taken += padding
        self._move_to(self._position + taken)
        context.has_news = True
        self._last_sent_ns = context.now_ns
        self._tracks_limit = True
        return taken

    cdef void _move_to(self, int64_t position) noexcept nogil:
        store_release_i64(&self._position, position)
        store_release_i64(self._snd_pos, position)

    cdef void _set_limit(self, int64_t limit) noexcept nogil:
        if limit != self._limit:
            store_release_i64(&self._limit, limit)
            store_release_i64(self._snd_lmt, limit)

    cdef void _note_consumed(self, int64_t limit_before) noexcept nogil:
        cdef int64_t consumed = min(self._limit - limit_before, self._in_flight)
        if self._limit > limit_before:
            self._in_flight -= consumed
            self.endpoint.shared.consumed(
                consumed, self._limit - self._position + self._in_flight
            )

    cdef void leave(self) noexcept nogil:
        self._forget(self._in_flight)

    cdef void _forget(self, int64_t length) noexcept nogil:
        length = min(length, self._in_flight)
        self.endpoint.shared.forget(length)
        self._in_flight -= length

    cdef void _send_setup(self, SendContext context) noexcept nogil:
        cdef setup_t setup
        self._setup_sent_ns = context.now_ns
        if self._is_setup_elicited:
            self._set_limit(self._flow_control.on_setup(self._limit, context.now_ns))
        setup.flags = SETUP_FLAG_GROUP if self._is_group else 0
        if self.response_correlation_id != -1 and not self.is_response:
            setup.flags |= SETUP_FLAG_SEND_RESPONSE
        setup.term_offset = offset_by_position(self.log, self._position)
        setup.session_id = self.log.session_id
        setup.stream_id = self.log.stream_id
        setup.initial_term_id = self.log.initial_term_id
        setup.active_term_id = term_id_by_position(self.log, self._position)
        setup.term_length = self.log.term_length
        setup.mtu = self.log.mtu
        setup.ttl = self._ttl
        context.aim(self.endpoint, &self._response_address, 1)
        write_setup(context.frame(), &setup)
        context.push_frame(self, SENT_SETUP, SETUP_LENGTH)
        if self._has_receivers != 0:
            self._is_setup_elicited = False

    cdef void _send_heartbeat(self, SendContext context) noexcept nogil:
        cdef data_header_t header
        self._last_sent_ns = context.now_ns
        header.frame_length = 0
        header.flags = FLAGS_UNFRAGMENTED
        if load_acquire_i32(&self.is_revoked) != 0:
            header.flags |= FLAG_EOS | FLAG_REVOKED
        elif self._signal_eos and load_acquire_i32(&self._is_end_of_stream) != 0:
            header.flags |= FLAG_EOS
        header.type = FRAME_DATA
        header.term_offset = offset_by_position(self.log, self._position)
        header.session_id = self.log.session_id
        header.stream_id = self.log.stream_id
        header.term_id = term_id_by_position(self.log, self._position)
        header.reserved_value = 0
        context.aim(self.endpoint, &self._response_address, 1)
        write_data_header(context.frame(), &header)
        context.push_frame(self, SENT_HEARTBEAT, DATA_HEADER_LENGTH)

    cdef void _idle(self, SendContext context) noexcept nogil:
        """Follow spies and expire receivers, in a cycle in which nothing was sent."""
        cdef int64_t position
        if self._ssc and self._has_receivers == 0 and load_acquire_i32(&self._spy_count) > 0:
            # A spy's client writes its position; the conductor bounds it, here it is a frame's.
            position = load_acquire_i64(&self._spy_position) & ~<int64_t> (FRAME_ALIGNMENT - 1)
            if position > self._position:
                self._move_to(position)
            self._set_limit(self._flow_control.on_idle(self._position, context.now_ns))
        elif self._asks_flow_control:
            self._set_limit(self._flow_control.on_idle(self._limit, context.now_ns))
        self._receivers.expire(context.now_ns)
        self._note_receivers()

    cdef void _note_receivers(self) noexcept nogil:
        cdef bint has_receivers = self._receivers.count > 0
        cdef bint is_live = has_receivers and self._flow_control.has_required_receivers()
        if self._has_receivers != has_receivers:
            store_release_i32(&self._has_receivers, has_receivers)
            if not has_receivers:
                self.leave()
        if self._is_live != is_live:
            store_release_i32(&self._is_live, is_live)

    cdef void update_connected(self) noexcept nogil:
        """Write to the log whether the publication is connected (5.7)."""
        cdef bint connected = load_acquire_i32(&self._is_live) != 0 or (
            self._ssc and load_acquire_i32(&self._spy_count) > 0
        )
        if load_acquire_i32(&self.is_revoked) != 0:
            connected = False
        if load_acquire_i32(&self._is_connected) != connected:
            store_release_i32(&self._is_connected, connected)
            set_log_connected(self.log, connected)

    # ---- the sender: control frames -------------------------------------------------------------

    cdef bint is_acceptable(self, const status_message_t* message) noexcept nogil:
        """Return whether the position is one that a receiver of this stream can have."""
        cdef int64_t position = compute_position(self.log, message.term_id, message.term_offset)
        cdef int64_t distance = position - self._position
        return -distance <= self.log.term_length // 2 and distance <= self.log.term_length // 2

    cdef void on_status_message(
        self, SendContext context, const status_message_t* message, const address_t* source
    ) noexcept nogil:
        cdef bint had_receivers = self._receivers.count > 0
        cdef int64_t limit = self._limit
        if message.flags & STATUS_FLAG_SETUP:
            context.has_news = True
            self._elicit(context, message, source)
            return
        self.endpoint.last_heard_ns = context.now_ns
        if message.flags & STATUS_FLAG_EOS:
            self._receivers.forget(message.receiver_id)
            if not self._is_group:
                store_release_i32(&self._has_unicast_eos, 1)
        else:
            self._receivers.heard(message.receiver_id, context.now_ns)
        if self.is_response and not had_receivers and self._receivers.count > 0:
            self._response_connected_due = True
        self._has_been_heard = True
        self._set_limit(
            self._flow_control.on_status_message(
                message,
                compute_position(self.log, message.term_id, message.term_offset),
                self._limit,
                context.now_ns,
            )
        )
        self._note_consumed(limit)
        if self._limit != limit or not had_receivers:
            context.has_news = True
        self._note_receivers()
        self.update_connected()
        self.turn.due_ns = context.now_ns

    cdef void _elicit(
        self, SendContext context, const status_message_t* message, const address_t* source
    ) noexcept nogil:
        if load_acquire_i32(&self._is_end_of_stream) != 0:
            return
        self.endpoint.last_heard_ns = context.now_ns
        self._is_setup_elicited = True
        self._flow_control.on_trigger_send_setup(message, context.now_ns)
        if self.is_response:
            self._response_address = source[0]
        self.turn.due_ns = context.now_ns

    cdef void on_nak(self, SendContext context, const nak_t* nak) noexcept nogil:
        cdef resend_t resend
        cdef int answer
        get_and_add_i64(self._snd_naks, 1)
        answer = self._retransmit.on_nak(
            self._flow_control,
            self.endpoint.shared,
            nak.term_id,
            nak.term_offset,
            nak.length,
            context.now_ns,
            &resend,
        )
        if answer == RETRANSMIT_NOW:
            self._resend(context, &resend)
        elif answer == RETRANSMIT_INVALID:
            get_and_add_i64(context.counters.invalid_packets, 1)
        elif answer == RETRANSMIT_NO_SLOT or answer == RETRANSMIT_OVER_BUDGET:
            get_and_add_i64(context.counters.retransmit_overflows, 1)
        self.turn.due_ns = context.now_ns

    cdef void _resend(self, SendContext context, const resend_t* resend) noexcept nogil:
        """Send frames again that are still in the log and were sent before (7)."""
        cdef outgoing_t[BATCH_MESSAGES] messages
        cdef int32_t[BATCH_MESSAGES] paddings
        cdef int64_t position = compute_position(self.log, resend.term_id, resend.term_offset)
        cdef int64_t left = min(<int64_t> resend.length, self._position - position)
        cdef int64_t total = 0
        cdef int64_t length
        cdef int64_t taken
        cdef uint8_t* term
        cdef int32_t offset
        cdef cut_t cut
        cdef int i
        if resend.term_offset % FRAME_ALIGNMENT or not can_resend(
            position, self._position, self.log.term_length, self.log.max_message_length
        ):
            return
        term = self.log.terms[index_by_position(self.log, position)]
        offset = resend.term_offset
        # A request for an offset inside a message would send its bytes as a frame.
        if (
            get_i32(term + offset + TERM_OFFSET_OFFSET) != offset
            or get_i32(term + offset + TERM_ID_OFFSET) != resend.term_id
        ):
            return
        # The only use of the event log by a stream: to log what is sent again.
        if self._retransmit.events is not None:
            self._retransmit.events.resend(resend.term_id, resend.term_offset, resend.length)
        while left > 0 and offset < self.log.term_length:
            cut = cut_term(
                term,
                self.log.term_length,
                offset,
                min(left, <int64_t> (self.log.term_length - offset)),
                self.log.mtu,
                BATCH_MESSAGES,
                BATCH_MESSAGES,
                messages,
                paddings,
                self._timestamp_offset,
                context.clock.epoch_ns() if self._timestamp_offset != NO_TIMESTAMP_OFFSET else 0,
            )
            if cut.messages == 0:
                break
            length = 0
            for i in range(cut.messages):
                length += messages[i].length
                if messages[i].segment >= messages[i].length:
                    messages[i].segment = 0
            taken = self.endpoint.transmit(
                messages, cut.messages, &self._response_address, context.now_ns
            )
            if taken < length:
                total += taken
                get_and_add_i64(context.counters.short_sends, 1)
                break
            total += cut.bytes
            left -= cut.bytes
            offset += <int32_t> cut.bytes
        if total > 0:
            get_and_add_i64(context.counters.retransmits_sent, 1)
            get_and_add_i64(context.counters.retransmitted_bytes, total)

    cdef void on_rttm(self, SendContext context, const rttm_t* rttm) noexcept nogil:
        """Echo an RTT measurement; at most 64 of them are answered in 10 ms."""
        cdef uint8_t[RTTM_LENGTH] frame
        cdef outgoing_t message
        cdef rttm_t echo
        if not rttm.flags & RTTM_FLAG_REPLY:
            return
        if self._echo_period_end_ns - context.now_ns <= 0:
            self._echo_period_end_ns = context.now_ns + _ECHO_PERIOD_NS
            self._echoes = 0
        if self._echoes == ECHO_LIMIT:
            return
        self._echoes += 1
        echo.flags = 0
        echo.session_id = self.log.session_id
        echo.stream_id = self.log.stream_id
        echo.echo_timestamp_ns = rttm.echo_timestamp_ns
        echo.reception_delta_ns = 0
        echo.receiver_id = rttm.receiver_id
        message.data = frame
        message.length = write_rttm(frame, &echo)
        message.segment = 0
        if (
            self.endpoint.transmit(&message, 1, &self._response_address, context.now_ns)
            < RTTM_LENGTH
        ):
            get_and_add_i64(context.counters.short_sends, 1)

    cdef void on_error(
        self, SendContext context, const error_t* error, const address_t* source
    ) noexcept nogil:
        cdef report_t* report
        cdef int32_t i
        self._flow_control.on_error(error, context.now_ns)
        self.turn.due_ns = context.now_ns
        if not self._receivers.forget(error.receiver_id):
            return
        report = context.next_report()
        if report == NULL:
            return
        report.destination_registration_id = -1
        if self.endpoint.destinations is not None:
            report.destination_registration_id = self.endpoint.destinations.find(
                error.receiver_id, source
            )
        report.receiver_id = error.receiver_id
        report.group_tag = error.group_tag
        report.code = error.code
        report.address = source[0]
        report.text_length = error.text_length
        for i in range(error.text_length):
            report.text[i] = error.text[i]
        context.file_report(EVENT_PUBLICATION_ERROR, <void*> self)

    cdef void on_response_setup(
        self, SendContext context, const response_setup_t* setup
    ) noexcept nogil:
        # What finds no room comes again with the receiver's next frame, 200 ms later.
        if self.response_correlation_id != -1 and not self.is_response:
            context.tell(EVENT_RESPONSE_SETUP, <void*> self, setup.response_session_id, 0)

    # ---- the conductor: the duty cycle ----------------------------------------------------------

    cdef int update(self, int64_t now_ns) noexcept nogil:
        """Sample the publisher, move its limit, and clean what was sent a term ago."""
        cdef int64_t producer, sender_position
        sender_position = load_acquire_i64(&self._position)
        if self._has_nothing_new(sender_position):
            return 0
        if self.state > PUBLICATION_DRAINING:
            return 0
        producer = self._sample()
        self._show_spies(producer)
        if self.state != PUBLICATION_ACTIVE:
            return 0
        if producer != self._publisher_seen:
            self._publisher_seen = producer
            store_release_i64(self.pub_pos, producer)
        self._sender_seen = sender_position
        self._is_caught_up = producer == sender_position
        self.update_connected()
        self._connected_seen = load_acquire_i32(&self._is_connected)
        # Settled: everything is clean that can be, and the limit is where it belongs.
        self._is_settled = not self._move_limit(sender_position, producer)
        return not self._is_settled

    cdef bint _has_nothing_new(self, int64_t sender_position) noexcept nogil:
        """Return whether nothing has changed since the last cycle.

        The log is not read when the sender would move at once if a message were published: an idle
        publication costs the conductor a few reads of words of its own.
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
        """Return the publisher's position, from words that the next cycle compares."""
        self._count_seen = load_acquire_i32(self._count)
        self._tail = <int64_t*> tail_address(self.log, index_by_term_count(self._count_seen))
        self._tail_seen = load_acquire_i64(self._tail)
        return compute_position(
            self.log,
            tail_term_id(self._tail_seen),
            tail_offset(self._tail_seen, self.log.term_length),
        )

    cdef void _show_spies(self, int64_t producer) noexcept nogil:
        """Show the fastest spy's position to the sender, bounded by the publisher's position."""
        cdef int64_t fastest
        if self.subscribers.count == 0 and self._spy_count == 0:
            return
        self.subscribers.lowest(&fastest)
        store_release_i64(&self._spy_position, min(fastest, producer))
        store_release_i32(&self._spy_count, self.subscribers.in_flow)

    cdef bint _move_limit(self, int64_t sender_position, int64_t producer) noexcept nogil:
        """Return whether a limit was moved or data cleaned, so that there may be more to do."""
        cdef int64_t term_length = self.log.term_length
        cdef int64_t slowest = sender_position
        cdef int64_t lowest, highest, limit, gap
        cdef int64_t cleaned = 0
        if self._connected_seen != 0:
            lowest = self.subscribers.lowest(&highest)
            if lowest >= 0:
                slowest = min(slowest, lowest)
            limit = slowest + self.window
            if limit <= self._publisher_limit:
                return False
            cleaned = clean_log(
                self.log, &self._clean_position, min(slowest - term_length, self.allocation.limit)
            )
            # A publisher is never admitted to a term that is not clean.
            gap = (limit >> self.log.position_bits) - (
                self._clean_position >> self.log.position_bits
            )
            if gap < 2 or (gap == 2 and self._clean_position & self.log.term_mask):
                return self._store_limit(self.granted(limit)) or cleaned > 0
            return cleaned > 0
        if self._publisher_limit > sender_position:
            self._store_limit(sender_position)
            clean_log(
                self.log,
                &self._clean_position,
                min(sender_position - term_length, self.allocation.limit),
            )
            return True
        return False

    cdef bint _store_limit(self, int64_t limit) noexcept nogil:
        if limit == self._publisher_limit:
            return False
        self._publisher_limit = limit
        store_release_i64(self.pub_lmt, limit)
        return True

    # ---- the conductor: timer events ------------------------------------------------------------

    cdef bint needs_control(self, int64_t now_ns) noexcept nogil:
        """Return whether this timer event changes something that clients have to be told."""
        if self.state == PUBLICATION_ACTIVE:
            return self.is_revoked != 0 or self.subscribers.any_due(self.window_limit(), now_ns)
        if self.state == PUBLICATION_DRAINING:
            return self._is_over() and self.subscribers.all_reached(producer_position(self.log))
        return self.references == 0 and self.state == PUBLICATION_LINGER

    cdef void tick(self, int64_t now_ns) noexcept nogil:
        """Do the work of a timer event of which clients are told nothing."""
        if self.state == PUBLICATION_ACTIVE:
            self.subscribers.note_active(self.window_limit(), now_ns)
            self.update_connected()
            self.retry_allocation()
            self._is_settled = False
            store_release_i64(self.pub_pos, producer_position(self.log))
            if not self.exclusive:
                self.check_blocked(now_ns)
        elif self.state == PUBLICATION_DRAINING:
            self._settle()

    cdef int64_t read_position(self) noexcept nogil:
        """Return the position up to which everything is sent."""
        return load_acquire_i64(&self._position)

    cdef void on_room(self) noexcept nogil:
        self._is_settled = False

    cdef void on_subscribers_changed(self) noexcept nogil:
        self._show_spies(producer_position(self.log))
        self._is_settled = False
        if self.state == PUBLICATION_ACTIVE:
            self.update_connected()

    cdef bint _is_over(self) noexcept nogil:
        """Return whether everything is sent, or there is no receiver to send it to."""
        return (
            self._is_end_of_stream != 0
            or load_acquire_i64(&self._position) >= producer_position(self.log)
            or load_acquire_i32(&self._has_receivers) == 0
        )

    cdef void _settle(self) noexcept nogil:
        """Do the timer event of a publication that drains (5.8)."""
        cdef int64_t producer = producer_position(self.log)
        store_release_i64(self.pub_pos, producer)
        if producer > load_acquire_i64(&self._position):
            if (
                self.unblock()
                or load_acquire_i32(&self._has_receivers) != 0
            ):
                return
        store_release_i32(&self._is_end_of_stream, 1)

    # ---- the conductor: its control part --------------------------------------------------------

    @property
    def sender_position(self) -> int:
        """The position up to which everything is sent."""
        return load_acquire_i64(&self._position)

    @property
    def is_connected(self) -> bool:
        """Whether the log says that the publication is connected."""
        return load_acquire_i32(&self._is_connected) != 0

    @property
    def has_receivers(self) -> bool:
        """Whether receivers were heard within the connection timeout."""
        return load_acquire_i32(&self._has_receivers) != 0

    @property
    def has_received_unicast_eos(self) -> bool:
        """Whether a unicast receiver has said that it leaves."""
        return load_acquire_i32(&self._has_unicast_eos) != 0

    @property
    def is_end_of_stream(self) -> bool:
        """Whether heartbeats announce the end of the stream."""
        return self._is_end_of_stream != 0

    @property
    def drained(self) -> bool:
        """Whether all is sent or abandoned, so that only spies may still read."""
        return self._is_end_of_stream != 0

    def end_stream(self) -> None:
        """End the stream: set the limit and the end of stream to the publisher's position."""
        PublicationStream.end_stream(self)
        self._publisher_limit = load_acquire_i64(self.pub_lmt)
        if load_acquire_i64(&self._position) >= self._publisher_limit:
            store_release_i32(&self._is_end_of_stream, 1)

    def mark_end_of_stream(self) -> None:
        """Let heartbeats announce the end of the stream from now on, whatever is sent."""
        store_release_i32(&self._is_end_of_stream, 1)

    def settle(self) -> None:
        """Do the timer event while it drains: unblock, and find out whether the stream is over."""
        self._settle()

    def disconnect(self) -> None:
        """Mark the publication as not connected, for its publishers."""
        store_release_i32(&self._is_connected, 0)
        PublicationStream.disconnect(self)
