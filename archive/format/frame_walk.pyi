from typing import Final

from typing_extensions import Buffer

WALK_CHUNK_END: Final[int]
WALK_DATA_END: Final[int]
WALK_PAST_HOLE: Final[int]

def walk_chunk(chunk: Buffer, at: int, hole: int) -> tuple[int, int, int, int]: ...
def first_frame(data: Buffer) -> int: ...
