"""Room on disk for an image, made piece by piece before data may arrive there."""

from libc.stdint cimport int64_t

from aerolog.transport.driver.term_room cimport TermRoom


cdef class ImageRoom(TermRoom):
    cdef int64_t _start             # where the first piece begins
