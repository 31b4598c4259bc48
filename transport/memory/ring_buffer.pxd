from libc.stdint cimport int32_t, int64_t, uint8_t

from aerolog.transport.memory.mapped_file cimport MappedFile

cdef enum ring_action:
    RING_CONTINUE = 0
    RING_ABORT = 1
    RING_BREAK = 2
    RING_COMMIT = 3

cdef enum ring_status:
    RING_INSUFFICIENT_CAPACITY = -1
    RING_INVALID_ARGUMENT = -2
    RING_CORRUPT = -3

# The message is valid only during the call; the result is a ring_action.
ctypedef int (*ring_handler_t)(
    void* context, int32_t type_id, const uint8_t* message, int32_t length
) noexcept nogil


cdef class ManyToOneRingBuffer:
    cdef readonly int64_t capacity
    cdef readonly int32_t max_message_length
    cdef readonly int64_t corruption_count
    cdef uint8_t* _data
    cdef uint8_t* _trailer
    cdef MappedFile _mapped
    cdef int64_t claim(self, int32_t type_id, int32_t length) noexcept nogil
    cdef uint8_t* claimed(self, int64_t index) noexcept nogil
    cdef bint commit_claim(self, int64_t index) noexcept nogil
    cdef bint abort_claim(self, int64_t index) noexcept nogil
    cdef int64_t put(self, int32_t type_id, const void* message, int32_t length) noexcept nogil
    cdef int drain(self, ring_handler_t handler, void* context, int limit) noexcept nogil
    cdef bint has_message(self) noexcept nogil
    cdef bint try_unblock(self) noexcept nogil
    cdef int64_t take_correlation_id(self) noexcept nogil
    cdef int64_t heartbeat_ms(self) noexcept nogil
    cdef void beat(self, int64_t epoch_ms) noexcept nogil
    cdef int64_t head_position(self) noexcept nogil
    cdef int64_t tail_position(self) noexcept nogil
    cdef int64_t _claim_space(self, int64_t required) noexcept nogil
    cdef int32_t _record_at(self, int64_t index, int64_t limit) noexcept nogil
    cdef void _consume(self, int64_t head, int64_t length) noexcept nogil
    cdef void _drop_corrupt(self, int64_t head) noexcept nogil
    cdef int64_t _index_of(self, int64_t position) noexcept nogil
    cdef int _check_message(self, int64_t type_id, int64_t length) except -1
    cdef int64_t _checked(self, int64_t index) except -9
    cdef int32_t _claimed_length(self, int64_t index) except -1
