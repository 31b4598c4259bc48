"""Assembly of messages from their fragments (spec log-buffers 23): one assembler per image."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerolog.transport.logbuffer.fragment cimport fragment_t

cdef enum:
    ASSEMBLE_NOTHING = 0    # the fragment was added, or dropped because its begin was not seen
    ASSEMBLE_MESSAGE = 1    # *message is a whole message
    ASSEMBLE_NO_MEMORY = -1  # the fragment was not added


cdef class Assembler:
    cdef uint8_t* _buffer
    cdef int64_t _capacity
    cdef int64_t _length            # header and payload so far; 0: no message begun
    cdef int64_t _length_before     # the length before the last fragment was added
    cdef int64_t _next_position     # where the next fragment has to begin
    cdef int64_t _next_before
    cdef readonly int64_t max_length
    # Add a fragment. An unfragmented message is returned as it is, without a copy; an assembled
    # message is valid until the next call.
    cdef int add(self, const fragment_t* fragment, fragment_t* message) noexcept nogil
    # Remove the last fragment of the assembled message, because the handler answered ABORT and the
    # fragment will be delivered again.
    cdef void cut_back(self) noexcept nogil
    # Take back what the last `add` took from a fragment whose bytes turned out to be unsound.
    cdef void take_back(self, const fragment_t* fragment) noexcept nogil
    cdef void reset(self) noexcept nogil
    # The buffer, the caller's to free; the assembler goes on with a copy. NULL without memory.
    cdef uint8_t* give_up_buffer(self) noexcept nogil
    cdef bint _ensure(self, int64_t length) noexcept nogil
    # Payload bytes gathered so far of an incomplete message; -1 when no message was begun, also
    # from an assembled message to the next call.
    cdef int64_t pending_length(self) noexcept nogil
