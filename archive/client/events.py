"""The recording events stream: which recordings start, grow and stop (spec archive-protocol 17)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from aerolog.archive.client.options import RECORDING_EVENTS_STREAM_ID
from aerolog.archive.protocol import (
    RecordingProgress,
    RecordingStarted,
    RecordingStopped,
    decode,
)
from aerolog.transport.errors import MessageFormatError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

    from aerolog.transport.client import Aeron

RecordingEvent = RecordingStarted | RecordingProgress | RecordingStopped


class RecordingEvents:
    """A subscription to what an archive publishes about its recordings.

    The archive publishes only when it is told to (``aeron.archive.recording.events.enabled``), to
    whoever listens; progress may be skipped when nobody reads fast enough.

    Example:
        for event in RecordingEvents(aeron).events(timeout=1.0): ...
    """

    def __init__(
        self,
        aeron: Aeron,
        channel: str = "aeron:ipc",
        stream_id: int = RECORDING_EVENTS_STREAM_ID,
        *,
        on_error: Callable[[BaseException], object] | None = None,
    ) -> None:
        self.subscription = aeron.add_subscription(channel, stream_id)
        self._on_error = on_error

    def poll(self, limit: int = 64) -> list[RecordingEvent]:
        """The events that have come, oldest first."""
        decoded = (self._decode(one.data) for one in self.subscription.poll_messages(limit))
        return [event for event in decoded if event is not None]

    def events(self, timeout: float | None = None) -> Iterator[RecordingEvent]:
        """Events as they come, until there is none for ``timeout`` seconds."""
        for message in self.subscription.messages(timeout):
            event = self._decode(message.data)
            if event is not None:
                yield event

    def _decode(self, data: bytes) -> RecordingEvent | None:
        try:
            message = decode(data)
        except MessageFormatError as error:
            if self._on_error is not None:
                self._on_error(error)
            return None
        if isinstance(message, RecordingStarted | RecordingProgress | RecordingStopped):
            return message
        return None

    def close(self) -> None:
        """Stop listening."""
        self.subscription.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
