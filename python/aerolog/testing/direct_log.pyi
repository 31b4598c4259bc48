from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, TypeAlias

from typing_extensions import Buffer

from aerolog.transport.logbuffer.descriptor import LogBuffers
from aerolog.transport.memory.mapped_file import MappedFile

class Fragment(NamedTuple):
    payload: bytes
    position: int
    flags: int
    session_id: int
    stream_id: int
    term_id: int
    term_offset: int
    reserved_value: int

_ReservedValue: TypeAlias = int | Callable[[memoryview], int] | None

class DirectPublication:
    logs: LogBuffers
    def __init__(
        self, logs: LogBuffers, counters: MappedFile, limit_offset: int, *, exclusive: bool
    ) -> None: ...
    def offer(self, data: Buffer, reserved_value: _ReservedValue = None) -> int: ...
    def offer_parts(
        self, parts: Sequence[Buffer], reserved_value: _ReservedValue = None
    ) -> int: ...
    def offer_records(
        self, records: Buffer, record_length: int, first: int = 0, reserved_value: int | None = None
    ) -> tuple[int, int]: ...
    def offer_values(
        self,
        data: Buffer,
        offsets: Buffer,
        width: Literal[4, 8] = 4,
        first: int = 0,
        reserved_value: int | None = None,
    ) -> tuple[int, int]: ...
    def claim(self, length: int) -> memoryview | int: ...
    def commit(self) -> None: ...
    def abort(self) -> None: ...
    def offer_padding(self, length: int) -> int: ...
    def offer_block(self, block: Buffer) -> int: ...
    @property
    def position(self) -> int: ...
    @property
    def position_limit(self) -> int: ...
    @property
    def available_window(self) -> int: ...
    def close(self) -> None: ...

class DirectSubscription:
    logs: LogBuffers
    def __init__(self, logs: LogBuffers, counters: MappedFile, position_offset: int) -> None: ...
    @property
    def position(self) -> int: ...
    def poll(
        self, limit: int = 10, limit_position: int = ..., *, assemble: bool = False
    ) -> list[Fragment]: ...
    def poll_controlled(
        self,
        handler: Callable[[Fragment], int],
        limit: int = 10,
        limit_position: int = ...,
        *,
        assemble: bool = False,
    ) -> int: ...
    def peek(
        self,
        initial_position: int,
        handler: Callable[[Fragment], int],
        limit_position: int = ...,
    ) -> int: ...
    def scan(self, limit: int = 10, limit_position: int = ...) -> tuple[list[Fragment], int]: ...
    def block(self, length_limit: int) -> tuple[bytes, int, int, int, bool] | None: ...
    def advance(self, position: int) -> None: ...
    def read_records(
        self, out: Buffer, record_length: int, positions: Buffer | None = None
    ) -> tuple[int, int]: ...
    def read_values(
        self,
        data: Buffer,
        offsets: Buffer,
        width: Literal[4, 8] = 4,
        positions: Buffer | None = None,
    ) -> tuple[int, int]: ...
    def close(self) -> None: ...
