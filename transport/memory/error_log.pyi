from collections.abc import Hashable
from dataclasses import dataclass

from aerolog.transport.concurrent.clock import Clock
from aerolog.transport.memory.mapped_file import MappedFile

@dataclass(frozen=True, slots=True)
class ErrorObservation:
    count: int
    first_ms: int
    last_ms: int
    text: str

class DistinctErrorLog:
    def __init__(self, mapped: MappedFile, offset: int, length: int, clock: Clock) -> None: ...
    def record(self, text: str, identity: Hashable | None = None) -> bool: ...
    def record_exception(self, error: BaseException, identity: Hashable | None = None) -> bool: ...
    def observations(self, since_ms: int = 0) -> list[ErrorObservation]: ...

def read_error_log(
    mapped: MappedFile, offset: int = 0, length: int = -1, since_ms: int = 0
) -> list[ErrorObservation]: ...
def has_errors(mapped: MappedFile, offset: int = 0, length: int = -1) -> bool: ...
