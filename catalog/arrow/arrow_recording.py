"""Recordings as Arrow data: record batches straight from mapped segments, tables, and frames.

The native scan writes rows into memory of Arrow's own pool, so a batch costs one copy of its
payloads. A batch has about 10,000 rows or 1 MiB of payload, whichever limit it reaches first, and a
stream of batches needs memory for about one of them.
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
    from aerolog.archive.format.recording_read import Gap
    from aerolog.archive.format.scan_columns import ScanColumns
    from aerolog.catalog.arrow.record_times import SettledTimes
    from aerolog.catalog.times import Time

_TIME = "record_time"
_SCANNED = tuple(name for name in COLUMN_NAMES if name not in {"recording_id", _TIME})


class BatchMaker:
    """Makes record batches of one recording from the columns of the native scan."""

    def __init__(
        self,
        recording_id: int,
        columns: tuple[str, ...] = COLUMN_NAMES,
        times: RowTimes | None = None,
    ) -> None:
        """Prepare the conversion.

        Args:
            recording_id: the recording's id.
            columns: the names of the wanted columns.
            times: the times of its rows, None when rows have none.
        """
        self.schema = arrow_schema(columns)
        self._times = times
        needed = times.needs if times is not None and _TIME in columns else ()
        self.scanned = tuple(name for name in _SCANNED if name in columns or name in needed)
        self._pyarrow = require("pyarrow", "reading recordings as Arrow data")
        self._recording_id = recording_id

    def allocate(self, length: int) -> Any:
        """Allocate memory of Arrow's pool for the scan to write into."""
        return self._pyarrow.allocate_buffer(length)

    def batch(self, columns: ScanColumns, *, compact: bool = False) -> pa.RecordBatch:
        """Make a batch over the memory of ``columns``.

        Args:
            columns: the columns that the scan has filled.
            compact: whether to copy payloads that leave most of their memory empty, for batches
                that are kept long.
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
    skip_damage: bool = False,
) -> Iterator[pa.RecordBatch]:
    """Stream a recording as record batches; for further errors see ``Recording.batches``.

    Args:
        recording: the recording to read.
        columns: the names of the wanted columns; without ``payload`` no payload is copied.
        assemble: True makes a row of each message, False of each fragment.
        from_position: see ``Recording.batches``.
        until_position: see ``Recording.batches``.
        after_position: see ``Recording.batches``; any number is allowed.
        session_ids: the session ids of the wanted rows, None for all rows.
        since: epoch milliseconds or a datetime (one without a zone is UTC): only rows that were
            recorded then or later. When rows have no times for lack of a time index, a recording
            that had stopped by then has no rows.
        until: the same form: only rows that were recorded before.
        within: a range in microseconds, which must hold in addition to ``since`` and ``until``.
        time_source: the source of ``record_time``; see `TimeSource`.
        settled: the part of the time index to use, so that rows keep their times while a recording
            is active; all of it by default.
        rows_max: the most rows of a batch.
        payload_capacity: the most payload bytes of a batch, unless a single message is longer.
        compact: see ``BatchMaker.batch``.
        totals: totals that are updated while reading.
        skip_damage: see ``Recording.batches``; the gaps are in ``totals``.

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
            # Rows without times are selected or left out all together.
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
        skip_damage=skip_damage,
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
    """A recording as Arrow data, or as a pandas or Polars frame. A context manager.

    Attributes:
        recording: that is read.
        gaps: what the last read has skipped so far, with ``skip_damage``.
    """

    def __init__(self, folder: ArchiveFolder, recording_id: int) -> None:
        self._folder = folder
        self.gaps: list[Gap] = []
        self.recording = folder.recording(recording_id)

    def __repr__(self) -> str:
        recording, described = self.recording, self.descriptor
        return (
            f"<ArrowRecording {recording.recording_id} of {self._folder.path}: stream"
            f" {described.stream_id} of {described.stripped_channel}, positions"
            f" {recording.start_position} to {recording.end_position}>"
        )

    @property
    def descriptor(self) -> RecordingDescriptor:
        """The recording's catalog entry."""
        return self.recording.descriptor

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of all columns."""
        return arrow_schema()

    def to_batches(self, **options: Any) -> Iterator[pa.RecordBatch]:
        """The recording as record batches, in bounded memory; options as for ``record_batches``."""
        totals = options.setdefault("totals", ScanTotals(self.recording.start_position))
        self.gaps = totals.gaps
        return record_batches(self.recording, **options)

    def scan(self, **options: Any) -> pa.RecordBatchReader:
        """The recording as a stream of record batches for any reader of Arrow, in bounded memory.

        DuckDB, Polars and others read it directly (``__arrow_c_stream__``), once. The options are
        those of ``record_batches``.
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
        """Close the folder; what was read stays valid."""
        self._folder.close()


def open_recording(archive_dir: str | Path, recording_id: int) -> ArrowRecording:
    """Open one recording of an archive's folder read-only, whether or not the archive is running.

    ``open_recording(folder, 7).to_pandas()`` returns the recording as a frame.

    Args:
        archive_dir: the archive's folder, ours or the reference's.
        recording_id: the id of a VALID recording.

    Raises:
        FileNotFoundError: the folder has no catalog.
        ArchiveError: the recording does not exist (UNKNOWN_RECORDING).
        FileFormatError: the catalog is truncated, of another version, or damaged.
    """
    folder = ArchiveFolder(archive_dir)
    try:
        return ArrowRecording(folder, recording_id)
    except BaseException:
        folder.close()
        raise
