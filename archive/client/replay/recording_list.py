"""Opening the recordings of a merge: which ones, from where, and which part of each."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from aerolog.archive.client import request
from aerolog.archive.client.operations.replay_operations import ReplayOperations
from aerolog.archive.client.replay.recording_times import Stretches
from aerolog.archive.client.replay.replay_source import FolderShare, ReplayShare, together
from aerolog.archive.client.replay.time_range import TimedRange, notes_of
from aerolog.archive.client.replay.time_range import Wanted as WantedOfOne
from aerolog.archive.client.replay.timed_archive import find_range
from aerolog.archive.client.replay.timed_source import bounds_of
from aerolog.archive.client.replay.timeline import find_time
from aerolog.archive.format.archive_folder import ArchiveFolder
from aerolog.archive.time_index import SOURCE_DESCRIPTOR, TimeIndex
from aerolog.transport.errors import ArchiveError, ArchiveErrorCode, ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerolog.archive.client.caller import Steps
    from aerolog.archive.client.replay.replay_source import Share
    from aerolog.archive.format.descriptor import RecordingDescriptor

    Place = ReplayOperations | ArchiveFolder | str | Path


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked for of all recordings.

    Attributes:
        start_ns: messages before that time are left out, None for no bound.
        end_ns: messages at or after that time are left out, None for no bound.
        last_ns: so long before the end of all, instead of a start.
        follow: go on with live recordings.
        timeout_ns: after which a replay counts as stalled, None for never.
        lateness_ns: by which a live recording may lag behind the clock.
    """

    start_ns: int | None
    end_ns: int | None
    last_ns: int | None
    follow: bool
    timeout_ns: int | None
    lateness_ns: int

    def __post_init__(self) -> None:
        self.of(0)
        if self.follow and self.end_ns is not None:
            raise ConfigurationError("a merge that follows live recordings has no end in time")
        if self.lateness_ns < 0:
            raise ConfigurationError(f"lateness must not be negative: {self.lateness_ns} ns")

    def of(self, recording_id: int) -> WantedOfOne:
        """What is asked for of one recording.

        Raises:
            ConfigurationError: nothing lies between the times.
        """
        return WantedOfOne(
            recording_id, self.start_ns, self.end_ns, follow=self.follow, last_ns=self.last_ns
        )

    def before(self, end_ns: int) -> Wanted:
        """With a start instead of what is wanted before the end of all recordings."""
        return replace(self, start_ns=self.of(0).before(end_ns).start_ns, last_ns=None)


class Places:
    """Where recordings are: folders, which are opened here and closed again, and archives.

    Attributes:
        items: archive or folder and recording id, in the order of the recordings.
        archives: each client once, in an order that is the same for all merges.
    """

    def __init__(
        self, items: list[tuple[ReplayOperations | ArchiveFolder, int]], own: list[ArchiveFolder]
    ) -> None:
        self.items = items
        self._own = own
        clients = {id(place): place for place, _ in items if isinstance(place, ReplayOperations)}
        self.archives = [clients[key] for key in sorted(clients)]

    @classmethod
    def of(cls, archive: Place, recordings: Sequence[int | tuple[Place, int]]) -> Self:
        """What is meant by one archive and ids, or pairs of another one and an id.

        Raises:
            ConfigurationError: there is none, or one is named twice.
            FileNotFoundError: a folder has no catalog.
            FileFormatError: a folder's catalog is damaged.
        """
        if not recordings:
            raise ConfigurationError("there is no recording to replay: name one or more")
        folders: dict[str, ArchiveFolder] = {}
        items: list[tuple[ReplayOperations | ArchiveFolder, int]] = []
        try:
            for one in recordings:
                named, recording_id = one if isinstance(one, tuple) else (archive, one)
                place = _opened(named, folders)
                if any(other is place and its == recording_id for other, its in items):
                    raise ConfigurationError(f"recording {recording_id} is named twice")
                items.append((place, recording_id))
        except BaseException:
            for folder in folders.values():
                folder.close()
            raise
        return cls(items, list(folders.values()))

    def close(self) -> None:
        """Close the folders that were opened here; idempotent."""
        for folder in self._own:
            folder.close()


def _opened(place: Place, folders: dict[str, ArchiveFolder]) -> ReplayOperations | ArchiveFolder:
    """A place, opened when it is a path that was not met before."""
    if isinstance(place, str | Path):
        if str(place) not in folders:
            folders[str(place)] = ArchiveFolder(place)
        return folders[str(place)]
    if isinstance(place, ReplayOperations | ArchiveFolder):
        return place
    raise ConfigurationError(
        f"recordings are of an archive's client or of its folder, not of {place!r}"
    )


@dataclass(frozen=True, slots=True)
class Opened:
    """The recordings of a merge, ready to be read.

    Attributes:
        shares: in the order of the recordings.
        indexed: of each of them, whether its times are from an index.
        notes: what one should know of their times.
    """

    shares: list[Share]
    indexed: list[bool]
    notes: tuple[str, ...]


def open_shares(places: Places, wanted: Wanted) -> Steps[Opened]:
    """Find out which part of each recording is wanted.

    Raises:
        ArchiveError: UNKNOWN_RECORDING.
        FileFormatError: a descriptor is damaged.
        ConfigurationError: a folder cannot be followed.
    """
    if wanted.last_ns is not None:
        wanted = wanted.before((yield from _end_of_all(places)))
    made: list[_Made | None] = [None] * len(places.items)

    def make(number: int) -> Steps[None]:
        place, recording_id = places.items[number]
        if isinstance(place, ArchiveFolder):
            made[number] = _folder_share(place, wanted, recording_id)
        else:
            made[number] = yield from _replay_share(place, wanted, recording_id)

    try:
        yield from together([make(number) for number in range(len(made))])
    except BaseException:
        for one in made:
            if one is not None:
                one.share.close()
        raise
    whole = [one for one in made if one is not None]
    return Opened(
        [one.share for one in whole],
        [one.is_indexed for one in whole],
        tuple(note for one in whole for note in one.notes),
    )


@dataclass(frozen=True, slots=True)
class _Made:
    share: Share
    is_indexed: bool
    notes: tuple[str, ...]

    @classmethod
    def of(cls, share: Share, index: TimeIndex, descriptor: RecordingDescriptor) -> Self:
        return cls(share, index.source != SOURCE_DESCRIPTOR, notes_of(index, descriptor))


def _end_of_all(places: Places) -> Steps[int]:
    """When the last recording stopped; now when one goes on."""
    ends: list[int] = []
    for place, recording_id in places.items:
        if isinstance(place, ArchiveFolder):
            recording = place.recording(recording_id)
            with TimeIndex.of(recording) as index:
                now = recording.is_live
                ends.append(time.time_ns() if now else index.time_at(recording.end_position))
            continue
        ask = place._ask  # noqa: SLF001 - of one package
        descriptor = yield from ask(request.list_recording(recording_id))
        if descriptor is None:
            raise unknown(recording_id)
        if (yield from ask(request.ask_position("recording position", recording_id))) is not None:
            ends.append(time.time_ns())
        else:
            ends.append((yield from find_time(place, descriptor, descriptor.stop_position)))
    return max(ends)


def unknown(recording_id: int) -> ArchiveError:
    """The error for a recording that an archive does not have."""
    return ArchiveError(ArchiveErrorCode.UNKNOWN_RECORDING, f"unknown recording id: {recording_id}")


def _folder_share(folder: ArchiveFolder, wanted: Wanted, recording_id: int) -> _Made:
    if wanted.follow:
        raise ConfigurationError("following needs a running archive, not a folder")
    recording = folder.recording(recording_id)
    index = TimeIndex.of(recording)
    descriptor, of_one = recording.descriptor, wanted.of(recording_id)
    bounds = bounds_of(index, of_one)
    part = TimedRange.of(descriptor, of_one, recording.end_position, bounds)
    return _Made.of(FolderShare(recording, index, part), index, descriptor)


def _replay_share(archive: ReplayOperations, wanted: Wanted, recording_id: int) -> Steps[_Made]:
    part = yield from find_range(archive, wanted.of(recording_id))
    times = Stretches(archive, part.descriptor, part.read_until, wanted.lateness_ns)
    yield from times.begin(part.start_position)
    share = ReplayShare(
        archive, part, times, timeout_ns=wanted.timeout_ns, lateness_ns=wanted.lateness_ns
    )
    return _Made.of(share, times.index, part.descriptor)
