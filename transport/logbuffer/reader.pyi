from collections.abc import Callable
from typing import NamedTuple

from typing_extensions import Buffer

from aerolog.transport.logbuffer.assembler import Assembler
from aerolog.transport.logbuffer.descriptor import LogBuffers
from aerolog.transport.memory.mapped_file import MappedFile

class Fragment(NamedTuple):
    """A copied fragment or message."""

    payload: bytes
    position: int
    flags: int
    session_id: int
    stream_id: int
    term_id: int
    term_offset: int
    reserved_value: int

class LogReader:
    """Reads straight out of a log, for tests and tools; subscriptions are in transport.client."""

    logs: LogBuffers
    assembler: Assembler
    def __init__(self, logs: LogBuffers, counters: MappedFile, position_offset: int) -> None: ...
    @property
    def current_position(self) -> int: ...
    def close_reader(self) -> None: ...
    def read_fragments(
        self, limit: int = 10, limit_position: int = ..., assemble: bool = False
    ) -> list[Fragment]: ...
    def read_controlled(
        self, handler: Callable[[Fragment], int], limit: int = 10, assemble: bool = False
    ) -> int: ...
    def peek_fragments(
        self, initial_position: int, handler: Callable[[Fragment], int], limit_position: int = ...
    ) -> int: ...
    def read_block(self, length_limit: int) -> bytes: ...
    def read_records_into(
        self, out: Buffer, record_length: int, positions: Buffer | None = None
    ) -> int: ...
    def read_values_into(
        self, data: Buffer, offsets: Buffer, positions: Buffer | None = None
    ) -> int: ...
