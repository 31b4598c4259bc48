from typing import Final

from typing_extensions import Buffer

WALK_CHUNK_END: Final[int]
WALK_DATA_END: Final[int]
WALK_PAST_HOLE: Final[int]

def walk_chunk(chunk: Buffer, at: int, hole: int) -> tuple[int, int, int, int]:
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
