from collections.abc import Callable

from aerolog.transport.concurrent.clock import Clock
from aerolog.transport.memory.ring_buffer import ManyToOneRingBuffer

class EventLog:
    def __init__(self, length: int = ..., clock: Clock | None = None) -> None: ...
    @property
    def ring(self) -> ManyToOneRingBuffer: ...
    def write(self, code: int, payload: bytes) -> None: ...
    def read(self, handler: Callable[[int, int, int, bytes], object], limit: int = ...) -> int: ...
    def take_lost(self) -> int: ...

class StreamEvents:
    def __init__(
        self,
        log: EventLog,
        session_id: int,
        stream_id: int,
        channel: str,
        *,
        resend: int = 0,
        receiver_added: int = 0,
        receiver_removed: int = 0,
    ) -> None: ...
    @property
    def session_id(self) -> int: ...
    @property
    def stream_id(self) -> int: ...
