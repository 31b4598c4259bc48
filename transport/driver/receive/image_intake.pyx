"""The receiver's half of an image: datagrams in, status messages and NAKs out.

Spec wire-protocol 9.

What the conductor decides (window, loss) arrives by two counters each: it writes `begin`, the
values, `end`; a reader takes the values when both counters are the same.
"""

from libc.stdint cimport INT64_MIN, int32_t, int64_t, uint8_t, uint64_t

from aerolog.transport.concurrent.atomic cimport (
    fence_acquire,
    get_and_add_i64,
    get_i32,
    load_acquire_i32,
    load_acquire_i64,
    load_plain_i32,
    load_plain_i64,
    store_release_i32,
    store_release_i64,
)
from aerolog.transport.driver.conductor.driver_stream cimport ConductedStream
from aerolog.transport.driver.receive.loss_detector cimport fill_gap, gap_t
from aerolog.transport.driver.receive.receive_context cimport (
    ReceiveContext,
    count,
    status_t,
)
from aerolog.transport.driver.receive.receive_transport cimport ReceiveTransport
from aerolog.transport.driver.receive.term_insert cimport (
    INSERT_REFUSED,
    PACKET_ACCEPTED,
    PACKET_OVER_RUN,
    PACKET_UNDER_RUN_LAGGING,
    insert_datagram,
    judge_packet,
    set_receive_window,
)
from aerolog.transport.logbuffer.descriptor cimport (
    META_ACTIVE_TRANSPORT_COUNT,
    compute_position,
    offset_by_position,
    publication_is_revoked,
    set_end_of_stream_position,
    set_publication_revoked,
    term_id_by_position,
)
from aerolog.transport.network.port cimport address_t
from aerolog.transport.protocol.frames cimport (
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


cdef inline int64_t _elapsed(int64_t since_ns, int64_t now_ns) noexcept nogil:
    return <int64_t> (<uint64_t> now_ns - <uint64_t> since_ns)


cdef inline int64_t _later(int64_t now_ns, int64_t by_ns) noexcept nogil:
    return <int64_t> (<uint64_t> now_ns + <uint64_t> by_ns)


cdef class ImageIntake(ConductedStream):
    """What the receiver does with an image; see `NetworkImage`."""
    # ---- life -----------------------------------------------------------------------------------

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
        # An end that is known but not reached yet would be told a sender that still repairs.
        if not self._ended or load_acquire_i64(self._rcv_pos) >= load_plain_i64(self._hwm):
            self._status_ends = True
            self._status_deadline_ns = _later(now_ns, -1)
        self.wake_ns = now_ns
        self._draining_since_ns = now_ns
        store_release_i32(&self._phase, IMAGE_DRAINING)

    cdef void silence(self) noexcept nogil:
        """A younger image of the same session answers from now on."""
        self._status_enabled = False

    cdef bint is_active(self) noexcept nogil:
        return self._phase == IMAGE_ACTIVE

    cdef bint has_ended(self) noexcept nogil:
        return self._ended

    cdef bint was_revoked(self) noexcept nogil:
        return publication_is_revoked(self._log)

    # ---- datagrams ------------------------------------------------------------------------------

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
            # Known or filled already: whatever it claims to reach over lies there for readers.
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
        cdef int64_t away_ns = _elapsed(rttm.echo_timestamp_ns, context.now_ns)
        self._congestion.on_rtt(context.now_ns, _elapsed(rttm.reception_delta_ns, away_ns))

    cdef bint is_of(self, ImageIntake other) noexcept nogil:
        """Whether both are images of one session at one endpoint."""
        return (
            self.session_id == other.session_id
            and self.stream_id == other.stream_id
            and <void*> self.endpoint == <void*> other.endpoint
        )

    cdef void add_transport(
        self, ReceiveContext context, ReceiveTransport transport
    ) noexcept nogil:
        """A new destination: answered at once where its address is known, else when it speaks."""
        if transport.has_group:
            self.connections.ensure(transport.index, &transport.group, context.now_ns)
        elif transport.has_control:
            self.connections.ensure(transport.index, &transport.control, context.now_ns)

    cdef void drop_transport(self, ReceiveContext context, int32_t index) noexcept nogil:
        self.connections.drop(index)
        self._note_active_transports(context.now_ns)

    # ---- a cycle --------------------------------------------------------------------------------

    cdef int work(self, ReceiveContext context) noexcept nogil:
        cdef int64_t now_ns = context.now_ns
        cdef int64_t changed = load_acquire_i64(&self.change)
        cdef int work_count
        if _elapsed(self._last_packet_ns, now_ns) > self._liveness_timeout_ns:
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
            if self._status_enabled and _elapsed(self._status_deadline_ns, self.wake_ns) > 0:
                self.wake_ns = self._status_deadline_ns
        return work_count

    cdef int _work_status(self, ReceiveContext context) noexcept nogil:
        cdef bint timed_out = (
            self._status_enabled and _elapsed(self._status_deadline_ns, context.now_ns) > 0
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
            self.change_seen -= 1  # it is being written: look again in the next cycle
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
            self.change_seen -= 1  # it is being written: look again in the next cycle
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
