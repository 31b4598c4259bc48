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
from typing import TYPE_CHECKING, Any, Final, TypeVar

from aerolog.archive.client import request
from aerolog.archive.client.replay.archive_replay import (
    ArchiveReplay,
    ReplayParams,
    image_session_id,
)
from aerolog.archive.client.replay.joined_stream import JoinedStream
from aerolog.archive.client.replay.message_source import AsyncMessages
from aerolog.transport.errors import (
    AerologError,
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
    from collections.abc import Callable

    from aerolog.archive.client.client_base import ArchiveClientBase
    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.transport.client import Aeron, Image, Subscription
    from aerolog.transport.client.destination import Destination
    from aerolog.transport.client.steps.caller import Steps


T = TypeVar("T")
LIVE_ADD_MAX_WINDOW: Final = 32 * 1024 * 1024
REPLAY_LENGTH: Final = (1 << 63) - 1  # on and on, while the recording grows
_FIRST_PAUSE_NS: Final = 16 * NS_PER_MS
_LONGEST_PAUSE_NS: Final = 500 * NS_PER_MS


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


class ReplayMerge(JoinedStream):
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
        self._live_channel = str(live_destination)
        self._replay_uri = _checked_replay_channel(
            subscription, replay_channel, replay_destination, live_destination
        )
        self._clock = archive.options.clock
        self._timeout_ns = round(progress_timeout * NS_PER_S)
        self._progress_ns = self._clock.now_ns()
        self._last_position = -1
        self._next_target = -1
        self._image: Image | None = None
        self._conversation = archive.conversation
        self._archive_replay = ArchiveReplay(
            archive.conversation, ReplayParams(recording_id, start_position, REPLAY_LENGTH)
        )
        self._failure: BaseException | None = None
        self._live: Destination | None = None
        self._replay = subscription.add_destination(str(replay_destination), wait=False)
        self._state = ReplayMergeState.GET_RECORDING_POSITION
        if self._replay_uri["endpoint"].endswith(":0"):
            self._state = ReplayMergeState.RESOLVE_REPLAY_PORT
        self._steps: Steps[None] = self._run()

    # -- what it is ------------------------------------------------------------------------------

    @property
    def state(self) -> ReplayMergeState:
        """The state of the merge."""
        return self._state

    @property
    def image(self) -> Image | None:
        """The image of replay and live stream, None before it is there."""
        return self._image

    @property
    def is_merged(self) -> bool:
        """Whether the live stream has taken over; poll the image or this, as you like."""
        return self._state is ReplayMergeState.MERGED

    @property
    def has_failed(self) -> bool:
        """Whether it has failed; polls raise why."""
        return self._state is ReplayMergeState.FAILED

    @property
    def failure(self) -> BaseException | None:
        """The error that it failed with, None while it has not failed."""
        return self._failure

    @property
    def is_live_added(self) -> bool:
        """Whether the live destination was added."""
        return self._live is not None

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._state is ReplayMergeState.CLOSED

    # -- polling ---------------------------------------------------------------------------------

    def deliver(self, take: Callable[[Image, int | None], T], nothing: T) -> T:
        """Do a turn of the merge and take messages from the image."""
        self.do_work()
        return nothing if self._image is None else take(self._image, None)

    def do_work(self) -> int:
        """One turn; how much was done.

        Raises:
            ReplayMergeError: recording, replay and live stream do not fit together, or the image
                went before they were one.
            ArchiveError: the archive refused, or could not go on with the replay.
            AeronTimeoutError: there was no progress for the progress timeout.
        """
        if self._failure is not None:
            raise self._failure
        if self._state is ReplayMergeState.CLOSED:
            return 0
        conversation = self._conversation
        try:
            with conversation.lock:  # its requests are made in here
                work = conversation.turn() + next(self._steps, 0)
            if self._state is not ReplayMergeState.MERGED:
                self._check_progress()
        except AerologError as error:
            self._failure = error
            self._state = ReplayMergeState.FAILED
            raise
        return work

    @property
    def transport(self) -> Aeron:
        """The transport client in use."""
        return self.archive.aeron

    @property
    def is_over(self) -> bool:
        """Whether the image that was merged has gone, or all is closed."""
        if self._state is ReplayMergeState.CLOSED or self.subscription.closed:
            return True
        return self.is_merged and self._image is not None and self._image.closed

    # -- steps -----------------------------------------------------------------------------------

    def _note_progress(self) -> None:
        self._progress_ns = self._clock.now_ns()

    def _run(self) -> Steps[None]:
        yield from self._await_destination()
        self._state = ReplayMergeState.GET_RECORDING_POSITION
        self._check_recording(
            (yield from self._conversation.ask(request.list_recording(self.recording_id)))
        )
        yield from self._await_recorded()
        yield from self._start_replay()
        while True:
            self._state = ReplayMergeState.CATCHUP
            yield from self._catch_up()
            self._state = ReplayMergeState.ATTEMPT_LIVE_JOIN
            if (yield from self._attempt_live_join()):
                break
        self._replay.remove(wait=False)
        self._state = ReplayMergeState.MERGED
        yield from self._stop_replay()

    def _await_destination(self) -> Steps[None]:
        """Until the driver has the replay destination, and its port is known."""
        while not self._replay.future.done():
            yield 0
        self._replay.future.result(0)
        while self._state is ReplayMergeState.RESOLVE_REPLAY_PORT:
            bound = self.subscription.resolved_endpoint
            if bound is None:
                yield 0
                continue
            self._replay_uri = self._replay_uri.replace_endpoint_wildcard_port(bound)
            self._note_progress()
            return

    def _check_recording(self, recording: RecordingDescriptor | None) -> None:
        """Refuse what can never be merged, before anything is replayed."""
        if recording is None:
            raise ReplayMergeError(
                JoinErrorReason.RECORDING_NOT_FOUND, f"unknown recording id: {self.recording_id}"
            )
        stream_id = self.subscription.stream_id
        if recording.stream_id != stream_id:
            raise ReplayMergeError(
                JoinErrorReason.STREAM_ID_MISMATCH,
                f"recording {self.recording_id} is of stream {recording.stream_id}, "
                f"the subscription of stream {stream_id}",
            )
        if self.start_position < recording.start_position:
            raise ReplayMergeError(
                JoinErrorReason.INVALID_START_POSITION,
                f"recording {self.recording_id} begins at {recording.start_position}, "
                f"what was at {self.start_position} is not there (any more)",
            )
        wanted = self._replay_uri.get("session-id")
        if wanted is None:
            self._replay_uri = self._replay_uri.add_session_id(recording.session_id)
        elif not self._replay_uri.is_session_id_tagged and int(wanted) != recording.session_id:
            raise ReplayMergeError(
                JoinErrorReason.SESSION_ID_MISMATCH,
                f"recording {self.recording_id} is of session {recording.session_id}, a replay as "
                f"session {wanted} can never be one image with it: leave session-id out",
            )

    def _await_recorded(self) -> Steps[None]:
        """Until it is known how far the recording is; asked less and less often."""
        pause_ns = _FIRST_PAUSE_NS
        while True:
            position = yield from self._conversation.ask_position(_HOW_FAR, self.recording_id)
            if position is not None:
                self._next_target = position
                return
            next_ns = self._clock.now_ns() + pause_ns
            while self._clock.now_ns() < next_ns:
                yield 0
            pause_ns = min(2 * pause_ns, _LONGEST_PAUSE_NS)

    def _start_replay(self) -> Steps[None]:
        self._state = ReplayMergeState.REPLAY
        yield from self._archive_replay.ask(self._replay_uri, self.subscription.stream_id)
        self._note_progress()

    def _catch_up(self) -> Steps[None]:
        """Until the image has come as far as the recording was."""
        assert self._archive_replay.session_id is not None
        session_id = image_session_id(self._archive_replay.session_id)
        while self._image is None:
            self._image = self.subscription.image(session_id)
            if self._image is None:
                yield self._look_for_errors()
            else:
                self._note_progress()
        while self._image.position < self._next_target:
            if self._image.closed:
                raise ReplayMergeError(
                    JoinErrorReason.IMAGE_CLOSED,
                    f"the image closed unexpectedly at {self._image.position}, "
                    f"{self._next_target} is recorded",
                )
            yield self._look_for_errors()

    def _attempt_live_join(self) -> Steps[bool]:
        """Add the live stream when it is near; whether it has taken over."""
        image = self._image
        assert image is not None
        target = yield from self._conversation.ask_position(_HOW_FAR, self.recording_id)
        if target is not None:
            self._next_target = max(target, self._next_target)
        if image.closed:
            raise ReplayMergeError(
                JoinErrorReason.IMAGE_CLOSED, f"the image closed unexpectedly at {image.position}"
            )
        left = self._next_target - image.position
        if self._live is None:
            if left <= min(image.term_length // 4, LIVE_ADD_MAX_WINDOW):
                self._live = self.subscription.add_destination(self._live_channel, wait=False)
                while not self._live.future.done():
                    yield 0
                self._live.future.result(0)
                self._note_progress()
        elif left <= 0 and image.active_transport_count >= 2:
            return True
        yield self._look_for_errors()
        return False

    def _stop_replay(self) -> Steps[None]:
        """Have the archive end the replay; the merge is complete whatever it answers."""
        session_id, self._archive_replay.session_id = self._archive_replay.session_id, None
        if session_id is None:
            return
        with contextlib.suppress(ArchiveError, AeronTimeoutError, ResourceClosedError):
            yield from self._conversation.ask(request.stop_replay(session_id))

    def _look_for_errors(self) -> int:
        """Take in what the archive says when nothing is asked, for example why a replay ended."""
        work = self._conversation.tend()
        self._archive_replay.check()
        return work

    def _check_progress(self) -> None:
        image = self._image
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
            f"ReplayMerge no progress: state={self._state.name}, "
            f"activeTransportCount={0 if image is None else image.active_transport_count}"
        )

    def _stranger(self) -> Image | None:
        """Another image of the subscription, once the live stream was added but is not in ours."""
        image = self._image
        if image is None or self._live is None or image.active_transport_count >= 2:
            return None
        return next((one for one in self.subscription.images if one is not image), None)

    # -- the end ---------------------------------------------------------------------------------

    def close(self) -> None:
        """End a replay that is under way and its destination; idempotent, and does not wait.

        What was merged stays: the subscription with its live destination is the caller's.
        """
        if self._state is ReplayMergeState.CLOSED:
            return
        merged = self.is_merged
        self._state = ReplayMergeState.CLOSED
        self._steps.close()
        if self.archive.aeron.closed:
            return
        if not merged and not self.subscription.closed:
            self._replay.remove(wait=False)
        if not self.archive.closed and not self.archive.is_disconnected:
            with self._conversation.lock:
                self._archive_replay.stop()

    def __repr__(self) -> str:
        return (
            f"<ReplayMerge recording {self.recording_id} {self._state.value} "
            f"live {'added' if self.is_live_added else 'not added'} {self._image!r}>"
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


_HOW_FAR: Final = "max recorded position"


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
