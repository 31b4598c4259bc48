"""Reads what an archive's folder tells of its recordings, with or without a running archive.

A scan writes nothing. It reports and skips damaged files and entries. A running archive changes
files between two reads: the folder is listed before its catalog is read, so a segment is looked up
once more before it is reported as missing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aerolog.archive.format.catalog_map import CatalogReader
from aerolog.archive.format.layout import CATALOG_NAME, SEGMENT_SUFFIX
from aerolog.archive.format.live_position import live_positions
from aerolog.archive.format.mark_file import ArchiveMarkFile
from aerolog.archive.format.salvage import salvage_entries
from aerolog.archive.format.segment import parse_segment_name, segment_base, segment_file_name
from aerolog.archive.format.stop_recovery import recover_stop_position
from aerolog.archive.protocol.enums import RecordingState
from aerolog.archive.time_index import index_path
from aerolog.archive.time_index.layout import INDEX_SUFFIX, times_dir
from aerolog.catalog.index.models import READABLE, SegmentState, State
from aerolog.transport.errors import ArchiveError, FileFormatError
from aerolog.transport.memory.filesystem import FileSystem, RealFileSystem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from aerolog.archive.format.descriptor import CatalogEntry, RecordingDescriptor

#: The largest number of missing segments of a recording that are listed one by one; a damaged
#: position could imply any number of them.
MISSING_MAX: Final = 1000
_LOOKS: Final = 3
_ID: Final = re.compile(r"[0-9]{1,19}", re.ASCII)
#: Up to this number of recordings, files are looked up one by one instead of listing the folder.
_FEW: Final = 32


def index_id(name: str) -> int | None:
    """The recording id in the name of a time index file, None for any other name."""
    stem = name.removesuffix(INDEX_SUFFIX)
    return int(stem) if name == f"{stem}{INDEX_SUFFIX}" and _ID.fullmatch(stem) else None


@dataclass(frozen=True, slots=True)
class FoundSegment:
    """A segment file, or the place where one should be."""

    base_position: int
    size_bytes: int
    state: SegmentState


@dataclass(frozen=True, slots=True)
class Found:
    """A recording as its catalog entry and files describe it.

    Attributes:
        descriptor: the descriptor of its entry, checked.
        state: the state that follows from the entry and the files.
        end_position: the position up to which there is data.
        segments: the segments in the order of their base positions.
    """

    descriptor: RecordingDescriptor
    state: State
    end_position: int
    segments: list[FoundSegment]


@dataclass(slots=True)
class FolderScan:
    """One scan of a folder.

    Attributes:
        path: the folder's path.
        files: the file system to read through.
        problems: what is damaged or inconsistent, with its file or recording, in the order found.
        is_whole: whether the catalog could be read from its first entry to its last.
        ids: the ids of all entries that were read, whatever their state.
    """

    path: str
    files: FileSystem = field(default_factory=RealFileSystem)
    problems: dict[str, None] = field(default_factory=dict)
    is_whole: bool = True
    ids: set[int] = field(default_factory=set)
    _bases: dict[int, list[int]] = field(default_factory=dict)
    _catalog: CatalogReader | None = None
    _live: dict[tuple[int, int], int] | None = None
    _indexed: set[int] | None = None

    def archive_id(self) -> int | None:
        """The archive's id from its mark file, None when there is no mark file."""
        try:
            return ArchiveMarkFile.open(self.path, files=self.files).header.archive_id
        except FileNotFoundError:
            return None
        except FileFormatError as error:
            self._name(str(error))
            return None

    def chunks(self, length: int) -> Iterator[list[CatalogEntry]]:
        """The catalog's entries in id order; each chunk is read when it is asked for.

        Raises:
            FileNotFoundError: the folder has no catalog.
            FileFormatError: the catalog is of another version, or its header is damaged.
        """
        self._list_folder()
        entries = self._entries()
        while chunk := list(islice(entries, length)):
            self._live = None
            self.ids.update(entry.descriptor.recording_id for entry in chunk)
            yield chunk

    def chosen(self, recording_ids: list[int]) -> list[CatalogEntry]:
        """The VALID entries of some recordings; ids without such an entry are left out."""
        wanted = set(recording_ids)
        self._list_folder(wanted)
        # The catalog stays open: entries whose files seem to be missing are read again.
        self._catalog = catalog = CatalogReader.open(self.path, self.files)
        found = [catalog.entry(one) for one in sorted(wanted) if one in catalog]
        self.ids.update(entry.descriptor.recording_id for entry in found)
        return found

    def strays(self) -> None:
        """Report segment files that belong to no entry; all chunks must have been read before."""
        for recording_id in sorted(self._bases.keys() - self.ids):
            for base in self._bases[recording_id]:
                name = segment_file_name(recording_id, base)
                self._name(f"segment file of no recording: {Path(self.path) / name}")

    def look_at(self, entry: CatalogEntry) -> Found | None:
        """Compare a recording's entry with its files; None when the entry is damaged."""
        for _ in range(_LOOKS):
            found = self._look_once(entry)
            if found is None or found.state not in READABLE:
                return found
            if all(segment.state != SegmentState.MISSING for segment in found.segments):
                return found
            # The archive may have purged the segments since the entry was read.
            again = self._read_again(entry)
            if again is None or again == entry:
                return found
            entry = again
        return found

    def indexed(self, recording_ids: Sequence[int]) -> set[int]:
        """The recordings among the given ones that have a time index file."""
        if len(recording_ids) <= _FEW:
            paths = {one: index_path(self.path, one) for one in recording_ids}
            return {one for one, path in paths.items() if self.files.exists(path)}
        if self._indexed is None:
            try:
                names = self.files.list_dir(times_dir(self.path))
            except (FileNotFoundError, NotADirectoryError):
                names = []
            found = {index_id(name) for name in names}
            self._indexed = {one for one in found if one is not None}
        return self._indexed

    def _name(self, problem: str) -> None:
        """Report a problem once: some entries are read more than once."""
        self.problems.setdefault(problem)

    def _entries(self) -> Iterator[CatalogEntry]:
        last_id = -1
        try:
            self._catalog = CatalogReader.open(self.path, self.files)
            for entry in self._catalog.entries():
                yield entry
                last_id = entry.descriptor.recording_id
        except FileFormatError:
            # The catalog is damaged, or a running archive has just moved entries to lengthen one.
            entries, damages = salvage_entries(self.path, self.files)
            self.is_whole = False
            for damage in damages:
                self._name(str(damage))
            yield from (one for one in entries if one.descriptor.recording_id > last_id)
        read = self._catalog
        if read is not None and self.files.size(read.path) < read.capacity:
            # Zeros may have been read in place of entries: the next sync corrects their rows.
            self.is_whole = False
            self._name(f"{read.path} became shorter while it was read")

    def _read_again(self, entry: CatalogEntry) -> CatalogEntry | None:
        if self._catalog is None:
            return None
        try:
            return self._catalog.entry(entry.descriptor.recording_id)
        except (ArchiveError, FileFormatError):
            return None  # The entry was purged or damaged meanwhile; the next scan reports it.

    def _list_folder(self, wanted: set[int] | None = None) -> None:
        self._bases = {}
        for name in self.files.list_dir(self.path):
            if not name.endswith(SEGMENT_SUFFIX):
                continue
            try:
                parsed = parse_segment_name(name)
            except FileFormatError as error:
                self._name(f"{error}: in {self.path}")
                continue
            if str(parsed) != name:
                self._name(f"not the name of a segment file: {Path(self.path) / name}")
            elif wanted is None or parsed.recording_id in wanted:
                self._bases.setdefault(parsed.recording_id, []).append(parsed.base_position)
        for bases in self._bases.values():
            bases.sort()

    def _look_once(self, entry: CatalogEntry) -> Found | None:
        descriptor = entry.descriptor
        try:
            descriptor.check()
        except FileFormatError as error:
            self._name(
                f"{error}: {Path(self.path) / CATALOG_NAME} in the entry at offset {entry.offset}"
            )
            return None
        sizes = self._sizes(descriptor)
        if entry.state != RecordingState.VALID:
            segments = [
                FoundSegment(base, size, SegmentState.PRESENT) for base, size in sizes.items()
            ]
            end = max(descriptor.stop_position, descriptor.start_position)
            return Found(descriptor, self._put_aside(entry), end, segments)
        end, is_live = self._end_of(descriptor, sizes)
        state = State.ACTIVE if descriptor.is_active else State.STOPPED
        return Found(descriptor, state, end, self._segments(descriptor, sizes, end, is_live))

    def _put_aside(self, entry: CatalogEntry) -> State:
        if entry.state == RecordingState.DELETED:
            return State.DELETED
        if entry.state != RecordingState.INVALID:
            self._name(
                f"recording {entry.descriptor.recording_id} has a state that is none: {entry.state}"
            )
        return State.INVALID

    def _sizes(self, descriptor: RecordingDescriptor) -> dict[int, int]:
        """Sizes of the segment files that can belong to the recording, by base position."""
        recording_id = descriptor.recording_id
        found: dict[int, int] = {}
        for base in self._bases.get(recording_id, ()):
            path = self._segment_path(recording_id, base)
            # All base positions, below and above the first one too, are equal modulo the segment
            # length.
            if (base - descriptor.segment_base(descriptor.start_position)) % (
                descriptor.segment_file_length
            ):
                self._name(f"not at a position of recording {recording_id}: {path}")
                continue
            size = self._size(path)
            if size is None:
                continue
            if size != descriptor.segment_file_length:
                if not self.files.is_regular(path):
                    self._name(f"not a file: {path}")
                    continue
                self._name(
                    f"segment of recording {recording_id} has {size} bytes in place of "
                    f"{descriptor.segment_file_length}: {path}"
                )
            found[base] = size
        return found

    def _size(self, path: str) -> int | None:
        try:
            return self.files.size(path)
        except FileNotFoundError:
            return None  # The file was removed after the folder was listed.

    def _segment_path(self, recording_id: int, base: int) -> str:
        return f"{self.path}/{segment_file_name(recording_id, base)}"

    def _end_of(self, descriptor: RecordingDescriptor, sizes: dict[int, int]) -> tuple[int, bool]:
        """The position where the data ends, and whether a running archive reported it."""
        if not descriptor.is_active:
            return descriptor.stop_position, False
        if self._live is None:
            self._live = live_positions(self.path, self.files)
        live = self._live.get((descriptor.recording_id, descriptor.session_id))
        if live is not None:
            return max(live, descriptor.start_position), True
        names = [segment_file_name(descriptor.recording_id, base) for base in sizes]
        try:
            recovered = recover_stop_position(self.files, self.path, descriptor, names)
        except (FileFormatError, FileNotFoundError) as error:
            self._name(str(error))
            return descriptor.start_position, False
        return recovered.position, False

    def _segments(
        self, descriptor: RecordingDescriptor, sizes: dict[int, int], end: int, is_live: bool
    ) -> list[FoundSegment]:
        start, length = descriptor.start_position, descriptor.segment_file_length
        first = descriptor.segment_base(start)
        # When the last segment is full, the recorder has opened the next one already.
        last = segment_base(end, start, descriptor.term_buffer_length, length)
        segments = []
        for base, size in sizes.items():
            covered = first <= base and (base <= last or is_live)
            state = SegmentState.PRESENT if covered else SegmentState.DETACHED
            segments.append(FoundSegment(base, size, state))
        expected = range(first, end, length)
        missing = len(expected) - sum(base in expected for base in sizes)
        if missing:
            segments += self._missing(descriptor, sizes, expected, missing)
            segments.sort(key=lambda segment: segment.base_position)
        return segments

    def _missing(
        self,
        descriptor: RecordingDescriptor,
        sizes: dict[int, int],
        expected: range,
        missing: int,
    ) -> list[FoundSegment]:
        recording_id = descriptor.recording_id
        segments = []
        gaps = islice((base for base in expected if base not in sizes), MISSING_MAX)
        for base in gaps:
            size = self._size(self._segment_path(recording_id, base))
            if size is None:
                segments.append(FoundSegment(base, 0, SegmentState.MISSING))
            else:
                missing -= 1
                segments.append(FoundSegment(base, size, SegmentState.PRESENT))
        lost = next((one for one in segments if one.state == SegmentState.MISSING), None)
        if lost is not None:
            noted = f", {MISSING_MAX} of them are noted" if missing > MISSING_MAX else ""
            self._name(
                f"recording {recording_id} misses {missing} of its segments{noted}, the first at "
                f"position {lost.base_position}: "
                f"{self._segment_path(recording_id, lost.base_position)}"
            )
        return segments
