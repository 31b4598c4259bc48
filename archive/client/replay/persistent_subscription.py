"""Replay, then live: one stream without gap or duplicate (spec client 24).

Its options and events are in `persistent_options`, its steps in `subscription_engine`, and the
switch from replay to live stream in `live_join`.
"""

from __future__ import annotations

import warnings
from collections import deque
from typing import TYPE_CHECKING, Any, Final, TypeVar

from aerolog.archive.client.options import REPLAY_STREAM_ID
from aerolog.archive.client.replay.join_counters import JoinCounters
from aerolog.archive.client.replay.joined_stream import JoinedStream
from aerolog.archive.client.replay.message_source import AsyncMessages
from aerolog.archive.client.replay.persistent_options import (
    FROM_LIVE,
    JoinEvent,
    JoinTrouble,
    LiveJoined,
    LiveLeft,
    PersistentSubscriptionListener,
    PersistentSubscriptionOptions,
    PersistentSubscriptionState,
)
from aerolog.archive.client.replay.subscription_engine import SubscriptionEngine
from aerolog.transport.client import Aeron
from aerolog.transport.errors import (
    AerologError,
    ArchiveError,
    ArchiveErrorCode,
    JoinErrorReason,
    PersistentSubscriptionError,
    ResourceClosedError,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.transport.client import Image
    from aerolog.transport.uri import ChannelUri

T = TypeVar("T")
State = PersistentSubscriptionState
_EVENT_LIMIT: Final = 4096  # events kept until taken; beyond that the oldest are dropped
_CLIENT_NAME: Final = "PersistentSubscription"


class PersistentSubscription(JoinedStream[SubscriptionEngine]):
    """Every message of a recorded stream once and in order: recorded ones first, then live ones.

    When the live stream drops, the subscription goes on from the recording and joins the live
    stream again. When the archive goes away while it is needed, it reconnects. It has a session of
    its own with the archive and takes UDP, IPC and spy channels. Only the iterators wait; each
    poll does what can be done now. One thread at a time may use it.

    Example:
        with PersistentSubscription(
            aeron, recording_id=3, start_position=FROM_START,
            live_channel="aeron:udp?endpoint=239.1.1.1:4000", live_stream_id=10,
            replay_channel="aeron:udp?endpoint=localhost:0",
            request_channel="aeron:udp?endpoint=archive:8010",
            response_channel="aeron:udp?endpoint=localhost:0",
        ) as stream:
            for message in stream: ...

    Attributes:
        aeron: the transport client in use.
        options: the options, checked.
    """

    def __init__(
        self,
        aeron: Aeron | None = None,
        *,
        recording_id: int,
        live_channel: str | ChannelUri,
        live_stream_id: int,
        start_position: int = FROM_LIVE,
        replay_channel: str | ChannelUri | None = None,
        replay_stream_id: int = REPLAY_STREAM_ID,
        listener: PersistentSubscriptionListener | None = None,
        counters: bool = True,
        aeron_dir: str | None = None,
        **archive_options: Any,
    ) -> None:
        """Begin; the first polls connect.

        Args:
            aeron: the transport client to use. Without one the subscription makes its own, which
                it closes at its end.
            recording_id: the recording to replay.
            live_channel: where the stream itself is subscribed to (``aeron:ipc``, a UDP channel,
                ``aeron-spy:...``).
            live_stream_id: the stream id of the live stream and of the recording.
            start_position: a position at which a message begins, FROM_START or FROM_LIVE.
            replay_channel: the channel that the archive replays to; None takes the medium and host
                of its responses, with a port of its own. With ``control-mode=response`` the replay
                comes over a response channel.
            replay_stream_id: the stream id of the replays.
            listener: is told about joins, drops and errors; see also `take_events`.
            counters: whether to show the four counters of the reference (types 114 to 117).
            aeron_dir: the driver's directory, for a transport client of its own.
            archive_options: the options of `AeronArchive`: request_channel, response_channel,
                message_timeout (seconds), credentials, ...

        Raises:
            ConfigurationError: arguments that cannot be used.
        """
        self.options = PersistentSubscriptionOptions.of(
            recording_id=recording_id,
            live_channel=live_channel,
            live_stream_id=live_stream_id,
            start_position=start_position,
            replay_channel=replay_channel,
            replay_stream_id=replay_stream_id,
            **archive_options,
        )
        self._owns_aeron = aeron is None
        self.aeron = Aeron(aeron_dir, name=_CLIENT_NAME) if aeron is None else aeron
        self._conductor = self.aeron.conductor
        self._listener = PersistentSubscriptionListener() if listener is None else listener
        self._events: deque[JoinEvent] = deque(maxlen=_EVENT_LIMIT)
        self._untold: deque[JoinEvent] = deque()
        try:
            self._counters = JoinCounters(self.aeron if counters else None, self.options)
        except BaseException:
            if self._owns_aeron:
                self.aeron.close()
            raise
        super().__init__(SubscriptionEngine(self.aeron, self.options, self._counters, self._note))

    # -- what it is ------------------------------------------------------------------------------

    @property
    def state(self) -> PersistentSubscriptionState:
        """The state of the subscription."""
        return self._engine.state

    @property
    def is_live(self) -> bool:
        """Whether messages come from the live stream."""
        return self._engine.state is State.LIVE

    @property
    def is_replaying(self) -> bool:
        """Whether messages come from the recording."""
        return self._engine.state in {State.REPLAY, State.ATTEMPT_SWITCH}

    @property
    def position(self) -> int | None:
        """Where the next message begins, None before that is known.

        Everything before it has been delivered. A later subscription can start at this position.
        """
        return self._engine.position

    def take_events(self) -> list[JoinEvent]:
        """What happened since the last call, oldest first."""
        taken = list(self._events)
        self._events.clear()
        return taken

    def _note(self, event: JoinEvent) -> None:
        self._events.append(event)
        self._untold.append(event)

    def _tell(self) -> None:
        """Tell the listener what has happened; what it raises leaves the poll."""
        while self._untold:
            event = self._untold.popleft()
            if isinstance(event, LiveJoined):
                self._listener.on_live_joined()
            elif isinstance(event, LiveLeft):
                self._listener.on_live_left()
            elif isinstance(event, JoinTrouble):
                self._listener.on_error(event.error)

    # -- polling ---------------------------------------------------------------------------------

    def deliver(self, take: Callable[[Image, int | None], T], nothing: T) -> T:
        """Do a turn and take messages from the image that delivers."""
        self.do_work()
        engine = self._engine
        source, switch = engine.source, engine.switch
        if source is None:
            return nothing
        if switch is None:
            return take(source, None)
        taken = switch.take(take, nothing)
        if engine.join_when_met():
            self._tell()
        return taken

    def do_work(self) -> int:
        """One turn without taking messages; how much was done.

        Raises:
            PersistentSubscriptionError: it has failed for good.
        """
        is_active = self._failure is None and not self._closed
        work = self._engine.link.turn() if is_active else 0  # its errors leave the poll
        work += super().do_work()
        if self._untold:
            self._tell()
        return work

    def _turn(self) -> int:
        try:
            if self._conductor.closed:
                reason = self._conductor.close_reason
                raise ResourceClosedError("the Aeron client is closed") from reason
            return next(self._steps)
        except StopIteration:
            raise PersistentSubscriptionError(
                JoinErrorReason.GENERIC, "a poll before this one was interrupted"
            ) from None
        except PersistentSubscriptionError:
            raise
        except AerologError as error:
            raise PersistentSubscriptionError(_reason_of(error), str(error)) from error

    def _fail(self, failure: AerologError) -> None:
        self._failure = failure
        self._engine.close()
        super()._fail(failure)
        self._note(JoinTrouble(failure, is_fatal=True))
        self._tell()

    @property
    def transport(self) -> Aeron:
        """The transport client in use."""
        return self.aeron

    @property
    def is_over(self) -> bool:
        """Whether the subscription was closed, which is its only end."""
        return self._closed

    # -- the end ---------------------------------------------------------------------------------

    def close(self) -> None:
        """End streams and session, and the client when it is an own one; idempotent."""
        if self._closed:
            return
        self._closed = True
        self._steps.close()
        if not self.aeron.closed and not self.aeron.conductor.forked:
            self._engine.close()
            self._counters.close()
        if self._owns_aeron:
            self.aeron.close()

    def __del__(self) -> None:
        if "_steps" in self.__dict__ and not self._closed:
            warnings.warn(f"unclosed {self!r}", ResourceWarning, source=self, stacklevel=2)
            self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError(
            "PersistentSubscription cannot be pickled: keep its position and begin there in the "
            "other process"
        )

    def __repr__(self) -> str:
        state = "closed" if self._closed else self.state.name
        return (
            f"<PersistentSubscription recording {self.options.recording_id} live "
            f"{self.options.live_channel} stream {self.options.live_stream_id} {state} "
            f"position {self.position}>"
        )


def _reason_of(error: AerologError) -> JoinErrorReason:
    if isinstance(error, ArchiveError) and error.code is ArchiveErrorCode.UNKNOWN_RECORDING:
        return JoinErrorReason.RECORDING_NOT_FOUND
    return JoinErrorReason.GENERIC


class AsyncPersistentSubscription(AsyncMessages[PersistentSubscription]):
    """The same for asyncio: ``async with``, ``async for``; arguments as PersistentSubscription.

    Attributes:
        subscription: the subscription itself, whose polls and properties do not wait.
    """

    def __init__(self, aeron: Aeron | None = None, **arguments: Any) -> None:
        self.subscription = PersistentSubscription(aeron, **arguments)
        super().__init__(self.subscription)

    def __repr__(self) -> str:
        return f"<Async{repr(self.subscription)[1:]}"
