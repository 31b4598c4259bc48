"""The native part of an archive's conductor and of a consensus module, which looks for work."""

from libc.stdint cimport int32_t, int64_t

from aerolog.transport.agents.doorbell cimport Doorbell
from aerolog.transport.client.liveness cimport Liveness
from aerolog.transport.concurrent.agent cimport Agent
from aerolog.transport.memory.mark_beat cimport MarkBeat


# The readers of images, for a duty cycle; the caller keeps the images and frees the array.
cdef void** readers_of(tuple images) except NULL


cdef class WatchAgent(Agent):
    cdef readonly Doorbell doorbell
    cdef readonly Liveness liveness
    cdef readonly int64_t deadline_ns
    cdef readonly int32_t fatal_code
    cdef public MarkBeat mark_beat
    cdef int64_t _linger_ns
    cdef int64_t _asked_ns
    cdef tuple _images
    cdef void** _readers
    cdef int32_t _reader_count
    cdef int64_t _next_check_ns
    cdef bint _has_request(self) noexcept nogil
