"""Filters by time, from whoever hands them down, open the segments of that time and no others."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import duckdb
import polars as pl
import pytest

from aerolog.catalog.arrow.dataset import ArchiveDataset
from aerolog.catalog.arrow.pushdown import Bound, bounds_of
from aerolog.catalog.duckdb import CatalogQueries
from aerolog.catalog.index import RecordingCatalog, sync_folder
from aerolog.testing.recordings import RecordingBuilder, write_time_index
from aerolog.transport.errors import RecordingDamagedError

if TYPE_CHECKING:
    from pathlib import Path

TERM = 64 * 1024
START = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
START_NS = 1_700_000_000_000_000_000


def moment(ms: int) -> datetime:
    return START + timedelta(milliseconds=ms)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """A recording of four segments in four seconds, of which only the second is there."""
    folder = tmp_path / "archive"
    folder.mkdir()
    builder = RecordingBuilder()
    while builder.position < 4 * TERM:
        builder.add(bytes(24))
    builder.write(folder)
    write_time_index(folder, 0, [(START_NS + 10**9 * at, TERM * at) for at in range(5)])
    for base in (0, 2 * TERM, 3 * TERM, 4 * TERM):
        (folder / f"0-{base}.rec").unlink()
    return folder


def test_polars_hands_its_filter_down(archive: Path) -> None:
    column = pl.col("record_time")
    chosen = (
        ArchiveDataset(archive).to_polars().filter(column >= moment(1200), column < moment(1800))
    )
    times = chosen.select("record_time").collect()["record_time"].to_list()
    assert moment(1200) <= times[0] < times[-1] < moment(1800)
    assert len(times) == pytest.approx(614, abs=8)


def test_duckdb_hands_its_filter_down(archive: Path) -> None:
    frames = ArchiveDataset(archive)
    query = "SELECT count(*) FROM frames WHERE record_time BETWEEN $since AND $until"
    ((count,),) = duckdb.execute(query, {"since": moment(1200), "until": moment(1800)}).fetchall()
    assert frames.schema.names[-1] == "record_time"
    assert count == pytest.approx(614, abs=8)


def test_sql_over_a_catalog_does_too(archive: Path) -> None:
    with RecordingCatalog.open(archive_dir=archive) as catalog:
        sync_folder(catalog, archive)
        with CatalogQueries(catalog) as queries:
            found = queries.query(
                "SELECT count(*) AS n FROM frames JOIN recordings USING (archive_fk, recording_id)"
                " WHERE record_time >= '2023-11-14 22:13:21.2+00'"
                " AND record_time < '2023-11-14 22:13:21.8+00'"
            ).read_all()
    assert found["n"].to_pylist() == [pytest.approx(614, abs=8)]


def test_the_dataset_itself_may_have_a_range(archive: Path) -> None:
    frames = ArchiveDataset(archive, since=moment(1200), until=moment(1800))
    assert frames.count_rows() == pytest.approx(614, abs=8)
    with pytest.raises(RecordingDamagedError):
        ArchiveDataset(archive, since=moment(1200)).count_rows()


def test_a_point_in_time_is_a_bound_in_microseconds() -> None:
    import pyarrow as pa
    import pyarrow.compute as pc

    column = pc.field("t")
    fine = pa.scalar(1_500, pa.timestamp("ns", "UTC"))
    for expression, low, high in (
        (column >= fine, 2, None),
        (column > fine, 2, None),
        (column < fine, None, 1),
        (column <= fine, None, 1),
        (column == pa.scalar(7, pa.timestamp("us", "UTC")), 7, 7),
    ):
        bound = bounds_of(expression).of("t")
        assert low is None or bound.low == low
        assert high is None or bound.high == high
    naive = bounds_of(column >= pa.scalar(7, pa.timestamp("us"))).of("t")
    assert naive == Bound()
