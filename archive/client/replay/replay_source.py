"""The recordings of a merge: what each reads from, and what it does when it is waited for."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aerolog.archive.client import request
from aerolog.archive.client.options import NS_PER_SECOND, REPLAY_STREAM_ID
from aerolog.archive.client.replay.image_input import ReplaySource
from aerolog.archive.client.replay.merge import CONTROL
from aerolog.archive.client.replay.replay_request import ReplayChannel, ReplayParams, replay_length
from aerolog.archive.client.replay.segment_input import SegmentSource
from aerolog.archive.client.replay.time_range import is_exact
from aerolog.archive.format.segment import segment_file_name
from aerolog.transport.errors import (
    ArchiveError,
    ArchiveErrorCode,
    MergeStalledError,
    NotConnectedError,
    RecordingDamagedError,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerolog.archive.client.caller import Steps
    from aerolog.archive.client.operations.replay_operations import ReplayOperations
    from aerolog.archive.client.replay.merge import MergeSource
    from aerolog.archive.client.replay.recording_times import Stretches
    from aerolog.archive.client.replay.time_range import TimedRange
    from aerolog.archive.format.archive_folder import Recording
    from aerolog.archive.time_index import TimeIndex
    from aerolog.transport.client import Image, Subscription
    from aerolog.transport.memory.data_file import DataFile

LEAST: Final = -(1 << 63)
MOST: Final = (1 << 63) - 1
#: For so long other replays may end before it is an error that an archive has too many.
REPLAYS_PATIENCE_NS: Final = 1_000_000_000
ASK_AGAIN_NS: Final = 20_000_000
#: So often in the time of a lateness it is asked how far a live recording has come.
LOOKS: Final = 4


def _choose(source: MergeSource, part: TimedRange, index: TimeIndex) -> None:
    """Tell a source which messages lie within the times; where an index is not sure, they do."""
    if part.start_ns is None and part.end_ns is None:
        return
    source.choose(
        LEAST if part.start_ns is None else part.start_ns,
        MOST if part.end_ns is None else part.end_ns,
        index.last_position if is_exact(index) else part.start_position,
        MOST if part.end_position is None else part.end_position,
    )


def _floor(index: TimeIndex, position: int) -> int:
    """A time before which nothing was recorded from a position on."""
    floor_ns = index.time_at(position)
    if index.clock_steps_back or index.time_at(index.start_position) > index.first_time_ns:
        return LEAST
    return floor_ns


def together(many: Sequence[Steps[None]]) -> Steps[None]:
    """Carry several steps out side by side: they wait for each other's answers no longer."""
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


class Share(ABC):
    """One recording of a merge.

    Attributes:
        recording_id: of it.
        source: that the merge reads.
        quiet_until_ns: of a live recording that was read to its end: nothing is expected any more
            that was recorded before that time.
    """

    recording_id: int
    source: MergeSource
    quiet_until_ns: int | None = None

    @property
    @abstractmethod
    def is_replay(self) -> bool:
        """Whether an archive replays it, which allows so many at once."""

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
            waited_ns: how long the merge has been waiting for this one.

        Returns:
            Whether it is worth another try at once.

        Raises:
            AerologError: it cannot go on.
        """

    def give_up(self) -> None:
        """Nothing more is wanted of it."""
        self.source.finish()
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Let go of what it reads from; idempotent."""


class FolderShare(Share):
    """A recording of a folder."""

    def __init__(self, recording: Recording, index: TimeIndex, part: TimedRange) -> None:
        descriptor = recording.descriptor
        self.recording_id = recording.recording_id
        self._recording = recording
        self._index = index
        self._file: DataFile | None = None
        self.source = self._segments = SegmentSource(
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
        _choose(self.source, part, index)

    @property
    def is_replay(self) -> bool:
        """It is none."""
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
        """Nothing: files are there."""

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


class ReplayShare(Share):
    """A recording that a running archive replays."""

    def __init__(
        self,
        archive: ReplayOperations,
        part: TimedRange,
        times: Stretches,
        *,
        timeout_ns: int | None,
        lateness_ns: int,
    ) -> None:
        descriptor = part.descriptor
        self.recording_id = descriptor.recording_id
        self._archive = archive
        self._part = part
        self._times = times
        self._timeout_ns = timeout_ns
        self._lateness_ns = lateness_ns
        self._look_again_ns = 0
        self._is_caught_up = False
        self._subscription: Subscription | None = None
        self._images: list[Image] = []
        self._is_asked_for = False
        self._refusal: ArchiveError | None = None
        self._ask_again_ns = 0
        self._correlation_id = -1
        self._is_over = False
        self.source = self._replay = ReplaySource(
            recording_id=self.recording_id,
            session_id=descriptor.session_id,
            stream_id=descriptor.stream_id,
            times=times.index.cursor(),
            floor_ns=times.index.time_at(part.start_position),
            start=part.start_position,
            end=part.read_until,
        )
        self._replay.cover(part.start_position)

    @property
    def is_replay(self) -> bool:
        """It is one."""
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
            if error.code != ArchiveErrorCode.MAX_REPLAYS:
                raise
            self._refusal = error
            self._ask_again_ns = time.monotonic_ns() + ASK_AGAIN_NS
        else:
            self._refusal = None

    def _open_in_turn(self, waited_ns: int) -> Steps[None]:
        if time.monotonic_ns() < self._ask_again_ns:
            return
        yield from self.open()
        if self._refusal is not None and waited_ns > REPLAYS_PATIENCE_NS:
            raise self._refusal

    def _ask_for_times(self) -> Steps[None]:
        if self._part.read_until is not None:
            yield from self._find_times()

    def look_ahead(self) -> None:
        """Fetch times before they are needed."""
        if self._is_asked_for:
            self._times.look_ahead(self._replay.next_position)

    def _ask_for_replay(self) -> Steps[None]:
        archive, part = self._archive, self._part
        end = part.read_until
        length = replay_length(None if end is None else end - part.start_position, follow=True)
        subscribe = partial(
            archive.aeron.add_subscription_async,
            stream_id=REPLAY_STREAM_ID,
            on_image=self._images.append,
        )
        steps = archive._replayed(  # noqa: SLF001 - of one package
            ReplayParams(self.recording_id, part.start_position, length),
            ReplayChannel(archive.options.default_replay_channel),
            subscribe,
            REPLAY_STREAM_ID,
        )
        try:
            self._subscription = yield from self._noting(steps)
        except ArchiveError as error:
            raise self._refused(error) from error

    def _noting(self, steps: Steps[Subscription]) -> Steps[Subscription]:
        """Carry steps out and note the last request that they send: errors name it later on."""
        archive = self._archive
        try:
            while True:
                before = archive.last_correlation_id
                try:
                    work = next(steps)
                except StopIteration as done:
                    subscription: Subscription = done.value
                    return subscription
                finally:
                    if archive.last_correlation_id != before:  # others send in steps of their own
                        self._correlation_id = archive.last_correlation_id
                yield work
        finally:
            steps.close()

    def _refused(self, error: ArchiveError) -> ArchiveError:
        text = f"recording {self.recording_id} of a merged replay: {error.message}"
        if error.code == ArchiveErrorCode.MAX_REPLAYS:
            text += ": merge fewer at once, or raise aeron.archive.max.concurrent.replays"
        return ArchiveError(error.code_value, text, error.correlation_id)

    def go_on(self, waited_ns: int) -> Steps[bool]:
        """Attach the replay when it has come; find out why it does not deliver."""
        if not self._is_asked_for:
            yield from self._open_in_turn(waited_ns)
        if self._replay.image is None:
            if self._images:
                self._replay.attach(self._images[0])
                return True
        elif self._is_over:
            yield from self._end()
            return True
        else:
            if self._lacks_times() and (yield from self._find_times()):
                return True
            image = self._images[0]
            # Looked at before the merge looks again: then nothing is left.
            self._is_over = image.closed or image.is_end_of_stream
            if self._is_over:
                return True
            if self._part.read_until is None:
                yield from self._follow()
        self._check(waited_ns)
        return False

    def _lacks_times(self) -> bool:
        """Whether what comes next lies behind where times are known."""
        position, end = self._replay.next_position, self._part.read_until
        return position >= self._replay.covered and (end is None or position < end)

    def _find_times(self) -> Steps[bool]:
        """Fetch the times of what comes next; False while there is nothing new."""
        times = self._times
        if not (yield from times.advance()):
            return False
        self._replay.use_times(times.index.cursor())
        self._replay.cover(times.covered)
        _choose(self._replay, self._part, times.index)
        return True

    def _follow(self) -> Steps[None]:
        """Find out whether a live recording has been read to where it has come."""
        now_ns = time.monotonic_ns()
        if now_ns < self._look_again_ns:
            return
        asked_ns = time.time_ns()
        recorded = yield from self._archive._ask(  # noqa: SLF001
            request.ask_position("recording position", self.recording_id)
        )
        self._look_again_ns = time.monotonic_ns() + self._lateness_ns // LOOKS
        self._is_caught_up = recorded is not None and self._replay.next_position >= recorded
        if self._is_caught_up:
            self.quiet_until_ns = asked_ns - self._lateness_ns

    def _check(self, waited_ns: int) -> None:
        session = self._archive._usable()  # noqa: SLF001
        session.pump()
        error = session.take_error(self._correlation_id)
        if error is not None:
            raise error
        where = f"the replay of recording {self.recording_id} at {self._replay.next_position}"
        if session.disconnected:
            raise NotConnectedError(f"the archive is gone: {where} cannot go on")
        if self._is_caught_up or self._timeout_ns is None:
            return
        if waited_ns > self._timeout_ns:
            raise MergeStalledError(
                f"{where} has delivered nothing for {waited_ns / NS_PER_SECOND:.1f} s, and the "
                f"merge cannot go on without it",
                self.recording_id,
                self._replay.next_position,
            )

    def _end(self) -> Steps[None]:
        """The replay has ended: rightly, or before its time."""
        reached, end = self._replay.next_position, self._part.end_position
        if end is None:
            end = yield from self._archive._ask(  # noqa: SLF001
                request.ask_position("stop position", self.recording_id)
            )
        if end is not None and reached >= end:
            self._replay.finish()
            return
        self._check(0)
        raise MergeStalledError(
            f"the replay of recording {self.recording_id} ended at {reached}, before "
            + ("its recording" if end is None else str(end)),
            self.recording_id,
            reached,
        )

    def close(self) -> None:
        """Close the subscription, which ends the replay."""
        if self._subscription is not None:
            self._subscription.close()
            self._subscription = None
        self._is_asked_for = False
        self._times.close()
