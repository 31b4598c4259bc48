"""Writing ``archive.catalog`` as the archive's conductor does (spec archive-files 3 to 5).

One thread writes. Other processes read the mapping at the same time, so fields are stored one by
one, as whole words, in the reference's order. Disk space for an entry is allocated before its
memory is written, so that a full disk raises an error instead of ending the process with SIGBUS.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from aerolog.archive.format.catalog_index import ids_in_state
from aerolog.archive.format.catalog_map import ENTRY, FIELD, HEADER, CatalogMap, CatalogReader
from aerolog.archive.format.catalog_redo import drop_change, note_change, noted_change
from aerolog.archive.format.descriptor import RecordingDescriptor, frame_length
from aerolog.archive.format.layout import (
    CATALOG_HEADER,
    CATALOG_HEADER_LENGTH,
    CATALOG_NAME,
    ENTRY_ALIGNMENT,
    ENTRY_HEADER,
    ENTRY_HEADER_LENGTH,
    MAX_I32,
    NULL_TIMESTAMP,
    SEMANTIC_VERSION,
)
from aerolog.archive.format.segment import (
    parse_segment_name,
    segment_file_name,
    segments_by_recording,
)
from aerolog.archive.format.stop_recovery import (
    IO_LENGTH,
    StopPosition,
    make_whole,
    recover_stop_position,
)
from aerolog.archive.protocol.enums import NULL_POSITION, RecordingState
from aerolog.transport.errors import ConfigurationError, FileFormatError, StorageSpaceError
from aerolog.transport.memory.filesystem import FileSystem, RealFileSystem
from aerolog.transport.protocol.fixed_layout import packer
from aerolog.transport.protocol.frames import FRAME_ALIGNMENT

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.archive.format.checksum import Checksum
    from aerolog.transport.memory.mapped_file import MappedFile

__all__ = ["CatalogFile", "CatalogReader", "RecoveredRecording"]

DEFAULT_CAPACITY = 1024 * 1024
_HEADER = packer(CATALOG_HEADER, CATALOG_HEADER_LENGTH)
_ENTRY_HEADER = packer(ENTRY_HEADER, ENTRY_HEADER_LENGTH)


@dataclass(frozen=True, slots=True)
class RecoveredRecording:
    """A recording that had no stop position at start, and the stop position that it was given."""

    recording_id: int
    stop: StopPosition


class CatalogFile(CatalogMap):
    """The catalog of a folder, open for writing. Close it, or use it as a context manager.

    Attributes:
        sync_level: what each change brings to the disk: 0 nothing, 1 data, 2 data and metadata
            (spec archive-files 14).
        checksum: computes the checksum of descriptors; None leaves the field unchanged.
        on_resized: called with the old and the new length in bytes when the file gets longer.
    """

    sync_level: int
    checksum: Checksum | None
    on_resized: Callable[[int, int], object] | None = None

    @classmethod
    def open(
        cls,
        archive_dir: str | Path,
        *,
        files: FileSystem | None = None,
        capacity: int = DEFAULT_CAPACITY,
        sync_level: int = 0,
        checksum: Checksum | None = None,
    ) -> CatalogFile:
        """Open a folder's catalog, or create it.

        Args:
            archive_dir: the archive's folder, which exists.
            files: the file system to use.
            capacity: length of a new file in bytes, 32 to 2**31 - 1; a shorter file is extended.
            sync_level: 0, 1 or 2, see the class.
            checksum: computes the checksum of descriptors, see the class.

        Raises:
            ConfigurationError: the capacity is out of range.
            FileFormatError: the catalog is truncated, of another version, or damaged; the message
                names file, offset and value.
            StorageSpaceError: there is no room for the header.
        """
        if not CATALOG_HEADER_LENGTH <= capacity <= MAX_I32:
            raise ConfigurationError(
                "Invalid catalog capacity provided: expected value"
                f" {'>= 32' if capacity < CATALOG_HEADER_LENGTH else f'<= {MAX_I32}'},"
                f" got {capacity}"
            )
        files = files or RealFileSystem()
        path = str(Path(archive_dir) / CATALOG_NAME)
        created = not files.exists(path)
        if not created:
            _redo(path, files)
        mapped = (
            files.create_mapped(path, capacity, preallocate=False)
            if created
            else _open_extended(path, capacity, files)
        )
        header = _HEADER.pack(SEMANTIC_VERSION, CATALOG_HEADER_LENGTH, 0, ENTRY_ALIGNMENT)
        if created or _is_blank(mapped, header, str(archive_dir), files):
            mapped.allocate_range(0, CATALOG_HEADER_LENGTH)
            mapped.view(0, CATALOG_HEADER_LENGTH)[:] = header
            if sync_level > 0:
                files.sync_dir(str(archive_dir))
        catalog = cls(mapped, files)
        catalog.sync_level = sync_level
        catalog.checksum = checksum
        catalog._check_next_id()
        return catalog

    def _check_next_id(self) -> None:
        stored = self.next_recording_id
        expected = self._last_id + 1
        if stored == expected - 1 and stored > 0:
            # A crash came between the stores of an entry and of the header; the entry is complete.
            self._mapped.store_i64(HEADER["next_recording_id"], expected)
        elif 0 < stored < expected or stored < 0:
            raise FileFormatError(
                f"invalid nextRecordingId: expected value greater or equal to {expected}, was"
                f" {stored}: {self.path} at offset {HEADER['next_recording_id']}"
            )
        self._next_id = max(stored, expected)

    def add_recording(self, descriptor: RecordingDescriptor) -> int:
        """Append an entry with the next free id, whatever id ``descriptor`` has.

        Returns:
            The id of the new recording.

        Raises:
            StorageSpaceError: the catalog has its largest length, or the disk is full.
        """
        recording_id = self._next_id
        body = descriptor.with_changes(recording_id=recording_id).encode()
        length = frame_length(len(body))
        at = self._end
        self._ensure_capacity(at, length)
        self._mapped.allocate_range(at, length)
        self._write_entry(at, length, body)
        self._mapped.store_i64(HEADER["next_recording_id"], recording_id + 1)
        self._sync()
        self._next_id = recording_id + 1
        self._last_id = recording_id
        self._end = at + length
        self._entries.add(recording_id, at, descriptor.session_id, descriptor.stream_id)
        return recording_id

    def _write_entry(self, at: int, length: int, body: bytes) -> None:
        """Write an entry after the last one; storing its length last makes it valid.

        A crash before that leaves bytes that no reader looks at. When an earlier crash left a
        longer entry there, the word after the new entry is cleared, so that no walk reads on.
        """
        start, end = at + ENTRY_HEADER_LENGTH, at + length
        self._view(start, end)[:] = body.ljust(end - start, b"\0")
        self._mapped.store_i32(at + ENTRY["state"], RecordingState.VALID)
        if self.checksum is not None:
            value = self.checksum.compute(self._view(start, end))
            self._mapped.store_i32(at + ENTRY["checksum"], value)
        if end + ENTRY_HEADER_LENGTH <= self.capacity and self._mapped.load_i32(end) != 0:
            self._mapped.store_i32(end, 0)
        self._sync()  # pages reach the disk in any order; the length must not come first
        self._mapped.store_i32(at + ENTRY["length"], length - ENTRY_HEADER_LENGTH)

    def recording_stopped(self, recording_id: int, position: int, timestamp_ms: int) -> None:
        """Store the end of a recording: first the timestamp, then the position."""
        at = self._offset(recording_id)
        self._mapped.store_i64(at + FIELD["stop_timestamp"], timestamp_ms)
        self._mapped.store_i64(at + FIELD["stop_position"], position)
        self._changed(at)

    def update_stop_position(self, recording_id: int, position: int) -> None:
        """Move the stop position and keep the stop timestamp (truncate, migrate)."""
        at = self._offset(recording_id)
        self._mapped.store_i64(at + FIELD["stop_position"], position)
        self._changed(at)

    def update_start_position(self, recording_id: int, position: int) -> None:
        """Move the start position (detach, purge, attach, migrate)."""
        at = self._offset(recording_id)
        self._mapped.store_i64(at + FIELD["start_position"], position)
        self._changed(at)

    def extend_recording(
        self, recording_id: int, control_session_id: int, correlation_id: int, session_id: int
    ) -> None:
        """Make a stopped recording active again, with the session of a new image."""
        at = self._offset(recording_id)
        # The stop position is cleared first: every reader that sees a stop position, also the next
        # start after an interruption here, then sees its timestamp as well.
        self._mapped.store_i64(at + FIELD["stop_position"], NULL_POSITION)
        self._mapped.store_i64(at + FIELD["stop_timestamp"], NULL_TIMESTAMP)
        self._mapped.store_i64(at + FIELD["control_session_id"], control_session_id)
        self._mapped.store_i64(at + FIELD["correlation_id"], correlation_id)
        self._mapped.store_i32(at + FIELD["session_id"], session_id)
        stream_id = self._mapped.load_i32(at + FIELD["stream_id"])
        self._entries.set_streams(recording_id, session_id, stream_id)
        self._changed(at)

    def change_state(self, recording_id: int, state: RecordingState) -> None:
        """Give a VALID entry another state; it leaves the index and its id is never used again."""
        at = self._offset(recording_id)
        if state != RecordingState.VALID:
            self._entries.remove(recording_id)
        self._mapped.store_i32(at + ENTRY["state"], state)
        self._sync()

    def replace_recording(self, descriptor: RecordingDescriptor) -> None:
        """Rewrite an entry except for its control session and correlation ids (update channel).

        When the entry gets longer than its space, the entries after it move (spec archive-files 4).
        """
        at = self._offset(descriptor.recording_id)
        old = self._entry_at(at)
        body = descriptor.with_changes(
            control_session_id=old.descriptor.control_session_id,
            correlation_id=old.descriptor.correlation_id,
        ).encode()
        old_length = ENTRY_HEADER_LENGTH + old.length
        new_length = max(frame_length(len(body)), old_length)
        difference = new_length - old_length
        body = body.ljust(new_length - ENTRY_HEADER_LENGTH, b"\0")
        header = _ENTRY_HEADER.pack(
            len(body),
            RecordingState.VALID,
            old.checksum if self.checksum is None else self.checksum.compute(body),
        )
        behind = b""
        if difference > 0:
            self._ensure_capacity(self._end, difference)
            self._mapped.allocate_range(self._end, difference)
            behind = bytes(self._view(at + old_length, self._end))
        self._write_noted(at, header + body + behind)
        if difference > 0:
            self._end += difference
            self._entries.shift(at, difference)
        self._entries.set_streams(
            descriptor.recording_id, descriptor.session_id, descriptor.stream_id
        )

    def _write_noted(self, at: int, data: bytes) -> None:
        """Write several entries through the redo file: a crash leaves all old or all new."""
        folder = str(Path(self.path).parent)
        note_change(self.files, folder, at, data, self.sync_level)
        self._view(at, at + len(data))[:] = data
        self._sync()
        drop_change(self.files, folder, self.sync_level)

    def refresh(
        self,
        now_ms: int,
        *,
        io_length: int = IO_LENGTH,
        on_doubtful: Callable[[int, Exception], object] | None = None,
    ) -> list[RecoveredRecording]:
        """Give every recording that a crash left active its stop position.

        Spec archive-files 5.5 and 6.

        Args:
            now_ms: stored as the stop timestamp, epoch milliseconds.
            io_length: the archive's ``file.io.max.length``, bytes.
            on_doubtful: called with the id of a recording whose end cannot be found, and with the
                reason; the recording stays as it is. By default the reason is raised.

        Returns:
            The recovered recordings. One with ``stop.unverified`` ends before a data fragment that
            may not have been written completely; the caller logs and counts it.

        Raises:
            FileFormatError: a descriptor or a segment's name is invalid; the recordings before it
                keep their new positions.
            OSError: a segment cannot be read.
        """
        folder = str(Path(self.path).parent)
        segments = segments_by_recording(self.files.list_dir(folder))
        recovered = []
        for recording_id in self._entries.active(self._mapped):
            at = self._offset(recording_id)
            names = segments.get(recording_id, [])
            try:
                stop = recover_stop_position(
                    self.files,
                    folder,
                    self._recoverable(recording_id),
                    names,
                    checksum=self.checksum,
                    io_length=io_length,
                )
                self._make_whole(recording_id, stop, names)
            except (FileFormatError, OSError) as error:
                if on_doubtful is None:
                    raise
                on_doubtful(recording_id, error)
                continue
            if not names:
                stop = StopPosition(self.descriptor(recording_id).start_position)
            self._mapped.store_i64(at + FIELD["stop_timestamp"], now_ms)
            self._mapped.store_i64(at + FIELD["stop_position"], stop.position)
            self._changed(at)
            recovered.append(RecoveredRecording(recording_id, stop))
        return recovered

    def _recoverable(self, recording_id: int) -> RecordingDescriptor:
        """A descriptor whose frames can be walked: they begin at a multiple of 32 in any case."""
        found = self.descriptor(recording_id)
        start = found.start_position
        if start <= 0 or start % FRAME_ALIGNMENT == 0:
            return self.checked_entry(recording_id).descriptor
        aligned = found.with_changes(
            start_position=start - start % FRAME_ALIGNMENT + FRAME_ALIGNMENT
        )
        aligned.check()
        return aligned

    def _make_whole(self, recording_id: int, stop: StopPosition, names: list[str]) -> None:
        """Give the last segment its full length and clear a frame that was only partly written."""
        if not names:
            return
        base = max(parse_segment_name(name).base_position for name in names)
        name = segment_file_name(recording_id, base)
        length = self.descriptor(recording_id).segment_file_length
        frame = stop.unverified
        goes = frame is not None and frame.has_hole and frame.is_last
        keep = frame.offset if frame is not None and goes else None
        make_whole(self.files, str(Path(self.path).parent / name), length, keep)

    def refresh_checksums(self) -> None:
        """Recompute stored checksums of entries, which a crash may have left outdated."""
        for at in self._entries.offsets():
            if self._mapped.load_i32(at + ENTRY["checksum"]) != 0:
                self._store_checksum(at)

    def ids_in_state(self, state: RecordingState) -> list[int]:
        """Return the ids of all entries in a state; this walks the whole file."""
        return ids_in_state(self._mapped, CATALOG_HEADER_LENGTH, self._end, self.alignment, state)

    def sync(self, level: int = 2) -> None:
        """Bring all changes to the disk, whatever the configured sync level."""
        with self.files.open_data_file(self.path, writable=True) as file:
            file.flush(level)

    def _sync(self) -> None:
        if self.sync_level > 0:
            self.sync(self.sync_level)

    def _changed(self, at: int) -> None:
        self._store_checksum(at)
        self._sync()

    def _store_checksum(self, at: int) -> None:
        if self.checksum is not None:
            length = self._mapped.load_i32(at + ENTRY["length"])
            start = at + ENTRY_HEADER_LENGTH
            value = self.checksum.compute(self._view(start, start + length))
            self._mapped.store_i32(at + ENTRY["checksum"], value)

    def _ensure_capacity(self, offset: int, length: int) -> None:
        if offset + length <= self.capacity:
            return
        if self.capacity == MAX_I32:
            raise StorageSpaceError(f"catalog is full, max capacity reached: {MAX_I32}")
        if offset + length > MAX_I32:
            raise StorageSpaceError(
                f"recording is too big: total recording length is {length} bytes, available space"
                f" is {MAX_I32 - offset} bytes"
            )
        capacity = self.capacity
        while capacity < offset + length:
            capacity = min(capacity + (capacity >> 1), MAX_I32)
        self.sync()
        old_capacity = self.capacity
        self._mapped = _open_extended(self.path, capacity, self.files)
        if self.on_resized is not None:
            self.on_resized(old_capacity, capacity)


def _redo(path: str, files: FileSystem) -> None:
    """Make the change in the redo file that a crash interrupted, if there is one."""
    folder = str(Path(path).parent)
    change = noted_change(files, folder)
    if change is not None:
        offset, data = change
        with files.open_data_file(path, writable=True) as file:
            file.write_at(data, offset)
            file.flush(2)
    drop_change(files, folder, 2)


def _open_extended(path: str, capacity: int, files: FileSystem) -> MappedFile:
    """Map an existing catalog for writing and extend it to at least ``capacity`` bytes."""
    size = files.size(path)
    if 0 < size < CATALOG_HEADER_LENGTH:
        raise FileFormatError(
            f"catalog cut off: {path} at offset {size}: its header takes {CATALOG_HEADER_LENGTH}"
            " bytes"
        )
    if size < capacity:
        with files.open_data_file(path, writable=True) as file:
            file.set_length(capacity)
    return files.open_mapped(path, writable=True, min_length=CATALOG_HEADER_LENGTH)


def _is_blank(mapped: MappedFile, header: bytes, archive_dir: str, files: FileSystem) -> bool:
    """Return whether a crash left a file without its whole header, before anything was recorded."""
    start = bytes(mapped.view(0, min(mapped.length, 2 * CATALOG_HEADER_LENGTH)))
    is_part = start[:CATALOG_HEADER_LENGTH] != header and all(
        found in (0, wanted) for found, wanted in zip(start, header, strict=False)
    )
    is_empty = is_part and not any(start[CATALOG_HEADER_LENGTH:])
    return is_empty and not segments_by_recording(files.list_dir(archive_dir))
