"""A sender's publications by endpoint, session and stream; it never allocates after it is made."""

from libc.stdint cimport int32_t, int64_t

from aerolog.transport.driver.send.outbound_stream cimport OutboundStream
from aerolog.transport.driver.send.send_endpoint cimport SendEndpoint

cdef enum:
    BUCKETS = 4096


cdef class PublicationTable:
    cdef void** _buckets
    cdef void** _bucket(
        self, SendEndpoint endpoint, int32_t session_id, int32_t stream_id
    ) noexcept nogil
    cdef void add(self, OutboundStream stream) noexcept nogil
    cdef void remove(self, OutboundStream stream) noexcept nogil
    # The OutboundStream, NULL for none.
    cdef void* find(
        self, SendEndpoint endpoint, int32_t session_id, int32_t stream_id
    ) noexcept nogil
