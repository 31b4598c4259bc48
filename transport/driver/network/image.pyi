from aerolog.transport.concurrent.clock import Clock
from aerolog.transport.driver.conducted import ConductedStream
from aerolog.transport.driver.network.congestion import CongestionControl
from aerolog.transport.driver.network.feedback_delay import FeedbackDelay
from aerolog.transport.driver.network.receive_transport import TransportSet
from aerolog.transport.driver.subscriber_positions import SubscriberPositions
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

class NetworkImage(ConductedStream):
    """The image of one session of one stream: its log, what is missing of it, who is told.

    Its life: the receiver makes it ACTIVE when it takes it, and DRAINING at the end of stream, when
    it hears nothing for the liveness timeout, or when nothing subscribes to it any more. At a timer
    event with `linger_is_due` the conductor enters LINGER and calls `Receiver.remove_image`; with
    `done_is_due` and `ImageReleased` received it enters DONE and frees log and counters.

    The conductor makes it, turns it (as a `ConductedStream`) and ends it; between
    `Receiver.add_image` and the event `ImageReleased` the receiver writes into it.
    """

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
    ) -> None:
        """Allocates the room of the first term that data may enter.

        Args:
            logs: the image's log, all zeros.
            counters: holds the counters named by the ids; kept alive. Hwm and rcv-pos are set to
                the initial position here.
            endpoint: the `ReceiveEndpoint` that answers for it.
            clock: of the driver, for the loss report.
            transport_index: of the transport that received the SETUP.
            control: where status messages go, of the event `CreateImage`.
            rcv_hwm_id, rcv_pos_id, rcv_naks_sent_id: counter ids.
            initial_position: of the SETUP, in bytes.
            subscribers: positions of its subscribers, `image.subscribers` from then on.
            feedback_delay: when gaps are reported; `StaticDelay.unreliable()` if not reliable.
            congestion: the window.
            loss_report: where losses are noted, None for nowhere.
            channel: of the subscription, for the loss report.
            source: identity of the source, for the loss report.
            reliable: gaps are reported; else they are filled.
            sparse: room on disk is allocated before the window lets data in.
            status_message_timeout_ns: `aeron.rcv.status.message.timeout`.
            image_liveness_timeout_ns: `aeron.image.liveness.timeout`.

        Raises:
            IndexError: no such counter.
            ConfigurationError: an address, position or index that is none.
        """

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
    def state(self) -> int:
        """INIT until the receiver has it, ACTIVE, DRAINING (receiver), LINGER, DONE (conductor)."""

    @property
    def state_since_ns(self) -> int:
        """When the state was entered; DRAINING: by the receiver's clock, which is the same."""

    def enter(self, state: int, now_ns: int) -> None:
        """Go on to LINGER or DONE.

        Raises:
            ValueError: the state is not a later one of these two.
        """

    @property
    def is_end_of_stream(self) -> bool:
        """All its sources have ended; the log says where."""

    @property
    def is_revoked(self) -> bool: ...
    @property
    def is_drained(self) -> bool:
        """All subscribers have consumed what was rebuilt."""

    def linger_is_due(self, now_ns: int) -> bool:
        """Whether the timer is to end it: DRAINING, drained and five status message timeouts
        old; or revoked."""

    def done_is_due(self, now_ns: int) -> bool:
        """Whether LINGER is over: no subscribers left, or the liveness timeout has passed."""

    def accepts_subscribers(self) -> bool:
        """INIT, ACTIVE, or DRAINING and not drained."""

    def join_position(self) -> int:
        """Where a new subscriber starts: the lowest of rcv-pos and all subscriber positions."""

    def untethered_limit(self) -> int:
        """Position that an untethered subscriber must be past (wire-protocol 11)."""

    @property
    def rebuild_position(self) -> int:
        """All before it has been received: rcv-pos."""

    @property
    def hwm_position(self) -> int:
        """The farthest byte received: rcv-hwm."""

    @property
    def window_length(self) -> int:
        """Of the status message scheduled last."""

    def reject(self, reason: str) -> None:
        """Answer with error frames from now on, until it times out.

        Args:
            reason: for the publication's clients, ASCII; cut after 1023 bytes.
        """

    @property
    def is_rejected(self) -> bool: ...
    @property
    def response_session_id(self) -> int | None: ...
    @response_session_id.setter
    def response_session_id(self, session_id: int | None) -> None:
        """Announced with every timed status message; None stops it."""
