from typing import Final

from aerolog.archive.format.checksum import Checksum
from aerolog.archive.service.io_agent import IoAgent
from aerolog.archive.service.recorder.segment_files import SegmentFiles
from aerolog.archive.time_index.notes import TimeNotes
from aerolog.transport.client.image import Image
from aerolog.transport.client.publication import ExclusivePublication
from aerolog.transport.memory.counters import CountersReader
from aerolog.transport.memory.data_file import DataFile

INIT: Final[int]
OPEN: Final[int]
SEGMENT_FULL: Final[int]
ENDED: Final[int]
FAILED: Final[int]
RELEASED: Final[int]

class RecordingWriter:
    recording_id: int
    join_position: int
    segment_base: int
    segment_offset: int
    segment_length: int
    failed_errno: int
    failed_length: int
    counter_lost: bool
    has_unsound_end: bool
    failure: BaseException | None
    image: Image
    notes: TimeNotes | None
    def __init__(
        self,
        recording_id: int,
        image: Image,
        *,
        segment_base: int,
        segment_length: int,
        block_limit: int,
        sync_level: int,
        checksum: Checksum | None,
        counters: CountersReader,
        counter_id: int,
        registration_id: int,
    ) -> None: ...
    @property
    def state(self) -> int: ...
    @property
    def position(self) -> int: ...
    @property
    def recorded_position(self) -> int: ...
    def abort(self) -> None: ...
    def open_with(
        self, file: DataFile, segments: SegmentFiles | None = None, has_room: bool = False
    ) -> None: ...
    def roll_over(self, file: DataFile, has_room: bool = False) -> None: ...
    def fail(self, failure: BaseException) -> None: ...
    def take_file(self) -> DataFile | None: ...
    def give_back_room(self) -> None: ...
    def finish_notes(self) -> None: ...
    def mark_released(self) -> None: ...

class RecorderAgent(IoAgent):
    events: ExclusivePublication | None
    def pending(self) -> list[tuple[int, RecordingWriter]]: ...
