"""The transports that a receiver turns: which have datagrams, who is elicited, what fails.

Spec wire-protocol 8.1, 8.4, 15.1. The receiver's thread calls everything.
"""

from libc.stdint cimport INT64_MAX, int64_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

from aerolog.transport.concurrent.agent cimport Agent
from aerolog.transport.concurrent.clock cimport Clock
from aerolog.transport.concurrent.queue cimport SpscQueue, record_t
from aerolog.transport.driver.receive.receive_context cimport ReceiveContext
from aerolog.transport.driver.receive.receive_endpoint cimport ReceiveEndpoint
from aerolog.transport.driver.receive.receive_transport cimport ReceiveTransport
from aerolog.transport.memory.counters cimport CountersReader
from aerolog.transport.network.port cimport address_t

cdef extern from "<poll.h>" nogil:
    enum:
        POLLIN
    ctypedef unsigned long nfds_t
    int poll(pollfd* descriptors, nfds_t count, int timeout_ms) noexcept

cdef enum:
    # So many transports are tried one by one; with more of them asking first is cheaper.
    DIRECT_LIMIT = 5

cdef int64_t _ELICIT_PERIOD_NS = 1_000_000_000
cdef int64_t _SILENCE_NS = 5_000_000_000
cdef int64_t _TELL_PERIOD_NS = 1_000_000_000


cdef inline int64_t _elapsed(int64_t since_ns, int64_t now_ns) noexcept nogil:
    return <int64_t> (<uint64_t> now_ns - <uint64_t> since_ns)


cdef void pack_address(record_t* record, const address_t* address) noexcept nogil:
    memcpy(&record.a, address, sizeof(address_t))


cdef void unpack_address(const record_t* record, address_t* address) noexcept nogil:
    memcpy(address, &record.a, sizeof(address_t))


cdef class ReceiverTransports(Agent):
    """The transports of a receiver and its queues; see `Receiver`."""
    def __init__(
        self,
        Clock clock not None,
        CountersReader counters not None,
        *,
        reresolution_check_interval_ns=1_000_000_000,
        queue_length=1024,
        role_name="receiver",
    ):
        super().__init__(role_name)
        self._clock = clock
        self._context = ReceiveContext(counters)
        self._commands = SpscQueue(queue_length)
        self._events = SpscQueue(max(queue_length, 4 * EVENT_RESERVE))
        self._check_interval_ns = reresolution_check_interval_ns
        self._check_deadline_ns = clock.nano_time() + self._check_interval_ns
        self._elicit_deadline_ns = INT64_MAX

    def __dealloc__(self):
        free(self._polled)
        free(self._descriptors)

    # ---- which there are ------------------------------------------------------------------------

    cdef bint _grow(self) noexcept nogil:
        cdef int capacity = max(8, 2 * self._polled_capacity)
        cdef void* grown = realloc(self._polled, <size_t> capacity * sizeof(polled_t))
        if grown is NULL:
            return False
        self._polled = <polled_t*> grown
        grown = realloc(self._descriptors, <size_t> capacity * sizeof(pollfd))
        if grown is NULL:
            return False
        self._descriptors = <pollfd*> grown
        self._polled_capacity = capacity
        return True

    cdef bint poll_transport(
        self, ReceiveEndpoint endpoint, ReceiveTransport transport
    ) noexcept nogil:
        cdef int index = self._polled_count
        if index == self._polled_capacity and not self._grow():
            return False
        endpoint.attach(transport)
        self._polled[index] = polled_t(<void*> endpoint, <void*> transport)
        self._descriptors[index].fd = transport.descriptor
        self._descriptors[index].events = POLLIN
        self._descriptors[index].revents = 0
        self._polled_count += 1
        transport.last_heard_ns = self._context.now_ns
        transport.last_unresolved_ns = self._context.now_ns
        if transport.has_control:
            self._elicit_and_wait(endpoint, transport)
        return True

    cdef void unpoll_transport(
        self, ReceiveEndpoint endpoint, ReceiveTransport transport
    ) noexcept nogil:
        cdef int index
        # What is still to be sent through it leaves now.
        self._context.flush()
        self._context.refused_transport = NULL
        for index in range(self._polled_count):
            if self._polled[index].transport == <void*> transport:
                self._polled_count -= 1
                self._polled[index] = self._polled[self._polled_count]
                self._descriptors[index] = self._descriptors[self._polled_count]
                endpoint.detach(transport.index)
                return

    cdef bint ask_who_is_ready(self) noexcept nogil:
        return (
            self._polled_count > DIRECT_LIMIT
            and poll(self._descriptors, <nfds_t> self._polled_count, 0) >= 0
        )

    cdef bint is_ready(self, int index) noexcept nogil:
        return self._descriptors[index].fd < 0 or self._descriptors[index].revents != 0

    # ---- timers ---------------------------------------------------------------------------------

    cdef void tend_transports(self) noexcept nogil:
        cdef int64_t now_ns = self._context.now_ns
        if self._elicit_deadline_ns - now_ns < 0:
            self._elicit_due()
        if self._check_interval_ns > 0 and _elapsed(self._check_deadline_ns, now_ns) > 0:
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
        """Every second: it keeps this receiver among the destinations of a dynamic sender."""
        self._context.elicit(endpoint, transport, &transport.control, 0, 0)
        transport.elicit_deadline_ns = self._context.now_ns + _ELICIT_PERIOD_NS
        self._elicit_deadline_ns = min(self._elicit_deadline_ns, transport.elicit_deadline_ns)

    cdef void _elicit_due(self) noexcept nogil:
        cdef int index
        self._elicit_deadline_ns = INT64_MAX
        for index in range(self._polled_count):
            self._elicit_if_due(
                <ReceiveEndpoint> self._polled[index].endpoint,
                <ReceiveTransport> self._polled[index].transport,
            )

    cdef void _elicit_if_due(
        self, ReceiveEndpoint endpoint, ReceiveTransport transport
    ) noexcept nogil:
        if not transport.has_control or not endpoint.dispatcher.wants_anything():
            return
        if _elapsed(transport.elicit_deadline_ns, self._context.now_ns) > 0:
            self._elicit_and_wait(endpoint, transport)
        else:
            self._elicit_deadline_ns = min(
                self._elicit_deadline_ns, transport.elicit_deadline_ns
            )

    cdef void _check_resolutions(self) noexcept nogil:
        cdef int index
        for index in range(self._polled_count):
            self._check_resolution(
                <ReceiveEndpoint> self._polled[index].endpoint,
                <ReceiveTransport> self._polled[index].transport,
            )

    cdef void _check_resolution(
        self, ReceiveEndpoint endpoint, ReceiveTransport transport
    ) noexcept nogil:
        cdef record_t record
        cdef int64_t now_ns = self._context.now_ns
        if (
            not transport.has_control
            or _elapsed(transport.last_heard_ns, now_ns) <= _SILENCE_NS
            or _elapsed(transport.last_unresolved_ns, now_ns) <= _SILENCE_NS
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
            and _elapsed(transport.last_failure_ns, now_ns) < _TELL_PERIOD_NS
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
