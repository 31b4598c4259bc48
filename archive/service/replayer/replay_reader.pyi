from typing import Final

from aerolog.archive.format.checksum import Checksum
from aerolog.archive.service.io_agent import IoAgent
from aerolog.transport.client.publication import ExclusivePublication
from aerolog.transport.memory.counters import CountersReader
from aerolog.transport.memory.data_file import DataFile

INIT: Final[int]
CONNECTING: Final[int]
REPLAYING: Final[int]
SEGMENT_END: Final[int]
COMPLETE: Final[int]
ENDED: Final[int]
FAILED: Final[int]
RELEASED: Final[int]

FAULT_NONE: Final[int]
FAULT_NO_CONNECTION: Final[int]
FAULT_UNEXPECTED_END: Final[int]
FAULT_CHECKSUM: Final[int]
FAULT_READ: Final[int]
FAULT_REFUSED: Final[int]
FAULT_CONTROL: Final[int]
FAULT_HEADER: Final[int]
FAULT_TYPE: Final[int]

class ReplayReader:
    recording_id: int
    start_position: int
    replay_position: int
    stop_position: int
    replay_limit: int
    segment_base: int
    segment_length: int
    term_length: int
    term_offset: int
    deadline_ns: int
    fault: int
    fault_position: int
    fault_detail: int
    fault_computed: int
    damaged_read: int
    ending: int
    failure: BaseException | None
    failure_code: int
    publication: ExclusivePublication
    def __init__(
        self,
        recording_id: int,
        publication: ExclusivePublication,
        *,
        start_position: int,
        replay_limit: int,
        stop_position: int,
        segment_base: int,
        segment_length: int,
        term_length: int,
        read_length: int,
        deadline_ns: int,
        checksum: Checksum | None,
        counters: CountersReader,
        limit_counter_id: int,
        limit_registration_id: int,
        is_bounded: bool,
        stream_id: int,
        frame_length_max: int,
    ) -> None: ...
    @property
    def state(self) -> int: ...
    @property
    def aborted(self) -> bool: ...
    def abort(self) -> None: ...
    def recording_ended(self, position: int) -> None: ...
    def open_with(self, file: DataFile) -> None: ...
    def next_segment(self, file: DataFile) -> None: ...
    def wait_until(self, time_ns: int) -> None: ...
    def fail(self, failure: BaseException, code: int = 0) -> None: ...
    def end(self) -> None: ...
    def take_file(self) -> DataFile | None: ...
    def mark_released(self) -> None: ...

class ReplayerAgent(IoAgent):
    def pending(self, now_ns: int) -> list[tuple[int, ReplayReader]]: ...
