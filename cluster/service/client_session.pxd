"""The native interface of sessions, for services whose messages need no interpreter."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerolog.cluster.service.event_agent cimport EventAgent, waits_t
from aerolog.transport.client.publication cimport Publication

cdef enum:
    UNSENT = 1


cdef class ClientSession:
    cdef EventAgent _agent
    cdef object __weakref__
    cdef readonly int64_t session_id
    cdef readonly int32_t response_stream_id
    cdef readonly str response_channel
    cdef readonly bytes principal
    cdef public bint is_closing
    cdef object _adding
    cdef Publication _publication  # shared: events of the consensus module come in the same log
    cdef readonly int64_t missed
    cdef readonly bint is_missing
    cdef int64_t _wait_began_ns   # of the wait under way, 0 without one
    cdef int64_t _longest_ns      # of the wait under way
    cdef waits_t _waits_before
    # Offer a message. A position; 1 where nothing is sent, because this member does not answer; or
    # one of the negative codes of base_appender.pxd.
    cdef int64_t offer_bytes(self, const uint8_t* data, int64_t length) noexcept nogil
    # Offer a message that comes again while this is False: there is no room for it yet. True, too,
    # when the client misses it: it has gone, or has not made room within its share of the budget.
    cdef bint send_bytes(self, const uint8_t* data, int64_t length) noexcept nogil
    # As offer_bytes with the GIL, from any buffer.
    cdef int64_t offer_buffer(self, object data) except? -100
    # Of a call: what was given, -1 for the client's share of the service's budget.
    cdef int64_t timeout_ns(self, object timeout) except? -100
    # Offer a message until it is taken, or missed by the client.
    cdef int64_t send_buffer(self, object data, int64_t timeout_ns) except? -100
    cdef bint _waits(self, int64_t result, int64_t now_ns, int64_t timeout_ns) noexcept nogil
    cdef void _end_wait(self, int64_t now_ns) noexcept nogil
    cdef bint _is_ready(self) except -1
