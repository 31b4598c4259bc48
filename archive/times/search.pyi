from typing_extensions import Buffer

from aerolog.archive.times.blocks import TimeBlocks

class TimeCursor:
    """Finds times and positions in the blocks of an index; one thread at a time may use it.

    Args:
        blocks: of the index.
        head_time: epoch ns, before which nothing was recorded from ``head_position`` on.
        head_position: of what is known without the index: the start of the recording.
        tail_time: before which everything was recorded that lies before ``tail_position``.
        tail_position: the end of the recording.
    """

    def __init__(
        self,
        blocks: TimeBlocks,
        *,
        head_time: int,
        head_position: int,
        tail_time: int,
        tail_position: int,
    ) -> None: ...
    @property
    def blocks(self) -> TimeBlocks: ...
    def forget(self) -> None: ...
    def find_time(self, position: int) -> int:
        """When a frame at a position was recorded, epoch ns; linear between entries."""

    def find_position(self, time_ns: int) -> int:
        """The largest known position with nothing before it that was recorded then or later."""

    def find_end_position(self, time_ns: int) -> int:
        """The smallest known position with nothing from it on that was recorded before."""

    def fill_times(self, positions: Buffer, out: Buffer) -> None:
        """Times of many positions, int64 to int64; fast for runs that ascend. Without the GIL.

        Raises:
            ValueError: ``out`` is too short.
        """

    def ends(self) -> tuple[int, int, int, int] | None: ...
    def count(self) -> int: ...
    def steps_back(self) -> int: ...
