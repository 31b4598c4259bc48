from dataclasses import dataclass
from typing import Final

from aerolog.transport.memory.mapped_file import MappedFile

FILE_NAME: Final[str]

@dataclass(frozen=True, slots=True)
class LossEntry:
    observation_count: int
    total_bytes_lost: int
    first_observation_ms: int
    last_observation_ms: int
    session_id: int
    stream_id: int
    channel: str
    source: str

class LossReport:
    def __init__(self, mapped: MappedFile, offset: int = 0, length: int = -1) -> None: ...
    @property
    def capacity(self) -> int: ...
    @property
    def next_offset(self) -> int: ...
    def create_entry(
        self,
        bytes_lost: int,
        epoch_ms: int,
        session_id: int,
        stream_id: int,
        channel: str,
        source: str,
    ) -> int | None: ...
    def record_loss(self, entry: int, bytes_lost: int, epoch_ms: int) -> None: ...
    def entries(self) -> list[LossEntry]: ...

def read_loss_report(mapped: MappedFile, offset: int = 0, length: int = -1) -> list[LossEntry]: ...
