"""The endpoints that a sender turns, and the control frames that come to them.

Spec wire-protocol 5.6, 12, 15.1. The sender's thread calls everything.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc, realloc

from aerolog.transport.concurrent.agent cimport Agent
from aerolog.transport.concurrent.atomic cimport get_and_add_i64
from aerolog.transport.concurrent.clock cimport Clock
from aerolog.transport.driver.send.outbound_stream cimport OutboundStream
from aerolog.transport.driver.send.publication_table cimport PublicationTable
from aerolog.transport.driver.send.send_context cimport EVENT_UNRESOLVED, SendContext
from aerolog.transport.driver.send.send_endpoint cimport SendEndpoint
from aerolog.transport.memory.counters cimport CountersReader
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
from aerolog.transport.network.port cimport RECEIVE_BUFFER_LENGTH, address_t

cdef extern from "<poll.h>" nogil:
    enum:
        POLLIN
    ctypedef unsigned long nfds_t
    int poll(pollfd* descriptors, nfds_t count, int timeout_ms) noexcept

cdef enum:
    # So many endpoints are tried one by one; with more of them asking first is cheaper.
    DIRECT_LIMIT = 5

cdef int64_t _SILENCE_NS = 5_000_000_000


cdef class SenderEndpoints(Agent):
    """What a sender hears; see ``sender`` for the arguments."""

    def __init__(
        self, Clock clock not None, CountersReader counters not None, role_name, queue_length
    ):
        cdef int i
        super().__init__(role_name)
        self._context = SendContext(clock, counters, queue_length)
        self._table = PublicationTable()
        self._buffer = <uint8_t*> malloc(POLL_MESSAGES * RECEIVE_BUFFER_LENGTH)
        if self._buffer == NULL:
            raise MemoryError
        for i in range(POLL_MESSAGES):
            self._incoming[i].data = self._buffer + i * RECEIVE_BUFFER_LENGTH
            self._incoming[i].capacity = RECEIVE_BUFFER_LENGTH

    def __dealloc__(self):
        free(self._endpoints)
        free(self._descriptors)
        free(self._buffer)

    # ---- which there are ----------------------------------------------------------------------

    cdef bint add(self, SendEndpoint endpoint) noexcept nogil:
        cdef int at = self._endpoint_count
        if at == self._endpoint_capacity and not self._grow():
            return False
        endpoint.last_heard_ns = self._context.now_ns
        self._endpoints[at] = <void*> endpoint
        self._descriptors[at].fd = endpoint.descriptor
        self._descriptors[at].events = POLLIN
        self._descriptors[at].revents = 0
        self._endpoint_count += 1
        return True

    cdef void remove(self, SendEndpoint endpoint) noexcept nogil:
        cdef int i
        for i in range(self._endpoint_count):
            if self._endpoints[i] == <void*> endpoint:
                self._endpoint_count -= 1
                self._endpoints[i] = self._endpoints[self._endpoint_count]
                self._descriptors[i] = self._descriptors[self._endpoint_count]
                return

    cdef bint _grow(self) noexcept nogil:
        cdef int capacity = max(8, 2 * self._endpoint_capacity)
        cdef void* grown = realloc(self._endpoints, <size_t> capacity * sizeof(void*))
        if grown == NULL:
            return False
        self._endpoints = <void**> grown
        grown = realloc(self._descriptors, <size_t> capacity * sizeof(pollfd))
        if grown == NULL:
            return False
        self._descriptors = <pollfd*> grown
        self._endpoint_capacity = capacity
        return True

    # ---- control frames ---------------------------------------------------------------------

    cdef void poll_endpoints(self) noexcept nogil:
        """What came for the endpoints; the system is asked once where there are many."""
        cdef bint is_asked = (
            self._endpoint_count > DIRECT_LIMIT
            and poll(self._descriptors, <nfds_t> self._endpoint_count, 0) >= 0
        )
        cdef int i
        for i in range(self._endpoint_count):
            if (
                not is_asked
                or self._descriptors[i].fd < 0
                or self._descriptors[i].revents != 0
            ):
                self._poll_endpoint(<SendEndpoint> self._endpoints[i])

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
            and not (<OutboundStream> stream).is_acceptable(&message)
        ):
            get_and_add_i64(self._context.counters.status_messages_rejected, 1)
            return True
        if endpoint.destinations is not None:
            endpoint.destinations.on_status_message(
                message.receiver_id, source, self._context.now_ns
            )
        if stream != NULL:
            (<OutboundStream> stream).on_status_message(self._context, &message, source)
        return True

    cdef bint _on_rare_frame(
        self,
        SendEndpoint endpoint,
        int32_t type,
        const uint8_t* data,
        int32_t length,
        const address_t* source,
    ) noexcept nogil:
        """False for a frame that does not hold together; other types are passed over."""
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
                (<OutboundStream> stream).on_nak(self._context, &nak)
                get_and_add_i64(self._context.counters.naks_received, 1)
        elif type == FRAME_RTTM:
            if not read_rttm(data, length, &rttm):
                return False
            stream = self._table.find(endpoint, rttm.session_id, rttm.stream_id)
            if stream != NULL:
                (<OutboundStream> stream).on_rttm(self._context, &rttm)
        elif type == FRAME_ERROR:
            if not read_error(data, length, &error):
                return False
            get_and_add_i64(self._context.counters.error_frames_received, 1)
            stream = self._table.find(endpoint, error.session_id, error.stream_id)
            if stream != NULL:
                (<OutboundStream> stream).on_error(self._context, &error, source)
        elif type == FRAME_RESPONSE_SETUP:
            if not read_response_setup(data, length, &setup):
                return False
            stream = self._table.find(endpoint, setup.session_id, setup.stream_id)
            if stream != NULL:
                (<OutboundStream> stream).on_response_setup(self._context, &setup)
        return True

    cdef void check_resolutions(self) noexcept nogil:
        cdef int i
        for i in range(self._endpoint_count):
            self._check_resolution(<SendEndpoint> self._endpoints[i])

    cdef void _check_resolution(self, SendEndpoint endpoint) noexcept nogil:
        """Ask for names to be looked up again whose addresses are silent (15.1)."""
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
                endpoint.last_heard_ns = now_ns  # not again before another 5 s
