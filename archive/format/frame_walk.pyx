"""Walks over millions of frames that read nothing but their lengths."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerolog.transport.concurrent.atomic cimport get_i32
from aerolog.transport.protocol.frames cimport DATA_HEADER_LENGTH, FRAME_ALIGNMENT, align_frame

WALK_CHUNK_END = 0
WALK_DATA_END = 1
WALK_PAST_HOLE = 2


def walk_chunk(const uint8_t[::1] chunk, int64_t at, int64_t hole):
    """Step from frame to frame by their lengths.

    Args:
        chunk: bytes of a segment.
        at: offset of the first frame in the chunk.
        hole: offset of a hole in the chunk; the walk stops after a frame that ends beyond it.

    Returns:
        The offset after the last frame, which may lie beyond the chunk; the offset of the last
        frame, -1 without one; its aligned length; and why the walk ended: no header is left in the
        chunk, a length is 0 or less, or the hole was reached.
    """
    cdef int64_t capacity = chunk.shape[0]
    cdef int64_t last = -1, last_length = 0
    cdef int32_t length
    while at + DATA_HEADER_LENGTH <= capacity:
        length = get_i32(&chunk[at])
        if length <= 0:
            return at, last, last_length, WALK_DATA_END
        last = at
        last_length = align_frame(length)
        at += last_length
        if at > hole:
            return at, last, last_length, WALK_PAST_HOLE
    return at, last, last_length, WALK_CHUNK_END


def first_frame(const uint8_t[::1] data):
    """Find the first frame in bytes that begin with zeros (spec archive-files 12, attach).

    Returns:
        Offset of the first aligned word above 0, -1 when there is none.
    """
    cdef int64_t at = 0, capacity = data.shape[0]
    with nogil:
        while at + 4 <= capacity:
            if get_i32(&data[at]) > 0:
                break
            at += FRAME_ALIGNMENT
    return at if at + 4 <= capacity else -1
