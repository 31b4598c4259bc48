"""``spark.read.format("aerolog")`` in a session."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException

from aerolog.catalog import export_recordings
from aerolog.catalog.index import RecordingCatalog, sync_folder
from aerolog.catalog.index.labels import label

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

COUNT = 3000
JSON = {
    "payload": "decoded",
    "decoder": "json",
    "decoder.schema": "n int64, name string",
}


def read(spark: Any, archive: object, name: str = "aerolog", /, **options: str) -> Any:
    return spark.read.format(name).options(archive=str(archive), **options).load()


def test_rows_equal_those_of_the_parquet_export(
    registered: Any, archive: Path, tmp_path: Path
) -> None:
    export_recordings(archive, None, tmp_path / "out")
    exported = registered.read.parquet(str(tmp_path / "out"))
    ours = read(registered, archive, partitionBytes="256k")
    assert ours.select(exported.columns).schema.simpleString() == exported.schema.simpleString()
    columns = ["recording_id", "position", *sorted(exported.columns)]
    rows = sorted(ours.select(columns).collect())
    assert len(rows) == 2 * COUNT
    assert rows == sorted(exported.select(columns).collect())


@pytest.mark.parametrize(
    ("name", "options", "columns"),
    [
        ("aerolog_positions", {}, ["recording_id", "position"]),
        ("aerolog_payloads", {}, ["recording_id", "position", "payload"]),
        ("aerolog", {"columns": "reserved_value,position"}, ["position", "reserved_value"]),
        (
            "aerolog_headers",
            {},
            [
                *("recording_id", "position", "term_id", "term_offset", "session_id"),
                *("stream_id", "flags", "reserved_value", "record_time"),
            ],
        ),
    ],
)
def test_narrow_names_have_the_columns_they_say(
    registered: Any, archive: Path, name: str, options: dict[str, str], columns: list[str]
) -> None:
    frame = read(registered, archive, name, **options)
    assert frame.columns == columns
    assert frame.selectExpr("count(*) as n", "count(distinct position) as p").first() == (
        2 * COUNT,
        frame.selectExpr("count(distinct position) as p").first().p,
    )


def test_recordings_are_a_table(registered: Any, archive: Path) -> None:
    rows = read(registered, archive, "aerolog_recordings").orderBy("recording_id").collect()
    assert [(row.recording_id, row.stream_id, row.session_id) for row in rows] == [
        (0, 5, -5),
        (1, 6, -6),
    ]
    assert rows[0].start_time.year == 2023


def test_decoded_rows_and_their_rejects(registered: Any, archive: Path) -> None:
    frame = read(registered, archive, **JSON)
    assert frame.schema["n"].dataType.simpleString() == "bigint"
    row = frame.where("stream_id = 5").selectExpr("count(*) as c", "sum(n) as s").first()
    bad = (7, 1007, 2007)
    assert tuple(row) == (COUNT - 3, sum(range(COUNT)) - sum(bad))
    rejects = read(registered, archive, "aerolog_rejects", **JSON).collect()
    assert [(row.recording_id, bytes(row.payload)) for row in rejects] == [(0, b"oops")] * 3


def test_a_schema_is_inferred_from_the_first_messages(registered: Any, archive: Path) -> None:
    frame = read(registered, archive, payload="decoded", decoder="json", recordings="1")
    assert frame.columns[-2:] == ["n", "name"]
    assert frame.selectExpr("sum(n) as s").first().s == sum(range(COUNT))


def test_filters_work_whether_they_are_pushed_down_or_not(registered: Any, archive: Path) -> None:
    condition = "recording_id = 1 and position > 70000 and session_id = -6 and reserved_value < 900"
    plain = read(registered, archive).where(condition).count()
    registered.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    try:
        pushed = read(registered, archive, partitionBytes="64k").where(condition)
        everything = read(registered, archive, partitionBytes="64k")
        assert pushed.count() == plain
        assert plain > 0
        assert everything.count() == 2 * COUNT
        assert pushed.rdd.getNumPartitions() < everything.rdd.getNumPartitions()
        assert read(registered, archive).where("recording_id = 7").count() == 0
    finally:
        registered.conf.set("spark.sql.python.filterPushdown.enabled", "false")


def test_tags_and_names_choose_by_the_catalog(
    registered: Any, archive: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "archive"
    shutil.copytree(archive, folder)
    with RecordingCatalog.open(archive_dir=folder) as catalog:
        sync_folder(catalog, folder)
        label(catalog, folder, [1], tags={"desk": "fx"}, name="morning")
    url = f"sqlite:///{folder}/aerolog-catalog.db"
    for options in ({"tags": "desk=fx"}, {"name": "morning"}, {"stream": "6"}):
        rows = read(registered, url, "aerolog_positions", **options).distinct()
        assert {row.recording_id for row in rows.select("recording_id").collect()} == {1}
    assert read(registered, url, "aerolog_positions", tags="desk=rates").count() == 0


def test_damage_reaches_the_user_with_recording_and_position(
    registered: Any, archive: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "archive"
    shutil.copytree(archive, folder)
    path = folder / "1-65536.rec"
    data = bytearray(path.read_bytes())
    data[0:4] = (7).to_bytes(4, "little")
    path.write_bytes(data)
    with pytest.raises(PySparkException, match=r"position 65536 of recording 1"):
        read(registered, folder).count()
    rest = read(registered, folder, skipDamage="true")
    assert 0 < rest.count() < 2 * COUNT
    rejects = read(registered, folder, "aerolog_rejects", skipDamage="true").collect()
    assert [(row.recording_id, row.position) for row in rejects] == [(1, 65536)]


def test_wrong_options_and_schemas_are_refused_in_words(registered: Any, archive: Path) -> None:
    with pytest.raises(PySparkException, match="there is no option payloads"):
        read(registered, archive, payloads="none")
    with pytest.raises(PySparkException, match="cannot be given"):
        registered.read.format("aerolog").schema("n int").load(str(archive)).count()
    with pytest.raises(PySparkException, match="archive.catalog"):
        read(registered, archive / "nothing").count()


@pytest.mark.database
def test_a_copy_in_an_object_store_reads_as_the_folder(
    registered: Any, archive: Path, s3_url: str
) -> None:
    from pyarrow import fs

    store, bucket = fs.FileSystem.from_uri(s3_url)
    fs.copy_files(str(archive), f"{bucket}/copy", destination_filesystem=store)
    place = s3_url.replace("s3://", "s3://test:test-secret@").replace("?", "/copy?")
    query = ("count(*) as messages", "sum(position) as positions", "sum(reserved_value) as total")
    found = read(registered, place, partitionBytes="64k", payload="none").selectExpr(*query)
    assert found.first() == read(registered, archive, payload="none").selectExpr(*query).first()
    (shown,) = {row.place for row in read(registered, place, "aerolog_recordings").collect()}
    assert "test-secret" not in shown
