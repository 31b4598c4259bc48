from aerolog.transport.network.port import Address, DatagramPort

MAX_TRANSPORTS: int

class ReceiveTransport:
    def __init__(
        self,
        index: int,
        port: DatagramPort,
        *,
        explicit_control: Address | None = None,
        control_group: Address | None = None,
    ) -> None: ...
    @property
    def index(self) -> int: ...
    @property
    def port(self) -> DatagramPort: ...
    @property
    def explicit_control(self) -> Address | None: ...
    @property
    def control_group(self) -> Address | None: ...

class TransportSet:
    def __init__(
        self, receiver_id: int, *, group_tag: int | None = None, multi_destination: bool = False
    ) -> None: ...
    @property
    def receiver_id(self) -> int: ...
    @property
    def group_tag(self) -> int | None: ...
    @property
    def is_multi_destination(self) -> bool: ...
