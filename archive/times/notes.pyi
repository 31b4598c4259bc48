from typing import Final

from typing_extensions import Buffer

from aerolog.archive.times.blocks import TimeBlocks
from aerolog.transport.concurrent.clock import Clock
from aerolog.transport.memory.data_file import DataFile

TIME_OF_CLOCK: Final[int]
"""In place of an offset: the time of a note is that of the archive's clock."""
TIME_OF_RESERVED: Final[int]
"""In place of an offset: it is the reserved value of a message's first frame."""

class TimeNotes:
    """Notes of one recording, from the recorder's thread to the index file.

    Args:
        file: of the index, writable; closed by ``finish``.
        blocks: of the file; entries behind ``position`` are cut off.
        position: from which on is recorded.
        time_offset: of an i64, epoch ns, in the payload of messages, or one of the two above.
    """

    recording_id: int
    dropped: int
    entries: int
    failed_errno: int
    def __init__(
        self, file: DataFile, blocks: TimeBlocks, position: int, *, time_offset: int = ...
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
    ) -> None:
        """Tell of a block, as the recorder does.

        Args:
            clock: for the epoch time.
            begin_ns: monotonic time at which writing it began.
            end_ns: and ended.
            position: of its first frame.
            frames: the block, for times in messages.
        """

    def write_out(self) -> int:
        """Write what is in the ring to the file; entries written, -1 when that cannot be."""

    def finish(self, position: int) -> None:
        """Note where the recording ends, write everything, close the file."""

    def give_up(self) -> None:
        """Close the file with what is in it."""

def time_in_frame(frame: Buffer, offset: int) -> int:
    """The time in a message's first frame; 0 without one.

    Args:
        frame: with its header.
        offset: in the payload, or TIME_OF_RESERVED.
    """

def let_go_of_blocks(file: DataFile, first: int, limit: int) -> None:
    """Give back the place on disk of blocks, as far as the file system does such a thing."""
