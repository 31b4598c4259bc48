"""The walk from frame to frame by their lengths, natively: a segment may hold millions of them."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

cdef enum:
    FRAME_ALIGNMENT = 32
    FRAME_HEADER_LENGTH = 32

WALK_CHUNK_END = 0
WALK_DATA_END = 1
WALK_PAST_HOLE = 2


def walk_chunk(const uint8_t[::1] chunk, int64_t at, int64_t hole):
    """Step from frame to frame by their lengths.

    Args:
        chunk: bytes of a segment.
        at: offset in them of the first frame.
        hole: offset in them; the walk stops behind the first frame that ends behind it.

    Returns:
        Offset behind the last frame, which may be behind the chunk; offset of the last frame, -1
        without one; its aligned length; why the walk ended: no header is left in the chunk, a
        length of 0 or less, or the hole.
    """
    cdef int64_t capacity = chunk.shape[0]
    cdef int64_t last = -1, last_length = 0
    cdef int32_t length
    while at + FRAME_HEADER_LENGTH <= capacity:
        memcpy(&length, &chunk[at], sizeof(length))
        if length <= 0:
            return at, last, last_length, WALK_DATA_END
        last = at
        last_length = (<int64_t> length + FRAME_ALIGNMENT - 1) & -<int64_t> FRAME_ALIGNMENT
        at += last_length
        if at > hole:
            return at, last, last_length, WALK_PAST_HOLE
    return at, last, last_length, WALK_CHUNK_END
