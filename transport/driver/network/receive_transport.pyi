from aerolog.transport.network.port import Address, DatagramPort

MAX_TRANSPORTS: int

class ReceiveTransport:
    """A port through which an endpoint receives and answers, and what its channel says of it."""

    def __init__(
        self,
        index: int,
        port: DatagramPort,
        *,
        explicit_control: Address | None = None,
        control_group: Address | None = None,
    ) -> None:
        """The port stays the caller's, who closes it after the receiver has released it.

        Args:
            index: among its endpoint's transports, 0 to MAX_TRANSPORTS - 1; 0 for the only one.
            port: of `Network.open_receive_port`.
            explicit_control: the channel's `control`, unicast: elicited from once a second.
            control_group: of a multicast channel: where all answers go.

        Raises:
            ConfigurationError: an index out of range, or an address that is none.
        """

    @property
    def index(self) -> int: ...
    @property
    def port(self) -> DatagramPort: ...
    @property
    def explicit_control(self) -> Address | None:
        """As given at first."""

    @property
    def control_group(self) -> Address | None: ...

class TransportSet:
    """The transports of an endpoint, and who answers through them."""

    def __init__(
        self, receiver_id: int, *, group_tag: int | None = None, multi_destination: bool = False
    ) -> None: ...
    @property
    def receiver_id(self) -> int: ...
    @property
    def group_tag(self) -> int | None: ...
    @property
    def is_multi_destination(self) -> bool: ...
