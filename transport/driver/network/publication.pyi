from aerolog.transport.driver.network.flow_control import FlowControl
from aerolog.transport.driver.network.outbound_stream import OutboundStream
from aerolog.transport.driver.network.retransmit import RetransmitHandler
from aerolog.transport.driver.network.send_endpoint import SendEndpoint
from aerolog.transport.driver.subscriber_positions import SubscriberPositions
from aerolog.transport.logbuffer.descriptor import LogBuffers
from aerolog.transport.memory.counters import CountersReader

ACTIVE: int
DRAINING: int
LINGER: int
DONE: int
NO_TIMESTAMP: int
RESERVED_VALUE_OFFSET: int

class NetworkPublication(OutboundStream):
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
    ) -> None:
        """Args:
        logs: the publication's log; session, stream, MTU and term length are its.
        counters: holds the counters of the ids and the system counters; kept alive.
        endpoint: that sends it; not yet told to the sender.
        flow_control: of this publication alone; the sender's from now on.
        retransmit: the same.
        pub_pos_id, pub_lmt_id: written by the conductor.
        snd_pos_id, snd_lmt_id, snd_bpe_id, snd_naks_id: written by the sender.
        exclusive: an exclusive publication is unblocked only while it drains.
        sparse: room on disk is made as the limit moves.
        initial_position: where it starts, a multiple of 32 in bytes.
        window_length: publication window in bytes.
        unblock_timeout_ns: how long the sender must stand still before publishers are unblocked.
        now_ns: monotonic time.
        window_limit_timeout_ns, linger_timeout_ns, resting_timeout_ns: of untethered spies.
        connection_timeout_ns: receivers silent for longer are gone
            (`aeron.publication.connection.timeout`).
        signal_eos: whether heartbeats say so when the stream has ended (`eos=`).
        spies_simulate_connection: `ssc=`.
        is_response: `control-mode=response`: sent to where eliciting status messages come from.
        response_correlation_id: of the subscription (request) or image (response), -1 for none.
        send_timestamp_offset: `channel-snd-ts-offset` in bytes of payload,
            RESERVED_VALUE_OFFSET (-8) or NO_TIMESTAMP (-1).
        max_datagrams_per_send: most of one send step, 1 to 64.
        """
    # Conductor, as IpcStream:
    @property
    def state(self) -> int: ...
    def enter(self, state: int) -> None: ...
    @property
    def references(self) -> int: ...
    @references.setter
    def references(self, count: int) -> None: ...
    @property
    def revoked(self) -> bool: ...
    @property
    def publisher_position(self) -> int: ...
    @property
    def consumer_position(self) -> int:
        """The sender's position."""
    spies: SubscriberPositions
    def add_spy(self, counter_id: int, tethered: bool, now_ns: int) -> None:
        """At `join_position()`; also `spies.add`, this one updates the connected flag at once."""
    def remove_spy(self, counter_id: int) -> bool: ...
    def set_spy_state(self, counter_id: int, state: int, now_ns: int) -> None:
        """`spies.set_state`, and what it means to the connected flag."""
    def due_spies(self, now_ns: int) -> list[int]:
        """Untethered spies whose state changes now, see `SubscriberPositions.due`."""
    def join_position(self) -> int:
        """Where a new spy starts: the sender's position."""
    def revoke(self) -> None:
        """Mark the log revoked; the next timer event asks for control."""
    def end_stream(self) -> None:
        """The last reference is gone (or revoked): limit and end position are the tail; when all
        is sent, heartbeats say that the stream has ended."""
    def mark_end_of_stream(self) -> None:
        """Heartbeats say so from now on, and nobody elicits setups any more."""
    def disconnect(self) -> None: ...
    def sample_publisher(self) -> None: ...
    @property
    def drained(self) -> bool:
        """DRAINING is over on the wire: everything is sent, or nobody is there to send it to.
        Asks nothing of spies."""
    @property
    def spies_drained(self) -> bool: ...
    def settle(self) -> None:
        """DRAINING at a timer event: unblock what is blocked; end of stream once drained."""
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
    @property
    def sender_limit(self) -> int: ...
