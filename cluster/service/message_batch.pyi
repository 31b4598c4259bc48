from collections.abc import Iterator, Sequence
from typing import Any, overload

from typing_extensions import Buffer

from aerolog.cluster.service.client_session import SEND_TIMEOUT as SEND_TIMEOUT
from aerolog.cluster.service.client_session import ClientSession

class SessionMessage:
    session: ClientSession | None
    timestamp: int
    data: bytes
    position: int
    def __init__(
        self, session: ClientSession | None, timestamp: int, data: bytes, position: int
    ) -> None: ...

class MessageBatch:
    data: memoryview
    ends: Any
    session_ids: Any
    timestamps: Any
    positions: Any
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[SessionMessage]: ...
    @overload
    def __getitem__(self, where: int, /) -> SessionMessage: ...
    @overload
    def __getitem__(self, where: slice[Any, Any, Any], /) -> list[SessionMessage]: ...
    def to_arrow(self) -> Any: ...
    def answer(self, answers: Sequence[Buffer | None], *, timeout: float = ...) -> int: ...
