"""The sender's part of a UDP publication: data, setups, heartbeats, answers to control frames.

Spec wire-protocol 5.2 to 5.7, 7, 11, 14, 16. Nothing here allocates, but for receivers that join.
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
from aerolog.transport.driver.flow_control.flow_control cimport FlowControl
from aerolog.transport.driver.send.live_receivers cimport LiveReceivers
from aerolog.transport.driver.send.retransmit_handler cimport (
    RETRANSMIT_INVALID,
    RETRANSMIT_NO_SLOT,
    RETRANSMIT_NOW,
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
    SendContext,
    SentStream,
    report_t,
)
from aerolog.transport.driver.send.send_endpoint cimport SendEndpoint
from aerolog.transport.driver.send.term_scan cimport cut_t, cut_term
from aerolog.transport.logbuffer.descriptor cimport (
    LogBuffers,
    compute_position,
    index_by_position,
    offset_by_position,
    set_log_connected,
    term_id_by_position,
)
from aerolog.transport.memory.counters cimport CountersReader
from aerolog.transport.network.port cimport address_pair, address_t, outgoing_t
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

cdef enum:
    ECHO_LIMIT = 64                 # answers to RTT measurements in
    NO_TIMESTAMP_OFFSET = -1
    RESERVED_OFFSET = -8
    # A batch with less room is sent before a stream adds to it.
    LEAST_ROOM = 8

cdef int64_t _ECHO_PERIOD_NS = 10_000_000
cdef int64_t _SETUP_PERIOD_NS = 100_000_000
cdef int64_t _HEARTBEAT_PERIOD_NS = 100_000_000
# How often a strategy that watches its receivers is asked while nothing is sent.
cdef int64_t _FLOW_CONTROL_PERIOD_NS = 10_000_000


cdef class OutboundStream(SentStream):
    """What a sender sends and hears of one publication; see ``publication`` for the arguments."""

    def __init__(
        self,
        LogBuffers logs not None,
        CountersReader counters not None,
        SendEndpoint endpoint not None,
        FlowControl flow_control not None,
        RetransmitHandler retransmit not None,
        *,
        int snd_pos_id,
        int snd_lmt_id,
        int snd_bpe_id,
        int snd_naks_id,
        initial_position,
        now_ns,
        connection_timeout_ns,
        bint signal_eos,
        bint spies_simulate_connection,
        bint is_response,
        response_correlation_id,
        int send_timestamp_offset,
        int max_datagrams_per_send,
    ):
        if initial_position < 0 or initial_position % FRAME_ALIGNMENT:
            raise ConfigurationError(f"a stream starts at a multiple of 32: {initial_position}")
        if send_timestamp_offset < 0 and send_timestamp_offset not in (
            NO_TIMESTAMP_OFFSET, RESERVED_OFFSET
        ):
            raise ConfigurationError(f"no offset of timestamps: {send_timestamp_offset}")
        if not 1 <= max_datagrams_per_send <= BATCH_MESSAGES:
            raise ConfigurationError(
                f"datagrams of one send step must be in 1..64: {max_datagrams_per_send}"
            )
        self._logs = logs
        self._log = &logs.log
        self._counters = counters
        self.endpoint = endpoint
        self._flow_control = flow_control
        self._retransmit = retransmit
        self._receivers = LiveReceivers(connection_timeout_ns)
        self._snd_pos = self._counter(snd_pos_id)
        self._snd_lmt = self._counter(snd_lmt_id)
        self._snd_bpe = self._counter(snd_bpe_id)
        self._snd_naks = self._counter(snd_naks_id)
        self._position = self._limit = initial_position
        store_release_i64(self._snd_pos, self._position)
        store_release_i64(self._snd_lmt, self._limit)
        # The first setup goes at once, and the first heartbeat right after the first answer.
        self._setup_sent_ns = now_ns - _SETUP_PERIOD_NS - 1
        self._last_sent_ns = now_ns - _HEARTBEAT_PERIOD_NS - 1
        self._echo_period_end_ns = now_ns
        self._timestamp_offset = send_timestamp_offset
        self._max_datagrams = max_datagrams_per_send
        self._ttl = endpoint.port.ttl
        self._is_group = endpoint.is_group
        self._signal_eos = signal_eos
        self._ssc = spies_simulate_connection
        self._asks_flow_control = type(flow_control) is not MaxFlowControl
        self.is_response = is_response
        self.response_correlation_id = response_correlation_id

    cdef int64_t* _counter(self, int32_t counter_id) except NULL:
        cdef int64_t* address = self._counters.value_address(counter_id)
        if address == NULL:
            raise IndexError(f"no such counter: {counter_id}")
        return address

    @property
    def response_address(self):
        """Where a response publication sends to, None before anybody asked."""
        return address_pair(&self._response_address)

    # ---- one step -----------------------------------------------------------------------------

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
            self.turn.watched = self._log.terms[
                index_by_position(self._log, self._position)
            ] + offset_by_position(self._log, self._position)

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
        """Put what may be sent into the batch: datagrams, 0 for nothing there, -1 if blocked."""
        cdef outgoing_t[BATCH_MESSAGES] messages
        cdef int32_t[BATCH_MESSAGES] paddings
        cdef int64_t window = self._limit - self._position
        cdef int64_t shared_room
        cdef int32_t offset = offset_by_position(self._log, self._position)
        cdef uint8_t* term = self._log.terms[index_by_position(self._log, self._position)]
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
            if shared_room < self._log.mtu:
                return 0
            window = shared_room
        context.aim(self.endpoint, &self._response_address, LEAST_ROOM)
        cut = cut_term(
            term,
            self._log.term_length,
            offset,
            min(window, <int64_t> (self._log.term_length - offset)),
            self._log.mtu,
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
        setup.term_offset = offset_by_position(self._log, self._position)
        setup.session_id = self._log.session_id
        setup.stream_id = self._log.stream_id
        setup.initial_term_id = self._log.initial_term_id
        setup.active_term_id = term_id_by_position(self._log, self._position)
        setup.term_length = self._log.term_length
        setup.mtu = self._log.mtu
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
        if load_acquire_i32(&self._is_revoked) != 0:
            header.flags |= FLAG_EOS | FLAG_REVOKED
        elif self._signal_eos and load_acquire_i32(&self._is_end_of_stream) != 0:
            header.flags |= FLAG_EOS
        header.type = FRAME_DATA
        header.term_offset = offset_by_position(self._log, self._position)
        header.session_id = self._log.session_id
        header.stream_id = self._log.stream_id
        header.term_id = term_id_by_position(self._log, self._position)
        header.reserved_value = 0
        context.aim(self.endpoint, &self._response_address, 1)
        write_data_header(context.frame(), &header)
        context.push_frame(self, SENT_HEARTBEAT, DATA_HEADER_LENGTH)

    cdef void _idle(self, SendContext context) noexcept nogil:
        """Nothing was sent: whoever simulates a receiver moves on, silent receivers are gone."""
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
        """The log says whether somebody receives (5.7)."""
        cdef bint connected = load_acquire_i32(&self._is_live) != 0 or (
            self._ssc and load_acquire_i32(&self._spy_count) > 0
        )
        if load_acquire_i32(&self._is_revoked) != 0:
            connected = False
        if load_acquire_i32(&self._is_connected) != connected:
            store_release_i32(&self._is_connected, connected)
            set_log_connected(self._log, connected)

    # ---- control frames -------------------------------------------------------------------------

    cdef bint is_acceptable(self, const status_message_t* message) noexcept nogil:
        """Whether the position is one that a receiver of this stream can have."""
        cdef int64_t position = compute_position(self._log, message.term_id, message.term_offset)
        cdef int64_t distance = position - self._position
        return -distance <= self._log.term_length // 2 and distance <= self._log.term_length // 2

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
                compute_position(self._log, message.term_id, message.term_offset),
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
        """Send frames again that are in the log and have been sent (7)."""
        cdef outgoing_t[BATCH_MESSAGES] messages
        cdef int32_t[BATCH_MESSAGES] paddings
        cdef int64_t position = compute_position(self._log, resend.term_id, resend.term_offset)
        cdef int64_t left = min(<int64_t> resend.length, self._position - position)
        cdef int64_t total = 0
        cdef int64_t length
        cdef int64_t taken
        cdef uint8_t* term
        cdef int32_t offset
        cdef cut_t cut
        cdef int i
        if resend.term_offset % FRAME_ALIGNMENT or not can_resend(
            position, self._position, self._log.term_length, self._log.max_message_length
        ):
            return
        term = self._log.terms[index_by_position(self._log, position)]
        offset = resend.term_offset
        # A request that points into a message would have its bytes sent as a frame.
        if (
            get_i32(term + offset + TERM_OFFSET_OFFSET) != offset
            or get_i32(term + offset + TERM_ID_OFFSET) != resend.term_id
        ):
            return
        # The one look at the event log that a stream takes: for what is sent again.
        if self._retransmit.events is not None:
            self._retransmit.events.resend(resend.term_id, resend.term_offset, resend.length)
        while left > 0 and offset < self._log.term_length:
            cut = cut_term(
                term,
                self._log.term_length,
                offset,
                min(left, <int64_t> (self._log.term_length - offset)),
                self._log.mtu,
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
        """Echo a measurement of the round trip; so many in a short time as receivers need."""
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
        echo.session_id = self._log.session_id
        echo.stream_id = self._log.stream_id
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
