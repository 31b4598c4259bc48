from libc.stdint cimport int64_t, uint8_t

from aerolog.transport.logbuffer.assembler cimport Assembler


cdef class MessageView:
    cdef object _keeps_mapped     # what must live as long as any view of the memory
    cdef const uint8_t* address
    cdef int64_t length
    cdef uint8_t* _owned          # memory taken over from an assembler, freed with this object


cdef MessageView view_of(object keeps_mapped)
cdef MessageView detach_from(Assembler assembler, MessageView view)
