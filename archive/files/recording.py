"""Reading recordings from a folder, with no archive running or beside one (read-only throughout).

``ArchiveFolder`` opens a folder, a ``Recording`` gives its rows: messages put together from their
fragments, or the fragments. A recording without a stop position is read up to its last complete
frame; beside a running archive up to the position that the archive's counter shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from aerolog.archive.files.catalog_map import CatalogReader
from aerolog.archive.files.frame_scan import (
    SCAN_END,
    SCAN_FULL,
    SCAN_NO_DATA,
    SCAN_TOO_LONG,
    ScanColumns,
    SegmentScanner,
)
from aerolog.archive.files.live_position import live_position
from aerolog.archive.files.recovery import recover_stop_position
from aerolog.archive.files.segment import (
    parse_segment_name,
    recording_id_of,
    segment_file_name,
)
from aerolog.transport.errors import FileFormatError
from aerolog.transport.memory.filesystem import FileSystem, RealFileSystem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType
    from typing import Self

    from typing_extensions import Buffer

    from aerolog.archive.files.descriptor import CatalogEntry, RecordingDescriptor

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


@dataclass(slots=True)
class ScanTotals:
    """What a read has passed so far.

    Attributes:
        position: up to which the recording was read.
        rows: given out.
        payload_bytes: in those rows.
        frames: DATA frames passed.
        padding_frames: padding frames passed.
        skipped_fragments: of messages that do not begin and end in the range.
        checksum_mismatches: frames in checksummed data whose checksum does not match.
    """

    position: int
    rows: int = 0
    payload_bytes: int = 0
    frames: int = 0
    padding_frames: int = 0
    skipped_fragments: int = 0
    checksum_mismatches: int = 0


class ArchiveFolder:
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

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


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
            rows_max: rows a batch at most.
            payload_capacity: payload bytes a batch at most, but for a longer single message.
            columns: names of the wanted ones, see ``frame_scan.COLUMNS``; all by default.
            allocate: gives writable memory of that many bytes, for a column of a batch.
            totals: kept up to date while reading.

        Raises:
            ValueError: a position outside the recording, or not a multiple of 32.
            FileFormatError: a segment is missing or damaged; says file, offset and value. Rows
                before the damage have been given out.
        """
        start, until = self._range(from_position, until_position)
        totals = totals if totals is not None else ScanTotals(start)
        totals.position = start
        reader = _Reader(self, until, assemble, totals)

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

    def _range(self, from_position: int | None, until_position: int | None) -> tuple[int, int]:
        first, last = self.start_position, self.end_position
        start = first if from_position is None else from_position
        until = last if until_position is None else until_position
        if start % 32 or not first <= start <= last:
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


class _Reader:
    """One read over the segments of a recording."""

    def __init__(
        self, recording: Recording, until: int, assemble: bool, totals: ScanTotals
    ) -> None:
        self.recording = recording
        self.until = until
        self.assemble = assemble
        self.totals = totals

    def batches(
        self, fresh: Callable[[int], ScanColumns], payload_capacity: int
    ) -> Iterator[ScanColumns]:
        """Fill batches, each from as many segments as it takes."""
        totals = self.totals
        batch = fresh(payload_capacity)
        while totals.position < self.until:
            base = self.recording.descriptor.segment_base(totals.position)
            try:
                scanner, path = self._open_segment(base, totals.position - base)
            except FileFormatError:
                if batch.rows:
                    yield self._count(batch)
                raise
            before = _Counts.of(scanner)
            status = SCAN_FULL
            while status in {SCAN_FULL, SCAN_TOO_LONG}:
                status = scanner.scan(batch)
                before = self._add(scanner, before)
                totals.position = base + scanner.offset
                if status == SCAN_FULL:
                    yield self._count(batch)
                    batch = fresh(payload_capacity)
                elif status == SCAN_TOO_LONG:
                    batch = fresh(scanner.message_length)
            if status != SCAN_END:
                if batch.rows:
                    yield self._count(batch)
                raise self._damage(scanner, path, base)
            if scanner.offset < self.recording.descriptor.segment_file_length:
                break  # the next frame ends behind the range
        if batch.rows:
            yield self._count(batch)

    def _open_segment(self, base: int, offset: int) -> tuple[SegmentScanner, str]:
        recording = self.recording
        descriptor = recording.descriptor
        name = segment_file_name(descriptor.recording_id, base)
        path = str(Path(recording.folder.path) / name)
        try:
            segment = recording.files.open_mapped(path, writable=False)
        except FileNotFoundError as error:
            raise FileFormatError(
                f"recording segment not found: {path}, for position {base + offset} of recording"
                f" {descriptor.recording_id}"
            ) from error
        scanner = SegmentScanner(
            segment,
            base_position=base,
            start_offset=offset,
            end_offset=min(self.until - base, descriptor.segment_file_length),
            initial_term_id=descriptor.initial_term_id,
            term_length=descriptor.term_buffer_length,
            session_id=descriptor.session_id,
            stream_id=descriptor.stream_id,
            assemble=self.assemble,
        )
        return scanner, path

    def _count(self, batch: ScanColumns) -> ScanColumns:
        self.totals.rows += batch.rows
        self.totals.payload_bytes += batch.payload_length
        return batch

    def _add(self, scanner: SegmentScanner, before: _Counts) -> _Counts:
        now = _Counts.of(scanner)
        self.totals.frames += now.frames - before.frames
        self.totals.padding_frames += now.padding_frames - before.padding_frames
        self.totals.skipped_fragments += now.skipped_fragments - before.skipped_fragments
        self.totals.checksum_mismatches += now.checksum_mismatches - before.checksum_mismatches
        return now

    def _damage(self, scanner: SegmentScanner, path: str, base: int) -> FileFormatError:
        descriptor = self.recording.descriptor
        problem, offset, value = scanner.problem, scanner.bad_offset, str(scanner.bad_value)
        if scanner.status == SCAN_NO_DATA:
            problem, offset = "unexpected end of recording", scanner.offset
            value = f"no frame, though the recording goes on to position {self.until}"
        position = base + scanner.offset
        return FileFormatError(
            f"{problem}: {path} at offset {offset}: {value} (position {position} of recording"
            f" {descriptor.recording_id})"
        )


@dataclass(frozen=True, slots=True)
class _Counts:
    """A scanner's counts at one moment."""

    frames: int
    padding_frames: int
    skipped_fragments: int
    checksum_mismatches: int

    @classmethod
    def of(cls, scanner: SegmentScanner) -> _Counts:
        return cls(
            scanner.frames,
            scanner.padding_frames,
            scanner.skipped_fragments,
            scanner.checksum_mismatches,
        )
