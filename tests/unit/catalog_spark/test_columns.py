"""Arrow schemas as Spark takes them."""

from __future__ import annotations

import datetime as dt
import decimal

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import to_arrow_schema

from aerolog.catalog.arrow.schema import arrow_schema
from aerolog.catalog.decoders import REJECTS_SCHEMA
from aerolog.catalog.spark.recordings_table import recordings_schema
from aerolog.catalog.spark.spark_columns import SparkColumns

UTC = dt.UTC
MOMENT = dt.datetime(2026, 11, 21, 1, 2, 3, 456789, tzinfo=UTC)


@pytest.mark.parametrize("schema", [arrow_schema(), REJECTS_SCHEMA, recordings_schema()])
def test_schemas_of_ours_go_to_spark_and_back_as_they_are(schema: pa.Schema) -> None:
    columns = SparkColumns(schema)
    assert columns.is_same
    assert to_arrow_schema(columns.struct(), timezone="UTC").equals(schema)


CASES = [
    (pa.uint8(), 200, 200),
    (pa.uint32(), 2**32 - 1, 2**32 - 1),
    (pa.uint64(), 2**64 - 1, decimal.Decimal(2**64 - 1)),
    (pa.float16(), 1.5, 1.5),
    (pa.large_string(), "x", "x"),
    (pa.string_view(), "x", "x"),
    (pa.dictionary(pa.int8(), pa.string()), "x", "x"),
    (pa.binary(3), b"abc", b"abc"),
    (pa.timestamp("ms"), MOMENT.replace(tzinfo=None, microsecond=456000), ...),
    (pa.timestamp("s", tz="Europe/Paris"), MOMENT.replace(microsecond=0), ...),
    (pa.date64(), dt.date(2026, 11, 21), dt.date(2026, 11, 21)),
    (pa.duration("ms"), dt.timedelta(seconds=3), dt.timedelta(seconds=3)),
    (pa.list_(pa.uint16()), [1, None], [1, None]),
    (pa.struct([("a", pa.uint8()), ("b", pa.large_string())]), {"a": 1, "b": "x"}, ...),
    (pa.map_(pa.string(), pa.uint8()), [("k", 1)], [("k", 1)]),
]


@pytest.mark.parametrize(("kind", "value", "expected"), CASES, ids=[str(c[0]) for c in CASES])
def test_types_that_spark_has_not_become_such_that_hold_them(
    kind: pa.DataType, value: object, expected: object
) -> None:
    source = pa.schema([pa.field("column", kind)])
    columns = SparkColumns(source)
    rows = pa.RecordBatch.from_arrays([pa.array([value, None], kind)], schema=source)
    given = columns.batch(rows)
    assert to_arrow_schema(columns.struct(), timezone="UTC").equals(given.schema)
    assert given.column(0).to_pylist() == [value if expected is ... else expected, None]


@pytest.mark.parametrize("kind", [pa.timestamp("ns", tz="UTC"), pa.duration("ns")])
def test_nanoseconds_are_kept_in_a_column_beside(kind: pa.DataType) -> None:
    source = pa.schema([pa.field("at", kind)])
    columns = SparkColumns(source)
    rows = pa.RecordBatch.from_arrays(
        [pa.array([1_700_000_000_123_456_789, None], kind)], schema=source
    )
    given = columns.batch(rows)
    assert given.schema.names == ["at", "at_ns"]
    assert given.column("at_ns").to_pylist() == [1_700_000_000_123_456_789, None]
    assert given.column("at").cast(pa.int64()).to_pylist() == [1_700_000_000_123_456, None]
    assert to_arrow_schema(columns.struct(), timezone="UTC").equals(given.schema)
