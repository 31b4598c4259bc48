"""A tracker of duty cycles that also counts them by duration."""

from libc.stdint cimport int64_t

from aerolog.transport.concurrent.agent_runner cimport DutyCycleTracker
from aerolog.transport.memory.mapped_file cimport MappedFile


cdef class HistogramTracker(DutyCycleTracker):
    cdef int64_t* _buckets
    cdef MappedFile _file
    cdef void measure_and_update(self, int64_t now_ns) noexcept nogil
