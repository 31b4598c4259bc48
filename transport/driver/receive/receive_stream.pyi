from aerolog.transport.concurrent.clock import Clock
from aerolog.transport.driver.conductor.driver_stream import DriverStream
from aerolog.transport.driver.conductor.subscriber_positions import SubscriberPositions
from aerolog.transport.driver.congestion_control.congestion_control import CongestionControl
from aerolog.transport.driver.receive.loss_detector import FeedbackDelay
from aerolog.transport.driver.receive.receive_transport import TransportSet
from aerolog.transport.logbuffer.descriptor import LogBuffers
from aerolog.transport.memory.counters import CountersReader
from aerolog.transport.memory.loss_report import LossReport
from aerolog.transport.network.port import Address

#: States, in the order in which they are passed.
INIT: int
ACTIVE: int
DRAINING: int
LINGER: int
DONE: int

class ReceiveStream(DriverStream):
    def __init__(
        self,
        logs: LogBuffers,
        counters: CountersReader,
        endpoint: TransportSet,
        clock: Clock,
        *,
        transport_index: int,
        control: Address,
        rcv_hwm_id: int,
        rcv_pos_id: int,
        rcv_naks_sent_id: int,
        initial_position: int,
        subscribers: SubscriberPositions,
        feedback_delay: FeedbackDelay,
        congestion: CongestionControl,
        loss_report: LossReport | None = None,
        channel: str = "",
        source: str = "",
        reliable: bool = True,
        sparse: bool = True,
        status_message_timeout_ns: int = ...,
        image_liveness_timeout_ns: int = ...,
    ) -> None: ...
    @property
    def session_id(self) -> int: ...
    @property
    def stream_id(self) -> int: ...
    @property
    def logs(self) -> LogBuffers: ...
    @property
    def channel(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def subscribers(self) -> SubscriberPositions: ...
    @property
    def state(self) -> int: ...
    def enter(self, state: int, now_ns: int) -> None: ...
    @property
    def is_end_of_stream(self) -> bool: ...
    @property
    def is_revoked(self) -> bool: ...
    @property
    def is_drained(self) -> bool: ...
    def linger_is_due(self, now_ns: int) -> bool: ...
    def done_is_due(self, now_ns: int) -> bool: ...
    def accepts_subscribers(self) -> bool: ...
    def join_position(self) -> int: ...
    def untethered_limit(self) -> int: ...
    @property
    def rebuild_position(self) -> int: ...
    @property
    def hwm_position(self) -> int: ...
    @property
    def window_length(self) -> int: ...
    def reject(self, reason: str) -> None: ...
    @property
    def is_rejected(self) -> bool: ...
    @property
    def response_session_id(self) -> int | None: ...
    @response_session_id.setter
    def response_session_id(self, session_id: int | None) -> None: ...
