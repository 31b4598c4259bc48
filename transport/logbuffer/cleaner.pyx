"""Cleaning and unblocking of a publication log (spec log-buffers 13, 14 and 17).

Only a driver's conductor calls these functions. Positions come from counters that clients write, so
their values are bounded here.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uintptr_t
from libc.string cimport memcpy, memset

from aerolog.transport.concurrent.atomic cimport (
    load_acquire_i32,
    load_acquire_i64,
    put_i32,
    store_release_i64,
)
from aerolog.transport.logbuffer.descriptor cimport (
    META_DEFAULT_HEADER,
    LogBuffers,
    active_term_count,
    index_by_position,
    index_by_term_count,
    log_buffer_t,
    offset_by_position,
    rotate_log,
    tail_address,
    tail_offset,
    tail_term_id,
    term_id_by_position,
    wrapping_sub,
)
from aerolog.transport.logbuffer.frame_writer cimport commit_frame, set_frame_type
from aerolog.transport.protocol.frames cimport (
    DATA_HEADER_LENGTH,
    FRAME_ALIGNMENT,
    FRAME_PAD,
    TERM_ID_OFFSET,
    TERM_OFFSET_OFFSET,
    VERSION_OFFSET,
)

cdef enum:
    NEIGHBOURHOOD = 64 * 1024    # bytes that Linux maps around a page when it is read


cdef void _clear(uint8_t* address, int64_t length) noexcept nogil:
    """Write zeros without a page fault for each page that this process has not touched yet.

    When a page is read, the kernel maps many of its neighbours that are in memory; when a page is
    written, it maps that page alone. Hence each neighbourhood is read before it is written.
    """
    cdef int64_t done = 0, step
    while done < length:
        step = NEIGHBOURHOOD - <int64_t> (<uintptr_t> (address + done) % NEIGHBOURHOOD)
        step = min(step, length - done)
        load_acquire_i32(address + done)
        memset(address + done, 0, step)
        done += step


cdef int64_t clean_log(
    const log_buffer_t* log, int64_t* clean_position, int64_t position
) noexcept nogil:
    cdef int64_t start = clean_position[0]
    cdef int64_t length = (position & ~<int64_t> (FRAME_ALIGNMENT - 1)) - start
    cdef int32_t offset = offset_by_position(log, start)
    cdef uint8_t* address = log.terms[index_by_position(log, start)] + offset
    length = min(length, <int64_t> (log.term_length - offset))
    if length < FRAME_ALIGNMENT:
        return 0
    # The first frame length is cleared last, so that readers of old positions see the old frame
    # until everything behind it is clear.
    _clear(address + 8, length - 8)
    store_release_i64(address, 0)
    clean_position[0] = start + length
    return length


cdef void _pad(
    const log_buffer_t* log, uint8_t* frame, int32_t length, int32_t term_id, int32_t term_offset
) noexcept nogil:
    """Write a padding frame with the log's default header, as the reference's driver does."""
    memcpy(
        frame + VERSION_OFFSET,
        log.meta + META_DEFAULT_HEADER + VERSION_OFFSET,
        DATA_HEADER_LENGTH - VERSION_OFFSET,
    )
    set_frame_type(frame, FRAME_PAD)
    put_i32(frame + TERM_OFFSET_OFFSET, term_offset)
    put_i32(frame + TERM_ID_OFFSET, term_id)
    commit_frame(frame, length)


cdef int _unblock_term(
    const log_buffer_t* log, uint8_t* term, int32_t term_id, int32_t blocked, int32_t tail
) noexcept nogil:
    cdef int32_t frame_length = load_acquire_i32(term + blocked)
    cdef int32_t offset = blocked
    cdef int32_t back
    if frame_length > 0:
        return UNBLOCK_NOTHING
    if frame_length < 0:
        # Unsigned negation does not overflow for the smallest int32; the term bounds the result.
        frame_length = wrapping_sub(0, frame_length)
        if frame_length < DATA_HEADER_LENGTH or frame_length > log.term_length - blocked:
            frame_length = log.term_length - blocked
        _pad(log, term + blocked, frame_length, term_id, blocked)
        return UNBLOCKED
    while offset < tail:
        if load_acquire_i32(term + offset) != 0:
            # Read again from here: the publisher may have resumed in between.
            back = offset - FRAME_ALIGNMENT
            while back >= blocked:
                if load_acquire_i32(term + back) != 0:
                    return UNBLOCK_NOTHING
                back -= FRAME_ALIGNMENT
            _pad(log, term + blocked, offset - blocked, term_id, blocked)
            return UNBLOCKED
        offset += FRAME_ALIGNMENT
    if offset == log.term_length and load_acquire_i32(term + blocked) == 0:
        _pad(log, term + blocked, log.term_length - blocked, term_id, blocked)
        return UNBLOCKED_TO_END
    return UNBLOCK_NOTHING


cdef int unblock_log(const log_buffer_t* log, int64_t blocked_position) noexcept nogil:
    cdef int32_t blocked_count = <int32_t> (blocked_position >> log.position_bits)
    cdef int32_t blocked = offset_by_position(log, blocked_position)
    cdef int32_t active = active_term_count(log)
    cdef int32_t term_id = term_id_by_position(log, blocked_position)
    cdef int32_t index = index_by_position(log, blocked_position)
    cdef int64_t raw
    cdef int result
    if blocked_position < 0 or blocked % FRAME_ALIGNMENT:
        return UNBLOCK_NOTHING
    if active == wrapping_sub(blocked_count, 1) and blocked == 0:
        raw = load_acquire_i64(tail_address(log, index_by_term_count(active)))
        rotate_log(log, active, tail_term_id(raw))
        return UNBLOCKED
    raw = load_acquire_i64(tail_address(log, index))
    if tail_term_id(raw) != term_id:
        return UNBLOCK_NOTHING
    result = _unblock_term(
        log, log.terms[index], term_id, blocked, tail_offset(raw, log.term_length)
    )
    if result == UNBLOCKED_TO_END:
        rotate_log(log, blocked_count, term_id)
    return result


def clean(logs: LogBuffers, clean_position: int, position: int) -> int:
    """Write zeros up to a position or the end of its term; returns the new clean position."""
    cdef int64_t cleaned = clean_position
    cdef int64_t target = position
    cdef const log_buffer_t* log = &logs.log
    with nogil:
        clean_log(log, &cleaned, target)
    return cleaned


def unblock(logs: LogBuffers, blocked_position: int) -> int:
    """Unblock readers that wait at a position.

    Returns:
        0 if nothing was done, 1 if a frame was unblocked, 2 if the term was, up to its end.
    """
    return unblock_log(&logs.log, blocked_position)
