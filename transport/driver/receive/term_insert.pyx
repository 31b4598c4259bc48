"""The effect of a datagram on an image (spec wire-protocol 9.1, spec log-buffers 15).

A datagram is one block: the first word of its first header is stored last and makes all of it
visible. Every length in it is checked before a byte is copied, so readers only meet whole frames.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from aerolog.transport.concurrent.atomic cimport (
    get_i32,
    get_i64,
    get_u16,
    load_plain_i32,
    store_plain_i64,
    store_release_i64,
)
from aerolog.transport.logbuffer.descriptor cimport (
    LogBuffers,
    index_by_position,
    log_buffer_t,
    offset_by_position,
)
from aerolog.transport.protocol.frames cimport (
    DATA_HEADER_LENGTH,
    FRAME_ALIGNMENT,
    FRAME_PAD,
    RESERVED_VALUE_OFFSET,
    STREAM_ID_OFFSET,
    TERM_OFFSET_OFFSET,
    TYPE_OFFSET,
    align_frame,
)


cdef bint _holds_together(const uint8_t* data, int32_t length, int32_t room) noexcept nogil:
    """Return whether all frames lie in the datagram and, with a last padding, in the term."""
    cdef int64_t offset = 0
    cdef int64_t frame_length
    cdef int64_t rest
    while offset < length:
        rest = length - offset
        if rest < DATA_HEADER_LENGTH:
            return False
        frame_length = get_i32(data + offset)
        if frame_length < DATA_HEADER_LENGTH or frame_length > room - offset:
            return False
        if frame_length > rest and not (
            rest == DATA_HEADER_LENGTH and get_u16(data + offset + TYPE_OFFSET) == FRAME_PAD
        ):
            return False
        offset += align_frame(frame_length)
    return True


cdef int insert_datagram(
    const log_buffer_t* log, int64_t position, const uint8_t* data, int32_t length
) noexcept nogil:
    cdef int32_t offset = offset_by_position(log, position)
    cdef int32_t room = log.term_length - offset
    cdef uint8_t* target
    if (
        position < 0
        or offset & (FRAME_ALIGNMENT - 1)
        or length < DATA_HEADER_LENGTH
        or length > room
        or not _holds_together(data, length, room)
    ):
        return INSERT_REFUSED
    target = log.terms[index_by_position(log, position)] + offset
    if load_plain_i32(target) != 0:
        return INSERT_PRESENT
    memcpy(
        target + DATA_HEADER_LENGTH, data + DATA_HEADER_LENGTH, length - DATA_HEADER_LENGTH
    )
    store_plain_i64(target + RESERVED_VALUE_OFFSET, get_i64(data + RESERVED_VALUE_OFFSET))
    store_plain_i64(target + STREAM_ID_OFFSET, get_i64(data + STREAM_ID_OFFSET))
    store_plain_i64(target + TERM_OFFSET_OFFSET, get_i64(data + TERM_OFFSET_OFFSET))
    store_release_i64(target, get_i64(data))
    return INSERT_DONE


def judge(
    last_status_position: int,
    max_window: int,
    term_length: int,
    position: int,
    length: int,
    heartbeat: bool = False,
) -> int:
    """Judge a packet at `position`; return one of PACKET_*.

    Args:
        last_status_position: the position of the last status message sent, in bytes.
        max_window: the largest receiver window, in bytes.
        term_length: in bytes.
        position: the position of the first frame; below 0 for a term before the first.
        length: the length of the datagram, in bytes.
        heartbeat: whether it is a header alone with frame length 0.
    """
    cdef receive_window_t window
    set_receive_window(&window, last_status_position, max_window, term_length)
    return judge_packet(&window, position, length, heartbeat)


def insert(LogBuffers logs not None, position: int, datagram) -> int:
    """Insert a datagram's frames at a position of an image; return one of INSERT_*."""
    cdef const uint8_t[::1] data = datagram
    cdef int64_t start = position
    if data.shape[0] > 65535 or data.shape[0] == 0:
        return INSERT_REFUSED
    return insert_datagram(&logs.log, start, &data[0], <int32_t> data.shape[0])


def clean(LogBuffers logs not None, clean_position: int, min_subscriber_position: int) -> int:
    """Zero what all subscribers passed a term ago; return the new clean position."""
    cdef int64_t cleaned = clean_position
    clean_image(&logs.log, &cleaned, min_subscriber_position)
    return cleaned
