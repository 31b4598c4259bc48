"""Recordings as Arrow data: record batches straight from mapped segments, tables, frames.

The native scan writes rows into memory of Arrow's own pool, so a batch costs one copy of its
payloads. Batches are of about 10,000 rows or 1 MiB, whichever comes first, and so is the memory
that a stream of them needs.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from aerolog.archive.format.archive_folder import (
    PAYLOAD_CAPACITY,
    ROWS_MAX,
    ArchiveFolder,
    Recording,
)
from aerolog.archive.format.recording_read import ScanTotals
from aerolog.catalog.arrow.ranged_rows import RangedRows, ScanPart
from aerolog.catalog.arrow.record_times import RowTimes
from aerolog.catalog.arrow.schema import COLUMN_NAMES, arrow_schema, recording_metadata
from aerolog.catalog.extras import require
from aerolog.catalog.times import TimeRange, TimeSource
from aerolog.transport.resource import Resource

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.archive.format.scan_columns import ScanColumns
    from aerolog.catalog.arrow.record_times import SettledTimes
    from aerolog.catalog.times import Time

_TIME = "record_time"
_SCANNED = tuple(name for name in COLUMN_NAMES if name not in {"recording_id", _TIME})


class BatchMaker:
    """Turns the native scan's columns into record batches of one recording."""

    def __init__(
        self,
        recording_id: int,
        columns: tuple[str, ...] = COLUMN_NAMES,
        times: RowTimes | None = None,
    ) -> None:
        """Prepare for batches.

        Args:
            recording_id: of the recording.
            columns: names of the wanted ones.
            times: of its rows; None: they have none.
        """
        self.schema = arrow_schema(columns)
        self._times = times
        needed = times.needs if times is not None and _TIME in columns else ()
        self.scanned = tuple(name for name in _SCANNED if name in columns or name in needed)
        self._pyarrow = require("pyarrow", "reading recordings as Arrow data")
        self._recording_id = recording_id

    def allocate(self, length: int) -> Any:
        """Memory of Arrow's pool, for the scan to write into."""
        return self._pyarrow.allocate_buffer(length)

    def batch(self, columns: ScanColumns, *, compact: bool = False) -> pa.RecordBatch:
        """A batch over the memory of ``columns``.

        Args:
            columns: as filled by the scan.
            compact: copy payloads that leave most of their memory empty, to keep the batch long.
        """
        arrays = [self._array(name, columns, compact) for name in self.schema.names]
        return self._pyarrow.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _array(self, name: str, columns: ScanColumns, compact: bool) -> Any:
        pyarrow, rows = self._pyarrow, columns.rows
        kind = self.schema.field(name).type
        if name == "recording_id":
            return pyarrow.repeat(pyarrow.scalar(self._recording_id, kind), rows)
        if name == _TIME:
            return pyarrow.nulls(rows, kind) if self._times is None else self._times.column(columns)
        memory = columns.buffers[name]
        if name != "payload":
            return pyarrow.Array.from_buffers(kind, rows, [None, memory])
        if compact and columns.payload_length < columns.payload_capacity // 2:
            memory = pyarrow.py_buffer(bytes(columns.column(name)))
        offsets = columns.buffers["payload_offset"]
        return pyarrow.Array.from_buffers(kind, rows, [None, offsets, memory])


def record_batches(
    recording: Recording,
    *,
    columns: tuple[str, ...] = COLUMN_NAMES,
    assemble: bool = True,
    from_position: int | None = None,
    until_position: int | None = None,
    after_position: int | None = None,
    session_ids: Iterable[int] | None = None,
    since: Time | None = None,
    until: Time | None = None,
    within: TimeRange | None = None,
    time_source: TimeSource | str = "index",
    settled: SettledTimes | None = None,
    rows_max: int = ROWS_MAX,
    payload_capacity: int = PAYLOAD_CAPACITY,
    compact: bool = False,
    totals: ScanTotals | None = None,
) -> Iterator[pa.RecordBatch]:
    """Stream a recording as record batches; arguments and errors as ``Recording.batches`` has.

    Args:
        recording: to read.
        columns: names of the wanted ones; a scan without ``payload`` copies no payload.
        assemble: rows are messages; False: every fragment is a row.
        from_position: see ``Recording.batches``.
        until_position: see ``Recording.batches``.
        after_position: see ``Recording.batches``; any number.
        session_ids: of the wanted rows; None for all.
        since: epoch milliseconds or a datetime: rows that were recorded then or later. Where rows
            have no times, for want of a time index, a recording that had stopped by then has none.
        until: likewise: rows that were recorded before.
        within: the same, more finely; what is in both.
        time_source: of ``record_time``; see `TimeSource`.
        settled: what of the time index counts, so that the same rows have the same times while a
            recording goes on; all that there is by default.
        rows_max: rows a batch at most.
        payload_capacity: payload bytes a batch at most, but for a longer single message.
        compact: see ``BatchMaker.batch``.
        totals: kept up to date while reading.

    Raises:
        MissingExtraError: Arrow is not installed.
    """
    span = TimeRange.of(since, until)
    span = span if within is None else span & within
    source = TimeSource.parse(time_source)
    times = None
    if span or _TIME in columns:
        times = RowTimes.of(recording, source, settled)
        if not times.known and source.kind == "index":
            # Rows without times are chosen all together.
            if not span.overlaps(recording.descriptor):
                return iter(())
            span = TimeRange()
    chosen = (*columns, _TIME) if span else columns
    maker = BatchMaker(recording.recording_id, chosen, times)
    scan = partial(
        recording.batches,
        assemble=assemble,
        session_ids=session_ids,
        rows_max=rows_max,
        payload_capacity=payload_capacity,
        columns=maker.scanned or ("position",),
        allocate=maker.allocate,
    )
    if not span or times is None:
        scanned = scan(
            from_position=from_position,
            until_position=until_position,
            after_position=after_position,
            totals=totals,
        )
        return (maker.batch(part, compact=compact) for part in scanned)
    part = ScanPart(recording, from_position, until_position, after_position)
    found = RangedRows(times, span, totals or ScanTotals(recording.start_position))
    names = arrow_schema(columns).names
    return (batch.select(names) for batch in found.batches(part, scan, maker, compact=compact))


class ArrowRecording(Resource):
    """A recording that opens as Arrow data, or as a pandas or Polars frame. A context manager."""

    def __init__(self, folder: ArchiveFolder, recording_id: int) -> None:
        self._folder = folder
        self.recording = folder.recording(recording_id)

    @property
    def descriptor(self) -> RecordingDescriptor:
        """The recording's catalog entry."""
        return self.recording.descriptor

    @property
    def schema(self) -> pa.Schema:
        """Arrow schema of all columns."""
        return arrow_schema()

    def to_batches(self, **options: Any) -> Iterator[pa.RecordBatch]:
        """Record batches in bounded memory; options as for ``record_batches``."""
        return record_batches(self.recording, **options)

    def scan(self, **options: Any) -> pa.RecordBatchReader:
        """A stream of record batches for whatever reads Arrow, in bounded memory.

        DuckDB, Polars and others take it as it is (``__arrow_c_stream__``); it is read once.
        Options as for ``record_batches``.
        """
        pyarrow = require("pyarrow", "reading recordings as Arrow data")
        schema = arrow_schema(options.get("columns", COLUMN_NAMES))
        return pyarrow.RecordBatchReader.from_batches(schema, self.to_batches(**options))

    def to_arrow(self, **options: Any) -> pa.Table:
        """The whole recording as a table; options as for ``record_batches``."""
        pyarrow = require("pyarrow", "reading recordings as Arrow data")
        options.setdefault("compact", True)
        recording = self.recording
        first, last = options.get("from_position"), options.get("until_position")
        metadata = recording_metadata(
            recording,
            assemble=options.get("assemble", True),
            from_position=recording.start_position if first is None else first,
            until_position=recording.end_position if last is None else last,
        )
        schema = arrow_schema(options.get("columns", COLUMN_NAMES))
        table = pyarrow.Table.from_batches(self.to_batches(**options), schema)
        return table.replace_schema_metadata(metadata)

    def to_pandas(self, **options: Any) -> pd.DataFrame:
        """The whole recording as a pandas frame; options as for ``record_batches``."""
        require("pandas", "reading recordings as pandas frames")
        return self.to_arrow(**options).to_pandas()

    def to_polars(self, **options: Any) -> pl.DataFrame:
        """The whole recording as a Polars frame; options as for ``record_batches``."""
        polars = require("polars", "reading recordings as Polars frames")
        return polars.from_arrow(self.to_arrow(**options))

    def close(self) -> None:
        """Let go of the folder; what was read stays."""
        self._folder.close()


def open_recording(archive_dir: str | Path, recording_id: int) -> ArrowRecording:
    """Open one recording of an archive's folder, read-only, with no archive running or beside one.

    ``open_recording(folder, 7).to_pandas()`` is the recording as a frame.

    Args:
        archive_dir: the folder, ours or the reference's.
        recording_id: of a VALID recording.

    Raises:
        FileNotFoundError: the folder has no catalog.
        ArchiveError: UNKNOWN_RECORDING.
        FileFormatError: the catalog is truncated, of another version, or damaged.
    """
    folder = ArchiveFolder(archive_dir)
    try:
        return ArrowRecording(folder, recording_id)
    except BaseException:
        folder.close()
        raise
