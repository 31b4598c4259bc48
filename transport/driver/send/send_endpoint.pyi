from aerolog.transport.memory.counters import CountersReader
from aerolog.transport.network.port import Address, DatagramPort

SHARED_PERIOD_NS: int
SHARED_JUDGED_NS: int
SHARED_START: int
SHARED_LEAST: int
SHARED_MOST: int
RESEND_FLOOR: int

class SharedWindow:
    @property
    def in_flight(self) -> int: ...
    @property
    def limit(self) -> int: ...
    @property
    def longest(self) -> int: ...
    def on_sent(self, length: int) -> None: ...
    def on_consumed(self, length: int, window: int) -> None: ...
    def on_forgotten(self, length: int) -> None: ...
    def room_at(self, now_ns: int) -> int: ...
    def grant_at(self, length: int, longest: int, now_ns: int) -> bool: ...

DYNAMIC: int
MANUAL: int

class SendDestinations:
    def __init__(
        self, mode: int, *, counters: CountersReader | None = None, counter_id: int = -1
    ) -> None: ...
    mode: int
    def __len__(self) -> int: ...
    def addresses(self) -> list[Address | None]: ...

class SendEndpoint:
    def __init__(
        self,
        port: DatagramPort,
        *,
        destinations: SendDestinations | None = None,
        remote: Address | None = None,
        is_connected: bool = True,
        is_multicast: bool = False,
        is_response: bool = False,
        needs_resolution: bool = False,
    ) -> None: ...
    is_multicast: bool
    is_response: bool
    needs_resolution: bool
    @property
    def port(self) -> DatagramPort: ...
    @property
    def destinations(self) -> SendDestinations | None: ...
    @property
    def shared(self) -> SharedWindow: ...
    @property
    def is_group(self) -> bool: ...
    @property
    def remote(self) -> Address | None: ...
