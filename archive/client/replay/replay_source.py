"""The sources of replays: a recording in a folder, or one of a running archive.

A source feeds the input that a merge reads natively, and does what the merge waits for: it opens
segments, asks for replays and for times. Every replay by time reads its sources through a merge,
also when there is only one recording.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aerolog.archive.client.replay.archive_replay import ArchiveReplay, ReplayParams, replay_length
from aerolog.archive.client.replay.image_input import ImageInput
from aerolog.archive.client.replay.merge import CONTROL
from aerolog.archive.client.replay.segment_input import SegmentInput
from aerolog.archive.client.replay.time_range import is_exact
from aerolog.archive.format.segment import segment_file_name
from aerolog.transport.errors import (
    AeronTimeoutError,
    ArchiveError,
    ArchiveErrorCode,
    MergeStalledError,
    NotConnectedError,
    RecordingDamagedError,
)
from aerolog.transport.time_units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerolog.archive.client.conversation import Conversation
    from aerolog.archive.client.replay.merge import MergeInput
    from aerolog.archive.client.replay.recording_times import RecordingTimes
    from aerolog.archive.client.replay.time_range import TimedRange
    from aerolog.archive.format.archive_folder import Recording
    from aerolog.archive.time_index import TimeIndex
    from aerolog.transport.client.steps.caller import Steps
    from aerolog.transport.memory.data_file import DataFile

LEAST: Final = -(1 << 63)
MOST: Final = (1 << 63) - 1
#: How long a replay waits for others to end when the archive has as many as it allows.
REPLAYS_PATIENCE_NS: Final = NS_PER_S
ASK_AGAIN_NS: Final = 20_000_000
#: How often within the lateness the position of a live recording is asked for.
LOOKS: Final = 4


@dataclass(frozen=True, slots=True)
class Patience:
    """For how long sources are waited for.

    Attributes:
        timeout_ns: time without progress after which a replay counts as stalled, None for never.
        lateness_ns: time by which a live recording may lag behind the clock.
        is_merge: whether there are several sources, which have to wait for each other.
    """

    timeout_ns: int | None
    lateness_ns: int = 0
    is_merge: bool = True


def _choose(messages: MergeInput, part: TimedRange, index: TimeIndex) -> None:
    """Tell an input which messages lie within the times; where the index is unsure, all do."""
    if part.start_ns is None and part.end_ns is None:
        return
    messages.choose(
        LEAST if part.start_ns is None else part.start_ns,
        MOST if part.end_ns is None else part.end_ns,
        index.last_position + 1 if is_exact(index) else part.start_position,
        MOST if part.end_position is None else part.end_position,
    )


def _floor(index: TimeIndex, position: int) -> int:
    """A time before which nothing was recorded from a position on."""
    floor_ns = index.estimate_at(position)
    if index.clock_steps_back or index.estimate_at(index.start_position) > index.first_time_ns:
        return LEAST
    return floor_ns


def together(many: Sequence[Steps[None]]) -> Steps[None]:
    """Carry several steps out at the same time, so that they wait for their answers together."""
    left = list(many)
    try:
        while left:
            work = 0
            for steps in tuple(left):
                try:
                    work += next(steps)
                except StopIteration:
                    left.remove(steps)
                    work += 1
            if left:
                yield work
    finally:
        for steps in left:
            steps.close()


class ReplaySource(ABC):
    """One recording, of which a part is replayed.

    Attributes:
        range: the part of the recording that is replayed.
        recording_id: the id of the recording.
        messages: the input that a merge reads.
        quiet_until_ns: for a live recording that was read to its end, the time before which no
            further message is expected to have been recorded.
    """

    messages: MergeInput
    quiet_until_ns: int | None = None

    def __init__(self, part: TimedRange) -> None:
        self.range = part
        self.recording_id = part.recording_id

    @property
    def is_empty(self) -> bool:
        """Whether the range holds nothing, so that there is nothing to open."""
        return self.range.length == 0

    @property
    @abstractmethod
    def is_replay(self) -> bool:
        """Whether an archive replays it; an archive allows only so many replays at once."""

    @property
    @abstractmethod
    def is_open(self) -> bool:
        """Whether it has been opened."""

    @abstractmethod
    def open(self) -> Steps[None]:
        """Begin to read; what is opened ahead delivers sooner."""

    @abstractmethod
    def look_ahead(self) -> None:
        """Do what will be needed soon, without waiting."""

    @abstractmethod
    def go_on(self, waited_ns: int) -> Steps[bool]:
        """Do what the merge waits for.

        Args:
            waited_ns: how long the merge has been waiting for this source.

        Returns:
            Whether it is worth another try at once.

        Raises:
            AerologError: it cannot go on.
        """

    def give_up(self) -> None:
        """End the source early, as no more of it is wanted."""
        self.messages.finish()
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Let go of what it reads from; idempotent."""


class FolderSource(ReplaySource):
    """A recording of a folder."""

    def __init__(self, recording: Recording, index: TimeIndex, part: TimedRange) -> None:
        super().__init__(part)
        descriptor = recording.descriptor
        self._recording = recording
        self._index = index
        self._file: DataFile | None = None
        self.messages = self._segments = SegmentInput(
            recording_id=self.recording_id,
            session_id=descriptor.session_id,
            stream_id=descriptor.stream_id,
            times=index.cursor(),
            floor_ns=_floor(index, part.start_position),
            start=part.start_position,
            end=recording.end_position if part.read_until is None else part.read_until,
            segment_length=descriptor.segment_file_length,
            term_length=descriptor.term_buffer_length,
            initial_term_id=descriptor.initial_term_id,
        )
        _choose(self.messages, part, index)

    @property
    def is_replay(self) -> bool:
        """False: the files are read directly."""
        return False

    @property
    def is_open(self) -> bool:
        """Whether a segment is open."""
        return self._file is not None

    def open(self) -> Steps[None]:
        """Open the segment that comes next."""
        yield from ()
        self._open_segment()

    def look_ahead(self) -> None:
        """Do nothing, as files need no preparation."""

    def go_on(self, waited_ns: int) -> Steps[bool]:
        """Open the next segment, or say what is wrong with this one."""
        del waited_ns
        yield from ()
        if self._segments.status != CONTROL:
            self._explain()
        self._open_segment()
        return True

    def _open_segment(self) -> None:
        position = self._segments.next_position
        base = self._recording.descriptor.segment_base(position)
        name = segment_file_name(self.recording_id, base)
        try:
            file = self._recording.files.open_data_file(
                str(Path(self._recording.folder.path) / name)
            )
        except OSError:
            self._explain()
            raise  # it is there again
        self._close_file()
        self._file = file
        self._segments.open(file, base)

    def _explain(self) -> None:
        """Raise what a read of the recording meets where the merge cannot go on."""
        position = self._segments.next_position
        read = self._recording.batches(
            assemble=False, from_position=position, columns=("position",), rows_max=1
        )
        next(read, None)
        raise RecordingDamagedError(
            f"recording {self.recording_id} changed at position {position} while it was read",
            self.recording_id,
            position,
        )

    def close(self) -> None:
        """Close the segment and the index."""
        self._close_file()
        self._index.close()

    def _close_file(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


class ArchiveSource(ReplaySource):
    """A recording that a running archive replays."""

    def __init__(
        self,
        conversation: Conversation,
        part: TimedRange,
        times: RecordingTimes,
        patience: Patience,
    ) -> None:
        super().__init__(part)
        descriptor = part.descriptor
        end = part.start_position if self.is_empty else part.read_until
        length = replay_length(None if end is None else end - part.start_position, follow=True)
        self._conversation = conversation
        self._clock = conversation.clock
        self._times = times
        self._patience = patience
        self._replay = ArchiveReplay(
            conversation, ReplayParams(self.recording_id, part.start_position, length)
        )
        self._look_again_ns = self._ask_again_ns = 0
        self._is_caught_up = self._is_asked_for = self._is_over = False
        self._is_ending = end is not None
        self._refusal: ArchiveError | None = None
        self.messages = self._log = ImageInput(
            recording_id=self.recording_id,
            session_id=descriptor.session_id,
            stream_id=descriptor.stream_id,
            times=times.index.cursor(),
            floor_ns=times.index.estimate_at(part.start_position),
            start=part.start_position,
            end=end,
        )
        self._log.cover(part.start_position)

    @property
    def is_replay(self) -> bool:
        """True: the archive replays the recording."""
        return True

    @property
    def is_open(self) -> bool:
        """Whether the replay was asked for and has not been closed."""
        return self._is_asked_for

    def open(self) -> Steps[None]:
        """Ask for the replay and subscribe to it, and for the times of its beginning.

        When the archive has as many replays as it may, it is asked again when this one's turn has
        come: others may have ended until then.
        """
        self._is_asked_for = True
        try:
            yield from together([self._ask_for_replay(), self._ask_for_times()])
        except ArchiveError as error:
            self._is_asked_for = False
            if error.code != ArchiveErrorCode.MAX_REPLAYS or not self._patience.is_merge:
                raise
            self._refusal = error
            self._ask_again_ns = self._clock.now_ns() + ASK_AGAIN_NS
        else:
            self._refusal = None

    def _open_in_turn(self, waited_ns: int) -> Steps[None]:
        if self._clock.now_ns() < self._ask_again_ns:
            return
        yield from self.open()
        if self._refusal is not None and waited_ns > REPLAYS_PATIENCE_NS:
            raise self._refusal

    def _ask_for_times(self) -> Steps[None]:
        if self.range.read_until is not None:
            yield from self._find_times()

    def _ask_for_replay(self) -> Steps[None]:
        try:
            yield from self._replay.open()
        except ArchiveError as error:
            if not self._patience.is_merge:
                raise
            raise self._refused(error) from error

    def _refused(self, error: ArchiveError) -> ArchiveError:
        text = f"recording {self.recording_id} of a merged replay: {error.message}"
        if error.code == ArchiveErrorCode.MAX_REPLAYS:
            text += ": merge fewer at once, or raise aeron.archive.max.concurrent.replays"
        return ArchiveError(error.code_value, text, error.correlation_id)

    def look_ahead(self) -> None:
        """Fetch times before they are needed."""
        if self._is_asked_for:
            self._times.look_ahead(self._log.next_position)
            self._log.cover(self._times.covered)

    def go_on(self, waited_ns: int) -> Steps[bool]:
        """Attach the replay when it has come; find out why it does not deliver."""
        if not self._is_asked_for:
            yield from self._open_in_turn(waited_ns)
        image = self._replay.image
        if self._log.image is None:
            if image is not None:
                self._log.attach(image)
                return True
        elif self._is_over:
            yield from self._end()
            return True
        else:
            if self._lacks_times() and (yield from self._find_times()):
                return True
            # Looked at before the merge looks again: then nothing is left.
            self._is_over = self._replay.is_over
            if self._is_over or (not self._is_ending and (yield from self._follow())):
                return True
        self._check(waited_ns)
        return False

    def _lacks_times(self) -> bool:
        """Whether what comes next lies behind where times are known."""
        position, end = self._log.next_position, self.range.read_until
        return position >= self._log.covered and (end is None or position < end)

    def _find_times(self) -> Steps[bool]:
        """Fetch the times of what comes next; False while there is nothing new."""
        times = self._times
        if not (yield from times.advance()):
            return False
        self._log.use_times(times.index.cursor())
        self._log.cover(times.covered)
        _choose(self._log, self.range, times.index)
        return True

    def _follow(self) -> Steps[bool]:
        """Find out whether a live recording has been read to where it has come, and to its end."""
        now_ns = self._clock.now_ns()
        if now_ns < self._look_again_ns:
            return False
        if self.range.is_past(self._clock.now_epoch_ns()):
            recorded = yield from self._ask_position("max recorded position")
            self._log.end_at(self.range.start_position if recorded is None else recorded)
            self._is_ending = True
            return True
        if self._patience.is_merge:
            asked_ns = self._clock.now_epoch_ns()
            recorded = yield from self._ask_position("recording position")
            self._is_caught_up = recorded is not None and self._log.next_position >= recorded
            if self._is_caught_up:
                self.quiet_until_ns = asked_ns - self._patience.lateness_ns
        self._look_again_ns = self._clock.now_ns() + self._patience.lateness_ns // LOOKS
        return False

    def _ask_position(self, what: str) -> Steps[int | None]:
        return self._conversation.ask_position(what, self.recording_id)

    def _check(self, waited_ns: int) -> None:
        session = self._conversation.usable()
        session.pump()
        self._replay.check()
        position, timeout_ns = self._log.next_position, self._patience.timeout_ns
        where = f"the replay of recording {self.recording_id} at {position}"
        if session.disconnected:
            raise NotConnectedError(f"the archive is gone: {where} cannot go on")
        if self._is_caught_up or timeout_ns is None or waited_ns <= timeout_ns:
            return
        if self._patience.is_merge:
            raise MergeStalledError(
                f"{where} has delivered nothing for {waited_ns / NS_PER_S:.1f} s, and the "
                f"merge cannot go on without it",
                self.recording_id,
                position,
            )
        if self._is_ending:
            raise self._early(self.range.end_position)

    def _end(self) -> Steps[None]:
        """End the source when the replay has ended where it should, else raise why it has not."""
        end = self.range.end_position
        if end is None and self._patience.is_merge:
            end = yield from self._ask_position("stop position")
        if self._log.next_position >= (MOST if end is None else end):
            self._log.finish()
            return
        self._check(0)
        # A length may end within a frame; who follows alone ends when the archive does.
        if self.range.has_length or (not self._patience.is_merge and end is None):
            self._log.finish()
            return
        raise self._early(end)

    def _early(self, end: int | None) -> AeronTimeoutError:
        position = self._log.next_position
        text = f"replay of recording {self.recording_id} ended at {position}, before " + (
            "its recording" if end is None else str(end)
        )
        if self._patience.is_merge:
            return MergeStalledError(f"the {text}", self.recording_id, position)
        return AeronTimeoutError(text)

    def close(self) -> None:
        """Close the subscription, which ends the replay."""
        self._replay.close()
        self._is_asked_for = False
        self._times.close()
