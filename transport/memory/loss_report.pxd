from libc.stdint cimport int32_t, int64_t, uint8_t

from aerolog.transport.memory.mapped_file cimport MappedFile


cdef class LossReport:
    cdef MappedFile _mapped
    cdef uint8_t* _data
    cdef readonly int64_t capacity
    cdef readonly int64_t next_offset
    # The receiver calls this for every gap; `entry` is the offset that create_entry returned.
    cdef void add_loss(self, int64_t entry, int64_t bytes_lost, int64_t epoch_ms) noexcept nogil
