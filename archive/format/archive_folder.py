"""Reading recordings from a folder, with no archive running or beside one (read-only throughout).

``ArchiveFolder`` opens a folder, a ``Recording`` gives its rows: messages put together from their
fragments, or the fragments. A recording without a stop position is read up to its last complete
frame; beside a running archive up to the position that the archive's counter shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aerolog.archive.format.catalog_map import CatalogReader
from aerolog.archive.format.live_position import live_position
from aerolog.archive.format.recording_read import RecordingRead, RowChoice, ScanTotals
from aerolog.archive.format.scan_columns import ScanColumns
from aerolog.archive.format.segment import parse_segment_name, recording_id_of
from aerolog.archive.format.stop_recovery import recover_stop_position
from aerolog.transport.memory.filesystem import FileSystem, RealFileSystem
from aerolog.transport.protocol.frames import FRAME_ALIGNMENT
from aerolog.transport.resource import Resource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from typing_extensions import Buffer

    from aerolog.archive.format.descriptor import CatalogEntry, RecordingDescriptor

__all__ = [
    "PAYLOAD_CAPACITY",
    "ROWS_MAX",
    "ArchiveFolder",
    "Message",
    "Recording",
    "ScanTotals",
]

ROWS_MAX = 10_000
PAYLOAD_CAPACITY = 1024 * 1024
_MESSAGE_FIELDS = (
    "position",
    "term_id",
    "term_offset",
    "session_id",
    "stream_id",
    "flags",
    "reserved_value",
)


@dataclass(frozen=True, slots=True)
class Message:
    """One row of a recording; see ``Recording.messages``.

    Attributes:
        position: in the stream, after the message.
        term_id: of its first frame, as all fields below.
        term_offset: of its first frame.
        session_id: of the publication; the recording's where a checksum took its place.
        stream_id: of the recording.
        flags: 0xC0 for a whole message; those of all its fragments together.
        reserved_value: as the publisher set it.
        payload: a copy.
    """

    position: int
    term_id: int
    term_offset: int
    session_id: int
    stream_id: int
    flags: int
    reserved_value: int
    payload: bytes


class ArchiveFolder(Resource):
    """An archive's folder, ours or the reference's, open for reading. A context manager."""

    def __init__(self, archive_dir: str | Path, files: FileSystem | None = None) -> None:
        """Open the folder's catalog.

        Raises:
            FileNotFoundError: there is no catalog.
            FileFormatError: the catalog is truncated, of another version, or damaged.
        """
        self.path = str(archive_dir)
        self.files = files or RealFileSystem()
        self.catalog = CatalogReader.open(archive_dir, self.files)

    def recordings(self) -> list[Recording]:
        """All VALID recordings, by id."""
        return [self.recording(recording_id) for recording_id in self.catalog.ids()]

    def recording(self, recording_id: int) -> Recording:
        """One VALID recording.

        Raises:
            ArchiveError: UNKNOWN_RECORDING.
            FileFormatError: its descriptor is damaged.
        """
        return Recording(self, self.catalog.checked_entry(recording_id))

    def segment_names(self, recording_id: int) -> list[str]:
        """Names of the recording's segment files that are there, in position order."""
        names = [
            name for name in self.files.list_dir(self.path) if recording_id_of(name) == recording_id
        ]
        return sorted(names, key=lambda name: parse_segment_name(name).base_position)

    def close(self) -> None:
        """Let go of the catalog; recordings that were given out stay usable."""
        self.catalog.close()


class Recording:
    """One recording of a folder, as its catalog entry said when it was opened.

    Attributes:
        entry: the catalog entry.
        descriptor: of it.
        start_position: of the first frame that is there.
        end_position: up to which there are complete frames: the stop position, or what was found.
        is_live: whether a running archive is recording it.
    """

    def __init__(self, folder: ArchiveFolder, entry: CatalogEntry) -> None:
        self.folder = folder
        self.files = folder.files
        self.entry = entry
        self.descriptor: RecordingDescriptor = entry.descriptor
        self.start_position = self.descriptor.start_position
        self.is_live = False
        self.end_position = self._find_end()

    @property
    def recording_id(self) -> int:
        """Id of the recording in its archive."""
        return self.descriptor.recording_id

    def _find_end(self) -> int:
        descriptor = self.descriptor
        if not descriptor.is_active:
            return descriptor.stop_position
        live = live_position(self.folder.path, descriptor, self.files)
        if live is not None:
            self.is_live = True
            return live
        names = self.folder.segment_names(self.recording_id)
        return recover_stop_position(self.files, self.folder.path, descriptor, names).position

    def refresh(self) -> None:
        """Look again how far the recording has come."""
        if self.descriptor.is_active:
            self.entry = self.folder.catalog.checked_entry(self.recording_id)
            self.descriptor = self.entry.descriptor
            self.end_position = self._find_end()

    def batches(
        self,
        *,
        assemble: bool = True,
        from_position: int | None = None,
        until_position: int | None = None,
        after_position: int | None = None,
        session_ids: Iterable[int] | None = None,
        rows_max: int = ROWS_MAX,
        payload_capacity: int = PAYLOAD_CAPACITY,
        columns: tuple[str, ...] | None = None,
        allocate: Callable[[int], Buffer] | None = None,
        totals: ScanTotals | None = None,
    ) -> Iterator[ScanColumns]:
        """Rows in batches of columns, in memory that is the caller's to keep.

        Args:
            assemble: rows are messages; False: every fragment is a row.
            from_position: of a frame, or of a message when assembling; the start by default.
            until_position: rows that end behind it are left out; ``end_position`` by default.
            after_position: rows whose position is not behind it are left out, whatever lies there:
                the walk begins with the term that holds it, unless ``from_position`` is later.
            session_ids: rows of other sessions are left out.
            rows_max: rows a batch at most.
            payload_capacity: payload bytes a batch at most, but for a longer single message.
            columns: names of the wanted ones, see ``frame_scan.COLUMNS``; all by default.
            allocate: gives writable memory of that many bytes, for a column of a batch.
            totals: kept up to date while reading.

        Raises:
            ValueError: a position outside the recording, or not a multiple of 32.
            RecordingDamagedError: a segment is missing, damaged or shorter than it was, or (a
                RecordingChangedError) the recording was purged or truncated while it was read; says
                file, offset and value. Rows before that have been given out.
        """
        start, until = self._range(from_position, until_position)
        after = -1 if after_position is None else after_position
        start = max(start, min(self._term_base(after), until))
        totals = totals if totals is not None else ScanTotals(start)
        totals.position = start
        wanted = None if session_ids is None else frozenset(session_ids)
        choice = RowChoice(assemble, after, wanted)
        reader = RecordingRead(self, until, choice, totals)

        def fresh(capacity: int) -> ScanColumns:
            return ScanColumns(rows_max, capacity, columns, allocate)

        return reader.batches(fresh, payload_capacity)

    def messages(
        self,
        *,
        assemble: bool = True,
        from_position: int | None = None,
        until_position: int | None = None,
        totals: ScanTotals | None = None,
    ) -> Iterator[Message]:
        """Rows one by one, with copied payloads; arguments and errors as for ``batches``."""
        for batch in self.batches(
            assemble=assemble,
            from_position=from_position,
            until_position=until_position,
            totals=totals,
        ):
            at = batch.column("payload_offset")
            payload = batch.column("payload")
            fields = zip(*(batch.column(name) for name in _MESSAGE_FIELDS), strict=True)
            for row, values in enumerate(fields):
                data = bytes(payload[at[row] : at[row + 1]])
                yield Message(*values, data)  # type: ignore[call-arg]

    def _term_base(self, position: int) -> int:
        """Where the term begins that holds a position; there is always a frame there."""
        return position - position % self.descriptor.term_buffer_length

    def _range(self, from_position: int | None, until_position: int | None) -> tuple[int, int]:
        first, last = self.start_position, self.end_position
        start = first if from_position is None else from_position
        until = last if until_position is None else until_position
        if start % FRAME_ALIGNMENT or not first <= start <= last:
            raise ValueError(
                f"recording {self.recording_id} cannot be read from position {start}: it has"
                f" frames from {first} to {last}, at multiples of 32"
            )
        if not start <= until <= last:
            raise ValueError(
                f"recording {self.recording_id} cannot be read from position {start} to {until}:"
                f" it ends at {last}"
            )
        return start, until
