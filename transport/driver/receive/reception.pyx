"""The receiver's data path: ports drained, datagrams given to images (spec wire-protocol 8).

A cycle drains every port by batches up to a bound, so that no port starves another. Datagrams that
the kernel joined are handled one by one where they lie; the only copy is the one into the term.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memset

from aerolog.transport.concurrent.atomic cimport get_i32, put_i64
from aerolog.transport.concurrent.queue cimport record_t
from aerolog.transport.driver.receive.data_packet_dispatcher cimport (
    SETUP_OF_IMAGE,
    SETUP_OVER_LIMIT,
    SETUP_WANTED,
)
from aerolog.transport.driver.receive.image_intake cimport ImageIntake, has_nothing_to_do
from aerolog.transport.driver.receive.receive_context cimport add_to, count
from aerolog.transport.driver.receive.receive_endpoint cimport ReceiveEndpoint
from aerolog.transport.driver.receive.receive_transport cimport ReceiveTransport
from aerolog.transport.driver.receive.receiver_transports cimport (
    EVENT_CREATE_IMAGE,
    EVENT_LIMIT_EXCEEDED,
    EVENT_RECEIVE_FAILED,
    EVENT_RESERVE,
    EVENT_SOURCE,
    ReceiverTransports,
    pack_address,
)
from aerolog.transport.logbuffer.descriptor cimport wrapping_sub
from aerolog.transport.network.port cimport (
    BATCH_LIMIT,
    RECEIVE_BUFFER_LENGTH,
    address_t,
    incoming_t,
    is_transient,
)
from aerolog.transport.protocol.frames cimport (
    DATA_HEADER_LENGTH,
    FLAGS_OFFSET,
    FLAG_BEGIN,
    FLAG_EOS,
    FRAME_ALIGNMENT,
    FRAME_DATA,
    FRAME_INVALID,
    FRAME_LENGTH_OFFSET,
    FRAME_PAD,
    FRAME_RTTM,
    FRAME_SETUP,
    RTTM_FLAG_REPLY,
    SESSION_ID_OFFSET,
    STREAM_ID_OFFSET,
    read_frame_type,
    read_rttm,
    read_setup,
    rttm_t,
    setup_t,
)

cdef enum:
    # Calls that one port may take of a cycle, and messages a call when they are joined runs:
    # these are up to 64 KiB each, and what is handled should still be in the cache.
    DRAIN_ROUNDS = 2
    RUN_BATCH = 16
    TERM_LENGTH_MIN = 65536
    TERM_LENGTH_MAX = 1 << 30
    MESSAGE_LENGTH_MAX = 1 << 24
    MTU_MAX = 65504
    # Buffers are not a power of two apart: else the starts of all of them would share cache lines.
    BUFFER_STRIDE = RECEIVE_BUFFER_LENGTH + 1536

cdef int64_t _TELL_PERIOD_NS = 1_000_000_000


cdef inline int64_t _elapsed(int64_t since_ns, int64_t now_ns) noexcept nogil:
    return <int64_t> (<uint64_t> now_ns - <uint64_t> since_ns)


cdef inline int64_t _two(int32_t high, int32_t low) noexcept nogil:
    return <int64_t> ((<uint64_t> <uint32_t> high) << 32 | <uint64_t> <uint32_t> low)


cdef bint _is_sound(const setup_t* setup) noexcept nogil:
    """Whether a log can be made of it: a setup comes from anybody."""
    cdef int32_t longest
    if (
        not TERM_LENGTH_MIN <= setup.term_length <= TERM_LENGTH_MAX
        or setup.term_length & (setup.term_length - 1)
    ):
        return False
    longest = min(setup.term_length // 8, <int32_t> MESSAGE_LENGTH_MAX)
    return (
        DATA_HEADER_LENGTH < setup.mtu <= min(longest, <int32_t> MTU_MAX)
        and setup.mtu % FRAME_ALIGNMENT == 0
        and 0 <= setup.term_offset < setup.term_length
        and setup.term_offset % FRAME_ALIGNMENT == 0
        and wrapping_sub(setup.active_term_id, setup.initial_term_id) >= 0
    )


cdef void _stamp(uint8_t* data, int32_t length, int32_t offset, int64_t epoch_ns) noexcept nogil:
    """A timestamp into the first frame of a message, where it has room (spec wire-protocol 16)."""
    cdef int64_t at = <int64_t> DATA_HEADER_LENGTH + offset
    if (
        data[FLAGS_OFFSET] & FLAG_BEGIN
        and at + 8 < length
        and at + 8 <= get_i32(data + FRAME_LENGTH_OFFSET)
    ):
        put_i64(data + at, epoch_ns)


cdef const address_t* _answer_to(
    ReceiveTransport transport, const address_t* source
) noexcept nogil:
    """Where an answer to a datagram goes."""
    if transport.has_group:
        return &transport.group
    return source


cdef class Reception(ReceiverTransports):
    """What the receiver does with datagrams; see `Receiver`."""
    def __cinit__(self, *args, **kwargs):
        cdef int index
        self._buffers = <uint8_t*> malloc(<size_t> BATCH_LIMIT * BUFFER_STRIDE)
        if self._buffers is NULL:
            raise MemoryError
        memset(self._incoming, 0, sizeof(self._incoming))
        for index in range(BATCH_LIMIT):
            self._incoming[index].data = self._buffers + index * BUFFER_STRIDE
            self._incoming[index].capacity = RECEIVE_BUFFER_LENGTH

    def __dealloc__(self):
        free(self._buffers)
        free(self._images)

    # ---- a cycle --------------------------------------------------------------------------------

    cdef int turn(self) noexcept nogil:
        cdef int work_count = 0
        cdef int index
        cdef bint asked = self.ask_who_is_ready()
        for index in range(self._polled_count):
            if not asked or self.is_ready(index):
                work_count += self._drain(
                    <ReceiveEndpoint> self._polled[index].endpoint,
                    <ReceiveTransport> self._polled[index].transport,
                )
        work_count += self._work_images()
        self.tend_transports()
        return work_count

    cdef int _drain(self, ReceiveEndpoint endpoint, ReceiveTransport transport) noexcept nogil:
        cdef int64_t bytes_received = 0
        cdef int64_t epoch_ns = 0
        cdef int handled = 0
        cdef int received, wanted, index
        for _ in range(DRAIN_ROUNDS):
            wanted = RUN_BATCH if transport.gives_runs else BATCH_LIMIT
            received = transport.port.receive(self._incoming, wanted)
            if received <= 0:
                if received < 0 and not is_transient(received):
                    self.tell_failure(transport, EVENT_RECEIVE_FAILED, -received, NULL)
                break
            if endpoint.stamps:
                epoch_ns = self._clock.epoch_ns()
            transport.gives_runs = False
            for index in range(received):
                bytes_received += self._incoming[index].length
                self._on_message(endpoint, transport, &self._incoming[index], epoch_ns)
            handled += received
            if received < wanted:
                break
        if handled > 0:
            self._show_progress(NULL)
            add_to(self._context.counters.bytes_received, bytes_received)
        return handled

    cdef void _show_progress(self, void* next_image) noexcept nogil:
        """The conductor sees how far an image is once for all of its datagrams in a row."""
        if self._latest_image is not NULL:
            (<ImageIntake> self._latest_image).publish_hwm()
        self._latest_image = next_image

    cdef void _on_message(
        self,
        ReceiveEndpoint endpoint,
        ReceiveTransport transport,
        const incoming_t* message,
        int64_t epoch_ns,
    ) noexcept nogil:
        cdef int32_t offset = 0
        cdef int32_t segment = message.length
        if message.segment > 0:
            segment = message.segment
            transport.gives_runs = True
        if message.length == 0:
            count(self._context.counters.invalid_packets)
            return
        while offset < message.length:
            self._on_datagram(
                endpoint,
                transport,
                message.data + offset,
                min(segment, message.length - offset),
                &message.source,
                epoch_ns,
                message.timestamp_ns,
            )
            offset += segment

    cdef void _on_datagram(
        self,
        ReceiveEndpoint endpoint,
        ReceiveTransport transport,
        uint8_t* data,
        int32_t length,
        const address_t* source,
        int64_t epoch_ns,
        int64_t media_ns,
    ) noexcept nogil:
        cdef int32_t kind = read_frame_type(data, length)
        if kind == FRAME_DATA or kind == FRAME_PAD:
            self._on_data(endpoint, transport, data, length, source, epoch_ns, media_ns)
        elif kind == FRAME_SETUP:
            self._on_setup(endpoint, transport, data, length, source)
        elif kind == FRAME_RTTM:
            self._on_rttm(endpoint, transport, data, length, source)
        elif kind == FRAME_INVALID:
            count(self._context.counters.invalid_packets)

    # ---- frames ---------------------------------------------------------------------------------

    cdef void _on_data(
        self,
        ReceiveEndpoint endpoint,
        ReceiveTransport transport,
        uint8_t* data,
        int32_t length,
        const address_t* source,
        int64_t epoch_ns,
        int64_t media_ns,
    ) noexcept nogil:
        cdef int32_t stream_id, session_id
        cdef void* image
        if length < DATA_HEADER_LENGTH:
            count(self._context.counters.invalid_packets)
            return
        transport.last_heard_ns = self._context.now_ns
        session_id = get_i32(data + SESSION_ID_OFFSET)
        stream_id = get_i32(data + STREAM_ID_OFFSET)
        image = endpoint.dispatcher.image_of(stream_id, session_id)
        if image is not NULL:
            if image != self._latest_image:
                self._show_progress(image)
            if endpoint.stamps:
                if endpoint.channel_timestamp_offset != -1:
                    _stamp(data, length, endpoint.channel_timestamp_offset, epoch_ns)
                if endpoint.media_timestamp_offset != -1 and media_ns != 0:
                    _stamp(data, length, endpoint.media_timestamp_offset, media_ns)
            (<ImageIntake> image).on_packet(
                self._context, transport.index, data, length, source
            )
        elif endpoint.dispatcher.on_data(
            stream_id, session_id, data[FLAGS_OFFSET] & FLAG_EOS, self._context.now_ns
        ):
            self._context.elicit(
                endpoint,
                transport,
                _answer_to(transport, source),
                session_id,
                stream_id,
            )

    cdef void _on_setup(
        self,
        ReceiveEndpoint endpoint,
        ReceiveTransport transport,
        const uint8_t* data,
        int32_t length,
        const address_t* source,
    ) noexcept nogil:
        cdef setup_t setup
        cdef void* image
        cdef int judged
        if not read_setup(data, length, &setup):
            count(self._context.counters.invalid_packets)
            return
        transport.last_heard_ns = self._context.now_ns
        judged = endpoint.dispatcher.judge_setup(
            setup.stream_id, setup.session_id, self._context.now_ns
        )
        if judged == SETUP_OF_IMAGE:
            image = endpoint.dispatcher.image_of(setup.stream_id, setup.session_id)
            (<ImageIntake> image).on_setup(self._context, transport.index, source)
        elif judged == SETUP_OVER_LIMIT:
            self._tell_limit(endpoint, setup.stream_id, source)
        elif judged == SETUP_WANTED:
            if _is_sound(&setup):
                self._ask_for_image(endpoint, transport, &setup, source)
            else:
                count(self._context.counters.invalid_packets)

    cdef void _ask_for_image(
        self,
        ReceiveEndpoint endpoint,
        ReceiveTransport transport,
        const setup_t* setup,
        const address_t* source,
    ) noexcept nogil:
        """The next SETUP asks again when there is no room for the question."""
        cdef record_t record
        if not self.has_event_room(EVENT_RESERVE + 2) or not endpoint.dispatcher.await_image(
            setup.stream_id, setup.session_id, self._context.now_ns
        ):
            return
        if transport.has_group and setup.ttl > transport.ttl:
            count(self._context.counters.ttl_asymmetries)
        record.kind = EVENT_CREATE_IMAGE
        record.flags = setup.flags
        record.pointer = <void*> endpoint
        record.a = _two(setup.session_id, setup.stream_id)
        record.b = _two(setup.initial_term_id, setup.active_term_id)
        record.c = _two(setup.term_offset, setup.term_length)
        record.d = _two(setup.mtu, transport.index)
        self._events.offer(&record)
        record.kind = EVENT_SOURCE
        record.pointer = <void*> transport
        pack_address(&record, source)
        self._events.offer(&record)

    cdef void _tell_limit(
        self, ReceiveEndpoint endpoint, int32_t stream_id, const address_t* source
    ) noexcept nogil:
        cdef record_t record
        cdef int64_t now_ns = self._context.now_ns
        if (
            endpoint.dispatcher.limit_was_told
            and _elapsed(endpoint.dispatcher.last_limit_ns, now_ns) < _TELL_PERIOD_NS
        ) or not self.has_event_room(EVENT_RESERVE + 1):
            return
        endpoint.dispatcher.limit_was_told = True
        endpoint.dispatcher.last_limit_ns = now_ns
        record.kind = EVENT_LIMIT_EXCEEDED
        record.flags = stream_id
        record.pointer = <void*> endpoint
        pack_address(&record, source)
        self._events.offer(&record)

    cdef void _on_rttm(
        self,
        ReceiveEndpoint endpoint,
        ReceiveTransport transport,
        const uint8_t* data,
        int32_t length,
        const address_t* source,
    ) noexcept nogil:
        cdef rttm_t rttm
        cdef void* image
        if not read_rttm(data, length, &rttm):
            count(self._context.counters.invalid_packets)
            return
        transport.last_heard_ns = self._context.now_ns
        if rttm.receiver_id != endpoint.receiver_id and rttm.receiver_id != 0:
            return
        image = endpoint.dispatcher.image_of(rttm.stream_id, rttm.session_id)
        if image is NULL:
            return
        if not rttm.flags & RTTM_FLAG_REPLY:
            (<ImageIntake> image).on_round_trip(self._context, &rttm)
            return
        rttm.flags = 0
        rttm.reception_delta_ns = 0
        rttm.receiver_id = endpoint.receiver_id
        self._context.send_rttm(
            transport, _answer_to(transport, source), &rttm
        )

    # ---- images and timers ----------------------------------------------------------------------

    cdef int _work_images(self) noexcept nogil:
        cdef int work_count = 0
        cdef int index, done
        for index in range(self._image_count - 1, -1, -1):
            if has_nothing_to_do(<ImageIntake> self._images[index], self._context.now_ns):
                continue
            done = (<ImageIntake> self._images[index]).work(self._context)
            if done >= 0:
                work_count += done
            else:
                self._time_out(<ImageIntake> self._images[index])
                self._drop_image_at(index)
        return work_count

    cdef void _time_out(self, ImageIntake image) noexcept nogil:
        """Nothing was heard of it: the session stays away until the conductor is done with it."""
        (<ReceiveEndpoint> image.endpoint).dispatcher.remove_image(image, image.has_ended())
        image.deactivate(self._context.now_ns)

    cdef bint hold_image(self, ImageIntake image) noexcept nogil:
        cdef void** grown
        cdef int capacity
        if self._image_count == self._image_capacity:
            capacity = max(16, 2 * self._image_capacity)
            grown = <void**> realloc(self._images, <size_t> capacity * sizeof(void*))
            if grown is NULL:
                return False
            self._images = grown
            self._image_capacity = capacity
        self._images[self._image_count] = <void*> image
        self._image_count += 1
        return True

    cdef bint drop_image(self, ImageIntake image) noexcept nogil:
        cdef int index
        for index in range(self._image_count):
            if self._images[index] == <void*> image:
                self._drop_image_at(index)
                return True
        return False

    cdef void _drop_image_at(self, int index) noexcept nogil:
        self._image_count -= 1
        self._images[index] = self._images[self._image_count]
