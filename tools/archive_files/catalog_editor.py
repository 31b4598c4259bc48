"""A catalog whose fields a command changes, and the segments beside it.

Fields are stored one by one, as whole words where they lie on whole words: an archive that runs, or
another reader, sees the old one or the new one. Entries are found as the reference finds them.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aerolog.archive.format.layout import (
    CATALOG_HEADER_LENGTH,
    CATALOG_NAME,
    DESCRIPTOR,
    ENTRY_HEADER,
    ENTRY_HEADER_LENGTH,
)
from aerolog.archive.format.mapped_resource import MappedResource
from aerolog.archive.protocol.enums import NULL_POSITION, RecordingState
from aerolog.tools.archive_files.raw_catalog import RawCatalog, file_in
from aerolog.tools.archive_files.raw_frames import block_fields
from aerolog.tools.command_line.java_error import (
    AERON_ERROR,
    ILLEGAL_ARGUMENT,
    JavaError,
    unknown_recording,
)
from aerolog.transport.memory.filesystem import RealFileSystem
from aerolog.transport.protocol.fixed_layout import offsets

if TYPE_CHECKING:
    from aerolog.archive.format.checksum import Checksum
    from aerolog.transport.memory.mapped_file import MappedFile

_FIELD: Final = {name: ENTRY_HEADER_LENGTH + at for name, at in offsets(DESCRIPTOR).items()}
_ENTRY: Final = offsets(ENTRY_HEADER)
_I32 = struct.Struct("<i")
_I64 = struct.Struct("<q")


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the catalog, as it was when it was read.

    Attributes:
        offset: the offset of the entry in the file.
        frame_length: bytes of it, header and fill included.
        length: the length in the entry's header.
        state: the state in the entry's header.
        checksum: the checksum in the entry's header.
        recording_id: the id that the descriptor holds.
        start_position: the start position of the recording.
        stop_position: the stop position of the recording, -1 when active.
        initial_term_id: the initial term id of the stream.
        segment_length: bytes of a segment file.
        term_length: bytes of a term of the stream's log.
        mtu_length: bytes of the largest frame of the stream.
        stream_id: the stream that was recorded.
    """

    offset: int
    frame_length: int
    length: int
    state: int
    checksum: int
    recording_id: int
    start_position: int
    stop_position: int
    initial_term_id: int
    segment_length: int
    term_length: int
    mtu_length: int
    stream_id: int

    @property
    def is_valid(self) -> bool:
        """Whether it is a recording to an archive."""
        return self.state == RecordingState.VALID

    @property
    def is_active(self) -> bool:
        """Whether it has no stop position."""
        return self.stop_position == NULL_POSITION

    @property
    def state_name(self) -> str:
        """The state in words, as a number when there is no word for it."""
        return state_name(self.state)


def check_state(entry: Entry) -> None:
    """Check that an entry has a state that there is.

    Raises:
        JavaError: it has none.
    """
    if entry.state not in list(RecordingState):
        raise JavaError(ILLEGAL_ARGUMENT, f"Unknown value: {entry.state}")


def check_transition(entry: Entry, state: RecordingState) -> None:
    """Check that an entry may get another state.

    Raises:
        JavaError: its state is not a known one, or its recording is deleted.
    """
    check_state(entry)
    if entry.state == RecordingState.DELETED:
        raise JavaError(
            AERON_ERROR,
            f"ERROR - (recordingId={entry.recording_id}) state transition DELETED -> {state.name}"
            " is not allowed",
        )


def state_name(state: int) -> str:
    """A state in words, its number when it has none."""
    return RecordingState(state).name if state in list(RecordingState) else str(state)


class EditableCatalog(MappedResource):
    """The catalog of a folder, open for changes; close it, or use it as a context manager.

    Attributes:
        path: the path of the file.
        raw: the file's header and the offsets of its entries.
    """

    def __init__(self, raw: RawCatalog, mapped: MappedFile) -> None:
        self.path = raw.path
        self.raw = raw
        super().__init__(mapped)

    @classmethod
    def open(cls, folder: str, *, check_version: bool = True) -> EditableCatalog:
        """Open the catalog of a folder for changes of its fields, as the reference does.

        Args:
            folder: the archive's folder, as it was given.
            check_version: refuse other major versions than this one.

        Raises:
            OSError: it cannot be opened.
            JavaError: it is damaged, or of another version.
        """
        files = RealFileSystem()
        path = file_in(folder, CATALOG_NAME)
        if files.size(path) < CATALOG_HEADER_LENGTH:
            with files.open_data_file(path, writable=True) as file:
                file.set_length(CATALOG_HEADER_LENGTH)
        raw = RawCatalog.open(folder, writable=True, check_version=check_version)
        return cls(raw, files.open_mapped(path))

    @classmethod
    def view(cls, folder: str, *, check_version: bool = True) -> EditableCatalog:
        """Open the catalog of a folder to look at it alone; raises as ``open`` does."""
        raw = RawCatalog.open(folder, check_version=check_version)
        return cls(raw, RealFileSystem().open_mapped(raw.path, writable=False))

    @property
    def version(self) -> int:
        """Semantic version in the header."""
        version: int = self.raw.version
        return version

    def entries(self) -> list[Entry]:
        """All entries, in file order.

        Raises:
            JavaError: one is too short for its fields.
        """
        pairs = zip(self.raw.offsets, self.raw.lengths, strict=True)
        return [self._entry(offset, length) for offset, length in pairs]

    def entries_of(self, recording_id: int | None) -> list[Entry]:
        """Entries with an id, or all of them.

        Raises:
            JavaError: there is none with it.
        """
        found = [
            e for e in self.entries() if recording_id is None or e.recording_id == recording_id
        ]
        if recording_id is not None and not found:
            raise unknown_recording(recording_id)
        return found

    def valid_entry(self, recording_id: int) -> Entry:
        """The VALID entry with an id.

        Raises:
            JavaError: there is none.
        """
        offset = self.raw.valid.get(recording_id)
        if offset is None:
            raise unknown_recording(recording_id)
        return next(entry for entry in self.entries() if entry.offset == offset)

    def _entry(self, offset: int, frame_length: int) -> Entry:
        frame = self.raw.frame(offset, frame_length)
        fields = block_fields(frame)
        return Entry(
            offset=offset,
            frame_length=frame_length,
            length=_I32.unpack_from(frame, _ENTRY["length"])[0],
            state=_I32.unpack_from(frame, _ENTRY["state"])[0],
            checksum=_I32.unpack_from(frame, _ENTRY["checksum"])[0],
            recording_id=fields["recording_id"],
            start_position=fields["start_position"],
            stop_position=fields["stop_position"],
            initial_term_id=fields["initial_term_id"],
            segment_length=fields["segment_file_length"],
            term_length=fields["term_buffer_length"],
            mtu_length=fields["mtu_length"],
            stream_id=fields["stream_id"],
        )

    def checksum_of(self, entry: Entry, checksum: Checksum) -> int:
        """The checksum that an entry's descriptor should have."""
        start = entry.offset + ENTRY_HEADER_LENGTH
        return checksum.compute(self.raw.frame(start, entry.length))

    def store_version(self, version: int) -> None:
        """Store a semantic version in the header."""
        self._store_i32(0, version)

    def store_state(self, entry: Entry, state: RecordingState) -> None:
        """Store another state in an entry's header."""
        self._store_i32(entry.offset + _ENTRY["state"], state)

    def store_checksum(self, entry: Entry, value: int) -> None:
        """Store the checksum of the descriptor."""
        self._store_i32(entry.offset + _ENTRY["checksum"], value)

    def store_stop(self, entry: Entry, position: int, timestamp_ms: int) -> None:
        """Store a stop position; whoever sees it sees its timestamp too."""
        self._store_i64(entry.offset + _FIELD["stop_timestamp"], timestamp_ms)
        self._store_i64(entry.offset + _FIELD["stop_position"], position)

    def _store_i32(self, at: int, value: int) -> None:
        if at % _I32.size == 0:
            self._mapped.store_i32(at, value)
        else:
            _I32.pack_into(self._mapped.view(), at, value)

    def _store_i64(self, at: int, value: int) -> None:
        if at % _I64.size == 0:
            self._mapped.store_i64(at, value)
        else:
            _I64.pack_into(self._mapped.view(), at, value)

    def sync(self) -> None:
        """Bring all changes to the disk."""
        self._mapped.flush()
