from typing import Final

from aerolog.archive.client.replay.merge import MergeInput
from aerolog.archive.time_index import TimeCursor
from aerolog.transport.memory.data_file import DataFile

WINDOW_LENGTH: Final[int]

class SegmentInput(MergeInput):
    def __init__(
        self,
        *,
        recording_id: int,
        session_id: int,
        stream_id: int,
        times: TimeCursor,
        floor_ns: int = ...,
        start: int,
        end: int,
        segment_length: int,
        term_length: int,
        initial_term_id: int,
        window_length: int = ...,
    ) -> None: ...
    @property
    def io_error(self) -> int: ...
    @property
    def next_position(self) -> int: ...
    def open(self, file: DataFile, segment_base: int) -> None: ...
