from aerolog.transport.concurrent.clock import Clock
from aerolog.transport.driver.network.publication import NetworkPublication
from aerolog.transport.driver.network.send_endpoint import SendEndpoint
from aerolog.transport.driver.network.sender_endpoints import SenderEndpoints
from aerolog.transport.driver.network.sender_events import SenderEvent
from aerolog.transport.memory.counters import CountersReader
from aerolog.transport.network.port import Address

class Sender(SenderEndpoints):
    """The agent that sends: data, setups, heartbeats and retransmissions out, control frames in.

    The methods below are the conductor's. None blocks or fails for lack of room: what the
    sender's queue does not take is kept, in order, and handed over by `flush`. Objects are kept
    alive until the sender has given them back by an event.
    """

    def __init__(
        self,
        clock: Clock,
        counters: CountersReader,
        *,
        status_message_timeout_ns: int = ...,
        send_to_status_poll_ratio: int = 6,
        reresolution_check_interval_ns: int = ...,
        queue_length: int = 1024,
        role_name: str = "sender",
    ) -> None:
        """Args:
        clock: of the driver; wall-clock time of `channel-snd-ts-offset`.
        counters: holds the system counters under their fixed ids.
        status_message_timeout_ns: `aeron.rcv.status.message.timeout`; sockets are polled at least
            twice in it, whatever is sent.
        send_to_status_poll_ratio: `aeron.send.to.status.poll.ratio`.
        reresolution_check_interval_ns: `aeron.driver.reresolution.check.interval`, 0 for never.
        queue_length: commands and events that may wait, each.
        role_name: of the agent.
        """

    def add_endpoint(self, endpoint: SendEndpoint) -> None: ...
    def remove_endpoint(self, endpoint: SendEndpoint) -> None:
        """After its publications. Answered by `EndpointReleased`; then close the port."""

    def add_publication(self, publication: NetworkPublication) -> None: ...
    def remove_publication(self, publication: NetworkPublication) -> None:
        """Answered by `PublicationReleased`; until then the log is in use."""

    def add_destination(
        self, endpoint: SendEndpoint, registration_id: int, address: Address | None
    ) -> None:
        """A manual destination; None while its name is not resolved."""

    def remove_destination(self, endpoint: SendEndpoint, registration_id: int) -> None: ...
    def remove_destination_by_address(self, endpoint: SendEndpoint, address: Address) -> None: ...
    def change_destination(
        self, endpoint: SendEndpoint, registration_id: int | None, address: Address
    ) -> None:
        """A name was resolved to another address; None: the endpoint's own peer."""

    def flush(self) -> None:
        """Hand over what the queue did not take before; call it every control cycle."""

    def events(self) -> list[SenderEvent]:
        """What happened since the last call."""

    def has_waiting_events(self) -> bool: ...
    def on_cycle(self) -> int:
        """One native duty cycle at the clock's time, for tests; returns a work count."""
