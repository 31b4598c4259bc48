"""Reads the log for a service; native services read it without the interpreter."""

from libc.stdint cimport int32_t, int64_t

from aerolog.cluster.service.event_agent cimport EventAgent
from aerolog.cluster.service.message_batch cimport MessageBatch
from aerolog.cluster.service.native_service cimport NativeService
from aerolog.cluster.session_index cimport SessionIndex
from aerolog.transport.client.image cimport Image
from aerolog.transport.logbuffer.fragment cimport fragment_t
from aerolog.transport.logbuffer.log_reader cimport LogReader
from aerolog.transport.memory.counter cimport counter_t


cdef class LogAgent(EventAgent):
    cdef readonly dict sessions
    cdef readonly bint has_batches
    cdef NativeService _native       # None for a service in Python
    cdef SessionIndex _index         # borrowed references to sessions, for the native service
    cdef object _on_message
    cdef MessageBatch _batch
    cdef readonly Image log_image
    cdef readonly int64_t log_end
    cdef LogReader _reader           # the image's; None without a log
    cdef counter_t _commit
    cdef object _commit_owner
    cdef int32_t _limit
    cdef bint _in_control            # the interpreter is at hand
    cdef bint _left                  # an event was left for control()
    cdef object _error
    cdef int64_t _next_control_ns
    cdef int32_t _poll(self) noexcept nogil
    cdef int _on_fragment(self, const fragment_t* fragment) noexcept nogil
    cdef int _to_python(
        self, const fragment_t* fragment, int32_t skipped, int64_t session_id, int64_t timestamp
    ) noexcept with gil
    cdef int _to_control(self, const fragment_t* fragment) noexcept with gil
    cdef int _hand_over(
        self, const fragment_t* fragment, int32_t skipped, int64_t session_id, int64_t timestamp
    ) except -1
