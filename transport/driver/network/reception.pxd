"""The receiver's data path: ports drained, datagrams given to images (spec wire-protocol 8)."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerolog.transport.concurrent.agent cimport Agent
from aerolog.transport.concurrent.clock cimport Clock
from aerolog.transport.concurrent.queue cimport SpscQueue, record_t
from aerolog.transport.driver.network.image_intake cimport ImageIntake
from aerolog.transport.driver.network.receive_context cimport ReceiveContext
from aerolog.transport.driver.network.receive_endpoint cimport ReceiveEndpoint
from aerolog.transport.driver.network.receive_transport cimport ReceiveTransport
from aerolog.transport.network.frames cimport setup_t
from aerolog.transport.network.port cimport BATCH_LIMIT, address_t, incoming_t

# What the receiver tells the conductor. CREATE_IMAGE is followed by SOURCE, its second record.
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
    # Events that answer commands have this much room to themselves.
    EVENT_RESERVE = 64

ctypedef struct polled_t:
    void* endpoint
    void* transport


cdef class Reception(Agent):
    cdef Clock _clock
    cdef ReceiveContext _context
    cdef SpscQueue _commands
    cdef SpscQueue _events
    cdef uint8_t* _buffers
    cdef incoming_t _incoming[BATCH_LIMIT]
    cdef polled_t* _polled
    cdef int _polled_count
    cdef int _polled_capacity
    cdef void** _images
    cdef int _image_count
    cdef int _image_capacity
    cdef int64_t _check_interval_ns
    cdef int64_t _check_deadline_ns
    cdef int64_t _elicit_deadline_ns
    # The part of a cycle that datagrams and time make; commands come before it.
    cdef int turn(self, int64_t now_ns) noexcept nogil
    cdef bint has_event_room(self, int64_t wanted) noexcept nogil
    cdef bint poll_transport(
        self, ReceiveEndpoint endpoint, ReceiveTransport transport
    ) noexcept nogil
    cdef void unpoll_transport(
        self, ReceiveEndpoint endpoint, ReceiveTransport transport
    ) noexcept nogil
    cdef bint hold_image(self, ImageIntake image) noexcept nogil
    cdef bint drop_image(self, ImageIntake image) noexcept nogil
    cdef void look_for_elicits(self) noexcept nogil
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
    cdef void _time_out(self, ImageIntake image) noexcept nogil
    cdef void _drop_image_at(self, int index) noexcept nogil
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
    cdef void _tell_failure(
        self, ReceiveTransport transport, int kind, int error, const address_t* destination
    ) noexcept nogil


# The 32 bytes of an address in the four words of a record, and back.
cdef void pack_address(record_t* record, const address_t* address) noexcept nogil
cdef void unpack_address(const record_t* record, address_t* address) noexcept nogil
