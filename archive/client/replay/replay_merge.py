"""Replay merge: a replay and the live stream in one image.

Spec client 23, spec archive-protocol 21.7.

The image belongs to a UDP subscription with manual destinations. First the archive replays to one
destination, then the live stream comes to another. Both carry the same session, so the driver makes
one image of them, in which data that comes twice appears once. See `PersistentSubscription` for
other media and for streams that drop.
"""

from __future__ import annotations

import contextlib
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, Final

from aerolog.archive.client import request
from aerolog.archive.client.replay.archive_replay import (
    ArchiveReplay,
    ReplayParams,
    image_session_id,
)
from aerolog.archive.client.replay.join_engine import JoinEngine
from aerolog.archive.client.replay.joined_stream import JoinedStream
from aerolog.archive.client.replay.message_source import AsyncMessages
from aerolog.transport.errors import (
    AeronTimeoutError,
    ArchiveError,
    ConfigurationError,
    JoinErrorReason,
    ReplayMergeError,
    ResourceClosedError,
)
from aerolog.transport.time_units import NS_PER_MS, NS_PER_S
from aerolog.transport.uri import ChannelUri

if TYPE_CHECKING:
    from aerolog.archive.client.client_base import ArchiveClientBase
    from aerolog.archive.client.conversation import Conversation
    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.transport.client import Aeron, Image, Subscription
    from aerolog.transport.client.destination import Destination
    from aerolog.transport.client.steps.caller import Steps

LIVE_ADD_MAX_WINDOW: Final = 32 * 1024 * 1024
REPLAY_LENGTH: Final = (1 << 63) - 1  # on and on, while the recording grows


class ReplayMergeState(Enum):
    """The states of a replay merge."""

    RESOLVE_REPLAY_PORT = "resolve replay port"
    GET_RECORDING_POSITION = "get recording position"
    REPLAY = "replay"
    CATCHUP = "catch up"
    ATTEMPT_LIVE_JOIN = "attempt live join"
    MERGED = "merged"
    FAILED = "failed"
    CLOSED = "closed"


State = ReplayMergeState


class MergeEngine(JoinEngine[ReplayMergeState]):
    """The steps of one replay merge.

    Attributes:
        live: the destination of the live stream, None before it was added.
    """

    DESCRIBE = DESCRIBE_SENT = State.GET_RECORDING_POSITION
    CATCH_UP = State.CATCHUP
    JOIN = State.ATTEMPT_LIVE_JOIN
    FAILED = State.FAILED
    ERROR = ReplayMergeError
    TEXTS: ClassVar = {
        JoinErrorReason.RECORDING_NOT_FOUND: "unknown recording id: {0}",
        JoinErrorReason.STREAM_ID_MISMATCH: (
            "recording {0} is of stream {1}, the subscription of stream {2}"
        ),
        JoinErrorReason.INVALID_START_POSITION: (
            "recording {0} begins at {1}, what was at {2} is not there (any more)"
        ),
        JoinErrorReason.SESSION_ID_MISMATCH: (
            "recording {0} is of session {1}, a replay as session {2} can never be one image with "
            "it: leave session-id out"
        ),
    }
    FIRST_PAUSE_NS = 16 * NS_PER_MS

    def __init__(
        self,
        conversation: Conversation,
        subscription: Subscription,
        recording_id: int,
        start_position: int,
        replay: ChannelUri,
        destinations: tuple[str, str],  # of the replay, of the live stream
        timeout_ns: int,
    ) -> None:
        is_resolved = not replay["endpoint"].endswith(":0")
        super().__init__(
            conversation,
            recording_id,
            subscription.stream_id,
            State.GET_RECORDING_POSITION if is_resolved else State.RESOLVE_REPLAY_PORT,
        )
        self.live: Destination | None = None
        self._subscription = subscription
        self._position = start_position
        self._replay_uri = replay
        self._replay_destination = subscription.add_destination(destinations[0], wait=False)
        self._live_channel = destinations[1]
        self._archive_replay = ArchiveReplay(
            conversation, ReplayParams(recording_id, start_position, REPLAY_LENGTH)
        )
        self._timeout_ns = timeout_ns
        self._progress_ns = self._clock.now_ns()
        self._last_position = -1

    def _begin(self) -> Steps[None]:
        while not self._replay_destination.future.done():
            yield 0
        self._replay_destination.future.result(0)
        if self.state is State.RESOLVE_REPLAY_PORT:
            while (bound := self._subscription.resolved_endpoint) is None:
                yield 0
            self._replay_uri = self._replay_uri.replace_endpoint_wildcard_port(bound)
            self._note_progress()

    def _check(self, recording: RecordingDescriptor) -> None:
        wanted = self._replay_uri.get("session-id")
        if wanted is None:
            self._replay_uri = self._replay_uri.add_session_id(recording.session_id)
        elif not self._replay_uri.is_session_id_tagged and int(wanted) != recording.session_id:
            raise self._misfit(JoinErrorReason.SESSION_ID_MISMATCH, recording.session_id, wanted)

    def _open_replay(self, recording: RecordingDescriptor) -> Steps[Image]:
        del recording
        failed = 0
        while (recorded := (yield from self._ask_recorded())) is None:
            yield from self._pause(failed)
            failed += 1
        self._recorded = recorded
        self.go(State.REPLAY)
        replay = self._archive_replay
        yield from replay.ask(self._replay_uri, self._stream_id)
        self._note_progress()
        self.go(State.CATCHUP)
        assert replay.session_id is not None
        session_id = image_session_id(replay.session_id)
        while (image := self._subscription.image(session_id)) is None:
            yield self._tend()
        self._note_progress()
        self.source = image
        return image

    def _tend(self) -> int:
        work = super()._tend()
        self._archive_replay.check()
        return work

    def _try_join(self, recording: RecordingDescriptor, replay: Image, left: int) -> Steps[bool]:
        del recording
        if replay.closed:
            return False
        if self.live is None:
            if left <= min(replay.term_length // 4, LIVE_ADD_MAX_WINDOW):
                self.live = self._subscription.add_destination(self._live_channel, wait=False)
                while not self.live.future.done():
                    yield 0
                self.live.future.result(0)
                self._note_progress()
        elif left <= 0 and replay.active_transport_count >= 2:
            return True
        yield self._tend()
        return False

    def _end_replay(self, replay: Image) -> None:
        text = f"the image closed unexpectedly at {replay.position}"
        if replay.position < self._recorded:
            text += f", {self._recorded} is recorded"
        raise ReplayMergeError(JoinErrorReason.IMAGE_CLOSED, text)

    def _stay(self) -> Steps[bool]:
        self._replay_destination.remove(wait=False)
        self.go(State.MERGED)
        session_id, self._archive_replay.session_id = self._archive_replay.session_id, None
        if session_id is not None:
            # The merge is complete whatever the archive answers.
            with contextlib.suppress(ArchiveError, AeronTimeoutError, ResourceClosedError):
                yield from self._conversation.ask(request.stop_replay(session_id))
        return True

    # -- progress --------------------------------------------------------------------------------

    def _note_progress(self) -> None:
        self._progress_ns = self._clock.now_ns()

    def check_progress(self) -> None:
        """Raise when there was no progress for the progress timeout."""
        image = self.source
        if image is not None and image.position > self._last_position:
            self._last_position = image.position
            # A live stream of another session never joins, however far the replay gets.
            if self._stranger() is None:
                self._note_progress()
        if self._clock.now_ns() - self._progress_ns < self._timeout_ns:
            return
        stranger = self._stranger()
        if stranger is not None and image is not None:
            raise ReplayMergeError(
                JoinErrorReason.SESSION_ID_MISMATCH,
                f"the live stream is session {stranger.session_id} from "
                f"{stranger.source_identity}, the recording is of session {image.session_id}",
            )
        raise AeronTimeoutError(
            f"ReplayMerge no progress: state={self.state.name}, "
            f"activeTransportCount={0 if image is None else image.active_transport_count}"
        )

    def _stranger(self) -> Image | None:
        """Another image of the subscription, once the live stream was added but is not in ours."""
        image = self.source
        if image is None or self.live is None or image.active_transport_count >= 2:
            return None
        return next((one for one in self._subscription.images if one is not image), None)

    def close(self) -> None:
        """End the replay and its destination, unless the streams were merged."""
        conversation = self._conversation
        if self.state is not State.MERGED and not self._subscription.closed:
            self._replay_destination.remove(wait=False)
        if not conversation.closed and not conversation.is_disconnected:
            with conversation.lock:
                self._archive_replay.stop()


class ReplayMerge(JoinedStream[MergeEngine]):
    """One image of a recording and then of the live stream; for one thread at a time.

    Nothing waits but the iterators; ``do_work``, which every poll begins with, brings it forward.
    Live, replay and recording have to be one session: without ``session-id`` in the replay channel
    the recording's is put there.

    Example::

        subscription = aeron.add_subscription("aeron:udp?control-mode=manual", 10)
        with ReplayMerge(
            subscription, archive, recording_id=3, start_position=0,
            replay_channel="aeron:udp", replay_destination="aeron:udp?endpoint=localhost:0",
            live_destination="aeron:udp?endpoint=localhost:4000|control=publisher:4001",
        ) as merge:
            while not merge.is_merged: merge.poll(handler)
    """

    def __init__(
        self,
        subscription: Subscription,
        archive: ArchiveClientBase,
        *,
        replay_channel: str | ChannelUri,
        replay_destination: str | ChannelUri,
        live_destination: str | ChannelUri,
        recording_id: int,
        start_position: int,
        progress_timeout: float = 5.0,
    ) -> None:
        """Begin; the replay destination is added at once.

        Args:
            subscription: with ``control-mode=manual``, over UDP; it stays the caller's.
            archive: an `AeronArchive` or `AsyncAeronArchive`, which others may use as well.
            replay_channel: parameters of the replay; its endpoint comes from the destination.
            replay_destination: where the replay shall come to; port 0 is chosen by the system.
            live_destination: where the live stream comes to.
            recording_id: of the live stream.
            start_position: where a message of the recording begins.
            progress_timeout: seconds without progress after which the merge fails.

        Raises:
            ConfigurationError: channels that cannot be merged.
        """
        self.subscription = subscription
        self.archive = archive
        self.recording_id = recording_id
        self.start_position = start_position
        replay = _checked_replay_channel(
            subscription, replay_channel, replay_destination, live_destination
        )
        super().__init__(
            MergeEngine(
                archive.conversation,
                subscription,
                recording_id,
                start_position,
                replay,
                (str(replay_destination), str(live_destination)),
                round(progress_timeout * NS_PER_S),
            )
        )

    # -- what it is ------------------------------------------------------------------------------

    @property
    def state(self) -> ReplayMergeState:
        """The state of the merge."""
        return self._engine.state

    @property
    def is_merged(self) -> bool:
        """Whether the live stream has taken over; poll the image or this, as you like."""
        return self._engine.state is ReplayMergeState.MERGED

    @property
    def is_live_added(self) -> bool:
        """Whether the live destination was added."""
        return self._engine.live is not None

    # -- polling ---------------------------------------------------------------------------------

    def _turn(self) -> int:
        conversation = self.archive.conversation
        with conversation.lock:  # its requests are made in here
            work = conversation.turn() + next(self._steps, 0)
        if not self.is_merged:
            self._engine.check_progress()
        return work

    @property
    def transport(self) -> Aeron:
        """The transport client in use."""
        return self.archive.aeron

    @property
    def is_over(self) -> bool:
        """Whether the image that was merged has gone, or all is closed."""
        if self._closed or self.subscription.closed:
            return True
        return self.is_merged and self.image is not None and self.image.closed

    # -- the end ---------------------------------------------------------------------------------

    def close(self) -> None:
        """End a replay that is under way and its destination; idempotent, and does not wait.

        What was merged stays: the subscription with its live destination is the caller's.
        """
        if self._closed:
            return
        self._closed = True
        self._steps.close()
        if not self.archive.aeron.closed:
            self._engine.close()
        self._engine.go(ReplayMergeState.CLOSED)

    def __repr__(self) -> str:
        return (
            f"<ReplayMerge recording {self.recording_id} {self.state.value} "
            f"live {'added' if self.is_live_added else 'not added'} {self.image!r}>"
        )


class AsyncReplayMerge(AsyncMessages[ReplayMerge]):
    """The same for asyncio: ``async with``, ``async for``; arguments as `ReplayMerge`.

    Attributes:
        merge: the merge itself, whose polls and properties do not wait.
    """

    def __init__(
        self, subscription: Subscription, archive: ArchiveClientBase, **arguments: Any
    ) -> None:
        self.merge = ReplayMerge(subscription, archive, **arguments)
        super().__init__(self.merge)

    def __repr__(self) -> str:
        return f"<Async{repr(self.merge)[1:]}"


def _checked_replay_channel(
    subscription: Subscription,
    replay_channel: str | ChannelUri,
    replay_destination: str | ChannelUri,
    live_destination: str | ChannelUri,
) -> ChannelUri:
    """The replay channel with what a merge needs.

    Raises:
        ConfigurationError: something that can never be merged.
    """
    uris = [
        ChannelUri.parse(channel)
        for channel in (subscription.channel, replay_channel, replay_destination, live_destination)
    ]
    if any(uri.is_ipc for uri in uris):
        raise ConfigurationError("IPC merging is not supported; use PersistentSubscription")
    own, replay, destination, _ = uris
    if own.get("control-mode") != "manual":
        raise ConfigurationError(
            f"Subscription URI must have 'control-mode=manual' uri={subscription.channel}"
        )
    if "endpoint" not in destination:
        raise ConfigurationError(f"a replay destination has an endpoint: {replay_destination}")
    changes = {"linger": "0", "eos": "false", "endpoint": destination["endpoint"]}
    for key, value in changes.items():
        replay = replay.put(key, value)
    return replay
