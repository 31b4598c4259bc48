"""What services send to a session, read without the interpreter."""

from libc.stdint cimport int32_t, int64_t

from aerolog.cluster.message_columns cimport MessageColumns
from aerolog.transport.client.subscription cimport Subscription
from aerolog.transport.logbuffer.fragment cimport fragment_t


cdef class EgressBatch(MessageColumns):
    pass


cdef class EgressReader:
    cdef Subscription _subscription
    cdef int64_t _session_id
    cdef EgressBatch _batch
    cdef int32_t _given                 # messages of the batch that were taken one by one
    cdef bint _in_order
    cdef int _stop                      # why the last poll read no further
    cdef bytes _event
    cdef public int64_t passed_over
    cdef int _on_fragment(self, const fragment_t* fragment) noexcept nogil
    cdef int _on_event(self, const fragment_t* fragment) noexcept with gil
