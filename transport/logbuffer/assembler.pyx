"""Assembly of messages from their fragments (spec log-buffers 23): one assembler per image.

The fragments of a message follow each other without gaps in the positions of its stream. After a
fragment that does not continue the one before it, the assembler drops everything up to the next
fragment that begins a message.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy

from aerolog.transport.concurrent.atomic cimport put_i32
from aerolog.transport.protocol.frames cimport (
    DATA_HEADER_LENGTH,
    FLAGS_OFFSET,
    FLAGS_UNFRAGMENTED,
    FLAG_BEGIN,
    FLAG_END,
    FRAME_LENGTH_OFFSET,
    align_frame,
)

cdef int64_t _MIN_CAPACITY = 4096


cdef class Assembler:
    """A growing buffer for one message at a time.

    Args:
        max_length: longest message that the stream can carry, bytes; longer ones are dropped, so
            that a damaged stream cannot use up the memory.
    """

    def __cinit__(self, max_length: int) -> None:
        self._buffer = NULL
        self.max_length = max_length
        self.reset()

    def __dealloc__(self) -> None:
        free(self._buffer)

    cdef int add(self, const fragment_t* fragment, fragment_t* message) noexcept nogil:
        cdef int64_t payload_length = fragment.length - DATA_HEADER_LENGTH
        if fragment.flags & FLAGS_UNFRAGMENTED == FLAGS_UNFRAGMENTED:
            message[0] = fragment[0]
            return ASSEMBLE_MESSAGE
        if fragment.flags & FLAG_BEGIN:
            self._length = DATA_HEADER_LENGTH
        elif not self._length:
            return ASSEMBLE_NOTHING
        elif (
            fragment.position - align_frame(fragment.length) != self._next_position
            or self._length - DATA_HEADER_LENGTH + payload_length > self.max_length
        ):
            self.reset()
            return ASSEMBLE_NOTHING
        if not self._ensure(self._length + payload_length):
            return ASSEMBLE_NO_MEMORY
        if fragment.flags & FLAG_BEGIN:
            memcpy(self._buffer, fragment.frame, DATA_HEADER_LENGTH)
        memcpy(
            self._buffer + self._length, fragment.frame + DATA_HEADER_LENGTH, payload_length
        )
        self._length_before = self._length
        self._next_before = self._next_position
        self._length += payload_length
        self._next_position = fragment.position
        if not fragment.flags & FLAG_END:
            return ASSEMBLE_NOTHING
        put_i32(self._buffer + FRAME_LENGTH_OFFSET, <int32_t> self._length)
        self._buffer[FLAGS_OFFSET] |= fragment.flags
        message.frame = self._buffer
        message.position = fragment.position
        message.length = <int32_t> self._length
        message.flags = self._buffer[FLAGS_OFFSET]
        message.is_assembled = 1
        self._length = 0
        return ASSEMBLE_MESSAGE

    cdef bint _ensure(self, int64_t length) noexcept nogil:
        cdef int64_t capacity = max(self._capacity, _MIN_CAPACITY)
        cdef uint8_t* grown
        if length <= self._capacity:
            return True
        while capacity < length:
            capacity += capacity // 2
        grown = <uint8_t*> realloc(self._buffer, capacity)
        if grown == NULL:
            return False
        self._buffer = grown
        self._capacity = capacity
        return True

    cdef void cut_back(self) noexcept nogil:
        self._length = self._length_before
        self._next_position = self._next_before

    cdef void take_back(self, const fragment_t* fragment) noexcept nogil:
        if self._next_position != fragment.position:
            return  # it was dropped
        if fragment.flags & FLAG_BEGIN:
            self.reset()
        else:
            self.cut_back()

    cdef void reset(self) noexcept nogil:
        self._length = 0
        self._length_before = 0
        self._next_position = -1
        self._next_before = -1

    cdef uint8_t* give_up_buffer(self) noexcept nogil:
        cdef uint8_t* given = self._buffer
        cdef uint8_t* copy = <uint8_t*> malloc(self._capacity)
        if copy == NULL:
            return NULL
        memcpy(copy, given, self._capacity)
        self._buffer = copy
        return given

    cdef int64_t pending_length(self) noexcept nogil:
        return self._length - DATA_HEADER_LENGTH if self._length else -1

    @property
    def capacity(self) -> int:
        """Size of the buffer in bytes."""
        return self._capacity

    def clear(self) -> None:
        """Drop the message begun and free the buffer."""
        self.reset()
        free(self._buffer)
        self._buffer = NULL
        self._capacity = 0
