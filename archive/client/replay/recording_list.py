"""The recordings of a replay: where each is, and which part of it is wanted."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from aerolog.archive.client.client_base import ArchiveClientBase
from aerolog.archive.client.replay.recording_times import (
    RecordingTimes,
    describe,
    find_end,
    find_range,
)
from aerolog.archive.client.replay.replay_source import ArchiveSource, FolderSource, together
from aerolog.archive.client.replay.time_range import TimedRange, bounds_of, notes_of
from aerolog.archive.format.archive_folder import ArchiveFolder
from aerolog.archive.time_index import SOURCE_DESCRIPTOR, TimeIndex
from aerolog.transport.concurrent.clock import SystemClock
from aerolog.transport.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from aerolog.archive.client.conversation import Conversation
    from aerolog.archive.client.replay.replay_source import Patience, ReplaySource
    from aerolog.archive.client.replay.time_range import Wanted
    from aerolog.archive.format.archive_folder import Recording
    from aerolog.transport.client.steps.caller import Steps
    from aerolog.transport.concurrent.clock import Clock

    Origin = ArchiveClientBase | ArchiveFolder | str | Path


class RecordingList:
    """Recordings of folders, which are opened here and closed again, and of archives.

    A with block holds the archives' conversations: no other thread asks or turns them meanwhile.

    Attributes:
        items: conversation or folder and recording id, in the order of the recordings.
        archives: each client once, in an order that is the same for all lists.
        clock: the clock of all times.
    """

    def __init__(
        self,
        archive: Origin,
        recordings: Sequence[int | tuple[Origin, int]],
        clock: Clock | None = None,
    ) -> None:
        """Make the list from one archive and ids, or from pairs of another archive and an id.

        Args:
            archive: the archive of recordings that name none.
            recordings: ids, or pairs of an archive and an id.
            clock: the clock to use; the first archive's by default, or the machine's without one.

        Raises:
            ConfigurationError: there is none, or one is named twice.
            FileNotFoundError: a folder has no catalog.
            FileFormatError: a folder's catalog is damaged.
        """
        if not recordings:
            raise ConfigurationError("there is no recording to replay: name one or more")
        self.items: list[tuple[Conversation | ArchiveFolder, int]] = []
        self._folders: dict[str, ArchiveFolder] = {}
        clients: dict[int, ArchiveClientBase] = {}
        try:
            for one in recordings:
                named, recording_id = one if isinstance(one, tuple) else (archive, one)
                if isinstance(named, ArchiveClientBase):
                    clients[id(named)] = named
                origin = self._opened(named)
                if any(other is origin and its == recording_id for other, its in self.items):
                    raise ConfigurationError(f"recording {recording_id} is named twice")
                self.items.append((origin, recording_id))
        except BaseException:
            self.close()
            raise
        self.archives = [clients[key] for key in sorted(clients)]
        if clock is None:
            clock = self.archives[0].options.clock if clients else SystemClock()
        self.clock = clock

    def _opened(self, origin: Origin) -> Conversation | ArchiveFolder:
        """An origin, opened when it is a path that was not met before."""
        if isinstance(origin, str | Path):
            if str(origin) not in self._folders:
                self._folders[str(origin)] = ArchiveFolder(origin)
            return self._folders[str(origin)]
        if isinstance(origin, ArchiveFolder):
            return origin
        if isinstance(origin, ArchiveClientBase):
            return origin.conversation
        raise ConfigurationError(
            f"recordings are of an archive's client or of its folder, not of {origin!r}"
        )

    def __enter__(self) -> Self:
        for archive in self.archives:
            archive.conversation.lock.acquire()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for archive in self.archives:
            archive.conversation.lock.release()

    def turn(self) -> None:
        """Turn the transport clients that have no thread of their own."""
        for archive in self.archives:
            with archive.conversation.lock:
                archive.conversation.turn()

    def pump(self) -> None:
        """Read what archives send, as they end sessions that do not read."""
        for archive in self.archives:
            with archive.conversation.lock:
                if not archive.closed:
                    archive.conversation.pump()

    def close(self) -> None:
        """Close the folders that were opened here; idempotent."""
        for folder in self._folders.values():
            folder.close()

    def __repr__(self) -> str:
        return f"recordings {', '.join(str(recording_id) for _, recording_id in self.items)}"


@dataclass(frozen=True, slots=True)
class OpenRecording:
    """A recording and the part of it that is wanted.

    Attributes:
        source: the source of its messages.
        is_indexed: whether the times of the messages are from an index.
        notes: remarks for the user on how exact the times are.
    """

    source: ReplaySource
    is_indexed: bool
    notes: tuple[str, ...]

    @classmethod
    def of(cls, source: ReplaySource, index: TimeIndex) -> Self:
        """A source with what an index tells of its times."""
        notes = notes_of(index, source.range.descriptor)
        return cls(source, index.source != SOURCE_DESCRIPTOR, notes)


def open_recordings(
    recordings: RecordingList, wanted: Wanted, patience: Patience
) -> Steps[list[OpenRecording]]:
    """Find out which part of each recording is wanted; no message is read.

    Raises:
        ArchiveError: UNKNOWN_RECORDING.
        FileFormatError: a descriptor is damaged.
        ConfigurationError: a folder cannot be followed, or a position is outside a recording.
    """
    items = recordings.items
    if wanted.last_ns is not None and len(items) > 1:
        wanted = wanted.before((yield from _end_of_all(recordings)))
    made: list[OpenRecording | None] = [None] * len(items)

    def make(number: int) -> Steps[None]:
        origin, recording_id = items[number]
        if isinstance(origin, ArchiveFolder):
            made[number] = _of_folder(origin, wanted, recording_id, recordings.clock, patience)
        else:
            made[number] = yield from _of_archive(origin, wanted, recording_id, patience)

    try:
        yield from together([make(number) for number in range(len(made))])
    except BaseException:
        for one in made:
            if one is not None:
                one.source.close()
        raise
    return [one for one in made if one is not None]


def _end_of_all(recordings: RecordingList) -> Steps[int]:
    """The time at which the last recording stopped; now when one goes on."""
    ends: list[int] = []
    for origin, recording_id in recordings.items:
        if isinstance(origin, ArchiveFolder):
            recording = origin.recording(recording_id)
            with TimeIndex.of(recording) as index:
                ends.append(_end_in_folder(recording, index, recordings.clock))
            continue
        descriptor = yield from describe(origin, recording_id)
        live = yield from origin.ask_position("recording position", recording_id)
        stop = descriptor.stop_position
        ends.append((yield from find_end(origin, descriptor, stop, is_live=live is not None)))
    return max(ends)


def _end_in_folder(recording: Recording, index: TimeIndex, clock: Clock) -> int:
    return clock.now_epoch_ns() if recording.is_live else index.estimate_at(recording.end_position)


def _of_folder(
    folder: ArchiveFolder, wanted: Wanted, recording_id: int, clock: Clock, patience: Patience
) -> OpenRecording:
    if wanted.follow and patience.is_merge:
        raise ConfigurationError("following needs a running archive, not a folder")
    recording = folder.recording(recording_id)
    index = TimeIndex.of(recording)
    try:
        if wanted.last_ns is not None:
            wanted = wanted.before(_end_in_folder(recording, index, clock))
        bounds = bounds_of(index, wanted)
        part = TimedRange.of(recording.descriptor, wanted, recording.end_position, bounds)
        return OpenRecording.of(FolderSource(recording, index, part), index)
    except BaseException:
        index.close()
        raise


def _of_archive(
    conversation: Conversation, wanted: Wanted, recording_id: int, patience: Patience
) -> Steps[OpenRecording]:
    part = yield from find_range(conversation, recording_id, wanted)
    times = RecordingTimes(conversation, part.descriptor, part.read_until, patience.lateness_ns)
    yield from times.begin(part.start_position)
    return OpenRecording.of(ArchiveSource(conversation, part, times, patience), times.index)
