from typing import Final, final

from aerolog.archive.files.checksum import Checksum
from aerolog.transport.memory.data_file import DataFile

CHECK_END: Final[int]
CHECK_LENGTH: Final[int]
CHECK_TYPE: Final[int]
CHECK_VERSION: Final[int]
CHECK_TERM_OFFSET: Final[int]
CHECK_TERM_ID: Final[int]
CHECK_STREAM_ID: Final[int]
CHECK_SESSION_ID: Final[int]
CHECK_PADDING: Final[int]
CHECK_CHECKSUM: Final[int]
CHECK_NO_FRAME: Final[int]
CHECK_CUT_OFF: Final[int]
CHECK_IO_ERROR: Final[int]
CHECK_GOES_ON: Final[int]
PIECE_LENGTH: Final[int]
PIECE_LENGTH_MIN: Final[int]

@final
class SegmentCheck:
    """Checks the frames of segments of one recording, a piece at a time, without the GIL.

    One object for the segments of a recording in their order: what is learnt of its checksum and
    its sessions stays known.

    Args:
        term_length: of the recording, a power of two.
        initial_term_id: of the recording.
        stream_id: of the recording.
        session_id: of the recording's last session.
        mtu_length: bytes of a DATA frame at most, of the recording.
        checksum: that all DATA frames have; None finds out whether they have one.
        piece_length: bytes of a piece at most, 128 KiB or more.

    Attributes:
        status: of the check so far, one of the constants.
        offset: in the file, behind the last frame or piece of padding that was checked.
        bad_offset: of the frame in question.
        found: what stands there, or the number of an I/O error.
        expected: what should stand there.
        frames: that were checked.
    """

    status: int
    offset: int
    bad_offset: int
    found: int
    expected: int
    frames: int

    def __init__(
        self,
        *,
        term_length: int,
        initial_term_id: int,
        stream_id: int,
        session_id: int,
        mtu_length: int = ...,
        checksum: Checksum | None = None,
        piece_length: int = ...,
    ) -> None: ...
    def begin(
        self,
        file: DataFile,
        base_position: int,
        start: int,
        limit: int,
        *,
        is_last: bool = False,
    ) -> None:
        """Look at this segment from now on.

        Args:
            file: open until the check ends.
            base_position: of the segment.
            start: offset of its first frame.
            limit: offset behind its last frame: there are frames up to there.
            is_last: no frame of the recording follows.

        Raises:
            ValueError: offsets that no segment has.
        """

    def step(self) -> int:
        """Check the next piece; CHECK_GOES_ON until the limit is reached or damage is met."""

    def passed(self) -> memoryview:
        """The bytes that the last step has checked; valid until the next one."""
