from aerolog.transport.events.event_log import StreamEvents
from aerolog.transport.memory.counters import CountersReader

MAX_RECEIVERS: int

class FlowControl:
    term_length: int
    retransmit_window_multiple: int
    def __init__(self, term_length: int, *, retransmit_window_multiple: int = 16) -> None: ...
    def status_message(
        self,
        receiver_id: int,
        position: int,
        window: int,
        limit: int,
        now_ns: int,
        flags: int = 0,
        extension: bytes = b"",
    ) -> int: ...
    def setup(self, limit: int, now_ns: int) -> int: ...
    def idle(self, limit: int, now_ns: int) -> int: ...
    def trigger_send_setup(self, receiver_id: int, now_ns: int, extension: bytes = b"") -> None: ...
    def receiver_error(
        self, receiver_id: int, now_ns: int, group_tag: int | None = None
    ) -> None: ...
    def retransmit_length(self, term_offset: int, length: int) -> int: ...
    @property
    def required_receivers_present(self) -> bool: ...
    @property
    def receivers(self) -> int: ...

class MaxFlowControl(FlowControl): ...

class MinFlowControl(FlowControl):
    receiver_timeout_ns: int
    group_min_size: int
    def __init__(
        self,
        term_length: int,
        *,
        receiver_timeout_ns: int = ...,
        group_min_size: int = 0,
        retransmit_window_multiple: int = 4,
    ) -> None: ...
    def bind_counter(self, counters: CountersReader, counter_id: int) -> None: ...
    def bind_events(self, events: StreamEvents) -> None: ...

class TaggedFlowControl(MinFlowControl):
    group_tag: int
    short_tag: int
    def __init__(
        self,
        term_length: int,
        *,
        group_tag: int = -1,
        short_tag: int = -1,
        receiver_timeout_ns: int = ...,
        group_min_size: int = 0,
        retransmit_window_multiple: int = 4,
    ) -> None: ...

class PythonFlowControl(FlowControl):
    error: BaseException | None
    @property
    def receivers(self) -> int: ...
    @receivers.setter
    def receivers(self, count: int) -> None: ...
    @property
    def required_receivers_present(self) -> bool: ...
    @required_receivers_present.setter
    def required_receivers_present(self, present: bool) -> None: ...
    def take_error(self) -> BaseException | None: ...
