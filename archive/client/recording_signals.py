"""The recording signals of a session, queued until taken (spec archive-protocol 16)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from aerolog.archive.protocol import RecordingSignal
from aerolog.transport.resource import Resource

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.archive.protocol import RecordingSignalEvent

    SignalConsumer = Callable[[RecordingSignalEvent], object]

SIGNAL_LIMIT: Final = 65_536  # signals kept until taken; beyond that the oldest are dropped
SignalKinds = RecordingSignal | Iterable[RecordingSignal]


@dataclass(frozen=True, slots=True)
class SignalFilter:
    """Which signals are wanted; an attribute that is None matches every signal.

    Attributes:
        recording_id: the recording that a signal has to be of.
        correlation_id: the request that a signal has to come from; for a replication its id.
        kinds: the kinds of signals wanted, such as START and STOP.
    """

    recording_id: int | None = None
    correlation_id: int | None = None
    kinds: frozenset[RecordingSignal] | None = None

    @classmethod
    def of(
        cls,
        recording_id: int | None = None,
        correlation_id: int | None = None,
        kinds: SignalKinds | None = None,
    ) -> Self:
        """Make a filter of one kind, of several, or of all."""
        if kinds is None:
            return cls(recording_id, correlation_id)
        several = {kinds} if isinstance(kinds, RecordingSignal) else kinds
        return cls(recording_id, correlation_id, frozenset(several))

    def matches(self, event: RecordingSignalEvent) -> bool:
        """Whether a signal is wanted."""
        return (
            self.recording_id in {None, event.recording_id}
            and self.correlation_id in {None, event.correlation_id}
            and (self.kinds is None or event.signal in self.kinds)
        )


EVERY_SIGNAL: Final = SignalFilter()


class SignalHandler(Resource):
    """A handler of signals that was added to a client; closing it takes it away.

    Attributes:
        consumer: called with each signal that is wanted; it may not call the client.
        wanted: the signals that it is called with.
    """

    def __init__(
        self, signals: SignalQueue, consumer: SignalConsumer, wanted: SignalFilter
    ) -> None:
        self._signals = signals
        self.consumer = consumer
        self.wanted = wanted

    def close(self) -> None:
        """Take the handler away; idempotent."""
        self._signals.remove(self)

    def __repr__(self) -> str:
        return f"<SignalHandler of {self.consumer!r}>"


class SignalQueue:
    """Signals that came and were not taken yet, oldest first, and the handlers of new ones.

    It outlives a session, so that reconnecting loses no signal and no handler.

    Attributes:
        received: how many have ever come.
    """

    def __init__(self) -> None:
        self.received = 0
        self._waiting: deque[RecordingSignalEvent] = deque(maxlen=SIGNAL_LIMIT)
        self._handlers: tuple[SignalHandler, ...] = ()

    def add_handler(self, consumer: SignalConsumer, wanted: SignalFilter) -> SignalHandler:
        """Call ``consumer`` with each wanted signal that comes from now on."""
        handler = SignalHandler(self, consumer, wanted)
        self._handlers += (handler,)
        return handler

    def remove(self, handler: SignalHandler) -> None:
        """Take a handler away, if it is there."""
        self._handlers = tuple(one for one in self._handlers if one is not handler)

    def handlers_of(self, event: RecordingSignalEvent) -> list[SignalConsumer]:
        """The consumers that want a signal."""
        return [one.consumer for one in self._handlers if one.wanted.matches(event)]

    def put(self, event: RecordingSignalEvent) -> None:
        """Add a signal that has come; the oldest is dropped when the queue is full."""
        self.received += 1
        self._waiting.append(event)

    def take(self, wanted: SignalFilter = EVERY_SIGNAL) -> RecordingSignalEvent | None:
        """Take the oldest wanted signal, None without one; the others stay in the queue."""
        for index, event in enumerate(self._waiting):
            if wanted.matches(event):
                del self._waiting[index]
                return event
        return None

    def take_all(self, wanted: SignalFilter = EVERY_SIGNAL) -> list[RecordingSignalEvent]:
        """Take all wanted signals, oldest first."""
        taken = [event for event in self._waiting if wanted.matches(event)]
        if taken:
            left = [event for event in self._waiting if not wanted.matches(event)]
            self._waiting.clear()
            self._waiting.extend(left)
        return taken
