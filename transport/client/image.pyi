from collections.abc import Callable

from aerolog.transport.client.batch_source import BatchSource
from aerolog.transport.client.client_conductor import ClientConductor
from aerolog.transport.client.message import Action, Header, Message
from aerolog.transport.client.subscription import Subscription
from aerolog.transport.logbuffer.descriptor import LogBuffers
from aerolog.transport.memory.counters import CountersReader
from aerolog.transport.protocol.responses import AvailableImage

class Image(BatchSource):
    def __init__(
        self,
        subscription: Subscription,
        available: AvailableImage,
        logs: LogBuffers,
        counters: CountersReader,
    ) -> None: ...
    def force_close(self) -> None: ...

    correlation_id: int
    session_id: int
    stream_id: int
    subscriber_position_id: int
    source_identity: str
    join_position: int

    @property
    def subscription(self) -> Subscription | None: ...
    @property
    def conductor(self) -> ClientConductor: ...
    @property
    def position(self) -> int: ...
    @position.setter
    def position(self, value: int) -> None: ...
    @property
    def message_position(self) -> int: ...
    @property
    def delivered_position(self) -> int: ...
    @property
    def initial_term_id(self) -> int: ...
    @property
    def term_length(self) -> int: ...
    @property
    def position_bits_to_shift(self) -> int: ...
    @property
    def mtu(self) -> int: ...
    @property
    def end_of_stream_position(self) -> int: ...
    @property
    def is_end_of_stream(self) -> bool: ...
    @property
    def is_revoked(self) -> bool: ...
    @property
    def active_transport_count(self) -> int: ...
    @property
    def closed(self) -> bool: ...
    def poll(
        self,
        handler: Callable[[memoryview, Header], object],
        limit: int = 10,
        *,
        assemble: bool = True,
        until: int | None = None,
    ) -> int: ...
    def poll_controlled(
        self,
        handler: Callable[[memoryview, Header], Action | None],
        limit: int = 10,
        *,
        assemble: bool = True,
        until: int | None = None,
    ) -> int: ...
    def poll_messages(
        self, limit: int = 10, *, assemble: bool = True, until: int | None = None
    ) -> list[Message]: ...
    def peek(
        self,
        handler: Callable[[memoryview, Header], Action | None],
        start: int | None = None,
        until: int | None = None,
    ) -> int: ...
    def poll_block(
        self,
        handler: Callable[[memoryview, int, int], object],
        length: int,
    ) -> int: ...
    def poll_raw(
        self,
        handler: Callable[[int, int, memoryview, int, int], object],
        length: int,
    ) -> int: ...
    def reject(self, reason: str, *, timeout: float | None = None) -> None: ...
