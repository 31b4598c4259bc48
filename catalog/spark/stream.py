"""``spark.readStream``: offsets are positions, and batches are ranges of recordings.

The reader that plans runs in a process beside the driver for as long as the query. Executors get a
copy of it that only reads.
"""
# ruff: noqa: N802  (the names are Spark's)

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aerolog.archive.format.layout import MAX_I64
from aerolog.catalog.extras import require
from aerolog.catalog.spark.offsets import Offset, from_spark, to_spark
from aerolog.catalog.spark.partitions import split_ranges
from aerolog.catalog.spark.source import RangesPartition
from aerolog.catalog.spark.stream_progress import Limits, OffsetReader

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadLimit,
        ReadMaxBytes,
        ReadMaxRows,
        SupportsTriggerAvailableNow,
    )

    from aerolog.catalog.spark.range_rows import RowSource
    from aerolog.catalog.spark.spark_columns import SparkColumns
else:
    _PURPOSE = "following recordings in Spark, from PySpark 4.2 on,"
    DataSourceStreamReader = require("pyspark.sql.datasource", _PURPOSE).DataSourceStreamReader
    _limits = require("pyspark.sql.streaming.datasource", _PURPOSE)
    ReadAllAvailable, ReadMaxBytes = _limits.ReadAllAvailable, _limits.ReadMaxBytes
    ReadMaxRows = _limits.ReadMaxRows
    SupportsTriggerAvailableNow = _limits.SupportsTriggerAvailableNow


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]
    """Follows recordings, active ones and those that are added later."""

    def __init__(self, rows: RowSource, columns: SparkColumns) -> None:
        self.rows = rows
        self.columns = columns
        self.offsets = OffsetReader(rows.options)
        self._target: Offset | None = None

    def initialOffset(self) -> dict[str, Any]:
        """Where a new query begins: at the recordings' starts, or at their present ends."""
        if not self.rows.options.from_latest:
            return {}
        return to_spark(self.offsets.latest({}, Limits()))

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """Where the next micro-batch ends, which is never behind the recorded position."""
        found = self.offsets.latest(from_spark(start), self._limits(limit), self._target)
        return to_spark(found)

    def getDefaultReadLimit(self) -> ReadLimit:
        """The options' limit: rows or bytes; both apply, whichever is returned here."""
        options = self.rows.options
        if options.max_rows is not None:
            return ReadMaxRows(options.max_rows)
        if options.max_bytes is not None:
            return ReadMaxBytes(options.max_bytes)
        return ReadAllAvailable()

    def reportLatestOffset(self) -> dict[str, Any]:
        """The recordings' present ends, for the query's progress report."""
        return to_spark(self.offsets.latest({}, Limits()))

    def prepareForTriggerAvailableNow(self) -> None:
        """Remember the recordings' present ends, where the query is to stop."""
        self._target = self.offsets.latest({}, Limits())

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Plan the partitions of a micro-batch."""
        ranges = self.offsets.ranges(from_spark(start), from_spark(end))
        return [RangesPartition(each) for each in split_ranges(self.rows.options, ranges)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the Arrow batches of one partition, without state."""
        return (self.columns.batch(batch) for batch in self.rows.batches(partition.ranges))

    def commit(self, end: dict[str, Any]) -> None:
        """Do nothing: reading a recording removes nothing from the archive."""

    def stop(self) -> None:
        """Do nothing: no file or connection is kept open."""

    def _limits(self, limit: ReadLimit) -> Limits:
        if isinstance(limit, ReadAllAvailable):
            return Limits()
        options = self.rows.options
        rows = getattr(limit, "max_rows", options.max_rows)
        size = getattr(limit, "max_bytes", options.max_bytes)
        return Limits(MAX_I64 if rows is None else rows, MAX_I64 if size is None else size)
