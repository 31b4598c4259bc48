"""A cursor over the frames of one term, which all polls use (spec log-buffers 19)."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerolog.transport.concurrent.atomic cimport get_u16, load_acquire_i32
from aerolog.transport.logbuffer.descriptor cimport (
    index_by_position,
    log_buffer_t,
    offset_by_position,
)
from aerolog.transport.logbuffer.fragment cimport fragment_t
from aerolog.transport.protocol.frames cimport (
    DATA_HEADER_LENGTH,
    FLAGS_OFFSET,
    FRAME_ALIGNMENT,
    FRAME_PAD,
    TYPE_OFFSET,
    align_frame,
)

ctypedef struct cursor_t:
    const uint8_t* term
    int64_t term_position   # of the term's begin
    int32_t term_length
    int32_t offset          # of the next frame
    int32_t limit           # frames that start at this offset or later are not read


cdef inline bint open_cursor(
    const log_buffer_t* log, int64_t position, int64_t limit_position, cursor_t* cursor
) noexcept nogil:
    """Set a cursor to a position; False when nothing may be read there."""
    if position < 0 or position % FRAME_ALIGNMENT or limit_position <= position:
        return False
    cursor.term = log.terms[index_by_position(log, position)]
    cursor.term_length = log.term_length
    cursor.offset = offset_by_position(log, position)
    cursor.term_position = position - cursor.offset
    cursor.limit = log.term_length
    if limit_position - cursor.term_position < log.term_length:
        cursor.limit = <int32_t> (limit_position - cursor.term_position)
    return True


cdef inline int64_t cursor_position(const cursor_t* cursor) noexcept nogil:
    return cursor.term_position + cursor.offset


cdef inline bint next_fragment(cursor_t* cursor, fragment_t* fragment) noexcept nogil:
    """Move to the next data frame, skipping padding; False when no committed frame is left.

    The length is loaded once (acquire, pairs with the publisher's commit) and bounded by the term;
    every later access to the frame stays within that length.
    """
    cdef const uint8_t* frame
    cdef int32_t length
    cdef int64_t aligned
    while cursor.offset < cursor.limit:
        frame = cursor.term + cursor.offset
        length = load_acquire_i32(frame)
        if length < DATA_HEADER_LENGTH:
            return False
        aligned = align_frame(length)
        if aligned > cursor.term_length - cursor.offset:
            return False
        cursor.offset += <int32_t> aligned
        if get_u16(frame + TYPE_OFFSET) != FRAME_PAD:
            fragment.frame = frame
            fragment.position = cursor.term_position + cursor.offset
            fragment.length = length
            fragment.flags = frame[FLAGS_OFFSET]
            fragment.is_assembled = 0
            return True
    return False


cdef inline void step_back(cursor_t* cursor, const fragment_t* fragment) noexcept nogil:
    """Move back by one frame, so that the last fragment is returned again."""
    cursor.offset = <int32_t> (
        fragment.position - align_frame(fragment.length) - cursor.term_position
    )
