"""The reader of a unit: it reads and decodes the unit's slices in the task that loads it."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from aerolog.archive.format.recording_read import ScanTotals
from aerolog.catalog.arrow.arrow_recording import record_batches
from aerolog.catalog.arrow.record_times import SettledTimes
from aerolog.catalog.decoders.batches import SCANNED_COLUMNS, DecodeTotals, decoded_batches
from aerolog.catalog.export.lineage import fingerprint, fingerprint_start, last_positions
from aerolog.catalog.export.manifest import RangeEntry
from aerolog.catalog.export.pipeline.columns import (
    DATE,
    FAILURE,
    KEPT,
    KIND,
    PAYLOAD,
    REJECT,
    ROW,
    TEXT,
    TOTALS,
    carried_schema,
    cast_batch,
    row_schema,
)
from aerolog.catalog.export.sources import FolderRecording
from aerolog.catalog.extras import require
from aerolog.catalog.locations import open_place
from aerolog.catalog.times import FROM_INDEX, TimeSource
from aerolog.transport.errors import AerologError
from aerolog.transport.secrets import without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from aerolog.archive.format.archive_folder import ArchiveFolder
    from aerolog.catalog.decoders import Decoder
    from aerolog.catalog.export.pipeline.units import Slice, Unit
else:
    pa = require("pyarrow", "pipelines")


def load(
    unit: Unit,
    decoder: Decoder,
    *,
    skip_damage: bool = False,
    time_source: TimeSource = FROM_INDEX,
) -> Iterator[pa.RecordBatch]:
    """Read a unit. A slice gives batches of rows and of rejects, and then its totals.

    A recording that cannot be read raises no exception, since repeating the task would not help.
    The last row is then of the kind ``FAILURE`` and has the reason.

    Args:
        unit: that is read.
        decoder: of the messages; its schema is known.
        skip_damage: True when reading goes on behind damage and each gap becomes a reject, False
            when damage is a failure.
        time_source: of the rows' times.

    Yields:
        Batches with ``carried_schema(row_schema(decoder))``.
    """
    reader = _Reader(unit, decoder, skip_damage, time_source)
    try:
        with open_place(unit.place) as folder:
            for part in unit.slices:
                yield from reader.read(folder, part)
    except (AerologError, OSError, ValueError) as error:
        where = f"recording {reader.recording_id} of {without_secrets(unit.place)}"
        yield reader.note(FAILURE, None, f"{where}: {error}")


class _Reader:
    def __init__(
        self, unit: Unit, decoder: Decoder, skip_damage: bool, time_source: TimeSource
    ) -> None:
        self._time_source = time_source
        self.recording_id = unit.slices[0].recording_id
        self._unit = unit
        self._decoder = decoder
        self._skip_damage = skip_damage
        self._rows = row_schema(decoder)
        self._carried = carried_schema(self._rows)
        self._numpy = require("numpy", "pipelines")
        self._ends: Any = self._numpy.array([0])

    def read(self, folder: ArchiveFolder, part: Slice) -> Iterator[pa.RecordBatch]:
        """Read one slice."""
        self.recording_id = part.recording_id
        self._ends = self._numpy.array([part.from_position])
        totals, decoded = ScanTotals(part.from_position), DecodeTotals()
        recording = folder.recording(part.recording_id)
        scanned = record_batches(
            recording,
            columns=SCANNED_COLUMNS,
            from_position=part.from_position,
            until_position=part.until_position,
            totals=totals,
            time_source=self._time_source,
            settled=SettledTimes.from_json(part.times),
            skip_damage=self._skip_damage,
        )
        for rows, rejects in decoded_batches(self._watched(scanned), self._decoder, totals=decoded):
            if rows.num_rows:
                yield self._row_batch(rows, part)
            if rejects.num_rows:
                yield self._reject_batch(rejects, part)
        for gap in totals.gaps:
            yield self.note(REJECT, part, gap.text, gap.from_position)
        # A message that is not whole yet at the end of a live recording is left to the next run.
        # It begins behind the last whole message, or behind a gap.
        unfinished = part.is_active and totals.skipped_fragments
        behind = max([int(self._ends[-1]), *(gap.until_position for gap in totals.gaps)])
        until = behind if unfinished else part.until_position
        first = fingerprint_start(self._ends)
        loaded = RangeEntry(
            archive=self._unit.place,
            recording_id=part.recording_id,
            start_time_ms=recording.descriptor.start_timestamp,
            from_position=part.from_position,
            until_position=until,
            messages=decoded.messages,
            payload_bytes=totals.payload_bytes,
            skipped_fragments=0 if unfinished else totals.skipped_fragments,
            checksum_mismatches=totals.checksum_mismatches,
            fingerprint=fingerprint(FolderRecording(recording), first, until),
            fingerprint_from=first,
            gaps=[[gap.from_position, gap.until_position] for gap in totals.gaps],
        )
        yield self.note(TOTALS, part, json.dumps(asdict(loaded)))

    def _watched(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            self._ends = last_positions([self._ends, batch.column("position").to_numpy()])
            yield batch

    def _row_batch(self, rows: pa.RecordBatch, part: Slice) -> pa.RecordBatch:
        count = rows.num_rows
        columns: list[Any] = list(cast_batch(rows, self._rows).columns)
        ours = {KIND: _same(ROW, pa.int32(), count), KEPT: _same(0, pa.int64(), count)}
        ours[DATE] = _days(rows.column("record_time"), part.start_day)
        return self._batch(columns, ours, count)

    def _reject_batch(self, rejects: pa.RecordBatch, part: Slice) -> pa.RecordBatch:
        count = rejects.num_rows
        known = {"recording_id": rejects.column(0), "position": rejects.column(1)}
        columns = [
            known[one.name] if one.name in known else pa.nulls(count, one.type)
            for one in self._rows
        ]
        ours = {
            KIND: _same(REJECT, pa.int32(), count),
            DATE: _same(part.start_day, pa.int32(), count).view(pa.date32()),
            TEXT: rejects.column(2),
            PAYLOAD: rejects.column(3),
        }
        return self._batch(columns, ours, count)

    def note(
        self, kind: int, part: Slice | None, text: str, position: int | None = None
    ) -> pa.RecordBatch:
        """A batch of one row that is not of the recording: a reject, totals or a failure."""
        known = {"recording_id": self.recording_id, "position": position}
        columns = [pa.array([known.get(one.name)], one.type) for one in self._rows]
        ours = {
            KIND: pa.array([kind], pa.int32()),
            DATE: pa.array([part and part.start_day], pa.int32()).view(pa.date32()),
            TEXT: pa.array([text], pa.string()),
        }
        return self._batch(columns, ours, 1)

    def _batch(self, columns: list[Any], ours: dict[str, Any], count: int) -> pa.RecordBatch:
        behind = [
            ours[one.name] if one.name in ours else pa.nulls(count, one.type)
            for one in list(self._carried)[len(columns) :]
        ]
        return pa.RecordBatch.from_arrays([*columns, *behind], schema=self._carried)


def _same(value: int, kind: pa.DataType, count: int) -> Any:
    return pa.repeat(pa.scalar(value, kind), count)


def _days(times: Any, start_day: int) -> Any:
    """The day of each row's time; where that is null, the day on which the recording began."""
    count = len(times)
    first = _same(start_day, pa.int32(), count).view(pa.date32())
    if times.null_count == count:
        return first
    compute = require("pyarrow.compute", "pipelines")
    return compute.coalesce(times.cast(pa.date32()), first)
