"""The recording events stream: which recordings start, grow and stop (spec archive-protocol 17)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from aerolog.archive.protocol import (
    RecordingProgress,
    RecordingStarted,
    RecordingStopped,
    decode,
)
from aerolog.archive.protocol.defaults import RECORDING_EVENTS_STREAM_ID
from aerolog.transport.client.steps.added_stream import added
from aerolog.transport.client.steps.awaited_caller import AwaitedCaller
from aerolog.transport.client.steps.caller import (
    AwaitedForm,
    Parts,
    WaitingCaller,
    WaitingForm,
    series,
)
from aerolog.transport.errors import MessageFormatError
from aerolog.transport.time_units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.transport.client import Aeron, Subscription
    from aerolog.transport.client.message import Message

RecordingEvent = RecordingStarted | RecordingProgress | RecordingStopped
EVENTS_CHANNEL = "aeron:ipc"
LIMIT = 64


class RecordingEventsBase:
    """A subscription to what an archive publishes about its recordings.

    Attributes:
        subscription: the subscription to the events, which anything that waits for messages takes.
    """

    subscription: Subscription

    def __init__(self, aeron: Aeron, on_error: Callable[[BaseException], object] | None) -> None:
        self._aeron = aeron
        self._clock = aeron.options.clock
        self._on_error = on_error

    def poll(self, limit: int = LIMIT) -> list[RecordingEvent]:
        """The events that have come, oldest first, out of at most ``limit`` messages."""
        self._turn()
        return self._decoded(self.subscription.poll_messages(limit))

    def poll_into(self, consumer: Callable[[RecordingEvent], object], limit: int = LIMIT) -> int:
        """Call ``consumer`` with each event that has come; returns their number."""
        events = self.poll(limit)
        for event in events:
            consumer(event)
        return len(events)

    @series
    def events(
        self, timeout: float | None = None, *, recording_id: int | None = None
    ) -> Parts[RecordingEvent]:
        """Events as they come, until the subscription is closed.

        Args:
            timeout: seconds without a wanted event after which the iteration ends.
            recording_id: only events of this recording are wanted.
        """
        last_ns = self._clock.now_ns()
        while not self.subscription.closed:
            messages = self.subscription.poll_messages(LIMIT)
            wanted = [
                event
                for event in self._decoded(messages)
                if recording_id in {None, event.recording_id}
            ]
            if wanted:
                yield wanted
                last_ns = self._clock.now_ns()
            elif timeout is not None and self._clock.now_ns() - last_ns >= timeout * NS_PER_S:
                return
            else:
                yield len(messages)

    def _decoded(self, messages: list[Message]) -> list[RecordingEvent]:
        events: list[RecordingEvent] = []
        for received in messages:
            try:
                event = decode(received.data)
            except MessageFormatError as error:
                if self._on_error is not None:
                    self._on_error(error)
                continue
            if isinstance(event, RecordingStarted | RecordingProgress | RecordingStopped):
                events.append(event)
        return events

    def _turn(self) -> None:
        if self._aeron.options.invoker:
            self._aeron.do_work()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} from {self.subscription!r}>"


class RecordingEvents(RecordingEventsBase, WaitingForm):
    """A subscription to what an archive publishes about its recordings.

    The archive publishes events only with ``aeron.archive.recording.events.enabled``. It may skip
    progress events when subscribers do not read fast enough. Messages that are no events are
    reported to ``on_error`` and skipped.

    Example:
        for event in RecordingEvents(aeron).events(timeout=1.0): ...
    """

    def __init__(
        self,
        aeron: Aeron,
        channel: str = EVENTS_CHANNEL,
        stream_id: int = RECORDING_EVENTS_STREAM_ID,
        *,
        on_error: Callable[[BaseException], object] | None = None,
        idle: Callable[[int], object] | None = None,
    ) -> None:
        super().__init__(aeron, on_error)
        self.caller = WaitingCaller(self._turn, idle)
        self.subscription = aeron.add_subscription(channel, stream_id)

    def close(self) -> None:
        """Stop listening."""
        self.subscription.close()


class AsyncRecordingEvents(RecordingEventsBase, AwaitedForm):
    """As `RecordingEvents`, for asyncio.

    Example:
        async with await AsyncRecordingEvents.connect(aeron) as events:
            async for event in events.events(timeout=1.0): ...
    """

    @classmethod
    async def connect(
        cls,
        aeron: Aeron,
        channel: str = EVENTS_CHANNEL,
        stream_id: int = RECORDING_EVENTS_STREAM_ID,
        *,
        on_error: Callable[[BaseException], object] | None = None,
    ) -> Self:
        """Subscribe; the arguments are those of `RecordingEvents`."""
        events = cls(aeron, on_error)
        events.caller = AwaitedCaller(events._turn)
        adding = aeron.add_subscription_async(channel, stream_id)
        events.subscription = await events.caller.carry_out(added(adding))
        return events

    async def close(self) -> None:
        """Stop listening."""
        self.subscription.close()
