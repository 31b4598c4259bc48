"""Reads what it can from a folder whose catalog is damaged (spec archive-files 3 and 5).

The usual walk over a catalog ends at the first invalid entry. This walk continues with the next
valid one: entries are aligned, their ids ascend, and each entry stores its length.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from aerolog.archive.format.archive_folder import ArchiveFolder, Recording
from aerolog.archive.format.catalog_map import ENTRY, HEADER
from aerolog.archive.format.descriptor import CatalogEntry, RecordingDescriptor
from aerolog.archive.format.layout import (
    CATALOG_HEADER_LENGTH,
    CATALOG_NAME,
    DESCRIPTOR_BLOCK_LENGTH,
    ENTRY_HEADER_LENGTH,
    MAX_I64,
    VERSION_MAJOR,
)
from aerolog.archive.protocol.enums import RecordingState
from aerolog.transport.errors import FileFormatError
from aerolog.transport.memory.filesystem import FileSystem, RealFileSystem

if TYPE_CHECKING:
    from aerolog.transport.memory.mapped_file import MappedFile


@dataclass(slots=True)
class Salvaged:
    """The recordings and faults found in a folder.

    Attributes:
        recordings: VALID recordings that can be read, by ascending id.
        damages: one error with file and offset for each part that cannot be read.
    """

    recordings: list[Recording] = field(default_factory=list)
    damages: list[FileFormatError] = field(default_factory=list)


def salvage(archive_dir: str | Path, files: FileSystem | None = None) -> Salvaged:
    """Open every recording that can be read; nothing is changed.

    Raises:
        FileNotFoundError: the folder has no catalog.
        FileFormatError: the catalog's header is damaged or of another version.
    """
    folder = _Folder(archive_dir, files or RealFileSystem())
    found = Salvaged()
    for entry in _SalvageWalk(folder.catalog_file(), found.damages).entries():
        if entry.state != RecordingState.VALID:
            continue
        try:
            found.recordings.append(Recording(folder, entry))
        except FileFormatError as error:
            found.damages.append(error)
    return found


def salvage_entries(
    archive_dir: str | Path, files: FileSystem | None = None
) -> tuple[list[CatalogEntry], list[FileFormatError]]:
    """Return the readable entries of a damaged catalog, in any state, and the damages.

    Raises:
        FileNotFoundError: the folder has no catalog.
        FileFormatError: the catalog's header is damaged or of another version.
    """
    damages: list[FileFormatError] = []
    folder = _Folder(archive_dir, files or RealFileSystem())
    return _SalvageWalk(folder.catalog_file(), damages).entries(), damages


class _Folder(ArchiveFolder):
    """An archive folder whose catalog is not indexed."""

    def __init__(self, archive_dir: str | Path, files: FileSystem) -> None:
        self.path = str(archive_dir)
        self.files = files

    def catalog_file(self) -> MappedFile:
        """Map the catalog file read-only."""
        path = str(Path(self.path) / CATALOG_NAME)
        return self.files.open_mapped(path, writable=False, min_length=CATALOG_HEADER_LENGTH)

    def close(self) -> None:
        """Do nothing: this folder holds no mapping."""


class _SalvageWalk:
    """A walk over the entries of a catalog that skips damaged ones."""

    def __init__(self, mapped: MappedFile, damages: list[FileFormatError]) -> None:
        self._mapped = mapped
        self._damages = damages
        self._alignment = mapped.load_i32(HEADER["alignment"])
        next_id = mapped.load_i64(HEADER["next_recording_id"])
        self._next_id = next_id if next_id > 0 else MAX_I64  # 0 when it was never stored
        version = mapped.load_i32(HEADER["version"])
        alignment = self._alignment
        if version >> 16 != VERSION_MAJOR:
            raise FileFormatError(f"incompatible catalog file version: {mapped.path} at offset 0")
        if alignment < ENTRY_HEADER_LENGTH or alignment & (alignment - 1):
            raise FileFormatError(f"invalid alignment of entries: {mapped.path}: {alignment}")

    def entries(self) -> list[CatalogEntry]:
        """Return the valid entries by ascending id."""
        found: list[CatalogEntry] = []
        last_id, at = -1, CATALOG_HEADER_LENGTH
        while at + ENTRY_HEADER_LENGTH <= self._mapped.length and last_id < self._next_id - 1:
            try:
                entry = self._entry(at, last_id)
            except FileFormatError as error:
                following = self._following(at + self._alignment, last_id)
                # Zeros follow the last entry even when the header counts further ids: the tools may
                # have removed the entries that had them.
                if following is not None or self._mapped.load_i32(at + ENTRY["length"]) > 0:
                    self._damages.append(error)
                if following is None:
                    break
                at = following
                continue
            last_id = entry.descriptor.recording_id
            found.append(entry)
            at += -(-(ENTRY_HEADER_LENGTH + entry.length) // self._alignment) * self._alignment
        return found

    def _following(self, at: int, last_id: int) -> int | None:
        """Return the offset of the next valid entry, None when there is none."""
        for offset in range(at, self._mapped.length - ENTRY_HEADER_LENGTH + 1, self._alignment):
            try:
                self._entry(offset, last_id)
            except FileFormatError:
                continue
            return offset
        return None

    def _entry(self, at: int, last_id: int) -> CatalogEntry:
        """Decode the entry at an offset.

        Raises:
            FileFormatError: the bytes there are not a valid entry.
        """
        mapped, where = self._mapped, f"{self._mapped.path} at offset {at}"
        length = mapped.load_i32(at + ENTRY["length"])
        state = mapped.load_i32(at + ENTRY["state"])
        if not DESCRIPTOR_BLOCK_LENGTH <= length <= mapped.length - at - ENTRY_HEADER_LENGTH:
            raise FileFormatError(f"no entry can have this length: {where}: {length}")
        if state not in list(RecordingState):
            raise FileFormatError(f"no entry can have this state: {where}: {state}")
        try:
            descriptor = RecordingDescriptor.decode(mapped.view(at + ENTRY_HEADER_LENGTH, length))
            descriptor.check()
        except FileFormatError as error:
            raise FileFormatError(f"{error}: {where}") from error
        if not last_id < descriptor.recording_id < self._next_id:
            raise FileFormatError(
                f"recording id {descriptor.recording_id} does not lie behind {last_id} and before "
                f"{self._next_id}: {where}"
            )
        checksum = mapped.load_i32(at + ENTRY["checksum"])
        return CatalogEntry(at, length, state, checksum, descriptor)
