from aerolog.transport.memory.counters import CountersReader
from aerolog.transport.network.port import Address

DYNAMIC: int
MANUAL: int
DESTINATION_TIMEOUT_NS: int

class SendDestinations:
    """Where a multi-destination endpoint sends to; changed by the sender alone (see Sender)."""

    def __init__(
        self, mode: int, *, counters: CountersReader | None = None, counter_id: int = -1
    ) -> None:
        """Args:
        mode: DYNAMIC or MANUAL.
        counters: holds the counter.
        counter_id: `mdc-num-dest`, -1 for none.
        """
    mode: int
    def __len__(self) -> int: ...
    def addresses(self) -> list[Address | None]:
        """For tests; the sender must not be turning."""
