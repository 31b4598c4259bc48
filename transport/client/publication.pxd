"""Native face of publications: for the archive's replayer and the benchmarks.

All methods that are ``nogil`` may be called without the GIL as long as the caller holds a
reference to the object (a borrowed pointer kept alive by a Python list is enough). They return a
position, or a negative status of log-buffers section 12; ``ILLEGAL_ARGUMENT`` (-6) for a length
or block that the publication cannot take. They never raise.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerolog.transport.logbuffer.descriptor cimport LogBuffers

cdef enum:
    NOT_CONNECTED = -1
    BACK_PRESSURED = -2
    ADMIN_ACTION = -3
    CLOSED = -4
    MAX_POSITION_EXCEEDED = -5
    ILLEGAL_ARGUMENT = -6


cdef struct slice_t:
    const uint8_t* data
    int64_t length


cdef class BasePublication:
    cdef object __weakref__
    cdef object _owner                    # the client conductor that registered this object
    cdef LogBuffers _log_buffers          # keeps the log mapped
    cdef object _counters_memory          # keeps the counters mapped
    cdef int64_t* _limit                  # pub-lmt counter
    cdef int32_t _closed                  # 0 open, 1 closed; stored once, read by any thread
    cdef int32_t _busy                    # a batch call or a supplier is under way (exclusive only)
    cdef int64_t _fork_generation
    cdef int64_t _registration_id
    cdef int64_t _original_registration_id
    cdef int32_t _session_id
    cdef int32_t _stream_id
    cdef int32_t _limit_id
    cdef int32_t _channel_status_id
    cdef int32_t _max_payload_length
    cdef int32_t _max_message_length
    cdef str _channel

    # One message: payload of `length` bytes, gathered from `count` slices in the second form.
    cdef int64_t native_offer(
        self, const uint8_t* data, int64_t length, int64_t reserved_value) noexcept nogil
    cdef int64_t native_offer_parts(
        self, const slice_t* parts, int count, int64_t reserved_value) noexcept nogil
    # Claims a frame for `length` bytes of payload; its address (header first) goes to `frame`.
    # Finish it with native_commit or native_abort within the unblock timeout.
    cdef int64_t native_claim(self, int64_t length, uint8_t** frame) noexcept nogil
    cdef void native_commit(self, uint8_t* frame, int32_t frame_length) noexcept nogil
    cdef void native_abort(self, uint8_t* frame, int32_t frame_length) noexcept nogil
    cdef int64_t native_position(self) noexcept nogil
    cdef int64_t native_limit(self) noexcept nogil
    cdef bint native_is_connected(self) noexcept nogil
    cdef bint native_is_closed(self) noexcept nogil


cdef class Publication(BasePublication):
    pass


cdef class ExclusivePublication(BasePublication):
    cdef int64_t _term_begin_position
    cdef int32_t _term_offset
    cdef int32_t _term_id
    cdef int32_t _active_index

    # Whole aligned frames that continue the stream exactly (log-buffers section 10).
    cdef int64_t native_offer_block(self, const uint8_t* block, int32_t length) noexcept nogil
    # A padding frame with room for `length` bytes of payload.
    cdef int64_t native_append_padding(self, int64_t length) noexcept nogil
