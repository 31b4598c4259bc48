"""Reading a mapped ``archive.catalog``: header, entries, index (spec archive-files 3, 5, 7).

Any process may map the file while an archive writes it. There is no lock, so every walk reads each
length once and checks it against the mapping before it uses it.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import TYPE_CHECKING

from aerolog.archive.format.catalog_index import scan_entries
from aerolog.archive.format.descriptor import CatalogEntry, RecordingDescriptor
from aerolog.archive.format.layout import (
    CATALOG_HEADER,
    CATALOG_HEADER_LENGTH,
    CATALOG_NAME,
    DESCRIPTOR,
    ENTRY_HEADER,
    ENTRY_HEADER_LENGTH,
    SEMANTIC_VERSION,
    VERSION_MAJOR,
)
from aerolog.archive.format.mapped_resource import MappedResource
from aerolog.transport.errors import ArchiveError, ArchiveErrorCode, FileFormatError
from aerolog.transport.memory.filesystem import FileSystem, RealFileSystem
from aerolog.transport.protocol.fixed_layout import offsets
from aerolog.transport.protocol.sbe import semantic_version_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aerolog.archive.format.checksum import Checksum
    from aerolog.transport.memory.mapped_file import MappedFile

HEADER = offsets(CATALOG_HEADER)
ENTRY = offsets(ENTRY_HEADER)
FIELD = {name: ENTRY_HEADER_LENGTH + at for name, at in offsets(DESCRIPTOR).items()}


class CatalogMap(MappedResource):
    """A mapped catalog and its index of VALID entries; the base of two classes.

    Attributes:
        path: path of the file.
        version: semantic version in the header; a file keeps the version that created it.
        alignment: multiple at which entries begin, bytes.
    """

    def __init__(self, mapped: MappedFile, files: FileSystem) -> None:
        self.path = mapped.path
        self.files = files
        super().__init__(mapped)
        self.version = mapped.load_i32(HEADER["version"])
        self.alignment = mapped.load_i32(HEADER["alignment"])
        self._check_header()
        self._index()

    def _check_header(self) -> None:
        if self.version >> 16 != VERSION_MAJOR:
            raise FileFormatError(
                f"incompatible catalog file version {semantic_version_text(self.version)},"
                f" archive software is {semantic_version_text(SEMANTIC_VERSION)}:"
                f" {self.path} at offset 0"
            )
        if self.alignment < ENTRY_HEADER_LENGTH or self.alignment & (self.alignment - 1):
            raise FileFormatError(
                f"invalid alignment of entries: {self.path} at offset {HEADER['alignment']}:"
                f" {self.alignment}"
            )

    def _index(self) -> None:
        found = scan_entries(self._mapped, CATALOG_HEADER_LENGTH, self.alignment)
        if found.bad_offset >= 0:
            raise FileFormatError(
                f"{found.problem}: {self.path} at offset {found.bad_offset}: {found.bad_value}"
            )
        self._entries = found.index
        self._end = found.end_offset
        self._last_id = found.last_id

    @property
    def capacity(self) -> int:
        """Length of the mapped file, bytes."""
        return self._mapped.length

    @property
    def end_offset(self) -> int:
        """Offset after the last entry, where the next one is written."""
        return self._end

    @property
    def last_recording_id(self) -> int:
        """Id of the last entry in any state, -1 when there is none."""
        return self._last_id

    @property
    def next_recording_id(self) -> int:
        """Id that the header gives to the next recording."""
        return self._mapped.load_i64(HEADER["next_recording_id"])

    def __len__(self) -> int:
        """Return the number of VALID entries."""
        return len(self._entries)

    def __contains__(self, recording_id: int) -> bool:
        """Return whether there is a VALID entry with that id."""
        return self._entries.offset_of(recording_id) >= 0

    def ids(self) -> list[int]:
        """Return the ids of the VALID entries in ascending order."""
        return self._entries.ids()

    def matching(
        self,
        from_recording_id: int,
        limit: int,
        stream_id: int | None = None,
        fragment: bytes = b"",
    ) -> tuple[list[int], int, bool]:
        """Examine up to ``limit`` VALID entries, starting with an id.

        Args:
            from_recording_id: lowest id to examine.
            limit: entries to examine, 1 or more.
            stream_id: the wanted stream id; None matches all entries, whatever the fragment.
            fragment: bytes that the original channel must contain.

        Returns:
            The ids that match; the id after the last one examined, or ``from_recording_id`` when
            none was examined; and whether the last entry was reached.
        """
        return self._entries.matching(self._mapped, from_recording_id, limit, stream_id, fragment)

    def descriptor(self, recording_id: int) -> RecordingDescriptor:
        """Return the present descriptor of a VALID entry.

        Raises:
            ArchiveError: UNKNOWN_RECORDING, also for INVALID and DELETED entries.
            FileFormatError: the descriptor's fields do not fit in the entry.
        """
        return self._entry_at(self._offset(recording_id)).descriptor

    def entry(self, recording_id: int) -> CatalogEntry:
        """Return the VALID entry with that id; errors are those of ``descriptor``."""
        return self._entry_at(self._offset(recording_id))

    def checked_entry(self, recording_id: int) -> CatalogEntry:
        """Return a VALID entry whose descriptor passes ``RecordingDescriptor.check``.

        Raises:
            ArchiveError: UNKNOWN_RECORDING, also for INVALID and DELETED entries.
            FileFormatError: the entry is damaged, or its lengths or positions are impossible.
        """
        entry = self.entry(recording_id)
        try:
            entry.descriptor.check()
        except FileFormatError as error:
            where = f"{self.path} in the entry at offset {entry.offset}"
            raise FileFormatError(f"{error}: {where}") from error
        return entry

    def descriptors(self) -> Iterator[RecordingDescriptor]:
        """Yield the descriptors of the VALID entries in file order, which is id order."""
        for recording_id in self.ids():
            yield self.descriptor(recording_id)

    def entries(self) -> Iterator[CatalogEntry]:
        """Yield all entries in file order, which is id order, whatever their state.

        Raises:
            FileFormatError: the file was cut since it was opened, or its entries have moved.
        """
        at, last_id = CATALOG_HEADER_LENGTH, -1
        while at < self._end:
            entry = self._entry_at(at)
            found_id = entry.descriptor.recording_id
            if found_id <= last_id:
                raise FileFormatError(
                    f"the catalog changed while it was read: {self.path} at offset {at}: recording"
                    f" id {found_id} does not lie behind {last_id}"
                )
            last_id = found_id
            yield entry
            step = ENTRY_HEADER_LENGTH + entry.length
            at += (step + self.alignment - 1) & ~(self.alignment - 1)

    def descriptor_tail(self, recording_id: int) -> bytes:
        """Return an entry's bytes from its recording id to its end, fill included.

        In a RecordingDescriptor message they follow a prefix of 24 bytes
        (spec archive-protocol 13.2).
        """
        at = self._offset(recording_id)
        length = self._mapped.load_i32(at + ENTRY["length"])
        return bytes(self._view(at + FIELD["recording_id"], at + ENTRY_HEADER_LENGTH + length))

    def checksum_of(self, recording_id: int, checksum: Checksum) -> int:
        """Compute the checksum of a VALID entry's descriptor, a signed 32-bit value."""
        at = self._offset(recording_id)
        start = at + ENTRY_HEADER_LENGTH
        return checksum.compute(
            self._view(start, start + self._mapped.load_i32(at + ENTRY["length"]))
        )

    def find_last(
        self, min_recording_id: int, session_id: int, stream_id: int, fragment: bytes
    ) -> int:
        """Return the highest matching id from ``min_recording_id`` up, -1 when none matches.

        Spec archive-files 4.

        Args:
            min_recording_id: lowest id to examine.
            session_id: must equal the entry's session id, that of the image recorded last.
            stream_id: must equal the entry's stream id.
            fragment: bytes that the original channel must contain; empty for any channel.
        """
        return self._entries.find_last(
            self._mapped,
            min_recording_id,
            session_id,
            stream_id,
            fragment,
            fresh=not self._mapped.writable,
        )

    def _offset(self, recording_id: int) -> int:
        at = self._entries.offset_of(recording_id)
        if at < 0:
            raise ArchiveError(
                ArchiveErrorCode.UNKNOWN_RECORDING, f"unknown recording id: {recording_id}"
            )
        return at

    def _view(self, start: int, stop: int) -> memoryview:
        return self._mapped.view(start, stop - start)

    def _entry_at(self, at: int) -> CatalogEntry:
        length = self._mapped.load_i32(at + ENTRY["length"])
        stop = at + ENTRY_HEADER_LENGTH + length
        if length <= 0 or stop > self._mapped.length:
            raise FileFormatError(f"entry cut off: {self.path} at offset {at}: length {length}")
        # Acquire before the copy, so that a reader of a stop position also reads its timestamp.
        stop_position = self._mapped.load_i64(at + FIELD["stop_position"])
        try:
            descriptor = RecordingDescriptor.decode(self._view(at + ENTRY_HEADER_LENGTH, stop))
        except (FileFormatError, struct.error) as error:
            raise FileFormatError(f"{error}: {self.path} in the entry at offset {at}") from error
        if descriptor.stop_position != stop_position:
            descriptor = descriptor.with_changes(stop_position=stop_position)
        return CatalogEntry(
            at,
            length,
            self._mapped.load_i32(at + ENTRY["state"]),
            self._mapped.load_i32(at + ENTRY["checksum"]),
            descriptor,
        )


class CatalogReader(CatalogMap):
    """A catalog open for reading, of this archive or the reference, running or not.

    It shows the entries that were there when it was opened. Their fields are read from the mapping
    and so are current. ``reload`` finds recordings that were added later.
    """

    @classmethod
    def open(cls, archive_dir: str | Path, files: FileSystem | None = None) -> CatalogReader:
        """Map the catalog of a folder read-only.

        Raises:
            FileNotFoundError: the folder has no catalog.
            FileFormatError: the catalog is truncated, of another version, or damaged; the message
                names file, offset and value.
        """
        files = files or RealFileSystem()
        path = str(Path(archive_dir) / CATALOG_NAME)
        mapped = files.open_mapped(path, writable=False, min_length=CATALOG_HEADER_LENGTH)
        try:
            return cls(mapped, files)
        except FileFormatError:
            # The archive may have extended the file between the mapping and the walk.
            if files.size(path) <= mapped.length:
                raise
        return cls(files.open_mapped(path, writable=False), files)

    def _offset(self, recording_id: int) -> int:
        at = super()._offset(recording_id)
        end = at + ENTRY_HEADER_LENGTH + self._mapped.load_i32(at + ENTRY["length"])
        has_moved = self._mapped.load_i64(at + FIELD["recording_id"]) != recording_id
        if has_moved or end > self._mapped.length:
            # An entry before this one, or this one, got longer and moved.
            self.reload()
            at = super()._offset(recording_id)
        return at

    def reload(self) -> None:
        """Map the file at its present length and index its entries again."""
        mapped = self.files.open_mapped(self.path, writable=False, min_length=CATALOG_HEADER_LENGTH)
        self._mapped = mapped
        self._check_header()
        self._index()
