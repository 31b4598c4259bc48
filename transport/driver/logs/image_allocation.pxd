"""Room on disk for an image, made piece by piece before data may arrive there."""

from libc.stdint cimport int64_t

from aerolog.transport.driver.logs.term_allocation cimport TermRoom


cdef class ImageRoom(TermRoom):
    cdef int64_t _start             # where the first piece begins
