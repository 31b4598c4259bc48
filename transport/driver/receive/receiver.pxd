"""The agent that receives (spec wire-protocol 8)."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerolog.transport.concurrent.agent cimport Agent
from aerolog.transport.concurrent.clock cimport Clock
from aerolog.transport.concurrent.queue cimport SpscQueue, record_t
from aerolog.transport.driver.receive.receive_context cimport ReceiveContext
from aerolog.transport.driver.receive.receive_endpoint cimport ReceiveEndpoint
from aerolog.transport.driver.receive.receive_transport cimport ReceiveTransport
from aerolog.transport.driver.receive.receive_stream cimport ReceiveStream
from aerolog.transport.network.poll_set cimport poll_set_t
from aerolog.transport.network.port cimport BATCH_LIMIT, address_t, incoming_t
from aerolog.transport.protocol.frames cimport setup_t


# The events for the conductor. CREATE_IMAGE is followed by SOURCE, its second record.
cdef enum receiver_event:
    EVENT_CREATE_IMAGE = 1
    EVENT_SOURCE = 2
    EVENT_IMAGE_RELEASED = 3
    EVENT_ENDPOINT_RELEASED = 4
    EVENT_TRANSPORT_RELEASED = 5
    EVENT_LIMIT_EXCEEDED = 6
    EVENT_UNRESOLVED = 7
    EVENT_RECEIVE_FAILED = 8
    EVENT_ANSWER_FAILED = 9

cdef enum:
    # The room that is reserved for events that answer commands.
    EVENT_RESERVE = 64


# The 32 bytes of an address in the four words of a record, and back.
cdef void pack_address(record_t* record, const address_t* address) noexcept nogil
cdef void unpack_address(const record_t* record, address_t* address) noexcept nogil


cdef class Receiver(Agent):
    cdef Clock _clock
    cdef ReceiveContext _context
    cdef SpscQueue _commands
    cdef SpscQueue _events
    cdef poll_set_t _polled
    cdef int64_t _check_interval_ns
    cdef int64_t _check_deadline_ns
    cdef int64_t _elicit_deadline_ns
    cdef uint8_t* _buffers
    cdef incoming_t _incoming[BATCH_LIMIT]
    cdef void** _images
    cdef int _image_count
    cdef int _image_capacity
    cdef void* _latest_image        # the image whose high-water mark is still to be published
    cdef object backlog         # commands that the queue did not take, in order
    cdef dict _held             # objects that the receiver uses, by address
    # Setups wait while the conductor has other events: they get a little of its time at once, and
    # half of it in the long run.
    cdef object _setups
    cdef int _setup_count
    cdef int64_t _setup_given_ns    # 0 while the conductor works on none
    cdef int64_t _setup_credit_ns
    cdef int64_t _credited_ns
    cdef object _half           # the first record of a setup whose second has not come yet
    # For the conductor's agent: whether `events` has something to return.
    cdef bint has_events(self) noexcept nogil
    cdef void _update_credit(self, int64_t now_ns) noexcept nogil
    cdef int _take_commands(self) noexcept nogil
    cdef void _execute(self, const record_t* command) noexcept nogil
    cdef void _add_endpoint(self, ReceiveEndpoint endpoint) noexcept nogil
    cdef void _remove_endpoint(self, ReceiveEndpoint endpoint) noexcept nogil
    cdef void _add_subscription(
        self, ReceiveEndpoint endpoint, int32_t stream_id, int32_t session_id, bint single
    ) noexcept nogil
    cdef void _elicit_session(
        self, ReceiveEndpoint endpoint, int32_t stream_id, int32_t session_id
    ) noexcept nogil
    cdef void _add_image(self, ReceiveStream image) noexcept nogil
    cdef void _remove_image(self, ReceiveStream image) noexcept nogil
    cdef void _add_destination(
        self, ReceiveEndpoint endpoint, ReceiveTransport transport
    ) noexcept nogil
    cdef void _remove_destination(
        self, ReceiveEndpoint endpoint, ReceiveTransport transport
    ) noexcept nogil
    cdef void _tell(self, int32_t kind, void* pointer, void* other) noexcept nogil
    cdef bint _offer(self, object command)
    cdef object _event(self, const record_t* record)
    # The part of a cycle that follows commands: datagrams and timers.
    cdef int turn(self) noexcept nogil
    cdef bint hold_image(self, ReceiveStream image) noexcept nogil
    cdef bint drop_image(self, ReceiveStream image) noexcept nogil
    cdef void _show_progress(self, void* next_image) noexcept nogil
    cdef int _drain(self, ReceiveEndpoint endpoint, ReceiveTransport transport) noexcept nogil
    cdef void _on_message(
        self,
        ReceiveEndpoint endpoint,
        ReceiveTransport transport,
        const incoming_t* message,
        int64_t epoch_ns,
    ) noexcept nogil
    cdef void _on_datagram(
        self,
        ReceiveEndpoint endpoint,
        ReceiveTransport transport,
        uint8_t* data,
        int32_t length,
        const address_t* source,
        int64_t epoch_ns,
        int64_t media_ns,
    ) noexcept nogil
    cdef void _on_data(
        self,
        ReceiveEndpoint endpoint,
        ReceiveTransport transport,
        uint8_t* data,
        int32_t length,
        const address_t* source,
        int64_t epoch_ns,
        int64_t media_ns,
    ) noexcept nogil
    cdef void _on_setup(
        self,
        ReceiveEndpoint endpoint,
        ReceiveTransport transport,
        const uint8_t* data,
        int32_t length,
        const address_t* source,
    ) noexcept nogil
    cdef void _ask_for_image(
        self,
        ReceiveEndpoint endpoint,
        ReceiveTransport transport,
        const setup_t* setup,
        const address_t* source,
    ) noexcept nogil
    cdef void _tell_limit(
        self, ReceiveEndpoint endpoint, int32_t stream_id, const address_t* source
    ) noexcept nogil
    cdef void _on_rttm(
        self,
        ReceiveEndpoint endpoint,
        ReceiveTransport transport,
        const uint8_t* data,
        int32_t length,
        const address_t* source,
    ) noexcept nogil
    cdef int _work_images(self) noexcept nogil
    cdef void _time_out(self, ReceiveStream image) noexcept nogil
    cdef void _drop_image_at(self, int index) noexcept nogil
    cdef bint poll_transport(
        self, ReceiveEndpoint endpoint, ReceiveTransport transport
    ) noexcept nogil
    cdef void unpoll_transport(
        self, ReceiveEndpoint endpoint, ReceiveTransport transport
    ) noexcept nogil
    # The part of a cycle that follows datagrams: timers of transports, frames to be sent.
    cdef void tend_transports(self) noexcept nogil
    # Something may be wanted now that was not when a transport's second was over.
    cdef void look_for_elicits(self) noexcept nogil
    cdef bint has_event_room(self, int64_t wanted) noexcept nogil
    # At most once a second for a transport.
    cdef void tell_failure(
        self, ReceiveTransport transport, int kind, int error, const address_t* destination
    ) noexcept nogil
    cdef void _elicit_and_wait(
        self, ReceiveEndpoint endpoint, ReceiveTransport transport
    ) noexcept nogil
    cdef void _elicit_due(self) noexcept nogil
    cdef void _elicit_if_due(
        self, ReceiveEndpoint endpoint, ReceiveTransport transport
    ) noexcept nogil
    cdef void _check_resolutions(self) noexcept nogil
    cdef void _check_resolution(
        self, ReceiveEndpoint endpoint, ReceiveTransport transport
    ) noexcept nogil
