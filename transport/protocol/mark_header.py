"""What the heads of all mark files have in common, whoever owns the folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, Protocol

if TYPE_CHECKING:
    from aerolog.transport.protocol.sbe import MessageLayout

MARK_HEADER_LENGTH: Final = 8192
ERROR_BUFFER_LENGTH: Final = 1024 * 1024


class MarkHeader(Protocol):
    """The fields that every head has; timestamps are epoch milliseconds, lengths bytes."""

    LAYOUT: ClassVar[MessageLayout]
    version: int
    activity_timestamp: int
    start_timestamp: int
    pid: int
    header_length: int
    error_buffer_length: int

    def encode(self, version: int | None = None) -> bytes:
        """Encode the header, from its SBE message header to its last string."""
