"""The steps of a persistent subscription, which goes from one image to the other (spec client 24).

The messages delivered meanwhile come from ``source``, the image of the replay or of the live
stream. When that ends, or the archive is lost, another round begins where it was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from aerolog.archive.client.replay.archive_link import ArchiveLink, ArchiveLostError, StartOverError
from aerolog.archive.client.replay.archive_replay import (
    ArchiveReplay,
    ReplayChannelError,
    ReplayParams,
)
from aerolog.archive.client.replay.join_counters import (
    JOIN_DIFFERENCE,
    LIVE_JOINED_COUNT,
    LIVE_LEFT_COUNT,
    STATE,
    JoinCounters,
)
from aerolog.archive.client.replay.join_engine import JoinEngine
from aerolog.archive.client.replay.live_join import LiveChoice, Switch, choose_live, skip_to
from aerolog.archive.client.replay.persistent_options import (
    FROM_LIVE,
    FROM_START,
    JoinEvent,
    JoinTrouble,
    LiveJoined,
    LiveLeft,
    PersistentSubscriptionOptions,
    PersistentSubscriptionState,
    ReplayStarted,
)
from aerolog.archive.protocol import NULL_LENGTH
from aerolog.transport.config.values import INT64_MAX
from aerolog.transport.errors import (
    AeronTimeoutError,
    ArchiveError,
    ArchiveErrorCode,
    JoinErrorReason,
    NotConnectedError,
    PersistentSubscriptionError,
)
from aerolog.transport.time_units import NS_PER_MS

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.transport.client import Aeron, Image, Subscription
    from aerolog.transport.client.steps.caller import Steps

State = PersistentSubscriptionState
Reason = JoinErrorReason

_POLLS_PER_LOOK: Final = 16  # while live, the archive is read once in so many polls
_FRUITLESS_ERRORS: Final = 3  # replays in a row that fail before they deliver anything


class SubscriptionEngine(JoinEngine[PersistentSubscriptionState]):
    """The steps of one persistent subscription.

    Attributes:
        switch: the switch from replay to live while it is attempted, else None.
        link: the conversation with the archive.
    """

    DESCRIBE = State.SEND_LIST_RECORDING_REQUEST
    DESCRIBE_SENT = State.AWAIT_LIST_RECORDING_RESPONSE
    CATCH_UP = JOIN = State.REPLAY
    FAILED = State.FAILED
    ERROR = PersistentSubscriptionError
    TEXTS: ClassVar = {
        Reason.RECORDING_NOT_FOUND: "recording {0} is unknown",
        Reason.STREAM_ID_MISMATCH: "recording {0} is of stream {1}, the live stream is {2}",
        Reason.INVALID_START_POSITION: (
            "recording {0} begins at {1}: what was at {2} is not there (any more)"
        ),
    }
    FIRST_PAUSE_NS = 10 * NS_PER_MS
    RECOVERABLE = (ArchiveLostError, StartOverError, AeronTimeoutError)

    def __init__(
        self,
        aeron: Aeron,
        options: PersistentSubscriptionOptions,
        counters: JoinCounters,
        tell: Callable[[JoinEvent], None],
    ) -> None:
        self.link = ArchiveLink(aeron, options.archive)
        super().__init__(
            self.link,
            options.recording_id,
            options.live_stream_id,
            State.AWAIT_ARCHIVE_CONNECTION,
        )
        self.switch: Switch | None = None
        self._aeron = aeron
        self._options = options
        self._counters = counters
        self._tell = tell
        self._timeout_ns = options.archive.message_timeout_ns
        start = options.start_position
        self._position = None if start in {FROM_START, FROM_LIVE} else start
        self._delivered: int | None = None  # of the last replay, before any padding at its end
        self._from_start = start == FROM_START
        self._has_begun = False
        self._archive_replay: ArchiveReplay | None = None
        self._live_subscription: Subscription | None = None
        self._fruitless_errors = 0
        self._stuck_since_ns: int | None = None
        self._counters.set(STATE, self.state)

    def go(self, state: PersistentSubscriptionState) -> None:
        """Enter a state and show it."""
        self.state = state
        self._counters.set(STATE, state)

    # -- rounds ----------------------------------------------------------------------------------

    def _begin(self) -> Steps[None]:
        if self.link.session is None:
            self.go(State.AWAIT_ARCHIVE_CONNECTION)
            yield from self.link.connect()

    def _recover(self, error: Exception) -> None:
        if isinstance(error, AeronTimeoutError):
            if self._aeron.closed:
                raise error
            self._report(error)
        elif isinstance(error, ArchiveLostError):
            self.link.leave()
            self._report(error.__cause__ or NotConnectedError("the archive is gone"))
        else:
            self._report(error.__cause__)

    def _note_progress(self) -> None:
        super()._note_progress()
        self._fruitless_errors = 0
        self._stuck_since_ns = None

    def _is_stuck(self) -> bool:
        """Whether attempts have failed for as long as the message timeout."""
        now_ns = self._clock.now_ns()
        if self._stuck_since_ns is None:
            self._stuck_since_ns = now_ns
        return now_ns - self._stuck_since_ns > self._timeout_ns

    def _report(self, error: BaseException | None) -> None:
        if isinstance(error, Exception):
            self._tell(JoinTrouble(error, is_fatal=False))

    # -- the recording ---------------------------------------------------------------------------

    def _start_in(self, recording: RecordingDescriptor) -> int | None:
        if self._from_start:
            self._from_start = False
            self._position = recording.start_position
        if self._delivered is not None and self._position != recording.stop_position:
            # The replay ended early: what its last padding is in place of has not come.
            self._position = self._delivered
        self._delivered = None
        return self._position

    def _check(self, recording: RecordingDescriptor) -> None:
        position, stop = self._position, recording.stop_position
        if position is not None and not recording.is_active and position > stop:
            was = "what came live went on to" if self._has_begun else "it was to begin at"
            raise PersistentSubscriptionError(
                Reason.INVALID_START_POSITION,
                f"recording {recording.recording_id} stopped at {stop}, {was} {position}",
            )

    def _follow(self, recording: RecordingDescriptor) -> Steps[bool]:
        if self._position is None or self._position == recording.stop_position:
            return self._await_live(recording)
        return self._replay(recording)

    # -- replay ----------------------------------------------------------------------------------

    def _replay(self, recording: RecordingDescriptor) -> Steps[bool]:
        try:
            return (yield from super()._replay(recording))
        except ArchiveError as error:
            replay = self._archive_replay
            if replay is None or error.correlation_id != replay.correlation_id:
                raise
            raise self._end_of_replay(error) from error

    def _open_replay(self, recording: RecordingDescriptor) -> Steps[Image]:
        position = self._position
        if position == recording.start_position:
            position = None  # the only way to replay a recording that is still empty
        self._archive_replay = replay = ArchiveReplay(
            self.link,
            ReplayParams(recording.recording_id, position, NULL_LENGTH),
            self._options.replay_channel,
            self._options.replay_stream_id,
            go=self.go,
        )
        try:
            yield from replay.open()
        except ReplayChannelError as error:
            raise StartOverError from error
        except ArchiveError as error:
            raise self._refusal(error) from error
        image = yield from replay.await_image()
        if image.join_position != self._position:  # the start has moved since the listing
            raise StartOverError
        self._has_begun = True
        self.source = image
        self._recorded, self._margin = image.position, image.term_length // 4
        self._tell(ReplayStarted(image.join_position))
        return image

    def _end_replay(self, replay: Image) -> None:
        del replay
        if self._archive_replay is not None:
            self._archive_replay.check()

    def _refusal(self, error: ArchiveError) -> Exception:
        """The error that a refused replay means for the subscription.

        A recording lags behind its live stream, and one that was listed as active may have stopped:
        listing it again helps. When a live stream drops, many clients ask for replays at once.
        """
        if error.code is ArchiveErrorCode.UNKNOWN_RECORDING:
            return PersistentSubscriptionError(Reason.RECORDING_NOT_FOUND, error.message)
        if error.code is ArchiveErrorCode.INVALID_POSITION:
            if self._is_stuck() or (self._fruitless and not self._has_begun):
                return PersistentSubscriptionError(Reason.INVALID_START_POSITION, error.message)
            return StartOverError()
        busy = error.code is ArchiveErrorCode.MAX_REPLAYS and self._has_begun
        if busy and not self._is_stuck():
            return StartOverError()
        return PersistentSubscriptionError(Reason.GENERIC, error.message)

    def _end_of_replay(self, error: ArchiveError) -> Exception:
        """The error that an ended replay means for the subscription; another may get further."""
        if error.code is ArchiveErrorCode.INVALID_POSITION:
            return PersistentSubscriptionError(Reason.INVALID_START_POSITION, error.message)
        self._fruitless_errors += 1
        if self._fruitless_errors >= _FRUITLESS_ERRORS:
            return PersistentSubscriptionError(Reason.GENERIC, error.message)
        return StartOverError()

    # -- from replay to live ---------------------------------------------------------------------

    def _try_join(self, recording: RecordingDescriptor, replay: Image, left: int) -> Steps[bool]:
        if left > self._margin:
            return False
        live = yield from self._live_beside(recording, replay)
        if live is not None and (yield from self._attempt_switch(replay, live)):
            return True
        self._close_live()
        return False

    def _live_beside(self, recording: RecordingDescriptor, replay: Image) -> Steps[Image | None]:
        """The live image, None when the replay was over before it came."""
        subscription = self._live_subscription = yield from self._subscribe_to_live()
        warn_ns: int | None = self._clock.now_ns() + self._timeout_ns
        while not replay.closed:
            choice = choose_live(subscription.images, recording)
            if choice.image is not None:
                return choice.image
            self._pass_over_others(None)
            if warn_ns is not None and self._clock.now_ns() > warn_ns:
                warn_ns = None
                self._report(self._no_live(choice))
            yield self.link.tend()
        return None

    def _subscribe_to_live(self) -> Steps[Subscription]:
        options = self._options
        return self.link.added(
            self._aeron.add_subscription_async(options.live_channel, options.live_stream_id)
        )

    def _pass_over_others(self, chosen: Image | None) -> None:
        """Skip what other images of the live channel hold.

        Their messages are never delivered, and their publishers would wait for this subscription to
        read them.
        """
        images = () if self._live_subscription is None else self._live_subscription.images
        for image in images:
            if image is not chosen:
                skip_to(image, INT64_MAX)

    def _no_live(self, choice: LiveChoice) -> Exception:
        if choice.mismatch is not None:
            return PersistentSubscriptionError(Reason.LIVE_STREAM_MISMATCH, choice.mismatch)
        return AeronTimeoutError(
            f"no image of the live stream within {self._options.archive.message_timeout:g} s: "
            f"{self._options.live_channel} stream {self._options.live_stream_id}"
        )

    def _attempt_switch(self, replay: Image, live: Image) -> Steps[bool]:
        """Whether the polls have brought both images together before one of them closed."""
        self.switch = switch = Switch(replay, live)
        self._counters.set(JOIN_DIFFERENCE, live.position - replay.position)
        self.go(State.ATTEMPT_SWITCH)
        while not (self.source is live or self.join_when_met()):
            if live.closed or replay.closed:
                self.switch = None
                self.go(State.REPLAY)
                return False
            switch.catch_up()
            self._pass_over_others(live)
            yield self.link.tend_if_there()
        return True

    def join_when_met(self) -> bool:
        """Go on with the live image when it and the replay have met."""
        if self.switch is None or not self.switch.is_done:
            return False
        self._join(self.switch.live)
        return True

    def _join(self, live: Image) -> None:
        self.switch = None
        self._position = live.position
        self._has_begun = True
        self._stuck_since_ns = None
        self.source = live
        self.go(State.LIVE)
        self._counters.increment(LIVE_JOINED_COUNT)
        self._tell(LiveJoined(live.position))

    # -- live ------------------------------------------------------------------------------------

    def _await_live(self, recording: RecordingDescriptor) -> Steps[bool]:
        """Wait for the live stream where the recording ends; whether it goes on there."""
        self.go(State.ADD_LIVE_SUBSCRIPTION)
        adding = self._subscribe_to_live()
        next(adding, None)
        self.go(State.AWAIT_LIVE)
        self._live_subscription = yield from adding
        warn_ns: int | None = self._clock.now_ns() + self._timeout_ns
        while True:
            choice = choose_live(self._live_subscription.images, recording)
            choice = self._choose_from(choice, recording)
            live, wanted = choice.image, self._position
            self._pass_over_others(live)
            if live is not None and wanted is not None and live.position < wanted:
                skip_to(live, wanted)
            elif live is not None and wanted in {None, live.position}:
                self._join(live)
                return True
            elif live is not None:
                return self._on_gap(live, recording)
            if live is None and warn_ns is not None and self._clock.now_ns() > warn_ns:
                warn_ns = None
                trouble = self._no_live(choice)
                if choice.mismatch is not None:
                    raise trouble
                self._report(trouble)
            yield self.link.tend()

    def _choose_from(self, choice: LiveChoice, recording: RecordingDescriptor) -> LiveChoice:
        """Choose the live image, leaving out those that begin before this stream's position.

        Such an image is another stream of the same geometry. Only within one driver it may be the
        same stream, as an image begins there at the position of the slowest subscriber.
        """
        image, wanted = choice.image, self._position
        if image is None or wanted is None or image.join_position >= wanted:
            return choice
        if self._options.is_live_local and image.session_id == recording.session_id:
            return choice
        return LiveChoice(
            mismatch=f"the live stream is at {image.position}, the recording goes to {wanted}"
        )

    def _on_gap(self, image: Image, recording: RecordingDescriptor) -> bool:
        """Have the recording listed again, as the live stream has gone further than it."""
        if self._is_stuck():
            raise PersistentSubscriptionError(
                Reason.NOT_RECORDED,
                f"recording {recording.recording_id} stopped at {self._position}, the live stream "
                f"is at {image.position}: what is between is not recorded",
            )
        return False

    def _stay(self) -> Steps[bool]:
        live = self.source
        assert live is not None
        self._close_replay()
        polls = 0
        while not live.closed:
            polls += 1
            if polls % _POLLS_PER_LOOK:
                yield 0
            else:
                self._pass_over_others(live)
                # The archive is not needed before the live stream drops.
                yield self.link.tend_if_there()
        self._position = live.message_position
        self._counters.increment(LIVE_LEFT_COUNT)
        self.go(State.SEND_LIST_RECORDING_REQUEST)
        self.drop_streams()
        self._tell(LiveLeft(self._position))
        return False

    # -- the end ---------------------------------------------------------------------------------

    def drop_streams(self) -> None:
        """Close both streams and remember where they were."""
        self._position = self.position
        if self.source is not None and self._archive_replay is not None:
            self._delivered = self.source.delivered_position
        self.source = self.switch = None
        self._close_replay()
        self._close_live()

    def _close_replay(self) -> None:
        replay, self._archive_replay = self._archive_replay, None
        if replay is not None:
            replay.stop()

    def _close_live(self) -> None:
        subscription, self._live_subscription = self._live_subscription, None
        if subscription is not None and not subscription.closed:
            subscription.close()

    def close(self) -> None:
        """Close the streams and the session."""
        if not self._aeron.closed:
            self.drop_streams()
        self.link.leave()
