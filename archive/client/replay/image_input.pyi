from aerolog.archive.client.replay.merge import MergeSource
from aerolog.archive.time_index import TimeCursor
from aerolog.transport.client import Image

class ReplaySource(MergeSource):
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
    def next_position(self) -> int: ...
    def attach(self, image: Image) -> None: ...
    def use_times(self, times: TimeCursor) -> None: ...
    def cover(self, position: int) -> None: ...
