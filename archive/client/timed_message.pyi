from array import array
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from aerolog.archive.files.scan_columns import ScanColumns

class TimedMessage:
    """A message of a recording with its time; values only, so it may be kept and pickled.

    Attributes:
        time_ns: nanoseconds since the Unix epoch, of its first frame.
        recording_id: that it is of.
        position: in the recording's stream, after the message.
        payload: a copy.
        session_id: of the recording.
        stream_id: of the recording.
        term_id: of its first frame, as all fields below.
        term_offset: of its first frame.
        flags: 0xC0 for a whole message.
        reserved_value: as the publisher set it.
    """

    def __init__(
        self,
        time_ns: int,
        recording_id: int,
        position: int,
        payload: bytes,
        *,
        session_id: int = 0,
        stream_id: int = 0,
        term_id: int = 0,
        term_offset: int = 0,
        flags: int = 0xC0,
        reserved_value: int = 0,
    ) -> None: ...
    @property
    def time_ns(self) -> int: ...
    @property
    def time(self) -> datetime:
        """The same in UTC, to the microsecond."""

    @property
    def recording_id(self) -> int: ...
    @property
    def position(self) -> int: ...
    @property
    def payload(self) -> bytes: ...
    @property
    def data(self) -> bytes:
        """The payload, under the name that transport messages have for it."""

    @property
    def session_id(self) -> int: ...
    @property
    def stream_id(self) -> int: ...
    @property
    def term_id(self) -> int: ...
    @property
    def term_offset(self) -> int: ...
    @property
    def flags(self) -> int: ...
    @property
    def reserved_value(self) -> int: ...
    def __bytes__(self) -> bytes: ...
    def __len__(self) -> int: ...

def first_positions(rows: list[Any], initial_term_id: int, term_length: int) -> array[int]:
    """Where the first frame of each message begins, as 64-bit integers.

    Args:
        rows: messages of a subscription or of a folder, with ``term_id`` and ``term_offset``.
        initial_term_id: of the recording.
        term_length: of the recording, a power of two.
    """

def timed(
    rows: list[Any],
    times_ns: Iterable[int],
    recording_id: int,
    session_id: int | None = None,
    stream_id: int | None = None,
) -> list[TimedMessage]:
    """Messages with their times.

    Args:
        rows: messages of a subscription (``data``) or of a folder (``payload``).
        times_ns: of each of them, at least as many: 64-bit integers in a buffer.
        recording_id: of all.
        session_id: of all; their own when None.
        stream_id: of all; their own when None.
    """

def column_positions(columns: ScanColumns, initial_term_id: int, term_length: int) -> array[int]:
    """As ``first_positions``, of a folder's batch."""

def timed_columns(
    columns: ScanColumns, times_ns: Iterable[int], recording_id: int, first: int, limit: int
) -> list[TimedMessage]:
    """As ``timed``, of up to ``limit`` rows of a folder's batch, which has all columns."""
