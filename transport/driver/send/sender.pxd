"""The agent that sends, and its table of publications (spec wire-protocol 5.1)."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerolog.transport.concurrent.agent cimport Agent
from aerolog.transport.concurrent.queue cimport SpscQueue, record_t
from aerolog.transport.driver.send.send_context cimport SendContext
from aerolog.transport.driver.send.send_endpoint cimport SendEndpoint
from aerolog.transport.driver.send.send_stream cimport SendStream, turn_t
from aerolog.transport.network.poll_set cimport poll_set_t
from aerolog.transport.network.port cimport address_t, incoming_t


cdef enum:
    BUCKETS = 4096


cdef class PublicationTable:
    cdef void** _buckets
    cdef void** _bucket(
        self, SendEndpoint endpoint, int32_t session_id, int32_t stream_id
    ) noexcept nogil
    cdef void add(self, SendStream stream) noexcept nogil
    cdef void remove(self, SendStream stream) noexcept nogil
    # The stream, NULL when there is none.
    cdef void* find(
        self, SendEndpoint endpoint, int32_t session_id, int32_t stream_id
    ) noexcept nogil


cdef enum:
    # The number of messages taken from one endpoint in one cycle.
    POLL_MESSAGES = 16


cdef class Sender(Agent):
    cdef SendContext _context
    cdef PublicationTable _table
    cdef poll_set_t _polled
    cdef uint8_t* _buffer
    cdef incoming_t _incoming[POLL_MESSAGES]
    cdef SpscQueue _commands
    cdef turn_t* _turns
    cdef int _turn_count
    cdef int _turn_capacity
    cdef int _first_turn
    cdef address_t _staged_address
    cdef record_t _held             # a command for which there was no room
    cdef bint _is_holding
    cdef int _cycles_since_poll
    cdef int64_t _bytes_since_poll
    cdef int _poll_ratio
    cdef int64_t _poll_period_ns
    cdef int64_t _poll_deadline_ns
    cdef int64_t _resolution_period_ns
    cdef int64_t _resolution_deadline_ns
    cdef dict _alive                # objects that the sender borrows, by address
    cdef set _held_by_sender        # objects that were not recalled yet
    cdef object backlog             # commands for which the queue had no room
    cdef int64_t* _offer_failures
    # False without memory: the caller keeps the command.
    cdef bint add(self, SendEndpoint endpoint) noexcept nogil
    cdef void remove(self, SendEndpoint endpoint) noexcept nogil
    # Receives control frames, up to a bound.
    cdef void poll_endpoints(self) noexcept nogil
    # Reports addresses that are silent, so that their names are resolved again.
    cdef void check_resolutions(self) noexcept nogil
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
    # Whether events() would find something; for the conductor's thread.
    cdef bint has_events(self) noexcept nogil
    cdef int _run_commands(self) noexcept nogil
    cdef bint _run(self, const record_t* command) noexcept nogil
    cdef bint _run_destination(self, const record_t* command) noexcept nogil
    cdef bint _change_destination(
        self, const record_t* command, SendEndpoint endpoint
    ) noexcept nogil
    cdef bint _add_publication(self, SendStream stream) noexcept nogil
    cdef void _remove_publication(self, SendStream stream) noexcept nogil
    cdef void _send_all(self) noexcept nogil
    cdef int _tell(self, int32_t kind, object subject, int64_t a, int32_t flags) except -1
    cdef int _stage(self, object address) except -1
    cdef bint _offer(self, tuple command) except -1
