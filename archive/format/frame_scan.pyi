from collections.abc import Iterable
from typing import Final

from typing_extensions import Buffer

from aerolog.archive.format.scan_columns import ScanColumns
from aerolog.archive.format.segment_window import SegmentWindow

SCAN_FULL: Final[int]
SCAN_END: Final[int]
SCAN_NO_DATA: Final[int]
SCAN_TOO_LONG: Final[int]
SCAN_DAMAGED: Final[int]
SCAN_IO_ERROR: Final[int]

class SegmentScanner:
    def __init__(
        self,
        segment: Buffer | SegmentWindow,
        *,
        base_position: int,
        start_offset: int,
        end_offset: int,
        initial_term_id: int,
        term_length: int,
        session_id: int,
        stream_id: int,
        assemble: bool = True,
        after_position: int = -1,
        session_ids: Iterable[int] | None = None,
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
