"""Signs of life in a mark file, without the interpreter."""

from libc.stdint cimport int64_t

from aerolog.transport.concurrent.clock cimport Clock
from aerolog.transport.memory.mapped_file cimport MappedFile


cdef class MarkBeat:
    cdef MappedFile _mapped       # keeps the words mapped
    cdef Clock _clock
    cdef int64_t* _activity
    cdef const int64_t* _pid
    cdef const int64_t* _started
    cdef int64_t _own_pid
    cdef int64_t _own_started
    cdef int64_t _next_ns
    # Store a sign of life once a second, unless another owner has taken the folder over.
    cdef void beat(self, int64_t now_ns) noexcept nogil
