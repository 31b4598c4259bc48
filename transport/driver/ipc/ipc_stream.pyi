from aerolog.transport.driver.conductor.driver_stream import PublicationStream
from aerolog.transport.logbuffer.descriptor import LogBuffers
from aerolog.transport.memory.counters import CountersReader

class IpcStream(PublicationStream):
    def __init__(
        self,
        logs: LogBuffers,
        counters: CountersReader,
        *,
        pub_pos_id: int,
        pub_lmt_id: int,
        exclusive: bool,
        sparse: bool,
        plenty: bool,
        initial_position: int,
        window_length: int,
        unblock_timeout_ns: int,
        window_limit_timeout_ns: int,
        linger_timeout_ns: int,
        resting_timeout_ns: int,
        now_ns: int,
    ) -> None: ...
    @property
    def cooling_down(self) -> bool: ...
    def cool_down_until(self, end_ns: int) -> None: ...
    def cool_down_is_over(self, now_ns: int) -> bool: ...
