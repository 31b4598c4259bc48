"""The agent that sends publications and receives control frames (spec wire-protocol 5.1).

The conductor passes commands through one queue and gets events from another; its methods and the
native duty cycle are here. An idle publication costs a read of its turn and of the place where its
next frame will be.
"""

from collections import deque

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uint8_t, uintptr_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset

from aerolog.transport.concurrent.agent cimport Agent
from aerolog.transport.concurrent.atomic cimport get_and_add_i64, load_acquire_i32
from aerolog.transport.concurrent.clock cimport Clock
from aerolog.transport.concurrent.queue cimport SpscQueue, record_t
from aerolog.transport.driver.send.send_context cimport (
    EVENT_ENDPOINT_RELEASED,
    EVENT_PUBLICATION_ERROR,
    EVENT_PUBLICATION_RELEASED,
    EVENT_RESPONSE_CONNECTED,
    EVENT_RESPONSE_SETUP,
    EVENT_UNRESOLVED,
    SendContext,
    report_t,
)
from aerolog.transport.driver.send.send_endpoint cimport SendEndpoint
from aerolog.transport.driver.send.send_stream cimport SendStream, turn_t
from aerolog.transport.memory.counters cimport CountersReader
from aerolog.transport.network.poll_set cimport (
    add_polled,
    ask_polled,
    free_polled,
    is_ready,
    remove_polled,
)
from aerolog.transport.network.port cimport (
    RECEIVE_BUFFER_LENGTH,
    address_pair,
    address_t,
    set_address,
)
from aerolog.transport.protocol.frames cimport (
    FRAME_ERROR,
    FRAME_INVALID,
    FRAME_NAK,
    FRAME_RESPONSE_SETUP,
    FRAME_RTTM,
    FRAME_STATUS_MESSAGE,
    STATUS_FLAG_SETUP,
    error_t,
    nak_t,
    read_error,
    read_frame_type,
    read_nak,
    read_response_setup,
    read_rttm,
    read_status_message,
    response_setup_t,
    rttm_t,
    status_message_t,
)

from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.driver.send.send_stream import SendStream
from aerolog.transport.driver.send.sender_events import (
    EndpointReleased,
    PublicationError,
    PublicationReleased,
    ResponseConnected,
    ResponseSetup,
    SendFailed,
    Unresolved,
)


cdef class PublicationTable:
    """A sender's publications by endpoint, session and stream: streams linked in buckets.

    It keeps no stream alive: whoever adds a stream has to remove it before the stream is freed.
    """

    def __init__(self):
        if self._buckets == NULL:
            self._buckets = <void**> calloc(BUCKETS, sizeof(void*))
        if self._buckets == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self._buckets)

    cdef void** _bucket(
        self, SendEndpoint endpoint, int32_t session_id, int32_t stream_id
    ) noexcept nogil:
        cdef uint64_t key = <uint64_t> <uint32_t> session_id << 32 | <uint64_t> <uint32_t> stream_id
        key = (key ^ <uint64_t> <void*> endpoint) * 0x9E3779B97F4A7C15UL
        return &self._buckets[key >> 52]

    cdef void add(self, SendStream stream) noexcept nogil:
        cdef void** place = self._bucket(
            stream.endpoint, stream.log.session_id, stream.log.stream_id
        )
        stream.next_in_bucket = place[0]
        place[0] = <void*> stream

    cdef void remove(self, SendStream stream) noexcept nogil:
        cdef void** place = self._bucket(
            stream.endpoint, stream.log.session_id, stream.log.stream_id
        )
        while place[0] != NULL:
            if place[0] == <void*> stream:
                place[0] = stream.next_in_bucket
                return
            place = &(<SendStream> place[0]).next_in_bucket

    cdef void* find(
        self, SendEndpoint endpoint, int32_t session_id, int32_t stream_id
    ) noexcept nogil:
        cdef void* found = self._bucket(endpoint, session_id, stream_id)[0]
        while found != NULL:
            if (
                (<SendStream> found).log.session_id == session_id
                and (<SendStream> found).log.stream_id == stream_id
                and <void*> (<SendStream> found).endpoint == <void*> endpoint
            ):
                return found
            found = (<SendStream> found).next_in_bucket
        return NULL


cdef enum:
    ADD_ENDPOINT = 1
    REMOVE_ENDPOINT = 2
    ADD_PUBLICATION = 3
    REMOVE_PUBLICATION = 4
    STAGE_ADDRESS = 5
    ADD_DESTINATION = 6
    REMOVE_DESTINATION = 7
    CHANGE_DESTINATION = 8
    CHANGE_PEER = 9

cdef enum:
    COMMANDS_PER_CYCLE = 8
    # A cycle may send much: receivers with a short window must not wait for several cycles.
    MOST_BYTES_UNPOLLED = 32 * 1024

cdef int64_t _SILENCE_NS = 5_000_000_000


cdef class Sender(Agent):
    """Runs send endpoints and publications.

    Args:
        clock: the driver's clock; wall-clock time for `channel-snd-ts-offset`.
        counters: the counters of the driver, with the system counters at their fixed ids.
        status_message_timeout_ns: `aeron.rcv.status.message.timeout`; sockets are polled at
            least twice in it, whatever is sent.
        send_to_status_poll_ratio: `aeron.send.to.status.poll.ratio`, the number of cycles that
            send between two polls.
        reresolution_check_interval_ns: `aeron.driver.reresolution.check.interval`, the time
            between two checks for silent addresses, 0 for never.
        queue_length: how many commands may wait, and how many events.
        role_name: the name of the agent.
    """

    def __cinit__(
        self,
        Clock clock not None,
        CountersReader counters not None,
        *,
        status_message_timeout_ns=200_000_000,
        int send_to_status_poll_ratio=6,
        reresolution_check_interval_ns=1_000_000_000,
        queue_length=1024,
        role_name="sender",
    ):
        cdef int i
        self._context = SendContext(clock, counters, max(256, queue_length))
        self._table = PublicationTable()
        self._buffer = <uint8_t*> malloc(POLL_MESSAGES * RECEIVE_BUFFER_LENGTH)
        if self._buffer == NULL:
            raise MemoryError
        for i in range(POLL_MESSAGES):
            self._incoming[i].data = self._buffer + i * RECEIVE_BUFFER_LENGTH
            self._incoming[i].capacity = RECEIVE_BUFFER_LENGTH
        self._commands = SpscQueue(queue_length)
        self._poll_ratio = send_to_status_poll_ratio
        self._poll_period_ns = status_message_timeout_ns // 2
        self._resolution_period_ns = reresolution_check_interval_ns
        self._poll_deadline_ns = clock.nano_time()
        self._resolution_deadline_ns = clock.nano_time() + self._resolution_period_ns
        self._offer_failures = counters.value_address(SystemCounter.SENDER_PROXY_FAILS)
        self._alive = {}
        self._held_by_sender = set()
        self.backlog = deque()

    def __init__(self, *_, role_name="sender", **__):
        super().__init__(role_name)

    def __dealloc__(self):
        free(self._turns)
        free_polled(&self._polled)
        free(self._buffer)

    # ---- the duty cycle -------------------------------------------------------------------------

    cdef int duty_cycle(self, int64_t now_ns) noexcept nogil:
        cdef int work_count
        cdef int64_t sent
        self._context.now_ns = now_ns
        work_count = self._run_commands()
        self._context.was_short = False
        self._context.bytes_sent = 0
        self._context.has_news = False
        self._send_all()
        sent = self._context.bytes_sent
        if sent > 0:
            get_and_add_i64(self._context.counters.bytes_sent, sent)
        self._cycles_since_poll += 1
        self._bytes_since_poll += sent
        if (
            sent == 0
            or self._context.was_short
            or self._cycles_since_poll >= self._poll_ratio
            or self._bytes_since_poll >= MOST_BYTES_UNPOLLED
            or self._poll_deadline_ns - now_ns < 0
        ):
            self._cycles_since_poll = 0
            self._bytes_since_poll = 0
            self._poll_deadline_ns = now_ns + self._poll_period_ns
            self.poll_endpoints()
        work_count += self._context.has_news
        if self._resolution_period_ns > 0 and self._resolution_deadline_ns - now_ns < 0:
            self._resolution_deadline_ns = now_ns + self._resolution_period_ns
            self.check_resolutions()
        return work_count

    cdef void _send_all(self) noexcept nogil:
        """Run one step of every publication with work to do; each time another one is first."""
        cdef int64_t now_ns = self._context.now_ns
        cdef turn_t* turn
        cdef int index
        if self._turn_count == 0:
            return
        if self._first_turn >= self._turn_count:
            self._first_turn = 0
        index = self._first_turn
        self._first_turn += 1
        for _ in range(self._turn_count):
            turn = &self._turns[index]
            if turn.due_ns - now_ns <= 0 or (
                turn.watched != NULL and load_acquire_i32(turn.watched) > 0
            ):
                (<SendStream> turn.stream).send(self._context)
            index += 1
            if index == self._turn_count:
                index = 0
        self._context.flush()

    # ---- endpoints ------------------------------------------------------------------------------

    cdef bint add(self, SendEndpoint endpoint) noexcept nogil:
        if not add_polled(&self._polled, <void*> endpoint, NULL, endpoint.descriptor):
            return False
        endpoint.last_heard_ns = self._context.now_ns
        return True

    cdef void remove(self, SendEndpoint endpoint) noexcept nogil:
        remove_polled(&self._polled, <void*> endpoint, NULL)

    # ---- control frames -------------------------------------------------------------------------

    cdef void poll_endpoints(self) noexcept nogil:
        """Receive from the endpoints; where there are many, one system call polls them all."""
        cdef bint is_asked = ask_polled(&self._polled)
        cdef int i
        for i in range(self._polled.count):
            if not is_asked or is_ready(&self._polled, i):
                self._poll_endpoint(<SendEndpoint> self._polled.items[i].endpoint)

    cdef void _poll_endpoint(self, SendEndpoint endpoint) noexcept nogil:
        cdef int count = endpoint.port.receive(self._incoming, POLL_MESSAGES)
        cdef int32_t at
        cdef int32_t step
        cdef int i
        for i in range(count):
            # A joined run is cut again; a datagram that did not fit has length 0 and is invalid.
            step = self._incoming[i].length
            if self._incoming[i].segment > 0:
                step = min(step, self._incoming[i].segment)
            at = 0
            while True:
                self._on_datagram(
                    endpoint,
                    self._incoming[i].data + at,
                    min(step, self._incoming[i].length - at),
                    &self._incoming[i].source,
                )
                at += step
                if at >= self._incoming[i].length:
                    break
        if count == POLL_MESSAGES:
            self._context.has_news = True  # there may be more

    cdef void _on_datagram(
        self,
        SendEndpoint endpoint,
        const uint8_t* data,
        int32_t length,
        const address_t* source,
    ) noexcept nogil:
        cdef int32_t type = read_frame_type(data, length)
        cdef bint is_sound = True
        if type == FRAME_STATUS_MESSAGE:
            is_sound = self._on_status_message(endpoint, data, length, source)
        elif type == FRAME_INVALID:
            is_sound = False
        else:
            self._context.has_news = True
            is_sound = self._on_rare_frame(endpoint, type, data, length, source)
        if not is_sound:
            get_and_add_i64(self._context.counters.invalid_packets, 1)

    cdef bint _on_status_message(
        self,
        SendEndpoint endpoint,
        const uint8_t* data,
        int32_t length,
        const address_t* source,
    ) noexcept nogil:
        cdef status_message_t message
        cdef void* stream
        if not read_status_message(data, length, &message):
            return False
        get_and_add_i64(self._context.counters.status_messages_received, 1)
        stream = self._table.find(endpoint, message.session_id, message.stream_id)
        if (
            stream != NULL
            and not message.flags & STATUS_FLAG_SETUP
            and not (<SendStream> stream).is_acceptable(&message)
        ):
            get_and_add_i64(self._context.counters.status_messages_rejected, 1)
            return True
        if endpoint.destinations is not None:
            endpoint.destinations.on_status_message(
                message.receiver_id, source, self._context.now_ns
            )
        if stream != NULL:
            (<SendStream> stream).on_status_message(self._context, &message, source)
        return True

    cdef bint _on_rare_frame(
        self,
        SendEndpoint endpoint,
        int32_t type,
        const uint8_t* data,
        int32_t length,
        const address_t* source,
    ) noexcept nogil:
        """Handle a frame; False for an invalid one, while frames of other types are ignored."""
        cdef nak_t nak
        cdef rttm_t rttm
        cdef error_t error
        cdef response_setup_t setup
        cdef void* stream
        if type == FRAME_NAK:
            if not read_nak(data, length, &nak):
                return False
            stream = self._table.find(endpoint, nak.session_id, nak.stream_id)
            if stream != NULL:
                (<SendStream> stream).on_nak(self._context, &nak)
                get_and_add_i64(self._context.counters.naks_received, 1)
        elif type == FRAME_RTTM:
            if not read_rttm(data, length, &rttm):
                return False
            stream = self._table.find(endpoint, rttm.session_id, rttm.stream_id)
            if stream != NULL:
                (<SendStream> stream).on_rttm(self._context, &rttm)
        elif type == FRAME_ERROR:
            if not read_error(data, length, &error):
                return False
            get_and_add_i64(self._context.counters.error_frames_received, 1)
            stream = self._table.find(endpoint, error.session_id, error.stream_id)
            if stream != NULL:
                (<SendStream> stream).on_error(self._context, &error, source)
        elif type == FRAME_RESPONSE_SETUP:
            if not read_response_setup(data, length, &setup):
                return False
            stream = self._table.find(endpoint, setup.session_id, setup.stream_id)
            if stream != NULL:
                (<SendStream> stream).on_response_setup(self._context, &setup)
        return True

    cdef void check_resolutions(self) noexcept nogil:
        cdef int i
        for i in range(self._polled.count):
            self._check_resolution(<SendEndpoint> self._polled.items[i].endpoint)

    cdef void _check_resolution(self, SendEndpoint endpoint) noexcept nogil:
        """Report addresses that are silent, so that their names are resolved again (15.1)."""
        cdef int64_t now_ns = self._context.now_ns
        cdef int64_t registration_id
        cdef int32_t at = 0
        if endpoint.destinations is not None:
            while True:
                registration_id = endpoint.destinations.silent(at, now_ns, &at)
                if registration_id == -1:
                    return
                at += 1
                self._context.tell(EVENT_UNRESOLVED, <void*> endpoint, registration_id, 1)
        if endpoint.needs_resolution and now_ns - endpoint.last_heard_ns > _SILENCE_NS:
            if self._context.tell(EVENT_UNRESOLVED, <void*> endpoint, 0, 0):
                endpoint.last_heard_ns = now_ns  # reported again after 5 s at the earliest

    # ---- commands -------------------------------------------------------------------------------

    cdef int _run_commands(self) noexcept nogil:
        cdef int done = 0
        while done < COMMANDS_PER_CYCLE:
            if not self._is_holding and not self._commands.poll(&self._held):
                break
            self._is_holding = not self._run(&self._held)
            if self._is_holding:
                break
            done += 1
        return done

    cdef bint _run(self, const record_t* command) noexcept nogil:
        """Run a command; False when there is no room for it now, so that it is tried again."""
        cdef bint has_room = self._context.events.size() < self._context.events.capacity
        if command.kind == ADD_PUBLICATION:
            return self._add_publication(<SendStream> command.pointer)
        if command.kind == REMOVE_PUBLICATION:
            if has_room:
                self._remove_publication(<SendStream> command.pointer)
                self._context.tell_release(EVENT_PUBLICATION_RELEASED, command.pointer)
            return has_room
        if command.kind == ADD_ENDPOINT:
            return self.add(<SendEndpoint> command.pointer)
        if command.kind == REMOVE_ENDPOINT:
            if has_room:
                self.remove(<SendEndpoint> command.pointer)
                self._context.tell_release(EVENT_ENDPOINT_RELEASED, command.pointer)
            return has_room
        return self._run_destination(command)

    cdef bint _run_destination(self, const record_t* command) noexcept nogil:
        cdef int64_t[4] words
        if command.kind != STAGE_ADDRESS:
            return self._change_destination(command, <SendEndpoint> command.pointer)
        # The address for the command that follows.
        words[0] = command.a
        words[1] = command.b
        words[2] = command.c
        words[3] = command.d
        memcpy(self._staged_address.bytes, words, sizeof(self._staged_address.bytes))
        self._staged_address.length = command.flags
        return True

    cdef bint _change_destination(
        self, const record_t* command, SendEndpoint endpoint
    ) noexcept nogil:
        cdef int64_t now_ns = self._context.now_ns
        if command.kind == CHANGE_PEER:
            endpoint.change_peer(&self._staged_address, now_ns)
        elif endpoint.destinations is None:
            return True
        elif command.kind == ADD_DESTINATION:
            return endpoint.destinations.add(command.a, &self._staged_address, now_ns)
        elif command.kind == REMOVE_DESTINATION:
            endpoint.destinations.remove(command.a)
        elif command.kind == CHANGE_DESTINATION:
            endpoint.destinations.change(command.a, &self._staged_address, now_ns)
        return True

    cdef bint _add_publication(self, SendStream stream) noexcept nogil:
        cdef turn_t* grown
        cdef int capacity
        cdef int i
        if self._turn_count == self._turn_capacity:
            capacity = max(16, 2 * self._turn_capacity)
            grown = <turn_t*> realloc(self._turns, capacity * sizeof(turn_t))
            if grown == NULL:
                return False
            self._turns = grown
            self._turn_capacity = capacity
            for i in range(self._turn_count):
                (<SendStream> self._turns[i].stream).turn = &self._turns[i]
        stream.turn = &self._turns[self._turn_count]
        stream.turn.stream = <void*> stream
        stream.turn.watched = NULL
        stream.turn.due_ns = self._context.now_ns
        self._turn_count += 1
        self._table.add(stream)
        return True

    cdef void _remove_publication(self, SendStream stream) noexcept nogil:
        cdef turn_t* place = stream.turn
        if place == NULL:
            return
        self._table.remove(stream)
        stream.leave()
        self._turn_count -= 1
        place[0] = self._turns[self._turn_count]
        (<SendStream> place.stream).turn = place
        stream.turn = NULL

    # ---- the conductor's side -------------------------------------------------------------------

    cdef bint _offer(self, tuple command) except -1:
        cdef record_t record
        record.kind = command[0]
        record.flags = command[1]
        record.pointer = <void*> <uintptr_t> command[2]
        record.a, record.b, record.c, record.d = command[3]
        return self._commands.offer(&record)

    cdef int _tell(self, int32_t kind, object subject, int64_t a, int32_t flags) except -1:
        address = <uintptr_t> <void*> subject if subject is not None else 0
        self._hand_over((kind, flags, address, (a, 0, 0, 0)))
        return 0

    cdef int _stage(self, object address) except -1:
        cdef address_t native
        cdef int64_t[4] words
        set_address(&native, address)
        memset(words, 0, sizeof(words))
        memcpy(words, native.bytes, sizeof(native.bytes))
        self._hand_over(
            (STAGE_ADDRESS, native.length, 0, (words[0], words[1], words[2], words[3]))
        )
        return 0

    def _hand_over(self, command):
        if self.backlog or not self._offer(command):
            if self._offer_failures != NULL and not self.backlog:
                get_and_add_i64(self._offer_failures, 1)
            self.backlog.append(command)

    def _lend(self, kind, subject):
        """Lend an object to the sender, until an event returns it."""
        self._alive[<uintptr_t> <void*> subject] = subject
        self._held_by_sender.add(subject)
        self._tell(kind, subject, 0, 0)

    def _recall(self, kind, subject):
        if subject in self._held_by_sender:
            self._held_by_sender.remove(subject)
            self._tell(kind, subject, 0, 0)

    def _change(self, kind, endpoint, registration_id, address=None, *, with_address=False):
        # The sender may have released an endpoint that is being removed: it gets no more commands.
        if endpoint in self._held_by_sender:
            if with_address:
                self._stage(address)
            self._tell(kind, endpoint, registration_id, 0)

    def add_endpoint(self, SendEndpoint endpoint not None) -> None:
        """Poll an endpoint for control frames from now on."""
        self._lend(ADD_ENDPOINT, endpoint)

    def remove_endpoint(self, SendEndpoint endpoint not None) -> None:
        """Release an endpoint, after its publications; ``EndpointReleased`` answers."""
        self._recall(REMOVE_ENDPOINT, endpoint)

    def add_publication(self, publication: SendStream) -> None:
        """Send a publication by its endpoint, which was added before."""
        self._lend(ADD_PUBLICATION, <SendStream?> publication)

    def remove_publication(self, publication: SendStream) -> None:
        """Release a publication, whose log is used until ``PublicationReleased`` answers."""
        self._recall(REMOVE_PUBLICATION, publication)

    def add_destination(
        self, SendEndpoint endpoint not None, registration_id: int, address
    ) -> None:
        """Add a manual destination; its address is None while its name is not resolved."""
        self._change(ADD_DESTINATION, endpoint, registration_id, address, with_address=True)

    def remove_destination(self, SendEndpoint endpoint not None, registration_id: int) -> None:
        """Remove the manual destination with a registration id."""
        self._change(REMOVE_DESTINATION, endpoint, registration_id)

    def change_destination(
        self, SendEndpoint endpoint not None, registration_id: int | None, address
    ) -> None:
        """Change the address of a destination, or of the endpoint's own peer."""
        if registration_id is None:
            self._change(CHANGE_PEER, endpoint, 0, address, with_address=True)
        else:
            self._change(
                CHANGE_DESTINATION, endpoint, registration_id, address, with_address=True
            )

    def flush(self) -> None:
        """Hand over commands that the queue did not take before."""
        while self.backlog and self._offer(self.backlog[0]):
            self.backlog.popleft()

    cdef bint has_events(self) noexcept nogil:
        return self._context.events.size() > 0

    def has_waiting_events(self) -> bool:
        """Return whether ``events`` would return anything."""
        return self.has_events()

    def events(self):
        """Return the events since the last call, in order."""
        cdef record_t record
        found = []
        while self._context.events.poll(&record):
            subject = <object> record.pointer
            if record.kind == EVENT_PUBLICATION_RELEASED:
                found.append(PublicationReleased(self._alive.pop(<uintptr_t> record.pointer)))
            elif record.kind == EVENT_ENDPOINT_RELEASED:
                found.append(EndpointReleased(self._alive.pop(<uintptr_t> record.pointer)))
            elif record.kind == EVENT_RESPONSE_SETUP:
                found.append(ResponseSetup(subject, record.a))
            elif record.kind == EVENT_RESPONSE_CONNECTED:
                found.append(ResponseConnected(subject))
            elif record.kind == EVENT_UNRESOLVED:
                found.append(Unresolved(subject, record.a if record.b else None))
            else:
                found.append(self._reported(record.kind, subject, record.a))
        return found

    def _reported(self, kind, subject, index):
        cdef report_t* report = self._context.report_at(index)
        if kind == EVENT_PUBLICATION_ERROR:
            event = PublicationError(
                subject,
                report.destination_registration_id,
                report.receiver_id,
                report.group_tag,
                report.code,
                address_pair(&report.address),
                (<const char*> report.text)[:report.text_length].decode("ascii", "replace"),
            )
        else:
            event = SendFailed(subject, report.code, address_pair(&report.address))
        self._context.free_report()
        return event

    def on_cycle(self) -> int:
        """Run one native duty cycle at the clock's time; return a work count."""
        return self.duty_cycle(self._context.clock.nano_time())
