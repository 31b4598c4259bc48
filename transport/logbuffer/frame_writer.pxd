"""The commit protocol of one frame (spec log-buffers 7), for everything that writes frames.

A tail update claims the room of a frame beforehand. A negative frame length hides the frame from
readers until the release store of the positive length makes it visible.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from aerolog.transport.concurrent.atomic cimport (
    fence_release,
    put_u16,
    store_plain_i64,
    store_release_i32,
    store_release_i64,
)
from aerolog.transport.logbuffer.descriptor cimport log_buffer_t
from aerolog.transport.protocol.frames cimport (
    DATA_HEADER_LENGTH,
    FLAGS_OFFSET,
    FLAGS_UNFRAGMENTED,
    FRAME_DATA,
    FRAME_PAD,
    RESERVED_VALUE_OFFSET,
    STREAM_ID_OFFSET,
    TERM_OFFSET_OFFSET,
    TYPE_OFFSET,
)

# Called once per fragment, when its payload and flags are written and its length is still negative.
ctypedef int64_t (*reserved_value_supplier_t)(
    void* context, const uint8_t* frame, int32_t frame_length
) noexcept nogil

# What goes into the reserved value of each frame: the supplier's answer, or the value if there is
# no supplier. Where a pointer to this is NULL, the field keeps the 0 of the cleaned term.
ctypedef struct reserved_t:
    int64_t value
    reserved_value_supplier_t supplier
    void* context

# The room claimed in a term.
ctypedef struct place_t:
    uint8_t* frame
    int32_t term_id
    int32_t term_offset


cdef inline uint64_t pair(int32_t low, int32_t high) noexcept nogil:
    return <uint64_t> <uint32_t> low | (<uint64_t> <uint32_t> high << 32)


cdef inline void begin_frame(
    const log_buffer_t* log, uint8_t* frame, int32_t length, int32_t term_id, int32_t term_offset
) noexcept nogil:
    """Write the header of a hidden, unfragmented data frame; `length` includes the header."""
    cdef int32_t kind = (FRAME_DATA << 16) | (FLAGS_UNFRAGMENTED << 8)
    # The length is stored first: if this process dies now, the driver knows how much to skip.
    store_release_i64(frame, <int64_t> pair(-length, kind))
    fence_release()
    store_plain_i64(frame + TERM_OFFSET_OFFSET, <int64_t> pair(term_offset, log.session_id))
    store_plain_i64(frame + STREAM_ID_OFFSET, <int64_t> pair(log.stream_id, term_id))


cdef inline void commit_frame(uint8_t* frame, int32_t length) noexcept nogil:
    """Make a frame visible to readers; pairs with their acquire load of the length."""
    store_release_i32(frame, length)


cdef inline void set_frame_type(uint8_t* frame, int32_t frame_type) noexcept nogil:
    put_u16(frame + TYPE_OFFSET, frame_type)


cdef inline void set_reserved_value(
    uint8_t* frame, int32_t length, const reserved_t* reserved
) noexcept nogil:
    if reserved.supplier != NULL:
        store_plain_i64(
            frame + RESERVED_VALUE_OFFSET, reserved.supplier(reserved.context, frame, length)
        )
    else:
        store_plain_i64(frame + RESERVED_VALUE_OFFSET, reserved.value)


cdef inline void write_frame(
    const log_buffer_t* log,
    uint8_t* frame,
    int32_t term_id,
    int32_t term_offset,
    const uint8_t* payload,
    int32_t payload_length,
    const reserved_t* reserved,
) noexcept nogil:
    """Write a whole message as one frame and commit it."""
    cdef int32_t length = payload_length + DATA_HEADER_LENGTH
    begin_frame(log, frame, length, term_id, term_offset)
    memcpy(frame + DATA_HEADER_LENGTH, payload, payload_length)
    if reserved != NULL:
        set_reserved_value(frame, length, reserved)
    commit_frame(frame, length)


cdef inline void write_padding(
    const log_buffer_t* log, uint8_t* frame, int32_t length, int32_t term_id, int32_t term_offset
) noexcept nogil:
    """Write the header of a padding frame over `length` bytes and commit the frame."""
    begin_frame(log, frame, length, term_id, term_offset)
    set_frame_type(frame, FRAME_PAD)
    commit_frame(frame, length)
