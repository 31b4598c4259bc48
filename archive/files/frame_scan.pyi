from collections.abc import Callable
from typing import Final

from typing_extensions import Buffer

SCAN_FULL: Final[int]
SCAN_END: Final[int]
SCAN_NO_DATA: Final[int]
SCAN_TOO_LONG: Final[int]
SCAN_DAMAGED: Final[int]

COLUMNS: Final[dict[str, tuple[str, int]]]
"""Column name to (memoryview format, bytes a value), in the order of the schema."""

class ScanColumns:
    """Memory for the rows of one batch, column by column.

    Attributes:
        rows: filled so far.
        payload_length: bytes filled in the payload column.
        buffers: the memory of each wanted column, as ``allocate`` gave it.
    """

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

class SegmentScanner:
    """Walks the frames of one segment from ``start_offset`` to ``end_offset``.

    Attributes:
        offset: of the next frame to look at.
        status: how the last call ended, one of the SCAN constants.
        message_length: bytes that the payload column needs after SCAN_TOO_LONG.
        frames: DATA frames passed.
        padding_frames: padding frames passed.
        skipped_fragments: fragments of messages whose beginning or end is not in the range.
        checksum_mismatches: frames in checksummed data whose checksum does not match.
        bad_offset: of the value that stopped the walk with SCAN_DAMAGED.
        bad_value: that value.
        problem: what is wrong with it, "" when nothing is.
    """

    def __init__(
        self,
        segment: Buffer,
        *,
        base_position: int,
        start_offset: int,
        end_offset: int,
        initial_term_id: int,
        term_length: int,
        session_id: int,
        stream_id: int,
        assemble: bool = True,
    ) -> None: ...
    @property
    def offset(self) -> int: ...
    @property
    def status(self) -> int: ...
    @property
    def message_length(self) -> int: ...
    @property
    def frames(self) -> int: ...
    @property
    def padding_frames(self) -> int: ...
    @property
    def skipped_fragments(self) -> int: ...
    @property
    def checksum_mismatches(self) -> int: ...
    @property
    def bad_offset(self) -> int: ...
    @property
    def bad_value(self) -> int: ...
    @property
    def problem(self) -> str: ...
    def scan(self, columns: ScanColumns) -> int: ...
