"""How a recording and its live stream are joined, beside delivery (spec client 23 and 24).

It is a series of steps that never wait, one for each poll: describe the recording and check it,
replay it, catch up with what is recorded, switch to the live stream, and try again after a failure.
In a `MergeEngine` the driver makes one image of both streams, and an error is final; a
`SubscriptionEngine` goes from one image to another and back. They supply what differs on purpose.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final, Generic, TypeVar

from aerolog.archive.client import request
from aerolog.transport.errors import JoinErrorReason
from aerolog.transport.time_units import NS_PER_MS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from enum import Enum

    from aerolog.archive.client.conversation import Conversation
    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.transport.client import Image
    from aerolog.transport.client.steps.caller import Steps
    from aerolog.transport.errors import JoinError

StateT = TypeVar("StateT", bound="Enum")
_LONGEST_PAUSE_NS: Final = 500 * NS_PER_MS
_PAUSE_DOUBLINGS_MAX: Final = 10


class JoinEngine(ABC, Generic[StateT]):
    """The steps of one join.

    Attributes:
        state: the state of the join. DESCRIBE, DESCRIBE_SENT, CATCH_UP, JOIN and FAILED are those
            that the shared steps enter, with the reference's names or numbers.
        source: the image that delivers, None when there is nothing to deliver.
        ERROR: the class of errors about recordings that cannot be joined.
        TEXTS: their texts, with the recording's id, what was found and what was wanted.
        FIRST_PAUSE_NS: the pause before the first new attempt; each following one is doubled.
        RECOVERABLE: errors of a round after which another round may succeed.
    """

    DESCRIBE: StateT
    DESCRIBE_SENT: StateT
    CATCH_UP: StateT
    JOIN: StateT
    FAILED: StateT
    ERROR: ClassVar[type[JoinError]]
    TEXTS: ClassVar[Mapping[JoinErrorReason, str]]
    FIRST_PAUSE_NS: ClassVar[int]
    RECOVERABLE: ClassVar[tuple[type[Exception], ...]] = ()

    def __init__(
        self, conversation: Conversation, recording_id: int, stream_id: int, state: StateT
    ) -> None:
        self.state = state
        self.source: Image | None = None
        self._conversation = conversation
        self._clock = conversation.clock
        self._recording_id = recording_id
        self._stream_id = stream_id
        self._position: int | None = None
        self._recorded = 0  # how far the recording is, as far as it was asked for
        self._margin = 0  # how far from there the replay has caught up
        self._fruitless = 0  # rounds in a row that delivered nothing

    @property
    def position(self) -> int | None:
        """Where the next message begins, None before that is known."""
        return self._position if self.source is None else self.source.message_position

    def go(self, state: StateT) -> None:
        """Enter a state."""
        self.state = state

    def _reach(self, state: StateT) -> None:
        """Enter a state, or stay in it: each entry is shown."""
        if self.state is not state:
            self.go(state)

    def run(self) -> Steps[None]:
        """All steps of the join; they end when it needs no more of them.

        Raises:
            JoinError: recording and live stream do not fit together.
            AerologError: any other reason to end.
        """
        while True:
            begin = self.position
            try:
                if (yield from self._round()):
                    return
            except self.RECOVERABLE as error:
                self._recover(error)
            self.drop_streams()
            if self.position != begin:
                self._note_progress()
            else:
                self._fruitless += 1
                yield from self._pause(self._fruitless)

    def _round(self) -> Steps[bool]:
        """From the recording to the end of the live stream; whether nothing is left to do."""
        yield from self._begin()
        recording = yield from self._describe()
        return (yield from self._follow(recording)) and (yield from self._stay())

    def _describe(self) -> Steps[RecordingDescriptor]:
        """The recording; refused when it can never be joined with the live stream."""
        self.go(self.DESCRIBE)
        sent = partial(self.go, self.DESCRIBE_SENT)
        listing = request.list_recording(self._recording_id)
        recording = yield from self._conversation.ask(listing, sent)
        if recording is None:
            raise self._misfit(JoinErrorReason.RECORDING_NOT_FOUND)
        found, wanted = recording.stream_id, self._stream_id
        if found != wanted:
            raise self._misfit(JoinErrorReason.STREAM_ID_MISMATCH, found, wanted)
        start, first = self._start_in(recording), recording.start_position
        if start is not None and start < first:
            raise self._misfit(JoinErrorReason.INVALID_START_POSITION, first, start)
        self._check(recording)
        return recording

    def _misfit(
        self, reason: JoinErrorReason, found: object = "", wanted: object = ""
    ) -> JoinError:
        return self.ERROR(reason, self.TEXTS[reason].format(self._recording_id, found, wanted))

    def _replay(self, recording: RecordingDescriptor) -> Steps[bool]:
        """Replay until the live stream is joined (True) or the replay is over."""
        image = yield from self._open_replay(recording)
        while not image.closed:
            self._reach(self.CATCH_UP)
            while image.position < self._recorded - self._margin and not image.closed:
                yield self._tend()
            if image.closed:
                break
            self._reach(self.JOIN)
            self._recorded = max((yield from self._ask_recorded()) or 0, self._recorded)
            if (yield from self._try_join(recording, image, self._recorded - image.position)):
                return True
        self._end_replay(image)
        return False

    def _ask_recorded(self) -> Steps[int | None]:
        return self._conversation.ask_position("max recorded position", self._recording_id)

    def _pause(self, failed: int) -> Steps[None]:
        """Wait before the next attempt, longer after each attempt that failed."""
        pause_ns = self.FIRST_PAUSE_NS << min(failed, _PAUSE_DOUBLINGS_MAX)
        until_ns = self._clock.now_ns() + min(pause_ns, _LONGEST_PAUSE_NS)
        while self._clock.now_ns() < until_ns:
            yield 0

    def _note_progress(self) -> None:
        self._fruitless = 0

    def _start_in(self, _: RecordingDescriptor) -> int | None:
        """Where the join begins in a recording, None when nothing recorded is wanted."""
        return self._position

    def _follow(self, recording: RecordingDescriptor) -> Steps[bool]:
        """Deliver until the live stream is joined (True) or nothing more comes."""
        return self._replay(recording)

    def _tend(self) -> int:
        """Read what the archive sends while the replay goes on; the work done."""
        return self._conversation.tend()

    def _recover(self, error: Exception) -> None:
        """Prepare the next round after a recoverable error, or raise the error."""

    def drop_streams(self) -> None:
        """Close both streams between two rounds, and remember where they were."""

    @abstractmethod
    def _begin(self) -> Steps[None]:
        """Wait for what the round needs before it asks the archive."""

    @abstractmethod
    def _check(self, recording: RecordingDescriptor) -> None:
        """Refuse a recording that this kind of join cannot use."""

    @abstractmethod
    def _open_replay(self, recording: RecordingDescriptor) -> Steps[Image]:
        """Start the replay, and make its image the source when it has come."""

    @abstractmethod
    def _try_join(self, recording: RecordingDescriptor, replay: Image, left: int) -> Steps[bool]:
        """Try to join the live stream when ``left`` bytes of the recording are left to replay."""

    @abstractmethod
    def _end_replay(self, replay: Image) -> None:
        """Raise why the replay has ended, unless the next round goes on after it."""

    @abstractmethod
    def _stay(self) -> Steps[bool]:
        """What follows the join; whether nothing is left to do."""

    @abstractmethod
    def close(self) -> None:
        """Close what the join has opened."""
