from collections.abc import Sequence
from types import TracebackType
from typing import Final, Self, TypeAlias

from typing_extensions import Buffer

Address: TypeAlias = tuple[str, int]

RECEIVE_BUFFER_LENGTH: Final[int]
BATCH_LIMIT: Final[int]

class DatagramPort:
    @property
    def local_address(self) -> Address: ...
    @property
    def closed(self) -> bool: ...
    def send_datagrams(
        self, datagrams: Sequence[Buffer], destination: Address | None = None, segment: int = 0
    ) -> int: ...
    def receive_datagrams(self, limit: int = 64) -> list[tuple[bytes, Address, int]]: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...

def normal_address(address: Address) -> Address: ...
def is_multicast(address: Address) -> bool: ...
