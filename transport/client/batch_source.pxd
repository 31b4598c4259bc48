from libc.stdint cimport int64_t


cdef class BatchSource:
    cdef list begin_batch(self)
    cdef int end_batch(self) except -1
