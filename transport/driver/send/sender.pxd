"""The agent that sends (spec wire-protocol 5.1)."""

from libc.stdint cimport int32_t, int64_t

from aerolog.transport.concurrent.queue cimport SpscQueue, record_t
from aerolog.transport.driver.send.outbound_stream cimport OutboundStream, turn_t
from aerolog.transport.driver.send.send_endpoint cimport SendEndpoint
from aerolog.transport.driver.send.sender_endpoints cimport SenderEndpoints
from aerolog.transport.network.port cimport address_t


cdef class Sender(SenderEndpoints):
    cdef SpscQueue _commands
    cdef turn_t* _turns
    cdef int _turn_count
    cdef int _turn_capacity
    cdef int _first_turn
    cdef address_t _staged_address
    cdef record_t _held             # a command that found no room
    cdef bint _is_holding
    cdef int _cycles_since_poll
    cdef int64_t _bytes_since_poll
    cdef int _poll_ratio
    cdef int64_t _poll_period_ns
    cdef int64_t _poll_deadline_ns
    cdef int64_t _resolution_period_ns
    cdef int64_t _resolution_deadline_ns
    cdef dict _alive                # what the sender borrows, by address
    cdef set _held_by_sender        # what was not recalled yet
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
    cdef void _remove_publication(self, OutboundStream stream) noexcept nogil
    cdef void _send_all(self) noexcept nogil
    cdef int _tell(self, int32_t kind, object subject, int64_t a, int32_t flags) except -1
    cdef int _stage(self, object address) except -1
    cdef bint _offer(self, tuple command) except -1
