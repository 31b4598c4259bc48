from collections.abc import Sequence
from typing import Any, Final

from aerolog.archive.client.merging.batch import MergedBatch
from aerolog.archive.times import TimeCursor

READY: Final[int]
WAITING: Final[int]
CONTROL: Final[int]
ENDED: Final[int]
DAMAGED: Final[int]
FULL: Final[int]
BLOCKED: Final[int]
END: Final[int]
TOO_LONG: Final[int]

class MergeSource:
    """Messages of one recording that wait for their turn.

    Args:
        recording_id: named in each row.
        session_id: of the recording.
        stream_id: of the recording.
        times: of positions.
        floor_ns: no message is from before that time: nothing is read before it is its turn.

    Attributes:
        status: READY, WAITING, CONTROL, ENDED or DAMAGED.
        position: up to where messages have been given out.
    """

    def __init__(
        self,
        *args: Any,
        recording_id: int,
        session_id: int,
        stream_id: int,
        times: TimeCursor,
        floor_ns: int = ...,
        **kwargs: Any,
    ) -> None: ...
    @property
    def status(self) -> int: ...
    @property
    def recording_id(self) -> int: ...
    @property
    def session_id(self) -> int: ...
    @property
    def stream_id(self) -> int: ...
    @property
    def floor_ns(self) -> int: ...
    @property
    def position(self) -> int: ...
    def choose(self, from_ns: int, until_ns: int, sure: int, stop: int) -> None:
        """Leave messages out.

        Args:
            from_ns: those before that time.
            until_ns: those at that time or later.
            sure: position up to which times say for sure; what begins there or later stays.
            stop: position; what begins there or later is left out.
        """

    def finish(self) -> None:
        """There is nothing more to come: what waits is still given out."""

class Merge:
    """The merge of sources by time, then by place among them, then by position."""

    def __init__(self, sources: Sequence[MergeSource]) -> None: ...
    def run(self, batch: MergedBatch) -> int:
        """Append messages to a batch, without the GIL.

        Returns:
            FULL: the batch is, or the next message does not fit behind the others. TOO_LONG: it
            does not fit into the empty batch, see ``needed``. BLOCKED: the source ``blocked`` has
            to go on first. END: all sources have ended.
        """

    def settle(self) -> None:
        """Let the sources go on behind what has been given out."""

    @property
    def needed(self) -> int:
        """Bytes of payload that the next message needs, after TOO_LONG."""

    @property
    def blocked(self) -> int:
        """Place of the source that comes next."""

    def raise_floor(self, index: int, floor_ns: int) -> bool:
        """A source without a message now counts as having its next one no earlier than that.

        Returns:
            Whether that changes anything.
        """

    @property
    def over(self) -> int:
        """How many sources have ended."""

    def is_over(self, index: int) -> bool:
        """Whether a source has ended, and all of it was given out."""
