from aerolog.transport.memory.counters import CountersReader
from aerolog.transport.network.port import Address

DYNAMIC: int
MANUAL: int
DESTINATION_TIMEOUT_NS: int

class SendDestinations:
    def __init__(
        self, mode: int, *, counters: CountersReader | None = None, counter_id: int = -1
    ) -> None: ...
    mode: int
    def __len__(self) -> int: ...
    def addresses(self) -> list[Address | None]: ...
