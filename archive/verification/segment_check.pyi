from typing import Final, final

from aerolog.archive.format.checksum import Checksum
from aerolog.transport.memory.data_file import DataFile

CHECK_END: Final[int]
CHECK_LENGTH: Final[int]
CHECK_TYPE: Final[int]
CHECK_VERSION: Final[int]
CHECK_TERM_OFFSET: Final[int]
CHECK_TERM_ID: Final[int]
CHECK_STREAM_ID: Final[int]
CHECK_PADDING: Final[int]
CHECK_CHECKSUM: Final[int]
CHECK_NO_FRAME: Final[int]
CHECK_CUT_OFF: Final[int]
CHECK_IO_ERROR: Final[int]
CHECK_GOES_ON: Final[int]
PIECE_LENGTH: Final[int]
PIECE_LENGTH_MIN: Final[int]

@final
class SegmentCheck:
    status: int
    offset: int
    bad_offset: int
    found: int
    expected: int
    frames: int
    odd_sessions: int
    odd_offset: int
    odd_session_id: int

    def __init__(
        self,
        *,
        term_length: int,
        initial_term_id: int,
        stream_id: int,
        session_id: int,
        mtu_length: int = ...,
        checksum: Checksum | None = None,
        piece_length: int = ...,
    ) -> None: ...
    def begin(
        self,
        file: DataFile,
        base_position: int,
        start: int,
        limit: int,
        *,
        is_last: bool = False,
    ) -> None: ...
    def step(self) -> int: ...
    def passed(self) -> memoryview: ...
