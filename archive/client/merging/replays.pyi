from aerolog.archive.client.merging.engine import MergeSource
from aerolog.archive.times import TimeCursor
from aerolog.transport.client import Image

class ReplaySource(MergeSource):
    """A replay from a running archive; what is not said here is as of ``MergeSource``.

    Args:
        start: position of the first frame.
        end: where the range ends, None for a replay that goes on.

    Attributes:
        image: of the replay, None before it has come.
        covered: up to where times are known: messages that begin behind it wait.
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
        end: int | None = None,
    ) -> None: ...
    @property
    def image(self) -> Image | None: ...
    @property
    def covered(self) -> int: ...
    @property
    def next_position(self) -> int:
        """Position of the next frame to look at."""

    def attach(self, image: Image) -> None:
        """The replay has come: read it from now on. Nobody else polls this image."""

    def use_times(self, times: TimeCursor) -> None:
        """Messages that are looked at from now on have their times from here."""

    def cover(self, position: int) -> None:
        """Times are known up to here."""
