"""Read-only access to the recordings in an archive folder, whether or not an archive runs in it.

An ``ArchiveFolder`` opens a folder and a ``Recording`` yields its rows. A row is a message put
together from its fragments, or a single fragment. A recording without a stop position is read up
to its last complete frame; while an archive runs, up to the position that its counter shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aerolog.archive.format.catalog_map import CatalogReader
from aerolog.archive.format.live_position import live_position
from aerolog.archive.format.recording_read import Gap, RecordingRead, RowChoice, ScanTotals
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
    "Gap",
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
        position: stream position after the message.
        term_id: term id of the message's first frame; the fields below are of that frame too.
        term_offset: offset of the first frame in its term, bytes.
        session_id: session id in the frame, or the recording's when a checksum replaced it.
        stream_id: stream id in the frame.
        flags: flags of all fragments combined; 0xC0 for a whole message.
        reserved_value: value that the publisher set.
        payload: a copy of the message's bytes.
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
    """The folder of an archive, this one or the reference, open for reading; a context manager."""

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
        """Return all VALID recordings in the order of their ids."""
        return [self.recording(recording_id) for recording_id in self.catalog.ids()]

    def recording(self, recording_id: int) -> Recording:
        """Return one VALID recording.

        Raises:
            ArchiveError: UNKNOWN_RECORDING when there is no VALID entry with that id.
            FileFormatError: the recording's descriptor is damaged.
        """
        return Recording(self, self.catalog.checked_entry(recording_id))

    def segment_names(self, recording_id: int) -> list[str]:
        """Return the names of the recording's existing segment files, in position order."""
        names = [
            name for name in self.files.list_dir(self.path) if recording_id_of(name) == recording_id
        ]
        return sorted(names, key=lambda name: parse_segment_name(name).base_position)

    def close(self) -> None:
        """Release the catalog; recordings that were returned before stay usable."""
        self.catalog.close()


class Recording:
    """One recording of a folder, as its catalog entry described it when it was opened.

    Attributes:
        entry: the catalog entry.
        descriptor: the descriptor in that entry.
        start_position: position of the first frame that is stored.
        end_position: position up to which frames are complete: the stop position, the position of
            a running archive, or the end found in the segments.
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
        """The recording's id in its archive."""
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
        """Read the catalog entry and the end position of an active recording again."""
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
        skip_damage: bool = False,
    ) -> Iterator[ScanColumns]:
        """Yield rows in batches of columns; the memory of each batch belongs to the caller.

        Args:
            assemble: True for one row per message, False for one row per fragment.
            from_position: where a frame begins, or a message when assembling; the start by default.
            until_position: rows that end after it are left out; ``end_position`` by default.
            after_position: rows that end at or before it are left out. It need not be where a frame
                begins: the walk begins with the term that holds it, unless ``from_position`` is
                later.
            session_ids: rows of other sessions are left out; None for all sessions.
            rows_max: most rows in a batch.
            payload_capacity: most payload bytes in a batch, unless one message alone is longer.
            columns: names of the wanted columns, see ``frame_scan.COLUMNS``; all by default.
            allocate: returns writable memory of the given length in bytes for one column.
            totals: counts that are updated while the recording is read.
            skip_damage: True goes on behind what is damaged or missing, where the next term or
                segment begins, and notes the gap in ``totals``.

        Raises:
            ValueError: a position lies outside the recording or is not a multiple of 32.
            RecordingDamagedError: a segment is missing, damaged or shorter than it was. It is a
                RecordingChangedError when the recording was purged or truncated during the read.
                The message names file, offset and value; the rows before were yielded.
        """
        start, until = self._range(from_position, until_position)
        after = -1 if after_position is None else after_position
        start = max(start, min(self._term_base(after), until))
        totals = totals if totals is not None else ScanTotals(start)
        totals.position = start
        wanted = None if session_ids is None else frozenset(session_ids)
        choice = RowChoice(assemble, after, wanted, skip_damage)
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
        skip_damage: bool = False,
    ) -> Iterator[Message]:
        """Yield single rows with copied payloads; arguments and errors are those of ``batches``."""
        for batch in self.batches(
            assemble=assemble,
            from_position=from_position,
            until_position=until_position,
            totals=totals,
            skip_damage=skip_damage,
        ):
            at = batch.column("payload_offset")
            payload = batch.column("payload")
            fields = zip(*(batch.column(name) for name in _MESSAGE_FIELDS), strict=True)
            for row, values in enumerate(fields):
                data = bytes(payload[at[row] : at[row + 1]])
                yield Message(*values, data)  # type: ignore[call-arg]

    def _term_base(self, position: int) -> int:
        """Return the base position of the term that holds a position; a frame begins there."""
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
