from collections.abc import Callable
from typing import Final

from typing_extensions import Buffer

COLUMNS: Final[dict[str, tuple[str, int]]]
"""Column name to (memoryview format, bytes a value), in the order of the schema."""

class ScanColumns:
    def __init__(
        self,
        rows_max: int,
        payload_capacity: int,
        names: tuple[str, ...] | None = None,
        allocate: Callable[[int], Buffer] | None = None,
    ) -> None: ...
    @property
    def rows(self) -> int: ...
    @property
    def rows_max(self) -> int: ...
    @property
    def payload_length(self) -> int: ...
    @property
    def payload_capacity(self) -> int: ...
    @property
    def buffers(self) -> dict[str, Buffer]: ...
    def column(self, name: str) -> memoryview: ...
