"""The endpoints that a sender turns, and the control frames that come to them."""

from libc.stdint cimport int32_t, uint8_t

from aerolog.transport.concurrent.agent cimport Agent
from aerolog.transport.driver.send.publication_table cimport PublicationTable
from aerolog.transport.driver.send.send_context cimport SendContext
from aerolog.transport.driver.send.send_endpoint cimport SendEndpoint
from aerolog.transport.network.port cimport address_t, incoming_t

cdef extern from "<poll.h>" nogil:
    cdef struct pollfd:
        int fd
        short events
        short revents

cdef enum:
    # Messages taken from one endpoint in one cycle.
    POLL_MESSAGES = 16


cdef class SenderEndpoints(Agent):
    cdef SendContext _context
    cdef PublicationTable _table
    cdef void** _endpoints
    cdef pollfd* _descriptors       # -1: says nothing of what is there
    cdef int _endpoint_count
    cdef int _endpoint_capacity
    cdef uint8_t* _buffer
    cdef incoming_t _incoming[POLL_MESSAGES]
    # False without memory: the caller keeps the command.
    cdef bint add(self, SendEndpoint endpoint) noexcept nogil
    cdef void remove(self, SendEndpoint endpoint) noexcept nogil
    # Take what came in, a bounded part of it; returns how many messages.
    cdef void poll_endpoints(self) noexcept nogil
    # Ask for names to be looked up again whose addresses are silent.
    cdef void check_resolutions(self) noexcept nogil
    cdef bint _grow(self) noexcept nogil
    cdef void _poll_endpoint(self, SendEndpoint endpoint) noexcept nogil
    cdef void _check_resolution(self, SendEndpoint endpoint) noexcept nogil
    cdef void _on_datagram(
        self,
        SendEndpoint endpoint,
        const uint8_t* data,
        int32_t length,
        const address_t* source,
    ) noexcept nogil
    cdef bint _on_status_message(
        self,
        SendEndpoint endpoint,
        const uint8_t* data,
        int32_t length,
        const address_t* source,
    ) noexcept nogil
    cdef bint _on_rare_frame(
        self,
        SendEndpoint endpoint,
        int32_t type,
        const uint8_t* data,
        int32_t length,
        const address_t* source,
    ) noexcept nogil
