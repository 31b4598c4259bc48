from typing import Final

from aerolog.archive.format.checksum import Checksum
from aerolog.archive.format.segment_window import SegmentWindow
from aerolog.transport.memory.data_file import DataFile

WALK_LENGTHS: Final[int]
WALK_CHECKS: Final[int]
WALK_STAMPS: Final[int]
WALK_END: Final[int]
WALK_NO_HEADER: Final[int]
WALK_MISMATCH: Final[int]
WALK_NEGATIVE: Final[int]
WALK_TOO_LONG: Final[int]
WALK_NO_BODY: Final[int]
WALK_CHECKSUM: Final[int]
WALK_OVERFLOW: Final[int]
WALK_IO_ERROR: Final[int]
WALK_BACKWARD: Final[int]
BODY_LENGTH_MAX: Final[int]

class SegmentWalk:
    status: int
    offset: int
    last_offset: int
    last_length: int
    chunk_offset: int
    frames: int
    found: int
    expected: int
    term_offset: int
    term_id: int
    stream_id: int
    expected_term_offset: int
    expected_term_id: int
    expected_stream_id: int

    def __init__(
        self,
        window: SegmentWindow,
        *,
        term_length: int,
        initial_term_id: int,
        stream_id: int,
        checksum: Checksum | None = None,
        rule: int = ...,
        chunk_length: int = ...,
        body_length_max: int = ...,
    ) -> None: ...
    def walk(self, file: DataFile, base_position: int, start: int, limit: int) -> int: ...
