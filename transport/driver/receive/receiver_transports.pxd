"""The transports that a receiver turns, its queues and what it tells by itself, for native code."""

from libc.stdint cimport int32_t, int64_t

from aerolog.transport.concurrent.agent cimport Agent
from aerolog.transport.concurrent.clock cimport Clock
from aerolog.transport.concurrent.queue cimport SpscQueue, record_t
from aerolog.transport.driver.receive.receive_context cimport ReceiveContext
from aerolog.transport.driver.receive.receive_endpoint cimport ReceiveEndpoint
from aerolog.transport.driver.receive.receive_transport cimport ReceiveTransport
from aerolog.transport.network.port cimport address_t

cdef extern from "<poll.h>" nogil:
    cdef struct pollfd:
        int fd
        short events
        short revents

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


cdef class ReceiverTransports(Agent):
    cdef Clock _clock
    cdef ReceiveContext _context
    cdef SpscQueue _commands
    cdef SpscQueue _events
    cdef polled_t* _polled
    cdef pollfd* _descriptors       # of the polled ones; -1: not to be asked for
    cdef int _polled_count
    cdef int _polled_capacity
    cdef int64_t _check_interval_ns
    cdef int64_t _check_deadline_ns
    cdef int64_t _elicit_deadline_ns
    cdef bint poll_transport(
        self, ReceiveEndpoint endpoint, ReceiveTransport transport
    ) noexcept nogil
    cdef void unpoll_transport(
        self, ReceiveEndpoint endpoint, ReceiveTransport transport
    ) noexcept nogil
    # Of many transports the system is asked once which have datagrams; False: just try them.
    cdef bint ask_who_is_ready(self) noexcept nogil
    cdef bint is_ready(self, int index) noexcept nogil
    # What comes after the datagrams of a cycle: timers of transports, answers on their way.
    cdef void tend_transports(self) noexcept nogil
    # Something may be wanted now that was not when a transport's second was over.
    cdef void look_for_elicits(self) noexcept nogil
    cdef bint has_event_room(self, int64_t wanted) noexcept nogil
    # At most once a second a transport.
    cdef void tell_failure(
        self, ReceiveTransport transport, int kind, int error, const address_t* destination
    ) noexcept nogil
    cdef bint _grow(self) noexcept nogil
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


# The 32 bytes of an address in the four words of a record, and back.
cdef void pack_address(record_t* record, const address_t* address) noexcept nogil
cdef void unpack_address(const record_t* record, address_t* address) noexcept nogil
