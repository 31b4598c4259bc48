"""Finds the recordings of a folder that have changed since the last look, at little cost.

An archive does not announce every change: only a client that purges, truncates or detaches segments
gets a signal, and recording events may be switched off. So the watch looks at the folder itself: at
digests of the binary catalog's blocks, at the names of segment files when the folder's modification
time has changed, and at the counters of active recordings. It tells which recordings to read again;
what their rows say comes from the folder.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from aerolog.archive.format.catalog_map import CatalogReader
from aerolog.archive.format.layout import CATALOG_NAME, SEGMENT_SUFFIX
from aerolog.archive.format.live_position import live_positions
from aerolog.archive.format.mark_file import ArchiveMarkFile
from aerolog.archive.format.segment import recording_id_of
from aerolog.archive.retention.retention_folder import holds_path
from aerolog.archive.time_index.layout import times_dir
from aerolog.catalog.extras import require
from aerolog.catalog.index.folder_scan import index_id
from aerolog.catalog.index.journal_file import JOURNAL_NAME
from aerolog.transport.concurrent.clock import SystemClock
from aerolog.transport.errors import ArchiveError, FileFormatError
from aerolog.transport.memory.filesystem import RealFileSystem
from aerolog.transport.memory.regular_file import open_regular

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from aerolog.transport.concurrent.clock import Clock

#: Bytes of the binary catalog that have one digest: about ten entries.
BLOCK: Final = 4096
_READ: Final = 256 * BLOCK
#: A folder that was modified this recently may change again with the same modification time.
_TIME_GRAIN_NS: Final = 100_000_000


@dataclass(slots=True)
class Changes:
    """Which parts of a folder have changed.

    Attributes:
        ids: the ids of the recordings that have changed.
        is_whole: whether the whole folder has to be synced: entries are gone, it is damaged, an
            archive has started, or its journal has grown.
    """

    ids: set[int] = field(default_factory=set)
    is_whole: bool = False

    def __bool__(self) -> bool:
        """Whether anything has changed."""
        return self.is_whole or bool(self.ids)

    def add(self, other: Changes) -> None:
        """Add other changes to these."""
        self.ids |= other.ids
        self.is_whole = self.is_whole or other.is_whole


class FolderWatch:
    """A folder as it was at the last look. The first look reports all recordings."""

    def __init__(self, archive_dir: str | Path, clock: Clock | None = None) -> None:
        self._path = Path(archive_dir)
        self._clock = clock or SystemClock()
        self._files = RealFileSystem()
        self._digest: Callable[[memoryview], int] = require(
            "xxhash", "following an archive"
        ).xxh3_64_intdigest
        self._blocks: list[int] = []
        self._valid: frozenset[int] = frozenset()
        self._names: set[str] = set()
        self._folder_time_ns = -1
        self._live: dict[tuple[int, int], int] = {}
        self._mark: Any = None
        self._journal: tuple[int, int] | None = None
        self._holds: tuple[int, int, int] | None = None
        self._indexes: dict[int, int] = {}
        self._indexes_time_ns = -1

    def look(self) -> Changes:
        """Find what has changed since the last look.

        Raises:
            FileNotFoundError: the folder or its catalog does not exist.
        """
        changes = Changes()
        self._look_at_archive(changes)
        self._look_at_live(changes)
        self._look_at_names(changes)
        self._look_at_catalog(changes)
        self._look_at_indexes(changes)
        # Only a sync of the whole folder handles files that deleted recordings have left.
        changes.is_whole = changes.is_whole or not changes.ids <= self._valid
        return changes

    def _look_at_archive(self, changes: Changes) -> None:
        try:
            header = ArchiveMarkFile.open(self._path, files=self._files).header
            mark = (header.archive_id, header.start_timestamp, header.pid)
        except (FileNotFoundError, FileFormatError):
            mark = None
        journal = _status(self._path / JOURNAL_NAME)
        holds = _stamp(Path(holds_path(self._path)))
        if (mark, journal, holds) != (self._mark, self._journal, self._holds):
            self._mark, self._journal, self._holds = mark, journal, holds
            changes.is_whole = True

    def _look_at_live(self, changes: Changes) -> None:
        live = live_positions(str(self._path), self._files)
        changes.ids |= {key[0] for key, _ in live.items() ^ self._live.items()}
        self._live = live

    def _look_at_names(self, changes: Changes) -> None:
        folder_time_ns = self._path.stat().st_mtime_ns
        if folder_time_ns == self._folder_time_ns:
            return
        names = {
            name for name in self._files.list_dir(str(self._path)) if name.endswith(SEGMENT_SUFFIX)
        }
        changes.ids |= _ids(names ^ self._names)
        self._names = names
        is_settled = self._clock.now_epoch_ns() - folder_time_ns > _TIME_GRAIN_NS
        self._folder_time_ns = folder_time_ns if is_settled else -1

    def _look_at_indexes(self, changes: Changes) -> None:
        """Find time indexes that were added, removed or rebuilt; others grow with recordings."""
        folder = Path(times_dir(self._path))
        try:
            folder_time_ns = folder.stat().st_mtime_ns
            if folder_time_ns == self._indexes_time_ns:
                return
            with os.scandir(folder) as entries:
                found = {index_id(entry.name): entry.inode() for entry in entries}
        except (FileNotFoundError, NotADirectoryError):
            folder_time_ns, found = -1, {}
        now = {one: inode for one, inode in found.items() if one is not None}
        changes.ids |= {one for one, _ in now.items() ^ self._indexes.items()} & self._valid
        self._indexes = now
        is_settled = self._clock.now_epoch_ns() - folder_time_ns > _TIME_GRAIN_NS
        self._indexes_time_ns = folder_time_ns if is_settled else -1

    def _look_at_catalog(self, changes: Changes) -> None:
        blocks = self._digests()
        changed = [at for at, digest in enumerate(blocks) if self._blocks[at : at + 1] != [digest]]
        if len(blocks) < len(self._blocks):
            changes.is_whole = True
        self._blocks = blocks
        if not changed:
            return
        try:
            with CatalogReader.open(self._path, self._files) as reader:
                valid = reader.ids()
                changes.is_whole = changes.is_whole or not self._valid.issubset(valid)
                self._valid = frozenset(valid)
                for first, last in _ranges(changed):
                    changes.ids.update(_within(reader, valid, first * BLOCK, (last + 1) * BLOCK))
        except (FileFormatError, ArchiveError):
            # The file is damaged or is being changed; a scan of the whole folder handles both.
            changes.is_whole = True

    def _digests(self) -> list[int]:
        # The file is read and not mapped: a read of a file that is truncated meanwhile just ends.
        digests = []
        path = self._path / CATALOG_NAME
        with open(path, "rb", buffering=0, opener=open_regular) as catalog:
            while content := catalog.read(_READ):
                view = memoryview(content)
                digests += [
                    self._digest(view[at : at + BLOCK]) for at in range(0, len(view), BLOCK)
                ]
        return digests


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _status(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_size


def _ids(names: Iterable[str]) -> set[int]:
    return {one for one in map(recording_id_of, names) if one is not None}


def _ranges(changed: list[int]) -> list[tuple[int, int]]:
    """Consecutive numbers as ranges, both ends included."""
    ranges: list[tuple[int, int]] = []
    for at in changed:
        if ranges and ranges[-1][1] == at - 1:
            ranges[-1] = ranges[-1][0], at
        else:
            ranges.append((at, at))
    return ranges


def _within(reader: CatalogReader, ids: list[int], start: int, end: int) -> list[int]:
    """Ids of the entries that have bytes in ``start`` to ``end``; entries lie in id order."""

    def offset(recording_id: int) -> int:
        return reader.entry(recording_id).offset

    first = bisect_left(ids, start, key=offset)
    # The entry before the range may extend into it.
    return ids[max(first - 1, 0) : bisect_left(ids, end, lo=first, key=offset)]
