from aerolog.transport.logbuffer.descriptor import LogBuffers
from aerolog.transport.memory.counters import CountersReader

class DriverStream:
    def needs_attention(self, now_ns: int) -> bool: ...
    def on_timer(self, now_ns: int) -> None: ...
    def on_cycle(self, now_ns: int = 0) -> int: ...
    def refused_allocation(self) -> int: ...

class PublicationStream(DriverStream):
    references: int
    def __init__(
        self,
        logs: LogBuffers,
        counters: CountersReader,
        *_: object,
        pub_pos_id: int,
        pub_lmt_id: int,
        unblocked_id: int = ...,
        exclusive: bool,
        initial_position: int,
        window_length: int,
        unblock_timeout_ns: int,
        now_ns: int,
        **__: object,
    ) -> None: ...
    @property
    def state(self) -> int: ...
    @property
    def publisher_position(self) -> int: ...
    def enter(self, state: int) -> None: ...
    def sample_publisher(self) -> None: ...
