"""The agent that sends (spec wire-protocol 5.1)."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerolog.transport.concurrent.agent cimport Agent
from aerolog.transport.concurrent.queue cimport SpscQueue, record_t
from aerolog.transport.driver.network.outbound_stream cimport OutboundStream, turn_t
from aerolog.transport.driver.network.publication_table cimport PublicationTable
from aerolog.transport.driver.network.send_context cimport SendContext
from aerolog.transport.driver.network.send_endpoint cimport SendEndpoint
from aerolog.transport.network.port cimport address_t, incoming_t

cdef enum:
    # Messages taken from one endpoint in one cycle.
    POLL_MESSAGES = 16


cdef class Sender(Agent):
    cdef SendContext _context
    cdef SpscQueue _commands
    cdef PublicationTable _table
    cdef turn_t* _turns
    cdef int _turn_count
    cdef int _turn_capacity
    cdef int _first_turn
    cdef void** _endpoints
    cdef int _endpoint_count
    cdef int _endpoint_capacity
    cdef uint8_t* _buffer
    cdef incoming_t _incoming[POLL_MESSAGES]
    cdef address_t _staged_address
    cdef record_t _held             # a command that found no room
    cdef bint _is_holding
    cdef int _cycles_since_poll
    cdef int _poll_ratio
    cdef int64_t _poll_period_ns
    cdef int64_t _poll_deadline_ns
    cdef int64_t _resolution_period_ns
    cdef int64_t _resolution_deadline_ns
    cdef dict _alive                # what the sender borrows, by address
    cdef object _waiting            # commands that the queue had no room for
    cdef int64_t* _offer_failures
    # Whether events() would find something; for the conductor's thread.
    cdef bint has_events(self) noexcept nogil
    cdef int _run_commands(self) noexcept nogil
    cdef bint _run(self, const record_t* command) noexcept nogil
    cdef bint _run_destination(self, const record_t* command) noexcept nogil
    cdef bint _change_destination(
        self, const record_t* command, SendEndpoint endpoint
    ) noexcept nogil
    cdef bint _add_publication(self, OutboundStream stream) noexcept nogil
    cdef bint _add_endpoint(self, SendEndpoint endpoint) noexcept nogil
    cdef void _remove_publication(self, OutboundStream stream) noexcept nogil
    cdef void _remove_endpoint(self, SendEndpoint endpoint) noexcept nogil
    cdef void _send_all(self) noexcept nogil
    cdef int _poll(self) noexcept nogil
    cdef int _poll_endpoint(self, SendEndpoint endpoint) noexcept nogil
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
    cdef void _check_resolutions(self) noexcept nogil
    cdef void _check_resolution(self, SendEndpoint endpoint) noexcept nogil
    cdef void _report_failure(self, SendEndpoint endpoint) noexcept nogil
    cdef int _tell(self, int32_t kind, object subject, int64_t a, int32_t flags) except -1
    cdef int _stage(self, object address) except -1
    cdef bint _offer(self, tuple command) except -1
