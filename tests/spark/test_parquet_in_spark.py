"""What Spark sees of exported recordings."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from aerolog.catalog import export_recordings
from aerolog.testing.recordings import RecordingBuilder

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

COUNT = 2000


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    archive, out = tmp_path_factory.mktemp("archive"), tmp_path_factory.mktemp("out")
    for stream_id in (5, 6):
        builder = RecordingBuilder(stream_id=stream_id, session_id=-stream_id)
        for index in range(COUNT):
            builder.add(json.dumps({"n": index, "fill": "x" * (index % 3000)}).encode())
        builder.write(archive)
    export_recordings(archive, None, out)
    return out


def test_the_columns_have_the_types_of_the_schema(spark: Any, exported: Path) -> None:
    frame = spark.read.parquet(str(exported))
    assert [(field.name, field.dataType.simpleString()) for field in frame.schema] == [
        ("recording_id", "bigint"),
        ("position", "bigint"),
        ("term_id", "int"),
        ("term_offset", "int"),
        ("session_id", "int"),
        ("stream_id", "int"),
        ("flags", "smallint"),
        ("reserved_value", "bigint"),
        ("payload", "binary"),
        ("record_time", "timestamp"),
    ]


def test_a_folder_reads_as_one_table(spark: Any, exported: Path) -> None:
    frame = spark.read.parquet(str(exported))
    rows = frame.groupBy("recording_id", "stream_id", "session_id").count().collect()
    assert {tuple(row) for row in rows} == {(0, 5, -5, COUNT), (1, 6, -6, COUNT)}
    assert frame.where("record_time is not null").count() == 0


def test_payloads_arrive_byte_for_byte(spark: Any, exported: Path) -> None:
    frame = spark.read.parquet(str(exported / "recording-0.parquet"))
    rows = frame.orderBy("position").select("payload").collect()
    expected = hashlib.sha256()
    for index in range(COUNT):
        expected.update(json.dumps({"n": index, "fill": "x" * (index % 3000)}).encode())
    found = hashlib.sha256()
    for row in rows:
        found.update(row.payload)
    assert found.hexdigest() == expected.hexdigest()


def test_payloads_can_be_computed_with(spark: Any, exported: Path) -> None:
    frame = spark.read.parquet(str(exported))
    (row,) = frame.selectExpr(
        "sum(get_json_object(cast(payload as string), '$.n')) as total", "max(position) as last"
    ).collect()
    assert row.total == 2 * sum(range(COUNT))
    assert row.last % 32 == 0


def test_a_half_written_file_is_not_seen(spark: Any, exported: Path) -> None:
    half = exported / ".recording-7.parquet.1.tmp"
    half.write_bytes(b"PAR1 half")
    try:
        assert spark.read.parquet(str(exported)).count() == 2 * COUNT
    finally:
        half.unlink()


def test_the_flights_query_gives_the_table_of_the_csv(
    spark: Any, examples: Path, tmp_path: Path
) -> None:
    from examples.flights import query
    from examples.flights.data import delays_by_carrier, messages

    lines = [
        ["carrier", "dep_delay", "time_hour"],
        *(["AA", str(minutes), "t"] for minutes in (7, -3, 9, 11)),
        ["AA", "NA", "t"],
        ["ZZ", "", "t"],
        ["BB", "0", "t"],
    ]
    builder = RecordingBuilder()
    for message in messages(iter(lines)):
        builder.add(message)
    builder.write(tmp_path)
    (result,) = export_recordings(tmp_path, None, tmp_path / "out")
    expected = delays_by_carrier(iter(lines))
    assert [(row.carrier, row.flights, row.delays, row.average_delay) for row in expected] == [
        ("AA", 5, 4, 6.0),
        ("BB", 1, 1, 0.0),
        ("ZZ", 1, 0, None),
    ]
    in_file = query.exported(spark, Path(result.path))
    assert query.delays_by_carrier(in_file) == expected
    in_segments = query.recorded(spark, tmp_path, result.recording_id)
    assert query.delays_by_carrier(in_segments) == expected
