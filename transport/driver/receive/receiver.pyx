"""The agent that receives datagrams into images on the conductor's commands.

Spec wire-protocol 8, 15.1. The conductor passes borrowed pointers and keeps the objects alive until
the receiver has reported that it released them. A command is taken only while there is room for the
event that answers it.

A cycle drains every port in batches up to a bound, so that no port starves another. Datagrams that
the kernel joined are handled one by one where they lie; data is copied only once, into the term.
"""

from collections import deque

from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t, uintptr_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memset

from aerolog.transport.concurrent.atomic cimport get_i32
from aerolog.transport.concurrent.clock cimport Clock
from aerolog.transport.concurrent.queue cimport SpscQueue, record_t
from aerolog.transport.driver.receive.data_packet_dispatcher cimport (
    SETUP_OF_IMAGE,
    SETUP_OVER_LIMIT,
    SETUP_WANTED,
    high_of,
    low_of,
    pair_key,
)
from aerolog.transport.driver.receive.receive_context cimport (
    ReceiveContext,
    add_to,
    count,
    elapsed,
    is_sound_setup,
    stamp_message,
)
from aerolog.transport.driver.receive.receive_endpoint cimport ReceiveEndpoint
from aerolog.transport.driver.receive.receive_transport cimport ReceiveTransport
from aerolog.transport.driver.receive.receive_stream cimport ReceiveStream, has_nothing_to_do
from aerolog.transport.memory.counters cimport CountersReader
from aerolog.transport.network.port cimport (
    BATCH_LIMIT,
    RECEIVE_BUFFER_LENGTH,
    address_pair,
    address_t,
    incoming_t,
    is_transient,
    set_address,
)
from aerolog.transport.network.poll_set cimport (
    add_polled,
    ask_polled,
    free_polled,
    is_ready,
    remove_polled,
)
from aerolog.transport.protocol.frames cimport (
    DATA_HEADER_LENGTH,
    FLAGS_OFFSET,
    FLAG_EOS,
    FRAME_DATA,
    FRAME_INVALID,
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

from aerolog.transport.driver.receive.receiver_events import (
    AnswerFailed,
    CreateImage,
    EndpointReleased,
    ImageReleased,
    ReceiveFailed,
    SessionLimitExceeded,
    TransportReleased,
    Unresolved,
)
from aerolog.transport.errors import ConfigurationError


cdef enum:
    # The calls for one port in a cycle, and the messages of a call when they are joined runs: a run
    # has up to 64 KiB, and its data should still be in the cache when it is handled.
    DRAIN_ROUNDS = 2
    RUN_BATCH = 16
    # Buffers are not a power of two apart: else their starts would all share cache lines.
    BUFFER_STRIDE = RECEIVE_BUFFER_LENGTH + 1536

cdef enum command:
    ADD_ENDPOINT = 1
    REMOVE_ENDPOINT = 2
    ADD_SUBSCRIPTION = 3
    REMOVE_SUBSCRIPTION = 4
    ADD_IMAGE = 5
    REFUSE_IMAGE = 6
    REMOVE_IMAGE = 7
    REMOVE_COOL_DOWN = 8
    ADD_DESTINATION = 9
    REMOVE_DESTINATION = 10
    REQUEST_SETUP = 11
    CHANGE_ADDRESS = 12
cdef enum:
    COMMAND_LIMIT = 32      # in a cycle
    EVENT_LIMIT = 256       # in a call of `events`
    SETUP_BATCH = 8         # setups among them

# What setups may take of the conductor's time without a pause.
cdef int64_t _SETUP_CREDIT_NS = 50_000_000
cdef int64_t _ELICIT_PERIOD_NS = 1_000_000_000
cdef int64_t _SILENCE_NS = 5_000_000_000
cdef int64_t _TELL_PERIOD_NS = 1_000_000_000


cdef void pack_address(record_t* record, const address_t* address) noexcept nogil:
    memcpy(&record.a, address, sizeof(address_t))


cdef void unpack_address(const record_t* record, address_t* address) noexcept nogil:
    memcpy(address, &record.a, sizeof(address_t))


cdef const address_t* _answer_to(
    ReceiveTransport transport, const address_t* source
) noexcept nogil:
    """Return the address to which an answer to a datagram goes."""
    if transport.has_group:
        return &transport.group
    return source


cdef class Receiver(Agent):
    """The agent that receives datagrams into images and sends status messages and NAKs.

    The conductor calls the methods below. None blocks or fails for lack of room: commands that the
    receiver's queue does not take are kept in order, and `flush` hands them over. Objects are kept
    alive until an event reports that the receiver has released them; a command for a released
    object does nothing.
    """
    def __cinit__(
        self,
        Clock clock not None,
        CountersReader counters not None,
        *,
        reresolution_check_interval_ns=1_000_000_000,
        queue_length=1024,
        role_name="receiver",
    ):
        """Make the agent.

        Args:
            clock: the driver's clock; wall-clock time for `channel-rcv-ts-offset`.
            counters: the counters of the driver, with the system counters at their fixed ids.
            reresolution_check_interval_ns: `aeron.driver.reresolution.check.interval`, 0 for never.
            queue_length: how many commands may wait, and how many events.
            role_name: the name of the agent.
        """
        cdef int index
        self._buffers = <uint8_t*> malloc(<size_t> BATCH_LIMIT * BUFFER_STRIDE)
        if self._buffers is NULL:
            raise MemoryError
        memset(self._incoming, 0, sizeof(self._incoming))
        for index in range(BATCH_LIMIT):
            self._incoming[index].data = self._buffers + index * BUFFER_STRIDE
            self._incoming[index].capacity = RECEIVE_BUFFER_LENGTH
        self._clock = clock
        self._context = ReceiveContext(counters)
        self._commands = SpscQueue(queue_length)
        self._events = SpscQueue(max(queue_length, 4 * EVENT_RESERVE))
        self._check_interval_ns = reresolution_check_interval_ns
        self._check_deadline_ns = clock.nano_time() + self._check_interval_ns
        self._elicit_deadline_ns = INT64_MAX
        self.backlog = deque()
        self._held = {}
        self._setups = deque()
        self._setup_credit_ns = _SETUP_CREDIT_NS
        self._credited_ns = clock.nano_time()

    def __init__(self, *_, role_name="receiver", **__):
        super().__init__(role_name)

    def __dealloc__(self):
        free_polled(&self._polled)
        free(self._buffers)
        free(self._images)

    # ---- the duty cycle -------------------------------------------------------------------------

    cdef int duty_cycle(self, int64_t now_ns) noexcept nogil:
        cdef int work_count
        self._context.now_ns = now_ns
        work_count = self._take_commands()
        return work_count + self.turn()

    cdef int _take_commands(self) noexcept nogil:
        cdef record_t command
        cdef int taken = 0
        while taken < COMMAND_LIMIT and self.has_event_room(2) and self._commands.poll(&command):
            self._execute(&command)
            taken += 1
        return taken

    cdef void _execute(self, const record_t* command) noexcept nogil:
        cdef void* pointer = command.pointer
        cdef int32_t stream_id = high_of(command.a)
        cdef int32_t session_id = low_of(command.a)
        cdef int64_t now_ns = self._context.now_ns
        if command.kind == ADD_ENDPOINT:
            self._add_endpoint(<ReceiveEndpoint> pointer)
        elif command.kind == REMOVE_ENDPOINT:
            self._remove_endpoint(<ReceiveEndpoint> pointer)
        elif command.kind == ADD_SUBSCRIPTION:
            self._add_subscription(
                <ReceiveEndpoint> pointer, stream_id, session_id, command.flags
            )
        elif command.kind == REMOVE_SUBSCRIPTION and command.flags:
            (<ReceiveEndpoint> pointer).dispatcher.remove_one(stream_id, session_id, now_ns)
        elif command.kind == REMOVE_SUBSCRIPTION:
            (<ReceiveEndpoint> pointer).dispatcher.remove_all(stream_id, now_ns)
        elif command.kind == ADD_IMAGE:
            self._add_image(<ReceiveStream> pointer)
        elif command.kind == REFUSE_IMAGE:
            (<ReceiveEndpoint> pointer).dispatcher.refuse_image(stream_id, session_id, now_ns)
        elif command.kind == REMOVE_IMAGE:
            self._remove_image(<ReceiveStream> pointer)
        elif command.kind == REMOVE_COOL_DOWN:
            (<ReceiveEndpoint> pointer).dispatcher.end_cool_down(stream_id, session_id)
        elif command.kind == ADD_DESTINATION:
            self._add_destination(<ReceiveEndpoint> pointer, <ReceiveTransport> <void*> command.b)
        elif command.kind == REMOVE_DESTINATION:
            self._remove_destination(
                <ReceiveEndpoint> pointer, <ReceiveTransport> <void*> command.b
            )
        elif command.kind == REQUEST_SETUP:
            self._elicit_session(<ReceiveEndpoint> pointer, stream_id, session_id)
        elif command.kind == CHANGE_ADDRESS:
            unpack_address(command, &(<ReceiveTransport> pointer).control)

    cdef void _add_endpoint(self, ReceiveEndpoint endpoint) noexcept nogil:
        cdef int32_t index
        for index in range(endpoint.held_count):
            self.poll_transport(endpoint, <ReceiveTransport> endpoint.held[index])

    cdef void _remove_endpoint(self, ReceiveEndpoint endpoint) noexcept nogil:
        cdef int32_t index
        endpoint.dispatcher.deactivate_all(self._context.now_ns)
        for index in range(endpoint.slot_limit - 1, -1, -1):
            if endpoint.transport_at(index) is not NULL:
                self.unpoll_transport(endpoint, <ReceiveTransport> endpoint.transport_at(index))
        self._tell(EVENT_ENDPOINT_RELEASED, <void*> endpoint, NULL)

    cdef void _add_subscription(
        self, ReceiveEndpoint endpoint, int32_t stream_id, int32_t session_id, bint single
    ) noexcept nogil:
        if single:
            endpoint.dispatcher.add_one(stream_id, session_id)
            self._elicit_session(endpoint, stream_id, session_id)
        else:
            endpoint.dispatcher.add_all(stream_id)
        self.look_for_elicits()

    cdef void _elicit_session(
        self, ReceiveEndpoint endpoint, int32_t stream_id, int32_t session_id
    ) noexcept nogil:
        cdef void* transport = endpoint.transport_at(0)
        if transport is NULL or not (<ReceiveTransport> transport).has_control:
            return
        self._context.elicit(
            endpoint,
            <ReceiveTransport> transport,
            &(<ReceiveTransport> transport).control,
            session_id,
            stream_id,
        )

    cdef void _add_image(self, ReceiveStream image) noexcept nogil:
        cdef int index
        cdef int64_t now_ns = self._context.now_ns
        for index in range(self._image_count):
            if (<ReceiveStream> self._images[index]).is_of(image):
                (<ReceiveStream> self._images[index]).silence()
        image.activate(now_ns)
        if not self.hold_image(image) or not (
            <ReceiveEndpoint> image.endpoint
        ).dispatcher.add_image(image):
            image.deactivate(now_ns)

    cdef void _remove_image(self, ReceiveStream image) noexcept nogil:
        cdef bint was_held = self.drop_image(image)
        (<ReceiveEndpoint> image.endpoint).dispatcher.remove_image(image, image.has_ended())
        if was_held and image.was_revoked():
            image.send_last_status(self._context)
        image.deactivate(self._context.now_ns)
        self._tell(EVENT_IMAGE_RELEASED, <void*> image, NULL)

    cdef void _add_destination(
        self, ReceiveEndpoint endpoint, ReceiveTransport transport
    ) noexcept nogil:
        cdef int index
        if not self.poll_transport(endpoint, transport):
            return
        for index in range(self._image_count):
            if (<void*> (<ReceiveStream> self._images[index]).endpoint) == <void*> endpoint:
                (<ReceiveStream> self._images[index]).add_transport(self._context, transport)

    cdef void _remove_destination(
        self, ReceiveEndpoint endpoint, ReceiveTransport transport
    ) noexcept nogil:
        cdef int index
        self.unpoll_transport(endpoint, transport)
        for index in range(self._image_count):
            if (<void*> (<ReceiveStream> self._images[index]).endpoint) == <void*> endpoint:
                (<ReceiveStream> self._images[index]).drop_transport(
                    self._context, transport.index
                )
        self._tell(EVENT_TRANSPORT_RELEASED, <void*> endpoint, <void*> transport)

    cdef void _tell(self, int32_t kind, void* pointer, void* other) noexcept nogil:
        cdef record_t record
        record.kind = kind
        record.flags = 0
        record.pointer = pointer
        record.a = <int64_t> other
        self._events.offer(&record)

    cdef bint has_events(self) noexcept nogil:
        if self._setup_given_ns != 0 or self._setup_count > 0:
            self._update_credit(self._clock.nano_time())
            if self._setup_count > 0 and self._setup_credit_ns > 0:
                return True
        return self._events.size() > 0

    cdef void _update_credit(self, int64_t now_ns) noexcept nogil:
        """Add half of the time that has passed to the setups' credit, and subtract their time."""
        cdef int64_t passed_ns = now_ns - self._credited_ns
        self._credited_ns = now_ns
        if self._setup_given_ns != 0:
            self._setup_credit_ns -= now_ns - self._setup_given_ns
            self._setup_given_ns = 0
        self._setup_credit_ns += passed_ns // 2
        self._setup_credit_ns = max(
            -_SETUP_CREDIT_NS, min(self._setup_credit_ns, _SETUP_CREDIT_NS)
        )

    # ---- datagrams and images -------------------------------------------------------------------

    cdef int turn(self) noexcept nogil:
        cdef int work_count = 0
        cdef int index
        cdef bint asked = ask_polled(&self._polled)
        for index in range(self._polled.count):
            if not asked or is_ready(&self._polled, index):
                work_count += self._drain(
                    <ReceiveEndpoint> self._polled.items[index].endpoint,
                    <ReceiveTransport> self._polled.items[index].transport,
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
        """Show the conductor an image's high-water mark once for consecutive datagrams."""
        if self._latest_image is not NULL:
            (<ReceiveStream> self._latest_image).publish_hwm()
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
                    stamp_message(data, length, endpoint.channel_timestamp_offset, epoch_ns)
                if endpoint.media_timestamp_offset != -1 and media_ns != 0:
                    stamp_message(data, length, endpoint.media_timestamp_offset, media_ns)
            (<ReceiveStream> image).on_packet(
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
            (<ReceiveStream> image).on_setup(self._context, transport.index, source)
        elif judged == SETUP_OVER_LIMIT:
            self._tell_limit(endpoint, setup.stream_id, source)
        elif judged == SETUP_WANTED:
            if is_sound_setup(&setup):
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
        """Ask for an image; without room for the event, the next SETUP asks again."""
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
        record.a = pair_key(setup.session_id, setup.stream_id)
        record.b = pair_key(setup.initial_term_id, setup.active_term_id)
        record.c = pair_key(setup.term_offset, setup.term_length)
        record.d = pair_key(setup.mtu, transport.index)
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
            and elapsed(endpoint.dispatcher.last_limit_ns, now_ns) < _TELL_PERIOD_NS
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
            (<ReceiveStream> image).on_round_trip(self._context, &rttm)
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
            if has_nothing_to_do(<ReceiveStream> self._images[index], self._context.now_ns):
                continue
            done = (<ReceiveStream> self._images[index]).work(self._context)
            if done >= 0:
                work_count += done
            else:
                self._time_out(<ReceiveStream> self._images[index])
                self._drop_image_at(index)
        return work_count

    cdef void _time_out(self, ReceiveStream image) noexcept nogil:
        """Drop an image that has timed out; its session cools down until the conductor is done."""
        (<ReceiveEndpoint> image.endpoint).dispatcher.remove_image(image, image.has_ended())
        image.deactivate(self._context.now_ns)

    cdef bint hold_image(self, ReceiveStream image) noexcept nogil:
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

    cdef bint drop_image(self, ReceiveStream image) noexcept nogil:
        cdef int index
        for index in range(self._image_count):
            if self._images[index] == <void*> image:
                self._drop_image_at(index)
                return True
        return False

    cdef void _drop_image_at(self, int index) noexcept nogil:
        self._image_count -= 1
        self._images[index] = self._images[self._image_count]

    # ---- transports -----------------------------------------------------------------------------

    cdef bint poll_transport(
        self, ReceiveEndpoint endpoint, ReceiveTransport transport
    ) noexcept nogil:
        if not add_polled(
            &self._polled, <void*> endpoint, <void*> transport, transport.descriptor
        ):
            return False
        endpoint.attach(transport)
        transport.last_heard_ns = self._context.now_ns
        transport.last_unresolved_ns = self._context.now_ns
        if transport.has_control:
            self._elicit_and_wait(endpoint, transport)
        return True

    cdef void unpoll_transport(
        self, ReceiveEndpoint endpoint, ReceiveTransport transport
    ) noexcept nogil:
        # Frames that are still to be sent through it leave now.
        self._context.flush()
        self._context.refused_transport = NULL
        if remove_polled(&self._polled, <void*> endpoint, <void*> transport):
            endpoint.detach(transport.index)

    # ---- timers ---------------------------------------------------------------------------------

    cdef void tend_transports(self) noexcept nogil:
        cdef int64_t now_ns = self._context.now_ns
        if self._elicit_deadline_ns - now_ns < 0:
            self._elicit_due()
        if self._check_interval_ns > 0 and elapsed(self._check_deadline_ns, now_ns) > 0:
            self._check_deadline_ns = now_ns + self._check_interval_ns
            self._check_resolutions()
        self._context.flush()
        if self._context.refused_transport is not NULL:
            self.tell_failure(
                <ReceiveTransport> self._context.refused_transport,
                EVENT_ANSWER_FAILED,
                self._context.refused_errno,
                &self._context.refused_destination,
            )
            self._context.refused_transport = NULL

    cdef void look_for_elicits(self) noexcept nogil:
        self._elicit_deadline_ns = self._context.now_ns - 1

    cdef void _elicit_and_wait(
        self, ReceiveEndpoint endpoint, ReceiveTransport transport
    ) noexcept nogil:
        """Elicit every second, to stay among the destinations of a dynamic sender."""
        self._context.elicit(endpoint, transport, &transport.control, 0, 0)
        transport.elicit_deadline_ns = self._context.now_ns + _ELICIT_PERIOD_NS
        self._elicit_deadline_ns = min(self._elicit_deadline_ns, transport.elicit_deadline_ns)

    cdef void _elicit_due(self) noexcept nogil:
        cdef int index
        self._elicit_deadline_ns = INT64_MAX
        for index in range(self._polled.count):
            self._elicit_if_due(
                <ReceiveEndpoint> self._polled.items[index].endpoint,
                <ReceiveTransport> self._polled.items[index].transport,
            )

    cdef void _elicit_if_due(
        self, ReceiveEndpoint endpoint, ReceiveTransport transport
    ) noexcept nogil:
        if not transport.has_control or not endpoint.dispatcher.wants_anything():
            return
        if elapsed(transport.elicit_deadline_ns, self._context.now_ns) > 0:
            self._elicit_and_wait(endpoint, transport)
        else:
            self._elicit_deadline_ns = min(
                self._elicit_deadline_ns, transport.elicit_deadline_ns
            )

    cdef void _check_resolutions(self) noexcept nogil:
        cdef int index
        for index in range(self._polled.count):
            self._check_resolution(
                <ReceiveEndpoint> self._polled.items[index].endpoint,
                <ReceiveTransport> self._polled.items[index].transport,
            )

    cdef void _check_resolution(
        self, ReceiveEndpoint endpoint, ReceiveTransport transport
    ) noexcept nogil:
        cdef record_t record
        cdef int64_t now_ns = self._context.now_ns
        if (
            not transport.has_control
            or elapsed(transport.last_heard_ns, now_ns) <= _SILENCE_NS
            or elapsed(transport.last_unresolved_ns, now_ns) <= _SILENCE_NS
            or not self.has_event_room(EVENT_RESERVE + 1)
        ):
            return
        transport.last_unresolved_ns = now_ns
        record.kind = EVENT_UNRESOLVED
        record.flags = transport.index
        record.pointer = <void*> endpoint
        record.a = <int64_t> <void*> transport
        self._events.offer(&record)

    # ---- events ---------------------------------------------------------------------------------

    cdef bint has_event_room(self, int64_t wanted) noexcept nogil:
        return self._events.capacity - self._events.size() >= wanted

    cdef void tell_failure(
        self, ReceiveTransport transport, int kind, int error, const address_t* destination
    ) noexcept nogil:
        cdef record_t record
        cdef int64_t now_ns = self._context.now_ns
        if (
            transport.has_failed
            and elapsed(transport.last_failure_ns, now_ns) < _TELL_PERIOD_NS
        ) or not self.has_event_room(EVENT_RESERVE + 1):
            return
        transport.has_failed = True
        transport.last_failure_ns = now_ns
        record.kind = kind
        record.flags = error
        record.pointer = <void*> transport
        if destination is not NULL:
            pack_address(&record, destination)
        self._events.offer(&record)

    # ---- commands of the conductor --------------------------------------------------------------

    def add_endpoint(self, ReceiveEndpoint endpoint not None):
        """Receive from an endpoint's transports; those with explicit control elicit at once."""
        self._hold(endpoint)
        for transport in endpoint.transports:
            self._hold(transport)
        endpoint.list_held()
        self._put(ADD_ENDPOINT, endpoint)

    def remove_endpoint(self, ReceiveEndpoint endpoint not None):
        """Release an endpoint and its images. `EndpointReleased` answers; then close the ports."""
        self._put(REMOVE_ENDPOINT, endpoint)

    def add_subscription(self, ReceiveEndpoint endpoint not None, stream_id, session_id=None):
        """Want all sessions of a stream, or one of them; wanting one again changes nothing.

        A single session is elicited at once where transport 0 has explicit control.
        """
        self._put(
            ADD_SUBSCRIPTION, endpoint, session_id is not None, _key(stream_id, session_id or 0)
        )

    def remove_subscription(self, ReceiveEndpoint endpoint not None, stream_id, session_id=None):
        """Stop wanting sessions; images that are not wanted in another way start to drain."""
        self._put(
            REMOVE_SUBSCRIPTION, endpoint, session_id is not None, _key(stream_id, session_id or 0)
        )

    def add_image(self, ReceiveEndpoint endpoint not None, ReceiveStream image not None):
        """Answer a `CreateImage`: the image becomes ACTIVE in the receiver's next cycle."""
        if image.endpoint is not endpoint:
            raise ConfigurationError("the image was made for another endpoint")
        self._hold(image)
        self._put(ADD_IMAGE, image)

    def refuse_image(self, ReceiveEndpoint endpoint not None, session_id, stream_id):
        """Answer a `CreateImage` without an image; a SETUP after a second asks again."""
        self._put(REFUSE_IMAGE, endpoint, 0, _key(stream_id, session_id))

    def remove_image(self, ReceiveStream image not None):
        """Release a lingering image, only once for each. `ImageReleased` answers."""
        self._put(REMOVE_IMAGE, image)

    def remove_cool_down(self, ReceiveEndpoint endpoint not None, session_id, stream_id):
        """End the cool-down of a session, so that it may return (rejoin)."""
        self._put(REMOVE_COOL_DOWN, endpoint, 0, _key(stream_id, session_id))

    def add_destination(
        self, ReceiveEndpoint endpoint not None, ReceiveTransport transport not None
    ):
        """Receive through one more transport of a multi-destination endpoint."""
        if not endpoint.is_multi_destination:
            raise ConfigurationError("only a multi-destination endpoint takes more transports")
        endpoint.hold(transport)
        self._hold(transport)
        self._put(ADD_DESTINATION, endpoint, 0, 0, <int64_t> <void*> transport)

    def remove_destination(
        self, ReceiveEndpoint endpoint not None, ReceiveTransport transport not None
    ):
        """Stop receiving through a transport; images forget it. `TransportReleased` answers."""
        endpoint.drop(transport)
        self._put(REMOVE_DESTINATION, endpoint, 0, 0, <int64_t> <void*> transport)

    def request_setup(self, ReceiveEndpoint endpoint not None, stream_id, session_id):
        """Send an eliciting status message to transport 0's explicit control, if it has one."""
        self._put(REQUEST_SETUP, endpoint, 0, _key(stream_id, session_id))

    def change_address(
        self, ReceiveEndpoint endpoint not None, ReceiveTransport transport not None, address
    ):
        """Change the explicit control address of an endpoint; images keep the address they have."""
        cdef record_t record
        cdef address_t control
        if not transport.has_control:
            raise ConfigurationError("the transport has no explicit control address")
        set_address(&control, address)
        pack_address(&record, &control)
        self._put(CHANGE_ADDRESS, transport, 0, record.a, record.b, record.c, record.d)

    def flush(self):
        """Hand over commands that the queue did not take before; call it in every control cycle."""
        while self.backlog and self._offer(self.backlog[0]):
            self.backlog.popleft()

    def _put(self, kind, target, flags=0, a=0, b=0, c=0, d=0):
        if <uintptr_t> <void*> target not in self._held:
            return  # it has been released, so there is nothing left to change
        command = (kind, target, int(flags), a, b, c, d)
        self.flush()
        if self.backlog or not self._offer(command):
            self.backlog.append(command)

    cdef bint _offer(self, object command):
        cdef record_t record
        kind, target, flags, a, b, c, d = command
        record.kind = kind
        record.flags = flags
        record.pointer = <void*> target
        record.a = a
        record.b = b
        record.c = c
        record.d = d
        return self._commands.offer(&record)

    def _hold(self, thing):
        self._held[<uintptr_t> <void*> thing] = thing

    def on_cycle(self):
        """Run one native duty cycle at the clock's time, for tests; return a work count."""
        return self.duty_cycle(self._clock.nano_time())

    # ---- events ---------------------------------------------------------------------------------

    def has_waiting_events(self):
        return self.has_events()

    def events(self):
        """Return the events since the last call, and of many setups only some.

        When setups have taken more than 50 ms of the conductor's time, they come one at a time, and
        only after other events have had as much of its time: a flood of setups takes half of it.
        """
        cdef record_t record
        cdef int64_t now_ns = self._clock.nano_time()
        found = []
        self._update_credit(now_ns)
        for _ in range(EVENT_LIMIT):
            if not self._events.poll(&record):
                break
            event = self._event(&record)
            if isinstance(event, CreateImage):
                self._setups.append(event)
            elif event is not None:
                found.append(event)
        setup_limit = SETUP_BATCH if self._setup_credit_ns > _SETUP_CREDIT_NS // 2 else 1
        while self._setups and self._setup_credit_ns > 0 and setup_limit > 0:
            found.append(self._setups.popleft())
            self._setup_given_ns = now_ns
            setup_limit -= 1
        self._setup_count = len(self._setups)
        return found

    cdef object _event(self, const record_t* record):
        cdef address_t address
        cdef int32_t kind = record.kind
        subject = self._held[<uintptr_t> record.pointer]
        if kind == EVENT_CREATE_IMAGE:
            self._half = _setup_fields(subject, record)
            return None
        unpack_address(record, &address)
        if kind == EVENT_IMAGE_RELEASED:
            del self._held[<uintptr_t> record.pointer]
            return ImageReleased(subject)
        if kind == EVENT_ENDPOINT_RELEASED:
            self._let_go_of_endpoint(subject)
            return EndpointReleased(subject)
        if kind == EVENT_TRANSPORT_RELEASED:
            return TransportReleased(subject, self._held.pop(<uintptr_t> <void*> record.a))
        if kind == EVENT_LIMIT_EXCEEDED:
            return SessionLimitExceeded(subject, record.flags, address_pair(&address))
        if kind == EVENT_UNRESOLVED:
            return Unresolved(subject, self._held[<uintptr_t> <void*> record.a])
        if kind == EVENT_RECEIVE_FAILED:
            return ReceiveFailed(subject, record.flags)
        if kind == EVENT_ANSWER_FAILED:
            return AnswerFailed(subject, address_pair(&address), record.flags)
        return self._created(subject, address_pair(&address))

    def _let_go_of_endpoint(self, ReceiveEndpoint endpoint):
        del self._held[<uintptr_t> <void*> endpoint]
        for transport in endpoint.transports:
            self._held.pop(<uintptr_t> <void*> transport, None)
        self._setups = deque(each for each in self._setups if each.endpoint is not endpoint)

    def _created(self, transport, source):
        """Return the source of a setup, from its second record."""
        fields, self._half = self._half, None
        return CreateImage(*fields, source, transport.control_group or source)


def _key(stream_id: int, session_id: int) -> int:
    return pair_key(stream_id, session_id)


cdef object _setup_fields(object endpoint, const record_t* record):
    return (
        endpoint,
        low_of(record.d),
        high_of(record.a),
        low_of(record.a),
        high_of(record.b),
        low_of(record.b),
        high_of(record.c),
        low_of(record.c),
        high_of(record.d),
        record.flags,
    )
