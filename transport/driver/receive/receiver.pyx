"""The agent that receives: commands of the conductor in, what it finds out (spec wire-protocol 8).

The conductor gives borrowed pointers and keeps the objects alive until the receiver has told that
it let go of them. A command is taken only while there is room for the event that answers it.
"""

from libc.stdint cimport int32_t, int64_t, uintptr_t

from collections import deque

from aerolog.transport.concurrent.queue cimport record_t
from aerolog.transport.driver.receive.id_table cimport high_of, low_of, pair_key
from aerolog.transport.driver.receive.image_intake cimport ImageIntake
from aerolog.transport.driver.receive.receive_endpoint cimport ReceiveEndpoint
from aerolog.transport.driver.receive.receive_transport cimport ReceiveTransport
from aerolog.transport.driver.receive.reception cimport Reception
from aerolog.transport.driver.receive.receiver_transports cimport (
    EVENT_ANSWER_FAILED,
    EVENT_CREATE_IMAGE,
    EVENT_ENDPOINT_RELEASED,
    EVENT_IMAGE_RELEASED,
    EVENT_LIMIT_EXCEEDED,
    EVENT_RECEIVE_FAILED,
    EVENT_TRANSPORT_RELEASED,
    EVENT_UNRESOLVED,
    pack_address,
    unpack_address,
)
from aerolog.transport.network.port cimport address_pair, address_t, set_address

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
    COMMAND_LIMIT = 32      # a cycle
    EVENT_LIMIT = 256       # a call of `events`
    SETUP_BATCH = 8         # of which so many are setups

# What setups may take of the conductor's time without a pause.
cdef int64_t _SETUP_CREDIT_NS = 50_000_000


cdef class Receiver(Reception):
    """The agent that receives: datagrams into images, status messages and NAKs out of them.

    The methods below are the conductor's. None blocks or fails for lack of room: what the
    receiver's queue does not take is kept, in order, and handed over by `flush`. Objects are kept
    alive until the receiver has given them back by an event; what is asked of one that has been
    given back does nothing.
    """
    def __init__(self, clock, counters, **options):
        """Make the agent.

        Args:
            clock: of the driver; wall-clock time of `channel-rcv-ts-offset`.
            counters: holds the system counters under their fixed ids.
            reresolution_check_interval_ns: `aeron.driver.reresolution.check.interval`, 0 for never.
            queue_length: commands and events that may wait, each.
            role_name: of the agent.
        """
        super().__init__(clock, counters, **options)
        self._backlog = deque()
        self._held = {}
        self._setups = deque()
        self._setup_credit_ns = _SETUP_CREDIT_NS
        self._credited_ns = self._clock.nano_time()

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
            self._add_image(<ImageIntake> pointer)
        elif command.kind == REFUSE_IMAGE:
            (<ReceiveEndpoint> pointer).dispatcher.refuse_image(stream_id, session_id, now_ns)
        elif command.kind == REMOVE_IMAGE:
            self._remove_image(<ImageIntake> pointer)
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

    cdef void _add_image(self, ImageIntake image) noexcept nogil:
        cdef int index
        cdef int64_t now_ns = self._context.now_ns
        for index in range(self._image_count):
            if (<ImageIntake> self._images[index]).is_of(image):
                (<ImageIntake> self._images[index]).silence()
        image.activate(now_ns)
        if not self.hold_image(image) or not (
            <ReceiveEndpoint> image.endpoint
        ).dispatcher.add_image(image):
            image.deactivate(now_ns)

    cdef void _remove_image(self, ImageIntake image) noexcept nogil:
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
            if (<void*> (<ImageIntake> self._images[index]).endpoint) == <void*> endpoint:
                (<ImageIntake> self._images[index]).add_transport(self._context, transport)

    cdef void _remove_destination(
        self, ReceiveEndpoint endpoint, ReceiveTransport transport
    ) noexcept nogil:
        cdef int index
        self.unpoll_transport(endpoint, transport)
        for index in range(self._image_count):
            if (<void*> (<ImageIntake> self._images[index]).endpoint) == <void*> endpoint:
                (<ImageIntake> self._images[index]).drop_transport(
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
        """Time adds half of itself to what setups may take, setups take what they took."""
        cdef int64_t passed_ns = now_ns - self._credited_ns
        self._credited_ns = now_ns
        if self._setup_given_ns != 0:
            self._setup_credit_ns -= now_ns - self._setup_given_ns
            self._setup_given_ns = 0
        self._setup_credit_ns += passed_ns // 2
        self._setup_credit_ns = max(
            -_SETUP_CREDIT_NS, min(self._setup_credit_ns, _SETUP_CREDIT_NS)
        )

    # ---- commands of the conductor --------------------------------------------------------------

    def add_endpoint(self, ReceiveEndpoint endpoint not None):
        """Receive from its transports; those with explicit control elicit at once."""
        self._hold(endpoint)
        for transport in endpoint.transports:
            self._hold(transport)
        endpoint.list_held()
        self._put(ADD_ENDPOINT, endpoint)

    def remove_endpoint(self, ReceiveEndpoint endpoint not None):
        """Its images are deactivated. Answered by `EndpointReleased`; then close the ports."""
        self._put(REMOVE_ENDPOINT, endpoint)

    def add_subscription(self, ReceiveEndpoint endpoint not None, stream_id, session_id=None):
        """Want all sessions of a stream, or one; sessions are not counted: once each.

        A single session is elicited at once where transport 0 has explicit control.
        """
        self._put(
            ADD_SUBSCRIPTION, endpoint, session_id is not None, _key(stream_id, session_id or 0)
        )

    def remove_subscription(self, ReceiveEndpoint endpoint not None, stream_id, session_id=None):
        """Want them no more; images that nothing else wants start to drain."""
        self._put(
            REMOVE_SUBSCRIPTION, endpoint, session_id is not None, _key(stream_id, session_id or 0)
        )

    def add_image(self, ReceiveEndpoint endpoint not None, ImageIntake image not None):
        """Answer a `CreateImage`: the image becomes ACTIVE in the receiver's next cycle."""
        if image.endpoint is not endpoint:
            raise ConfigurationError("the image was made for another endpoint")
        self._hold(image)
        self._put(ADD_IMAGE, image)

    def refuse_image(self, ReceiveEndpoint endpoint not None, session_id, stream_id):
        """Answer a `CreateImage` without an image; a SETUP after a second asks again."""
        self._put(REFUSE_IMAGE, endpoint, 0, _key(stream_id, session_id))

    def remove_image(self, ImageIntake image not None):
        """Let go of an image that lingers; once each. Answered by `ImageReleased`."""
        self._put(REMOVE_IMAGE, image)

    def remove_cool_down(self, ReceiveEndpoint endpoint not None, session_id, stream_id):
        """Let a session come back (rejoin)."""
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
        """Receive through it no more; images forget it. Answered by `TransportReleased`."""
        endpoint.drop(transport)
        self._put(REMOVE_DESTINATION, endpoint, 0, 0, <int64_t> <void*> transport)

    def request_setup(self, ReceiveEndpoint endpoint not None, stream_id, session_id):
        """Send an eliciting status message to transport 0's explicit control, if it has one."""
        self._put(REQUEST_SETUP, endpoint, 0, _key(stream_id, session_id))

    def change_address(
        self, ReceiveEndpoint endpoint not None, ReceiveTransport transport not None, address
    ):
        """The explicit control has moved; images keep what they have."""
        cdef record_t record
        cdef address_t control
        if not transport.has_control:
            raise ConfigurationError("the transport has no explicit control address")
        set_address(&control, address)
        pack_address(&record, &control)
        self._put(CHANGE_ADDRESS, transport, 0, record.a, record.b, record.c, record.d)

    def flush(self):
        """Hand over what the queue did not take before; call it every control cycle."""
        while self._backlog and self._offer(self._backlog[0]):
            self._backlog.popleft()

    def _put(self, kind, target, flags=0, a=0, b=0, c=0, d=0):
        if <uintptr_t> <void*> target not in self._held:
            return  # it has been given back: nothing of it is left to be changed
        command = (kind, target, int(flags), a, b, c, d)
        self.flush()
        if self._backlog or not self._offer(command):
            self._backlog.append(command)

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
        """One native duty cycle at the clock's time, for tests; returns a work count."""
        return self.duty_cycle(self._clock.nano_time())

    # ---- events ---------------------------------------------------------------------------------

    def has_waiting_events(self):
        return self.has_events()

    def events(self):
        """What happened since the last call, of many setups only some.

        Setups of which the conductor has had more than 50 ms of work come one at a time, and not
        before the others had as much of its time: a flood of them takes half of it at most.
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
        """The second record of a setup: where it came from."""
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
