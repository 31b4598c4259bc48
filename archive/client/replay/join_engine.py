"""How a persistent subscription joins replay and live stream, beside delivery (spec client 24).

It is a series of steps that never wait, one for each poll. The messages delivered meanwhile come
from ``source``, the image of the replay or of the live stream.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from aerolog.archive.client import request
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

_FIRST_PAUSE_NS: Final = 10 * NS_PER_MS
_LONGEST_PAUSE_NS: Final = 500 * NS_PER_MS
_POLLS_PER_LOOK: Final = 16  # while live, the archive is read once in so many polls
_FRUITLESS_ERRORS: Final = 3  # replays in a row that fail before they deliver anything


class JoinEngine:
    """The steps of one persistent subscription.

    Attributes:
        state: the state of the subscription.
        source: the image that delivers, None when there is nothing to deliver.
        switch: the switch from replay to live while it is attempted, else None.
        link: the conversation with the archive.
    """

    def __init__(
        self,
        aeron: Aeron,
        options: PersistentSubscriptionOptions,
        counters: JoinCounters,
        tell: Callable[[JoinEvent], None],
    ) -> None:
        self.state = State.AWAIT_ARCHIVE_CONNECTION
        self.source: Image | None = None
        self.switch: Switch | None = None
        self._aeron = aeron
        self._options = options
        self._counters = counters
        self._tell = tell
        self._clock = options.archive.clock
        self._timeout_ns = options.archive.message_timeout_ns
        start = options.start_position
        self._position = None if start in {FROM_START, FROM_LIVE} else start
        self._delivered: int | None = None  # of the last replay, before any padding at its end
        self._from_start = start == FROM_START
        self._has_begun = False
        self.link = ArchiveLink(aeron, options.archive)
        self._archive_replay: ArchiveReplay | None = None
        self._live_subscription: Subscription | None = None
        self._fruitless = 0  # rounds in a row that delivered nothing
        self._fruitless_errors = 0
        self._stuck_since_ns: int | None = None
        self._counters.set(STATE, self.state)

    @property
    def position(self) -> int | None:
        """Where the next message begins, None before that is known."""
        return self._position if self.source is None else self.source.message_position

    def run(self) -> Steps[None]:
        """All steps of the subscription; they end only with an error, which is final.

        Raises:
            PersistentSubscriptionError: recording and live stream do not fit together.
            AerologError: any other reason to end.
        """
        while True:
            begin = self.position
            try:
                yield from self._round()
            except ArchiveLostError as lost:
                self.link.leave()
                self._report(lost.__cause__ or NotConnectedError("the archive is gone"))
            except StartOverError as error:
                self._report(error.__cause__)
            except AeronTimeoutError as error:
                if self._aeron.closed:
                    raise
                self._report(error)
            self.drop_streams()
            if self.position != begin:
                self._fruitless = self._fruitless_errors = 0
                self._stuck_since_ns = None
                continue
            self._fruitless += 1
            yield from self._pause()

    def _round(self) -> Steps[None]:
        if self.link.session is None:
            self.go(State.AWAIT_ARCHIVE_CONNECTION)
            yield from self.link.connect()
        recording = yield from self._describe()
        if self._position is None or self._position == recording.stop_position:
            joined = yield from self._await_live(recording)
        else:
            joined = yield from self._replay(recording)
        if joined:
            yield from self._stay_live()

    def _pause(self) -> Steps[None]:
        """Wait before the next attempt, longer after each attempt that failed."""
        pause_ns = min(_FIRST_PAUSE_NS << min(self._fruitless, 10), _LONGEST_PAUSE_NS)
        until_ns = self._clock.now_ns() + pause_ns
        while self._clock.now_ns() < until_ns:
            yield 0

    def _is_stuck(self) -> bool:
        """Whether attempts have failed for as long as the message timeout."""
        now_ns = self._clock.now_ns()
        if self._stuck_since_ns is None:
            self._stuck_since_ns = now_ns
        return now_ns - self._stuck_since_ns > self._timeout_ns

    def go(self, state: State) -> None:
        """Enter a state and show it."""
        self.state = state
        self._counters.set(STATE, state)

    def _report(self, error: BaseException | None) -> None:
        if isinstance(error, Exception):
            self._tell(JoinTrouble(error, is_fatal=False))

    # -- the recording ---------------------------------------------------------------------------

    def _describe(self) -> Steps[RecordingDescriptor]:
        self.go(State.SEND_LIST_RECORDING_REQUEST)
        recording = yield from self.link.ask(
            request.list_recording(self._options.recording_id),
            partial(self.go, State.AWAIT_LIST_RECORDING_RESPONSE),
        )
        name = f"recording {self._options.recording_id}"
        if recording is None:
            raise PersistentSubscriptionError(Reason.RECORDING_NOT_FOUND, f"{name} is unknown")
        if recording.stream_id != self._options.live_stream_id:
            raise PersistentSubscriptionError(
                Reason.STREAM_ID_MISMATCH,
                f"{name} is of stream {recording.stream_id}, the live stream is "
                f"{self._options.live_stream_id}",
            )
        if self._from_start:
            self._from_start = False
            self._position = recording.start_position
        if self._delivered is not None and self._position != recording.stop_position:
            # The replay ended early: what its last padding is in place of has not come.
            self._position = self._delivered
        self._delivered = None
        self._check_position(recording, name)
        return recording

    def _check_position(self, recording: RecordingDescriptor, name: str) -> None:
        position, stop = self._position, recording.stop_position
        if position is None:
            return
        if position < recording.start_position:
            raise PersistentSubscriptionError(
                Reason.INVALID_START_POSITION,
                f"{name} begins at {recording.start_position}: what was at {position} is not there "
                f"(any more)",
            )
        if not recording.is_active and position > stop:
            was = "what came live went on to" if self._has_begun else "it was to begin at"
            raise PersistentSubscriptionError(
                Reason.INVALID_START_POSITION, f"{name} stopped at {stop}, {was} {position}"
            )

    # -- replay ----------------------------------------------------------------------------------

    def _replay(self, recording: RecordingDescriptor) -> Steps[bool]:
        """Replay until the live stream is joined (True) or the replay is over."""
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
            yield from self._opened(replay)
            image = yield from replay.await_image()
            if image.join_position != self._position:  # the start has moved since the listing
                raise StartOverError
            self._has_begun = True
            self.source = image
            self._tell(ReplayStarted(image.join_position))
            while not image.closed:
                live = yield from self._approach(recording, image)
                if live is not None and (yield from self._attempt_switch(image, live)):
                    return True
                self._close_live()
            replay.check()
        except ArchiveError as error:
            if error.correlation_id != replay.correlation_id:
                raise
            raise self._end_of_replay(error) from error
        return False

    def _opened(self, replay: ArchiveReplay) -> Steps[None]:
        try:
            yield from replay.open()
        except ReplayChannelError as error:
            raise StartOverError from error
        except ArchiveError as error:
            raise self._refusal(error) from error

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

    def _approach(self, recording: RecordingDescriptor, replay: Image) -> Steps[Image | None]:
        """Wait until the replay is near the live stream, and subscribe to the live stream.

        Returns:
            The live image, None when the replay was over before.
        """
        while True:
            reached = yield from self.link.ask_position(
                "max recorded position", recording.recording_id
            )
            near = (replay.position if reached is None else reached) - replay.term_length // 4
            if replay.position >= near:
                break
            while replay.position < near:
                if replay.closed:
                    return None
                yield self.link.tend()
        self._live_subscription = yield from self._subscribe_to_live()
        warn_ns: int | None = self._clock.now_ns() + self._timeout_ns
        while not replay.closed:
            choice = choose_live(self._live_subscription.images, recording)
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

        Their messages are never delivered, and nobody else reads them here: their publishers would
        wait for this subscription.
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

    def _stay_live(self) -> Steps[None]:
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
