from typing import Final

from aerolog.archive.client.timed_message import TimedMessage

COLUMNS: Final[dict[str, tuple[str, int]]]

class MergedBatch:
    """Messages of a merge in columns, in their order.

    Args:
        rows_max: rows that there is room for.
        payload_capacity: bytes that there is room for in the payload column.

    The columns, each a number a row but for the last two: ``recording_id``, ``source`` (its place
    among the recordings), ``time_ns`` (epoch nanoseconds), ``position`` (after the message, in the
    stream of its recording), ``session_id`` and ``stream_id`` (of the recording), ``term_id``,
    ``term_offset``, ``flags``, ``reserved_value`` (of the first frame), ``payload_offset`` (a row
    more than the others: message i is payload[offset[i]:offset[i + 1]]), ``payload`` (bytes).
    """

    def __init__(self, rows_max: int, payload_capacity: int) -> None: ...
    @property
    def rows(self) -> int: ...
    @property
    def rows_max(self) -> int: ...
    @property
    def payload_length(self) -> int: ...
    @property
    def payload_capacity(self) -> int: ...
    def __len__(self) -> int: ...
    def clear(self) -> None:
        """Empty it, to be filled again: views of its columns show what comes then."""

    def column(self, name: str) -> memoryview:
        """The filled part of a column, without a copy: typed, read-only.

        Raises:
            ValueError: there is no such column.
        """

    def messages(self) -> list[TimedMessage]:
        """The rows as messages of their own."""
