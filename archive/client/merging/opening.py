"""Opening the recordings of a merge: which ones, from where, and which part of each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from aerolog.archive.client.merging.shares import FolderShare, ReplayShare, together
from aerolog.archive.client.merging.stretches import Stretches
from aerolog.archive.client.operations.replaying import ReplayOperations
from aerolog.archive.client.timed_archive import find_range
from aerolog.archive.client.timed_range import TimedRange, notes_of
from aerolog.archive.client.timed_range import Wanted as WantedOfOne
from aerolog.archive.client.timed_source import bounds_of
from aerolog.archive.files.recording import ArchiveFolder
from aerolog.archive.times import TimeIndex
from aerolog.transport.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerolog.archive.client.merging.shares import Share
    from aerolog.archive.client.steps import Steps

    Place = ReplayOperations | ArchiveFolder | str | Path


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked for of all recordings.

    Attributes:
        start_ns: messages before that time are left out, None for no bound.
        end_ns: messages at or after that time are left out, None for no bound.
        follow: go on with live recordings.
        timeout_ns: after which a replay counts as stalled, None for never.
        lateness_ns: by which a live recording may lag behind the clock.
    """

    start_ns: int | None
    end_ns: int | None
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
        return WantedOfOne(recording_id, self.start_ns, self.end_ns, follow=self.follow)


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
        notes: what one should know of their times.
    """

    shares: list[Share]
    notes: tuple[str, ...]


def open_shares(places: Places, wanted: Wanted) -> Steps[Opened]:
    """Find out which part of each recording is wanted.

    Raises:
        ArchiveError: UNKNOWN_RECORDING.
        FileFormatError: a descriptor is damaged.
        ConfigurationError: a folder cannot be followed.
    """
    made: list[tuple[Share, tuple[str, ...]] | None] = [None] * len(places.items)

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
                one[0].close()
        raise
    whole = [one for one in made if one is not None]
    return Opened([share for share, _ in whole], tuple(note for _, own in whole for note in own))


def _folder_share(
    folder: ArchiveFolder, wanted: Wanted, recording_id: int
) -> tuple[Share, tuple[str, ...]]:
    if wanted.follow:
        raise ConfigurationError("following needs a running archive, not a folder")
    recording = folder.recording(recording_id)
    index = TimeIndex.of(recording)
    descriptor, of_one = recording.descriptor, wanted.of(recording_id)
    bounds = bounds_of(index, of_one)
    part = TimedRange.of(descriptor, of_one, recording.end_position, bounds)
    return FolderShare(recording, index, part), notes_of(index, descriptor)


def _replay_share(
    archive: ReplayOperations, wanted: Wanted, recording_id: int
) -> Steps[tuple[Share, tuple[str, ...]]]:
    part = yield from find_range(archive, wanted.of(recording_id))
    times = Stretches(archive, part.descriptor)
    yield from times.begin(part.start_position)
    share = ReplayShare(
        archive, part, times, timeout_ns=wanted.timeout_ns, lateness_ns=wanted.lateness_ns
    )
    return share, notes_of(times.index, part.descriptor)
