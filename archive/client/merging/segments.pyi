from typing import Final

from aerolog.archive.client.merging.engine import MergeSource
from aerolog.archive.times import TimeCursor
from aerolog.transport.memory.data_file import DataFile

WINDOW_LENGTH: Final[int]

class SegmentSource(MergeSource):
    """A recording of a folder; what is not said here is as of ``MergeSource``.

    Args:
        start: position of the first frame.
        end: where the range ends; a frame that ends behind it is not looked at.
        segment_length: of the recording.
        term_length: of the recording.
        initial_term_id: of the recording.
        window_length: bytes of a segment that are looked at together.

    Attributes:
        io_error: the system's error number when a read failed, else 0.
    """

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
    def next_position(self) -> int:
        """Position of the next frame to look at: what blocks the source lies there."""

    def open(self, file: DataFile, segment_base: int) -> None:
        """Go on with this segment; its file is the caller's, and open until the next one is."""

    def extend(self, end: int) -> None:
        """More has been recorded: the range ends later."""
