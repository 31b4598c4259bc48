from aerolog.transport.driver.flow_control.flow_control import FlowControl
from aerolog.transport.driver.send.retransmit_handler import RetransmitHandler
from aerolog.transport.driver.send.send_context import BatchStream
from aerolog.transport.driver.send.send_endpoint import SendEndpoint
from aerolog.transport.logbuffer.descriptor import LogBuffers
from aerolog.transport.memory.counters import CountersReader

NO_TIMESTAMP: int
RESERVED_VALUE_OFFSET: int

class SendStream(BatchStream):
    endpoint: SendEndpoint
    is_response: bool
    response_correlation_id: int
    def __init__(
        self,
        logs: LogBuffers,
        counters: CountersReader,
        endpoint: SendEndpoint,
        flow_control: FlowControl,
        retransmit: RetransmitHandler,
        *,
        pub_pos_id: int,
        pub_lmt_id: int,
        snd_pos_id: int,
        snd_lmt_id: int,
        snd_bpe_id: int,
        snd_naks_id: int,
        exclusive: bool,
        sparse: bool,
        initial_position: int,
        window_length: int,
        unblock_timeout_ns: int,
        now_ns: int,
        window_limit_timeout_ns: int = ...,
        linger_timeout_ns: int = ...,
        resting_timeout_ns: int = ...,
        connection_timeout_ns: int = ...,
        signal_eos: bool = True,
        spies_simulate_connection: bool = False,
        is_response: bool = False,
        response_correlation_id: int = -1,
        send_timestamp_offset: int = ...,
        max_datagrams_per_send: int = ...,
    ) -> None: ...
    # For the conductor:
    def mark_end_of_stream(self) -> None: ...
    @property
    def drained(self) -> bool: ...
    def settle(self) -> None: ...
    # What the sender has found, readable by the conductor:
    @property
    def is_end_of_stream(self) -> bool: ...
    @property
    def has_receivers(self) -> bool: ...
    @property
    def has_received_unicast_eos(self) -> bool: ...
    @property
    def is_connected(self) -> bool: ...
    @property
    def sender_position(self) -> int: ...
