from collections.abc import Iterator, Sequence
from typing import Any, overload

from typing_extensions import Buffer

from aerolog.cluster.message_columns import MessageColumns
from aerolog.cluster.service.client_session import ClientSession

class SessionMessage:
    session: ClientSession | None
    timestamp: int
    data: bytes
    position: int
    def __init__(
        self, session: ClientSession | None, timestamp: int, data: bytes, position: int
    ) -> None: ...

class MessageBatch(MessageColumns):
    def __iter__(self) -> Iterator[SessionMessage]: ...
    @overload
    def __getitem__(self, where: int, /) -> SessionMessage: ...
    @overload
    def __getitem__(self, where: slice[Any, Any, Any], /) -> list[SessionMessage]: ...
    def answer(self, answers: Sequence[Buffer | None], *, timeout: float | None = None) -> int: ...
