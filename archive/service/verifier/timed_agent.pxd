"""An agent that needs Python only at times that it sets, for native callers."""

from libc.stdint cimport int64_t

from aerolog.transport.concurrent.agent cimport Agent


cdef class TimedAgent(Agent):
    cdef public int64_t due_ns
    cdef int duty_cycle(self, int64_t now_ns) noexcept nogil
