"""Queries read the catalog and its recordings, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from aerolog.catalog.duckdb import CatalogQueries, QueryError
from aerolog.catalog.index import RecordingCatalog, sync_folder
from aerolog.testing.recordings import RecordingBuilder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECRET = pa.table({"word": ["secret"]})  # what a program has in its variables


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("archive")
    for stream_id in (10, 11, 10):
        builder = RecordingBuilder(stream_id=stream_id)
        for _ in range(100):
            builder.add(b"message")
        builder.write(folder)
    return folder


@pytest.fixture(scope="module")
def catalog(archive: Path) -> Iterator[RecordingCatalog]:
    with RecordingCatalog.open(archive_dir=archive) as opened:
        sync_folder(opened, archive)
        yield opened


@pytest.fixture(scope="module")
def queries(catalog: RecordingCatalog) -> Iterator[CatalogQueries]:
    with CatalogQueries(catalog) as opened:
        yield opened


def answer(queries: CatalogQueries, sql: str) -> list[tuple]:
    return [tuple(row.values()) for row in queries.query(sql).read_all().to_pylist()]


def test_tables_and_frames_answer_together(queries: CatalogQueries) -> None:
    joined = (
        "SELECT r.recording_id, count(*) FROM frames f"
        " JOIN recordings r USING (archive_fk, recording_id)"
        " JOIN archives a ON a.id = r.archive_fk"
        " WHERE r.state = 'stopped' GROUP BY 1 ORDER BY 1"
    )
    assert answer(queries, joined) == [(0, 100), (1, 100), (2, 100)]
    assert answer(queries, "SELECT count(*) FROM segments WHERE base_position = 0") == [(3,)]
    assert answer(queries, "SELECT count(*) FROM tags") == [(0,)]
    listed = {name for (name,) in answer(queries, "SHOW TABLES")}
    assert {"frames", "recordings", "segments", "streams", "tags", "names", "archives"} <= listed
    assert len(answer(queries, "DESCRIBE frames")) == 11
    assert answer(queries, "EXPLAIN SELECT position FROM frames")


def test_conditions_on_columns_that_may_be_null_hold(queries: CatalogQueries) -> None:
    assert answer(queries, "SELECT count(*) FROM recordings WHERE stop_position IS NULL") == [(0,)]
    for condition in ("stop_position > 0", "NOT stop_position <= 0", "recording_id IN (0, 1, 2)"):
        assert answer(queries, f"SELECT count(*) FROM recordings WHERE {condition}") == [(3,)]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_text('{file}')",
        "SELECT * FROM read_csv('{file}')",
        "SELECT * FROM read_blob('{file}')",
        "SELECT * FROM read_json('{file}')",
        "SELECT * FROM read_parquet('{file}')",
        "SELECT * FROM sniff_csv('{file}')",
        "SELECT * FROM parquet_metadata('{file}')",
        "SELECT * FROM '{file}'",
        "SELECT * FROM glob('{folder}/*')",
        "SELECT * FROM query('SELECT * FROM read_text(''{file}'')')",
        "SELECT * FROM query_table('{file}')",
        "SELECT * FROM (SELECT 1) WHERE 1 IN (SELECT size FROM read_text('{file}'))",
        "WITH a AS (FROM read_text('{file}')) SELECT * FROM a",
        "EXPLAIN ANALYZE SELECT * FROM read_text('{file}')",
        "SELECT * FROM read_text('file://{file}')",
        "SELECT * FROM read_text('http://127.0.0.1:1/x')",
        "SELECT * FROM read_csv('s3://bucket/x')",
        "SELECT getenv('HOME')",
        "SELECT * FROM SECRET",
        "SELECT * FROM arrow_scan(1, 2, 3)",
        "SELECT * FROM arrow_scan(1::POINTER, 2::POINTER, 3::POINTER)",
        "SELECT * FROM pandas_scan(1)",
        "SELECT * FROM python_map_function((SELECT 1))",
        "SELECT * FROM sqlite_scan('{folder}/aerolog-catalog.db', 'tags')",
        "SELECT * FROM enable_logging(storage = 'file', storage_path = '{folder}/written')",
        "SELECT * FROM duckdb_extensions()",
        "EXPLAIN ANALYZE COPY (SELECT 1) TO '{folder}/written'",
        "COPY (SELECT 1) TO '{folder}/written'",
        "COPY tags FROM '{file}'",
        "EXPORT DATABASE '{folder}/written'",
        "IMPORT DATABASE '{folder}'",
        "ATTACH '{folder}/written' AS other",
        "ATTACH '{folder}/aerolog-catalog.db' (TYPE sqlite)",
        "INSTALL httpfs",
        "FORCE INSTALL sqlite",
        "LOAD '{file}'",
        "SET enable_external_access = true",
        "SET lock_configuration = false",
        "SET allowed_directories = ['/']",
        "RESET lock_configuration",
        "PRAGMA enable_logging",
        "CALL enable_logging()",
        "CREATE TABLE t (i INTEGER)",
        "CREATE OR REPLACE VIEW frames AS SELECT 1",
        "CREATE SECRET s (TYPE s3)",
        "CREATE MACRO m() AS 1",
        "INSERT INTO tags VALUES (1, 'a', 'b')",
        "UPDATE recordings SET state = 'purged'",
        "DELETE FROM tags",
        "DROP VIEW frames",
        "PREPARE q AS SELECT 1",
        "EXECUTE q",
        "BEGIN",
        "CHECKPOINT",
        "SELECT 1; DROP VIEW frames",
        "",
        ";",
        "-- nothing",
        "SELEC 1",
        "SELECT * FROM nowhere",
        "SELECT colour FROM frames",
        "\0",
    ],
)
def test_nothing_else_can_be_read_or_written(
    catalog: RecordingCatalog, queries: CatalogQueries, tmp_path: Path, sql: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    file = outside / "file"
    file.write_text("secret")
    with pytest.raises(QueryError) as raised:
        queries.query(sql.format(file=file, folder=outside)).read_all()
    assert "\n" not in str(raised.value)
    assert "secret" not in str(raised.value)
    assert [path.name for path in outside.iterdir()] == ["file"]
    assert answer(queries, "SELECT count(*) FROM recordings WHERE state = 'stopped'") == [(3,)]


def test_a_folder_that_is_allowed_can_be_read_and_written_and_no_other(
    catalog: RecordingCatalog, tmp_path: Path
) -> None:
    allowed, other = tmp_path / "allowed", tmp_path / "other"
    for folder in (allowed, other):
        folder.mkdir()
        (folder / "names.csv").write_text("id,name\n0,first\n2,third\n")
    with CatalogQueries(catalog, allowed_dirs=[allowed]) as queries:
        named = f"FROM recordings JOIN '{allowed}/names.csv' n ON n.id = recording_id"
        assert answer(queries, f"SELECT n.name {named} ORDER BY 1") == [("first",), ("third",)]
        assert answer(queries, f"COPY (SELECT 1) TO '{allowed}/out.csv'") == [(1,)]
        assert (allowed / "out.csv").exists()
        for sql in (
            f"SELECT * FROM read_text('{other}/names.csv')",
            f"SELECT * FROM read_text('{allowed}/../other/names.csv')",
            f"COPY (SELECT 1) TO '{other}/out.csv'",
            f"COPY (SELECT 1) TO '{allowed}/../other/out.csv'",
            f"ATTACH '{allowed}/x.db'",
        ):
            with pytest.raises(QueryError):
                queries.query(sql).read_all()
    assert [path.name for path in other.iterdir()] == ["names.csv"]


def test_damage_is_told_with_its_place(folder: Path) -> None:
    (folder / "1-0.rec").unlink()
    with RecordingCatalog.open(archive_dir=folder) as catalog:
        sync_folder(catalog, folder)
        with CatalogQueries(catalog) as queries:
            told = r"not found: .*1-0\.rec \(position 0 of recording 1\)$"
            with pytest.raises(QueryError, match=told):
                queries.query("SELECT count(*) FROM frames").read_all()
            others = "SELECT count(*) FROM frames WHERE recording_id <> 1"
            assert answer(queries, others) == [(3200,)]


def test_a_limit_that_is_none_is_refused(catalog: RecordingCatalog) -> None:
    with pytest.raises(QueryError, match="Memory must have a number"):
        CatalogQueries(catalog, memory_limit="lots")


def test_a_query_that_needs_more_memory_than_it_may_have_ends(catalog: RecordingCatalog) -> None:
    with (
        CatalogQueries(catalog, memory_limit="50MB") as queries,
        pytest.raises(QueryError, match="Out of Memory"),
    ):
        queries.query("SELECT list(r) FROM range(100000000) t(r)").read_all()
