"""The data sources that are registered with Spark: their short names, schemas and readers."""
# ruff: noqa: N802  (the names are Spark's)

from __future__ import annotations

import sys
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from aerolog.catalog.extras import require
from aerolog.catalog.spark.filters import RowBounds
from aerolog.catalog.spark.options import Payload, ReadOptions, Table, parse_options
from aerolog.catalog.spark.partitions import Range, plan
from aerolog.catalog.spark.range_rows import RowSource
from aerolog.catalog.spark.recordings_table import recordings_schema, recordings_table
from aerolog.catalog.spark.spark_columns import SparkColumns
from aerolog.transport.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

    from aerolog.catalog.decoders import Decoder
    from aerolog.catalog.spark.stream import StreamReader
else:
    _spark = require("pyspark.sql.datasource", "reading recordings in Spark")
    DataSource, DataSourceReader = _spark.DataSource, _spark.DataSourceReader
    InputPartition = _spark.InputPartition

_PUSHING_PLANNER = "pyspark.sql.worker.data_source_pushdown_filters"


class RangesPartition(InputPartition):  # type: ignore[misc]
    """The ranges that one task reads."""

    def __init__(self, ranges: tuple[Range, ...]) -> None:
        self.ranges = ranges

    def __repr__(self) -> str:
        return f"RangesPartition({self.ranges!r})"


class RecordingsPartition(InputPartition):  # type: ignore[misc]
    """Rows of the table of recordings, which were read when the query was planned."""

    def __init__(self, rows: pa.RecordBatch) -> None:
        self.rows = rows


class BatchReader(DataSourceReader):  # type: ignore[misc]
    """Reads in batch without filters; with pushdown off, Spark refuses a reader that takes some."""

    def __init__(self, rows: RowSource, columns: SparkColumns | None) -> None:
        self.rows = rows
        self.columns = columns
        self.bounds = RowBounds()

    def partitions(self) -> Sequence[InputPartition]:
        """The partitions: few and large, and at least one, as Spark requires."""
        if self.columns is None:
            return [RecordingsPartition(recordings_table(self.rows.options))]
        planned = plan(self.rows.options, self.bounds)
        return [RangesPartition(ranges) for ranges in planned] or [RangesPartition(())]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the Arrow batches of one partition."""
        if isinstance(partition, RecordingsPartition):
            return iter([partition.rows] if partition.rows.num_rows else [])
        sessions = _both(self.rows.options.choice.session_ids, self.bounds.session_ids)
        rows = RowSource(self.rows.options, sessions, self.rows.decoder)
        convert = (self.columns or SparkColumns(rows.schema)).batch
        return (convert(batch) for batch in rows.batches(partition.ranges))


class PushingBatchReader(BatchReader):
    """Reads in batch the rows that filters allow."""

    def pushFilters(self, filters: list[Any]) -> list[Any]:
        """Take the filters of recordings, positions, sessions and streams; return the rest."""
        if self.columns is None or self.rows.options.table != "rows":
            return filters
        return self.bounds.push(filters)


class AerologSource(DataSource):  # type: ignore[misc]
    """``spark.read.format("aerolog")``: the messages of recordings, with all columns."""

    short_name: ClassVar[str] = "aerolog"
    table: ClassVar[Table] = "rows"
    narrow: ClassVar[tuple[str, ...] | None] = None
    payload: ClassVar[Payload] = "binary"
    parallelism: ClassVar[int | None] = None

    @classmethod
    def name(cls) -> str:
        """The short name."""
        return cls.short_name

    @cached_property
    def parsed(self) -> ReadOptions:
        """The parsed and checked options."""
        return parse_options(
            self.options,
            table=self.table,
            columns=self.narrow,
            payload=self.payload,
            parallelism=self.parallelism,
        )

    @cached_property
    def row_source(self) -> RowSource:
        """The maker of rows; from here on the schema of payloads is known."""
        return RowSource(self.parsed, None, _decoder(self.parsed))

    def schema(self) -> Any:
        """Spark's schema; a decoder that infers it reads a sample of messages."""
        if self.parsed.table == "recordings":
            return SparkColumns(recordings_schema()).struct()
        return SparkColumns(self.row_source.schema).struct()

    def reader(self, schema: Any) -> BatchReader:
        """Make the reader for ``spark.read``."""
        kind = PushingBatchReader if _filters_are_pushed() else BatchReader
        self._check_schema(schema)
        if self.parsed.table == "recordings":
            return kind(RowSource(self.parsed), None)
        return kind(self.row_source, SparkColumns(self.row_source.schema))

    def streamReader(self, schema: Any) -> StreamReader:
        """Make the reader for ``spark.readStream``."""
        from aerolog.catalog.spark.stream import StreamReader

        if self.parsed.table == "recordings":
            raise ConfigurationError("aerolog_recordings is read in batch: use spark.read")
        self._check_schema(schema)
        return StreamReader(self.row_source, SparkColumns(self.row_source.schema))

    def _check_schema(self, schema: Any) -> None:
        ours = self.schema()
        if schema != ours:
            raise ConfigurationError(
                f"the schema of {self.name()} follows from its options and cannot be given: it is"
                f" {ours.simpleString()}, and {schema.simpleString()} was asked for"
            )


class AerologHeaders(AerologSource):
    """``aerolog_headers``: all columns but the payload."""

    short_name = "aerolog_headers"
    payload = "none"


class AerologPositions(AerologSource):
    """``aerolog_positions``: only recording and position."""

    short_name = "aerolog_positions"
    narrow = ("recording_id", "position")
    payload = "none"


class AerologPayloads(AerologSource):
    """``aerolog_payloads``: recording, position and payload."""

    short_name = "aerolog_payloads"
    narrow = ("recording_id", "position", "payload")


class AerologRejects(AerologSource):
    """``aerolog_rejects``: what a read with the same options cannot decode or read."""

    short_name = "aerolog_rejects"
    table = "rejects"


class AerologRecordings(AerologSource):
    """``aerolog_recordings``: the recordings themselves, one row for each."""

    short_name = "aerolog_recordings"
    table = "recordings"


SOURCES = (
    AerologSource,
    AerologHeaders,
    AerologPositions,
    AerologPayloads,
    AerologRejects,
    AerologRecordings,
)


def _decoder(options: ReadOptions) -> Decoder | None:
    """Make the options' decoder with a known schema; None without decoding."""
    if options.decoder is None:
        return None
    from aerolog.catalog.decoders import make_decoder, sampled_decoder

    decoder = make_decoder(options.decoder, options.decoder_options)
    if not decoder.needs_sample:
        return decoder
    sampling = replace(
        options,
        table="rows",
        payload="binary",
        columns=("recording_id", "position", "payload"),
        decoder=None,
        skip_damage=True,
    )
    parts = (part for ranges in plan(sampling, RowBounds()) for part in ranges)
    return sampled_decoder(decoder, RowSource(sampling).batches(parts))


def _filters_are_pushed() -> bool:
    """Whether Spark's planner runs here with pushdown switched on and filters to push."""
    main = sys.modules.get("__main__")
    name = getattr(getattr(main, "__spec__", None), "name", None)
    return name == _PUSHING_PLANNER or _PUSHING_PLANNER in sys.modules


def _both(first: tuple[int, ...] | None, second: frozenset[int] | None) -> frozenset[int] | None:
    if first is None or second is None:
        return second if first is None else frozenset(first)
    return frozenset(first) & second
