"""Joining the fragments of a message (spec log-buffers 23): one assembler per image."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerolog.transport.logbuffer.fragment cimport fragment_t

cdef enum:
    ASSEMBLE_NOTHING = 0    # taken in, or dropped because its beginning was not seen
    ASSEMBLE_MESSAGE = 1    # *message is a whole message
    ASSEMBLE_NO_MEMORY = -1  # the fragment was not taken in


cdef class Assembler:
    cdef uint8_t* _buffer
    cdef int64_t _capacity
    cdef int64_t _length            # header and payload so far; 0: no message begun
    cdef int64_t _length_before     # before the fragment that was added last
    cdef int64_t _next_position     # where the next fragment has to begin
    cdef int64_t _next_before
    cdef readonly int64_t max_length
    # Take a fragment in. A whole one comes out as it is, without a copy; an assembled message is
    # valid until the next call.
    cdef int add(self, const fragment_t* fragment, fragment_t* message) noexcept nogil
    # The assembled message is not wanted yet (ABORT): forget its last fragment, which comes again.
    cdef void cut_back(self) noexcept nogil
    cdef void reset(self) noexcept nogil
    cdef bint _ensure(self, int64_t length) noexcept nogil
    # Payload bytes gathered of a message that is not complete, -1 when none was begun.
    # Between an assembled message and the next call it is -1.
    cdef int64_t pending_length(self) noexcept nogil
