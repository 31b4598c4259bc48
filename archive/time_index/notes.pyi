from typing import Final

from typing_extensions import Buffer

from aerolog.archive.time_index.blocks import TimeBlocks
from aerolog.transport.concurrent.clock import Clock
from aerolog.transport.memory.data_file import DataFile

TIME_OF_CLOCK: Final[int]
"""In place of an offset: the time of a note is that of the archive's clock."""
TIME_OF_RESERVED: Final[int]
"""In place of an offset: it is the reserved value of a message's first frame."""

class TimeNotes:
    recording_id: int
    dropped: int
    entries: int
    failed_errno: int
    def __init__(
        self,
        file: DataFile,
        blocks: TimeBlocks,
        position: int,
        *,
        time_offset: int = ...,
        segment_length: int = 0,
        origin: int = 0,
    ) -> None: ...
    @property
    def closed(self) -> bool: ...
    @property
    def in_ring(self) -> int: ...
    def note(
        self,
        clock: Clock,
        begin_ns: int,
        end_ns: int,
        position: int,
        frames: Buffer | None = None,
    ) -> None: ...
    def write_out(self) -> int: ...
    def finish(self, position: int) -> None: ...
    def end_at(self, time_ns: int, position: int) -> None: ...
    def repeat_last(self) -> None: ...
    def unknown_from(self, position: int) -> None: ...
    def hold(self) -> bool: ...
    def release(self) -> None: ...
    def move_to(self, file: DataFile, blocks: TimeBlocks) -> None: ...
    def give_up(self) -> None: ...

def time_in_frame(frame: Buffer, offset: int) -> int: ...
def let_go_of_blocks(file: DataFile, first: int, limit: int) -> None: ...
