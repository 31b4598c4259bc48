"""An agent that calls a Python function at intervals or when it is asked to."""

from libc.stdint cimport int32_t, int64_t

from aerolog.transport.concurrent.agent cimport Agent


cdef class PeriodicAgent(Agent):
    cdef object _work
    cdef object _close
    cdef readonly int64_t interval_ns
    cdef int64_t _next_ns
    cdef int32_t _rung
