from aerolog.transport.concurrent.clock import Clock
from aerolog.transport.driver.network.image import NetworkImage
from aerolog.transport.driver.network.receive_endpoint import ReceiveEndpoint
from aerolog.transport.driver.network.receive_transport import ReceiveTransport
from aerolog.transport.driver.network.receiver_events import ReceiverEvent
from aerolog.transport.driver.network.reception import Reception
from aerolog.transport.memory.counters import CountersReader
from aerolog.transport.network.port import Address

class Receiver(Reception):
    """The agent that receives: datagrams into images, status messages and NAKs out of them.

    The methods below are the conductor's. None blocks or fails for lack of room: what the
    receiver's queue does not take is kept, in order, and handed over by `flush`. Objects are kept
    alive until the receiver has given them back by an event; what is asked of one that has been
    given back does nothing.
    """

    def __init__(
        self,
        clock: Clock,
        counters: CountersReader,
        *,
        reresolution_check_interval_ns: int = ...,
        queue_length: int = 1024,
        role_name: str = "receiver",
    ) -> None:
        """Args:
        clock: of the driver; wall-clock time of `channel-rcv-ts-offset`.
        counters: holds the system counters under their fixed ids.
        reresolution_check_interval_ns: `aeron.driver.reresolution.check.interval`, 0 for never.
        queue_length: commands and events that may wait, each.
        role_name: of the agent.
        """

    def add_endpoint(self, endpoint: ReceiveEndpoint) -> None:
        """Receive from its transports; those with explicit control elicit at once."""

    def remove_endpoint(self, endpoint: ReceiveEndpoint) -> None:
        """Its images are deactivated. Answered by `EndpointReleased`; then close the ports."""

    def add_subscription(
        self, endpoint: ReceiveEndpoint, stream_id: int, session_id: int | None = None
    ) -> None:
        """Want all sessions of a stream, or one; sessions are not counted: once each.

        A single session is elicited at once where transport 0 has explicit control.
        """

    def remove_subscription(
        self, endpoint: ReceiveEndpoint, stream_id: int, session_id: int | None = None
    ) -> None:
        """Want them no more; images that nothing else wants start to drain."""

    def add_image(self, endpoint: ReceiveEndpoint, image: NetworkImage) -> None:
        """Answer a `CreateImage`: the image becomes ACTIVE in the receiver's next cycle."""

    def refuse_image(self, endpoint: ReceiveEndpoint, session_id: int, stream_id: int) -> None:
        """Answer a `CreateImage` without an image; a SETUP after a second asks again."""

    def remove_image(self, image: NetworkImage) -> None:
        """Let go of an image that lingers; once each. Answered by `ImageReleased`."""

    def remove_cool_down(self, endpoint: ReceiveEndpoint, session_id: int, stream_id: int) -> None:
        """Let a session come back (rejoin)."""

    def add_destination(self, endpoint: ReceiveEndpoint, transport: ReceiveTransport) -> None:
        """Receive through one more transport of a multi-destination endpoint."""

    def remove_destination(self, endpoint: ReceiveEndpoint, transport: ReceiveTransport) -> None:
        """Receive through it no more; images forget it. Answered by `TransportReleased`."""

    def request_setup(self, endpoint: ReceiveEndpoint, stream_id: int, session_id: int) -> None:
        """Send an eliciting status message to transport 0's explicit control, if it has one."""

    def change_address(
        self, endpoint: ReceiveEndpoint, transport: ReceiveTransport, address: Address
    ) -> None:
        """The explicit control has moved; images keep what they have."""

    def flush(self) -> None:
        """Hand over what the queue did not take before; call it every control cycle."""

    def events(self) -> list[ReceiverEvent]:
        """What happened since the last call, of many setups only some.

        Setups of which the conductor has had more than 50 ms of work come one at a time, and not
        before the others had as much of its time: a flood of them takes half of it at most.
        """

    def has_waiting_events(self) -> bool: ...
    def on_cycle(self) -> int:
        """One native duty cycle at the clock's time, for tests; returns a work count."""
