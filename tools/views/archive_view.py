"""An archive as seen from outside: its mark file, catalog and segment files, read-only."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aerolog.archive.format.catalog_map import CatalogReader
from aerolog.archive.format.layout import CATALOG_NAME, MARK_FILE_NAME
from aerolog.archive.format.mark_file import ArchiveMarkFile
from aerolog.archive.format.read_errors import is_unreadable
from aerolog.archive.format.segment import parse_segment_name, recording_id_of
from aerolog.archive.protocol.counter_types import OF_ARCHIVES
from aerolog.archive.protocol.enums import RecordingState
from aerolog.tools.views import counter_keys
from aerolog.tools.views.companion_files import CompanionFiles
from aerolog.tools.views.errors import Trouble, ViewError
from aerolog.tools.views.stream_views import RecordingPosition, recording_positions
from aerolog.transport.concurrent.clock import Clock, SystemClock
from aerolog.transport.errors import FileFormatError
from aerolog.transport.memory.filesystem import RealFileSystem
from aerolog.transport.memory.mark_file import LIVENESS_TIMEOUT_MS, TERMINATED
from aerolog.transport.resource import Resource

if TYPE_CHECKING:
    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.archive.protocol.mark_header import MarkFileHeader
    from aerolog.tools.views.counters_snapshot import CountersSnapshot
    from aerolog.transport.memory.error_log import ErrorObservation

_NO_ARCHIVE: Final = (
    "name another folder with --archive-dir, mount the file system that it is on, or start an"
    " archive there"
)


@dataclass(frozen=True, slots=True)
class SegmentFile:
    """A segment file that is there: first position in it, length, bytes taken on disk.

    Of one that is not readable no length is known: a link that leads nowhere, for example.
    """

    name: str
    base_position: int
    length: int
    disk_length: int
    is_readable: bool = True


@dataclass(frozen=True, slots=True)
class RecordingView:
    """A recording of the catalog and its files.

    Attributes:
        state: the state of the entry: one of RecordingState, or another number in a damaged entry.
        checksum: the checksum of the entry, 0 where none is configured.
        segments: files that are there, by position.
    """

    descriptor: RecordingDescriptor
    state: int
    checksum: int
    segments: tuple[SegmentFile, ...]

    @property
    def recording_id(self) -> int:
        """Id of the recording in its archive."""
        return self.descriptor.recording_id

    @property
    def is_valid(self) -> bool:
        """Whether it is a recording to clients."""
        return self.state == RecordingState.VALID

    @property
    def length(self) -> int:
        """Bytes of all its segment files."""
        return sum(segment.length for segment in self.segments)

    @property
    def disk_length(self) -> int:
        """Bytes that its segment files take on disk."""
        return sum(segment.disk_length for segment in self.segments)

    def missing_segments(self, end_position: int | None = None) -> list[int]:
        """Base positions of segments that should be there and are not.

        Args:
            end_position: up to which it is recorded; its stop position when None. An active
                recording's is told by its counter; without it, gaps between files are found.
        """
        descriptor = self.descriptor
        descriptor.check()
        there = {segment.base_position for segment in self.segments}
        end = descriptor.stop_position if end_position is None else end_position
        if end < 0:
            end = max(there, default=descriptor.start_position)
        base = descriptor.segment_base(descriptor.start_position)
        missing = []
        while base < end:
            if base not in there:
                missing.append(base)
            base += descriptor.segment_file_length
        return missing


@dataclass(frozen=True, slots=True)
class DiskSpace:
    """Room on the file system of a folder, bytes."""

    total: int
    used: int
    usable: int

    @property
    def used_part(self) -> float:
        """Part in use, 0 to 1, of what may be used."""
        room = self.used + self.usable
        return self.used / room if room else 1.0


@dataclass(frozen=True, slots=True)
class ArchiveCounter:
    """A counter of an archive in its driver: kind, value and label."""

    counter_id: int
    type_id: int
    value: int
    label: str


@dataclass(slots=True)
class ArchiveCounters:
    """What a driver's counters say of one archive.

    Attributes:
        recordings: positions of what it records now, by recording id.
        counters: its other counters (types 101 to 113), and those that only ours have.
    """

    recordings: dict[int, RecordingPosition] = field(default_factory=dict)
    counters: list[ArchiveCounter] = field(default_factory=list)

    def value(self, type_id: int) -> int | None:
        """Sum of the counters of a kind, None when there is none."""
        found = [counter.value for counter in self.counters if counter.type_id == type_id]
        return sum(found) if found else None


class ArchiveView(Resource):
    """An archive's folder, open for looking. A context manager.

    Attributes:
        clock: tells the time, of which the archive's signs of life have an age.
        mark: the mark file's fields when it was opened, None when it cannot be read.
        mark_fault: why not, None when it can.
        damages: what the last ``recordings()`` could not read, in words.
        companions: what lies beside the recordings: time indexes, health, retention.
    """

    def __init__(
        self, archive_dir: str, catalog: CatalogReader, clock: Clock | None = None
    ) -> None:
        self.archive_dir = archive_dir
        self.clock = clock or SystemClock()
        self.damages: list[str] = []
        self.companions = CompanionFiles(archive_dir)
        self.mark: MarkFileHeader | None = None
        self.mark_fault: str | None = None
        self._catalog = catalog
        self._mark_file: ArchiveMarkFile | None = None
        try:
            self._mark_file = ArchiveMarkFile.open(archive_dir)
            self.mark = self._mark_file.header
        except FileNotFoundError:
            self.mark_fault = f"{Path(archive_dir) / MARK_FILE_NAME}: no such file"
        except (FileFormatError, OSError) as error:
            self.mark_fault = str(error)

    @classmethod
    def open(cls, archive_dir: str | Path, clock: Clock | None = None) -> ArchiveView:
        """Map the files of an archive, alive or not.

        Raises:
            ViewError: no archive folder, or a catalog that cannot be read.
        """
        folder = str(archive_dir)
        path = str(Path(folder) / CATALOG_NAME)
        try:
            return cls(folder, CatalogReader.open(folder), clock)
        except FileNotFoundError:
            raise _no_catalog(folder) from None
        except FileFormatError as error:
            damage = Trouble.VERSION if "version" in str(error) else Trouble.DAMAGED
            remedy = (
                "aerolog recordings upgrade brings old folders up to date"
                if damage is Trouble.VERSION
                else "aerolog explain says what can be read; restore a copy"
            )
            raise ViewError(damage, path, str(error), remedy) from None
        except (OSError, ValueError) as error:
            raise _unreadable(path, error) from None

    @staticmethod
    def mark_errors(archive_dir: str | Path) -> list[ErrorObservation]:
        """Distinct errors in a folder's mark file, whatever else is there.

        Raises:
            ViewError: there is no mark file that can be read.
        """
        try:
            return ArchiveMarkFile.open(archive_dir).errors()
        except FileNotFoundError:
            path = Path(archive_dir) / MARK_FILE_NAME
            raise ViewError(Trouble.MISSING, path, "no such file", _NO_ARCHIVE) from None
        except OSError as error:
            raise _unreadable(Path(archive_dir) / MARK_FILE_NAME, error) from None
        except FileFormatError as error:
            raise ViewError(
                Trouble.DAMAGED, archive_dir, str(error), "an archive that starts writes it anew"
            ) from None

    @property
    def pid(self) -> int | None:
        """Process id that the archive wrote."""
        return None if self.mark is None else self.mark.pid

    @property
    def archive_id(self) -> int | None:
        """Id of the archive."""
        return None if self.mark is None else self.mark.archive_id

    @property
    def aeron_dir(self) -> str | None:
        """Directory of the archive's driver."""
        return None if self.mark is None else self.mark.aeron_directory

    def activity_ms(self) -> int | None:
        """Epoch milliseconds of the last sign of life; -1 after an orderly end."""
        return None if self._mark_file is None else self._mark_file.activity_timestamp

    def activity_age_ms(self, now_ms: int | None = None) -> int | None:
        """Milliseconds since the last sign of life, None when nobody can tell or it ended."""
        activity = self.activity_ms()
        if activity is None or activity == TERMINATED:
            return None
        return (self.clock.now_epoch_ms() if now_ms is None else now_ms) - activity

    def is_alive(self, now_ms: int | None = None) -> bool:
        """Whether the archive gave a sign of life in the last ten seconds."""
        age = self.activity_age_ms(now_ms)
        return age is not None and age < LIVENESS_TIMEOUT_MS

    def errors(self, since_ms: int = 0) -> list[ErrorObservation]:
        """Distinct errors of the archive's log, seen since a time (epoch milliseconds)."""
        return [] if self._mark_file is None else self._mark_file.errors(since_ms)

    def recordings(self) -> list[RecordingView]:
        """All entries of the catalog as they are now, whatever their state, with their files.

        An entry that cannot be read ends the list; ``damages`` says so.

        Raises:
            ViewError: the folder is gone.
        """
        self.damages = []
        try:
            self._catalog.reload()
            files = segment_files(self.archive_dir)
        except FileNotFoundError:
            raise _no_catalog(self.archive_dir) from None
        except OSError as error:
            raise _unreadable(self.archive_dir, error) from None
        except FileFormatError as error:
            raise ViewError(
                Trouble.DAMAGED, self.archive_dir, str(error), "look again, or restore a copy"
            ) from None
        found = []
        try:
            for entry in self._catalog.entries():
                descriptor = entry.descriptor
                segments = tuple(files.get(descriptor.recording_id, ()))
                found.append(RecordingView(descriptor, entry.state, entry.checksum, segments))
        except FileFormatError as error:
            self.damages.append(str(error))
        return found

    def disk(self) -> DiskSpace:
        """Room where the folder is."""
        status = os.statvfs(self.archive_dir)
        unit = status.f_frsize
        return DiskSpace(
            status.f_blocks * unit,
            (status.f_blocks - status.f_bfree) * unit,
            status.f_bavail * unit,
        )

    def recording_counters(self, snapshot: CountersSnapshot) -> ArchiveCounters:
        """What a driver's counters say of this archive."""
        found = ArchiveCounters()
        for position in recording_positions(snapshot):
            if position.archive_id in {self.archive_id, None}:
                found.recordings[position.recording_id] = position
        for row in snapshot.rows_of(OF_ARCHIVES):
            if counter_keys.client_id(snapshot.key(row)) == self.archive_id:
                found.counters.append(
                    ArchiveCounter(
                        snapshot.ids[row],
                        snapshot.type_ids[row],
                        snapshot.values[row],
                        snapshot.label(row),
                    )
                )
        return found

    def close(self) -> None:
        """Lets go of the catalog."""
        self._catalog.close()


def segment_files(archive_dir: str) -> dict[int, list[SegmentFile]]:
    """The segment files of a folder, by recording id and then by position.

    Raises:
        OSError: the folder is gone, or may not be read.
    """
    found: dict[int, list[SegmentFile]] = {}
    files = RealFileSystem()
    with os.scandir(archive_dir) as listed:
        for item in listed:
            recording_id = recording_id_of(item.name)
            if recording_id is None:
                continue
            try:
                base = parse_segment_name(item.name).base_position
            except FileFormatError:
                continue  # another name
            try:
                status = item.stat()
            except OSError as error:
                if not is_unreadable(error, item.path, files):
                    continue  # deleted meanwhile
                segment = SegmentFile(item.name, base, 0, 0, is_readable=False)
            else:
                segment = SegmentFile(item.name, base, status.st_size, status.st_blocks * 512)
            found.setdefault(recording_id, []).append(segment)
    for segments in found.values():
        segments.sort(key=lambda segment: segment.base_position)
    return found


def _unreadable(path: str | Path, error: OSError | ValueError) -> ViewError:
    """What is wrong with a file that cannot be read and may be sound."""
    reason = getattr(error, "strerror", None) or str(error)
    is_permission = isinstance(error, PermissionError)
    remedy = "run this as the user that owns it" if is_permission else "look at disk and mount"
    return ViewError(Trouble.UNREADABLE, path, reason, remedy)


def _no_catalog(folder: str) -> ViewError:
    try:
        left = os.listdir(folder)  # noqa: PTH208
    except OSError:
        return ViewError(Trouble.MISSING, folder, "no such folder", _NO_ARCHIVE)
    if not left:
        return ViewError(Trouble.MISSING, folder, "an empty folder", _NO_ARCHIVE)
    if MARK_FILE_NAME in left or any(recording_id_of(name) is not None for name in left):
        return ViewError(
            Trouble.HALF_DELETED,
            folder,
            f"{CATALOG_NAME} is gone and other files of an archive are left: half deleted",
            "restore the catalog from a copy, or remove the folder",
        )
    return ViewError(Trouble.MISSING, folder, f"no {CATALOG_NAME}: no archive folder", _NO_ARCHIVE)
