from collections.abc import Callable
from typing import Final

from typing_extensions import Buffer

COLUMNS: Final[dict[str, tuple[str, int]]]
"""Name of a scan's column to (memoryview format, bytes a value), in the order of the schema."""
FORMATS: Final[dict[str, tuple[str, int]]]
"""The same with the columns that only a merge has."""

class BatchColumns:
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

class ScanColumns(BatchColumns):
    def __init__(
        self,
        rows_max: int,
        payload_capacity: int,
        names: tuple[str, ...] | None = None,
        allocate: Callable[[int], Buffer] | None = None,
    ) -> None: ...
    def column(self, name: str) -> memoryview: ...
