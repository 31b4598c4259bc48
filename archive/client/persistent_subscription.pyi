"""Replay, then live: one stream without gap or duplicate (spec client 24, archive-protocol 21.7).

The signatures of the module that follows under this name.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from types import TracebackType
from typing import Any, Final, Protocol, Self, TypeAlias

from aerolog.transport.client import Action, Aeron, ArrowBatch, Header, Message
from aerolog.transport.errors import PersistentSubscriptionError
from aerolog.transport.uri import ChannelUri

FROM_START: Final = -1
FROM_LIVE: Final = -2

class PersistentSubscriptionState(IntEnum):
    """Where it stands; numbers as the reference's counter 114 has them."""

    AWAIT_ARCHIVE_CONNECTION = 0
    SEND_LIST_RECORDING_REQUEST = 1
    AWAIT_LIST_RECORDING_RESPONSE = 2
    SEND_REPLAY_REQUEST = 3
    AWAIT_REPLAY_RESPONSE = 4
    ADD_REPLAY_SUBSCRIPTION = 5
    AWAIT_REPLAY_SUBSCRIPTION = 6
    AWAIT_REPLAY_CHANNEL_ENDPOINT = 7
    ADD_REQUEST_PUBLICATION = 8
    AWAIT_REQUEST_PUBLICATION = 9
    SEND_REPLAY_TOKEN_REQUEST = 10
    AWAIT_REPLAY_TOKEN = 11
    REPLAY = 12
    ATTEMPT_SWITCH = 13
    ADD_LIVE_SUBSCRIPTION = 14
    AWAIT_LIVE = 15
    LIVE = 16
    FAILED = 17

@dataclass(frozen=True, slots=True)
class ReplayStarted:
    """Messages come from the recording from ``position`` on."""

    position: int

@dataclass(frozen=True, slots=True)
class LiveJoined:
    """Messages come from the live stream from ``position`` on."""

    position: int

@dataclass(frozen=True, slots=True)
class LiveLeft:
    """The live stream is gone; what follows ``position`` comes from the recording."""

    position: int

@dataclass(frozen=True, slots=True)
class JoinTrouble:
    """Something went wrong; it goes on, or it has failed (``is_fatal``)."""

    error: Exception
    is_fatal: bool

JoinEvent: TypeAlias = ReplayStarted | LiveJoined | LiveLeft | JoinTrouble

class PersistentSubscriptionListener(Protocol):
    """Called out of the polls, with the subscription in its new state."""

    def on_live_joined(self) -> None: ...
    def on_live_left(self) -> None: ...
    def on_error(self, error: Exception) -> None: ...

class PersistentSubscription:
    """Every message of a recorded stream once and in order: recorded ones first, then live ones.

    When the live stream drops, it goes on from the recording and joins live again; when the archive
    goes away while it replays, it connects anew. It connects to the archive by itself and uses UDP,
    IPC and spies alike. Nothing but the iterators waits. For one thread at a time.

    Example:
        with PersistentSubscription(
            aeron, recording_id=3, start_position=FROM_START,
            live_channel="aeron:udp?endpoint=239.1.1.1:4000", live_stream_id=10,
            replay_channel="aeron:udp?endpoint=localhost:0",
            request_channel="aeron:udp?endpoint=archive:8010",
            response_channel="aeron:udp?endpoint=localhost:0",
        ) as stream:
            for message in stream: ...
    """

    def __init__(
        self,
        aeron: Aeron | None = None,
        *,
        recording_id: int,
        live_channel: str | ChannelUri,
        live_stream_id: int,
        start_position: int = ...,
        replay_channel: str | ChannelUri | None = None,
        replay_stream_id: int = 40,
        listener: PersistentSubscriptionListener | None = None,
        counters: bool = True,
        aeron_dir: str | None = None,
        **archive_options: Any,
    ) -> None:
        """Begin; the first polls connect.

        Args:
            aeron: the client to use; without one an own client is made and closed with this.
            recording_id: what to replay.
            live_channel: where the stream itself is subscribed to (``aeron:ipc``, a UDP channel,
                ``aeron-spy:...``).
            live_stream_id: of the live stream and of the recording.
            start_position: where a message begins, FROM_START or FROM_LIVE.
            replay_channel: where the archive shall replay to; None is where it answers, with a port
                of its own. With ``control-mode=response`` it comes over a response channel.
            replay_stream_id: of the replays.
            listener: is told about joins, drops and errors; see also ``take_events``.
            counters: have the four counters of the reference (types 114 to 117).
            aeron_dir: the driver's directory, for an own client.
            archive_options: as of ``AeronArchive``: request_channel, response_channel,
                message_timeout (seconds), credentials, ...

        Raises:
            ConfigurationError: arguments that cannot be used.
        """

    # Polls raise PersistentSubscriptionError (``reason``, ``position``) once it has failed.
    def poll(self, handler: Callable[[memoryview, Header], object], limit: int = 10) -> int: ...
    def poll_controlled(
        self, handler: Callable[[memoryview, Header], Action | None], limit: int = 10
    ) -> int: ...
    def poll_messages(self, limit: int = 64) -> list[Message]: ...
    def poll_into(self, buffer: Any, offsets: Any, **columns: Any) -> int: ...
    def poll_array(self, dtype: Any = None, out: Any = None, *, limit: int = 4096) -> Any: ...
    def poll_arrow(self, limit: int = 4096) -> ArrowBatch: ...
    def messages(
        self,
        timeout: float | None = None,
        *,
        idle: Callable[[int], object] | str | None = None,
        limit: int = 64,
    ) -> Iterator[Message]:
        """Wait for messages; ends when none comes for ``timeout`` seconds, or when closed."""
    def __iter__(self) -> Iterator[Message]: ...
    def wait_live(self, handler: Callable[[Message], object], timeout: float) -> None: ...
    def do_work(self) -> int:
        """One turn without taking messages."""
    def take_events(self) -> list[JoinEvent]:
        """What happened since the last call, oldest first."""
    @property
    def state(self) -> PersistentSubscriptionState: ...
    @property
    def is_live(self) -> bool: ...
    @property
    def is_replaying(self) -> bool: ...
    @property
    def has_failed(self) -> bool: ...
    @property
    def failure(self) -> PersistentSubscriptionError | None: ...
    @property
    def position(self) -> int | None:
        """Where the next message begins, None before the first join: keep it to go on later."""
    @property
    def closed(self) -> bool: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

class AsyncPersistentSubscription:
    """The same for asyncio: ``async with``, ``async for``; arguments as PersistentSubscription.

    ``poll*``, ``take_events`` and the properties are those of ``.subscription`` and do not wait.
    """

    subscription: PersistentSubscription

    def __init__(self, aeron: Aeron | None = None, **arguments: Any) -> None: ...
    def messages(
        self, timeout: float | None = None, *, limit: int = 64
    ) -> AsyncIterator[Message]: ...
    def __aiter__(self) -> AsyncIterator[Message]: ...
    async def close(self) -> None: ...
    async def __aenter__(self) -> Self: ...
    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
