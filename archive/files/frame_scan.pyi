from collections.abc import Iterable
from typing import Final

from typing_extensions import Buffer

from aerolog.archive.files.scan_columns import ScanColumns
from aerolog.archive.files.segment_window import SegmentWindow

SCAN_FULL: Final[int]
SCAN_END: Final[int]
SCAN_NO_DATA: Final[int]
SCAN_TOO_LONG: Final[int]
SCAN_DAMAGED: Final[int]
SCAN_IO_ERROR: Final[int]

class SegmentScanner:
    """Walks the frames of one segment from ``start_offset`` to ``end_offset``.

    Args:
        segment: a window on its file, or all its bytes.
        base_position: of the segment in the stream.
        start_offset: of a frame.
        end_offset: where the range ends; a frame that ends behind it is not looked at.
        initial_term_id: of the recording.
        term_length: of the recording, bytes.
        session_id: of the recording.
        stream_id: of the recording.
        assemble: rows are messages; False: every fragment is a row.
        after_position: rows whose position is not behind it are walked past.
        session_ids: rows of other sessions are walked past; None for all.

    Attributes:
        offset: of the next frame to look at.
        status: how the last call ended, one of the SCAN constants.
        message_length: bytes that the payload column needs after SCAN_TOO_LONG.
        frames: DATA frames passed.
        padding_frames: padding frames passed.
        skipped_fragments: fragments of messages whose beginning or end is not in the range.
        checksum_mismatches: frames in checksummed data whose checksum does not match.
        bad_offset: of the value that stopped the walk with SCAN_DAMAGED.
        bad_value: that value; with SCAN_IO_ERROR the system's error number.
        problem: what is wrong with it, "" when nothing is.
    """

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
