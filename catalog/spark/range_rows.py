"""Reads ranges of recordings on an executor as record batches of rows or rejects.

This is plain Python with Arrow and needs no Spark session. It keeps no state between two calls.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aerolog.archive.format.archive_folder import PAYLOAD_CAPACITY, ROWS_MAX, Recording, ScanTotals
from aerolog.catalog.arrow.arrow_recording import record_batches
from aerolog.catalog.arrow.schema import arrow_schema
from aerolog.catalog.extras import require
from aerolog.catalog.locations import OpenPlaces
from aerolog.catalog.spark.errors import ChecksumMismatchError, RejectedMessageError
from aerolog.transport.errors import (
    ArchiveError,
    FileFormatError,
    RecordingChangedError,
    RecordingDamagedError,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa

    from aerolog.archive.format.archive_folder import ArchiveFolder
    from aerolog.archive.format.descriptor import CatalogEntry
    from aerolog.catalog.decoders import Decoder
    from aerolog.catalog.spark.options import ReadOptions
    from aerolog.catalog.spark.partitions import Range

REJECT_REASON, REJECT_PAYLOAD = "reject_reason", "reject_payload"
_ROWS_FEW = ROWS_MAX // 2
_BYTES_FEW = PAYLOAD_CAPACITY // 2


@dataclass(frozen=True, slots=True)
class RowSource:
    """Makes batches of ranges; it can be pickled.

    Attributes:
        options: the options of the read.
        session_ids: the session ids of wanted rows, None for all.
        decoder: the decoder, whose schema is known; None without decoding.
    """

    options: ReadOptions
    session_ids: frozenset[int] | None = None
    decoder: Decoder | None = None

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the batches."""
        if self.options.table == "rejects":
            from aerolog.catalog.decoders import REJECTS_SCHEMA

            return REJECTS_SCHEMA
        if self.decoder is None:
            return arrow_schema(self.options.scanned)
        from aerolog.catalog.decoders import decoded_schema

        schema = decoded_schema(self.decoder)
        if self.options.rejects == "inline":
            pyarrow = require("pyarrow", "reading recordings in Spark")
            schema = schema.append(pyarrow.field(REJECT_REASON, pyarrow.string()))
            schema = schema.append(pyarrow.field(REJECT_PAYLOAD, pyarrow.binary()))
        return schema

    def batches(self, ranges: Iterable[Range]) -> Iterator[pa.RecordBatch]:
        """Read ranges one after the other.

        Raises:
            RecordingDamagedError: a segment is damaged, missing, or was purged meanwhile, and
                ``skip_damage`` is not set. The rows before it have been returned.
            RejectedMessageError: a message cannot be decoded, and the options ask to fail then.
        """
        return coalesced(self._parts(ranges))

    def _parts(self, ranges: Iterable[Range]) -> Iterator[pa.RecordBatch]:
        with OpenPlaces(self.options.open) as places:
            for each in ranges:
                read = _RangeRead(self, each, None if each.problem else places.folder(each.place))
                for batch in read.scanned():
                    yield from self._shown(batch)
                    yield from self._bad(read)
                yield from self._bad(read)

    def _shown(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        if self.decoder is None:
            if self.options.table == "rows":
                yield batch
            return
        from aerolog.catalog.decoders import decoded_batches

        for rows, rejects in decoded_batches([batch], self.decoder):
            if self.options.table == "rejects":
                yield rejects
                continue
            if rejects.num_rows and self.options.rejects == "fail":
                raise _first_reject(rejects)
            if self.options.rejects == "inline":
                yield from _inline(self.schema, batch, rows, rejects)
                continue
            for first in range(0, rows.num_rows, ROWS_MAX):
                yield rows.slice(first, ROWS_MAX)

    def _bad(self, read: _RangeRead) -> Iterator[pa.RecordBatch]:
        """The rejects of what could not be read, when they are wanted."""
        bad, read.bad = read.bad, []
        if bad and self.options.table == "rejects":
            pyarrow = require("pyarrow", "reading recordings in Spark")
            rows = [
                {"recording_id": each.recording_id, "position": each.position, "reason": str(each)}
                for each in bad
            ]
            yield pyarrow.RecordBatch.from_pylist(rows, self.schema)

    @property
    def scanned(self) -> tuple[str, ...]:
        """The columns that the scan of recordings has to return."""
        if self.decoder is not None:
            from aerolog.catalog.decoders.batches import SCANNED_COLUMNS

            return SCANNED_COLUMNS
        if self.options.table == "rejects":
            return ("position", "session_id")
        return self.options.scanned


@dataclass(slots=True)
class _RangeRead:
    """The read of one range.

    Attributes:
        source: tells what is read and how.
        range: the range to read.
        folder: the open folder; None when the range has a problem.
        bad: the rejects of what could not be read since the list was last emptied.
    """

    source: RowSource
    range: Range
    folder: ArchiveFolder | None
    bad: list[RecordingDamagedError] = field(default_factory=list)

    def scanned(self) -> Iterator[pa.RecordBatch]:
        """The scanned batches; with ``skip_damage`` also of what was not purged meanwhile."""
        if self.folder is None:
            self._refuse(self._error(self.range.problem, self.range.from_position))
            return
        at: int | None = self.range.from_position
        while at is not None and at < self.range.until_position:
            try:
                recording = self._open(self.folder, at)
                yield from self._checked(recording, at)
                return
            except RecordingDamagedError as error:
                if isinstance(error.__cause__, OSError):
                    raise
                self._refuse(error)
                at = self._behind(self.folder, error)

    def _open(self, folder: ArchiveFolder, position: int) -> Recording:
        recording_id = self.range.recording_id
        try:
            entry = folder.catalog.checked_entry(recording_id)
        except ArchiveError as error:
            raise RecordingChangedError(
                f"recording {recording_id} of {folder.path} was purged or invalidated before it"
                f" was read from position {position}",
                recording_id,
                position,
            ) from error
        except FileFormatError as error:
            raise self._error(f"its descriptor is damaged: {error}", position) from error
        first = entry.descriptor.start_position
        if first > position:
            raise RecordingChangedError(
                f"recording {recording_id} of {folder.path} was purged up to position {first}"
                f" before it was read from position {position}",
                recording_id,
                position,
            )
        return _PlannedRecording(folder, entry, self.range.until_position)

    def _checked(self, recording: Recording, position: int) -> Iterator[pa.RecordBatch]:
        options, totals = self.source.options, ScanTotals(position)
        batches = record_batches(
            recording,
            columns=self.source.scanned,
            assemble=options.assemble,
            from_position=position,
            until_position=self.range.until_position,
            after_position=self.range.after_position,
            session_ids=self.source.session_ids,
            within=options.within,
            time_source=options.time_source,
            settled=self.range.settled,
            compact=True,
            totals=totals,
            skip_damage=options.skip_damage,
        )
        try:
            yield from self._watched(batches, recording, position, totals)
        finally:
            recording_id = self.range.recording_id
            self.bad += [
                RecordingDamagedError(gap.text, recording_id, gap.from_position)
                for gap in totals.gaps
            ]

    def _watched(
        self,
        batches: Iterator[pa.RecordBatch],
        recording: Recording,
        position: int,
        totals: ScanTotals,
    ) -> Iterator[pa.RecordBatch]:
        """The batches, with wrong checksums noted."""
        mismatches = 0
        for batch in batches:
            if totals.checksum_mismatches > mismatches:
                self._refuse(
                    ChecksumMismatchError(
                        f"{totals.checksum_mismatches - mismatches} frames do not match their"
                        f" checksum, between positions {position} and {totals.position} of"
                        f" recording {self.range.recording_id} of {recording.folder.path}",
                        self.range.recording_id,
                        position,
                    )
                )
                mismatches = totals.checksum_mismatches
            position = totals.position
            yield batch

    def _behind(self, folder: ArchiveFolder, error: RecordingDamagedError) -> int | None:
        """The position where reading continues behind what was purged; None where it ends."""
        try:
            descriptor = folder.catalog.checked_entry(self.range.recording_id).descriptor
        except (ArchiveError, FileFormatError):
            return None
        start: int = descriptor.start_position
        return start if start > error.position else None

    def _refuse(self, error: RecordingDamagedError) -> None:
        if not self.source.options.skip_damage:
            raise error
        self.bad.append(error)

    def _error(self, problem: str, position: int) -> RecordingDamagedError:
        text = f"recording {self.range.recording_id} of {self.range.place}: {problem}"
        return RecordingDamagedError(
            f"{text} (position {position})", self.range.recording_id, position
        )


class _PlannedRecording(Recording):
    """A recording that ends where the plan ends it: executors cannot see the archive's counters."""

    def __init__(self, folder: ArchiveFolder, entry: CatalogEntry, until: int) -> None:
        self._until = until
        super().__init__(folder, entry)

    def _find_end(self) -> int:
        return self._until


def coalesced(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Combine short batches, as each batch costs Spark as much as a thousand rows."""
    pyarrow = require("pyarrow", "reading recordings in Spark")
    pending: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        long = batch.num_rows >= _ROWS_FEW or batch.nbytes >= _BYTES_FEW
        full = rows + batch.num_rows > ROWS_MAX or size + batch.nbytes > PAYLOAD_CAPACITY
        if pending and (long or full):
            yield pyarrow.concat_batches(pending)
            pending, rows, size = [], 0, 0
        if long:
            yield batch
            continue
        pending.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
    if pending:
        yield pyarrow.concat_batches(pending)


def _first_reject(rejects: pa.RecordBatch) -> RejectedMessageError:
    first: dict[str, Any] = rejects.slice(0, 1).to_pylist()[0]
    return RejectedMessageError(
        f"the message before position {first['position']} of recording {first['recording_id']}"
        f" cannot be decoded: {first['reason']}",
        first["recording_id"],
        first["position"],
    )


def _inline(
    schema: pa.Schema, batch: pa.RecordBatch, rows: pa.RecordBatch, rejects: pa.RecordBatch
) -> Iterator[pa.RecordBatch]:
    """Rows with null columns for rejects, then rejects with null decoded columns."""
    pyarrow = require("pyarrow", "reading recordings in Spark")
    compute = require("pyarrow.compute", "reading recordings in Spark")
    from aerolog.catalog.decoders import PLACE_COLUMNS

    if rows.num_rows:
        nothing = [pyarrow.nulls(rows.num_rows, kind) for kind in schema.types[-2:]]
        yield pyarrow.RecordBatch.from_arrays([*rows.columns, *nothing], schema=schema)
    if rejects.num_rows:
        at = compute.index_in(rejects.column("position"), batch.column("position"))
        count = rejects.num_rows
        places = [batch.column(name).take(at) for name in PLACE_COLUMNS]
        nothing = [pyarrow.nulls(count, kind) for kind in schema.types[len(places) : -2]]
        found = (rejects.column("reason"), rejects.column("payload"))
        yield pyarrow.RecordBatch.from_arrays([*places, *nothing, *found], schema=schema)
