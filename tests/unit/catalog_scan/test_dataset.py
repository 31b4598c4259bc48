"""A dataset of recordings: columns and filters are handed down, by DuckDB and Polars too."""

from __future__ import annotations

import pickle
import shutil
from typing import TYPE_CHECKING

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest

from aerolog.archive.format.catalog_file import CatalogFile
from aerolog.archive.protocol.enums import RecordingState
from aerolog.catalog import open_recording
from aerolog.catalog.arrow.dataset import ArchiveDataset
from aerolog.catalog.arrow.pushdown import Bound
from aerolog.catalog.index import RecordingCatalog, sync_folder
from aerolog.catalog.index.search import Search
from aerolog.catalog.locations import Choice
from aerolog.transport.errors import RecordingChangedError, RecordingDamagedError

if TYPE_CHECKING:
    from pathlib import Path


class Watched(ArchiveDataset):
    """Notes what it is asked to read."""

    def read(self, columns, bounds, **options):
        self.__dict__.setdefault("asked", []).append((list(columns), bounds))
        return super().read(columns, bounds, **options)

    def answers(self, bounds) -> bool:
        return super().answers(bounds)


@pytest.fixture
def watched(folder: Path) -> Watched:
    return Watched(folder)


@pytest.fixture
def whole(folder: Path) -> pa.Table:
    tables = []
    for recording_id in range(3):
        with open_recording(folder, recording_id) as recording:
            tables.append(recording.to_arrow().replace_schema_metadata())
    return pa.concat_tables(tables)


def test_a_dataset_is_all_recordings_in_turn(folder: Path, whole: pa.Table) -> None:
    dataset = ArchiveDataset(folder)
    assert isinstance(dataset, ds.Dataset)
    assert dataset.schema.equals(whole.schema)
    assert dataset.to_table().equals(whole)
    assert dataset.to_reader().read_all().equals(whole)
    assert dataset.count_rows() == whole.num_rows
    assert dataset.head(700).equals(whole.slice(0, 700))
    assert dataset.take([3, 5]).equals(whole.take([3, 5]))
    assert dataset.to_table(columns=[]).num_rows == whole.num_rows
    assert pa.RecordBatchReader.from_stream(dataset).read_all().equals(whole)
    assert max(batch.num_rows for batch in dataset.to_batches(batch_size=64)) == 64


POSITION, RECORDING, SESSION = (
    pc.field(name) for name in ("position", "recording_id", "session_id")
)


@pytest.mark.parametrize(
    ("given", "expression"),
    [
        ([("position", ">", 1000)], POSITION > 1000),
        (
            [("position", ">=", 65536), ("position", "<", 70_000)],
            (POSITION >= 65536) & (POSITION < 70_000),
        ),
        (
            [("recording_id", "in", [0, 2]), ("session_id", "==", 2)],
            RECORDING.isin([0, 2]) & (SESSION == 2),
        ),
        ([("stream_id", "!=", 10)], pc.field("stream_id") != 10),
        ([("session_id", "not in", [1, 3])], SESSION == 2),
        ([("session_id", "!=", 2), ("position", "!=", 64)], (SESSION != 2) & (POSITION != 64)),
        ([("reserved_value", "=", 7)], pc.field("reserved_value") == 7),
        ([("position", "<=", 64)], POSITION <= 64),
        ([("position", ">", 5), ("position", "<", 3)], POSITION < 0),
        ([("session_id", "in", [])], POSITION < 0),
        ([], POSITION >= 0),
    ],
)
def test_comparisons_filter_as_expressions_do(folder: Path, whole: pa.Table, given, expression):
    assert ArchiveDataset(folder).to_table(filter=given).equals(whole.filter(expression))


def test_what_cannot_be_compared_is_refused(folder: Path) -> None:
    dataset = ArchiveDataset(folder)
    for wrong in ([("position", "~", 1)], [("position",)], ["position"]):
        with pytest.raises(ValueError, match="operator|comparison"):
            dataset.to_table(filter=wrong)
    with pytest.raises(ValueError, match="no such column: colour; there are recording_id"):
        dataset.to_table(columns=["colour"])


def test_filters_add_up(folder: Path, whole: pa.Table) -> None:
    dataset = ArchiveDataset(folder).filter(pc.field("recording_id") == 1)
    dataset = dataset.filter([("session_id", "==", 2)])
    wanted = (pc.field("recording_id") == 1) & (pc.field("session_id") == 2)
    assert dataset.to_table().equals(whole.filter(wanted))
    assert dataset.count_rows(pc.field("position") > 200_000) < dataset.count_rows()


def test_recordings_that_a_filter_excludes_are_not_opened(folder: Path) -> None:
    for segment in folder.glob("1-*.rec"):
        segment.unlink()
    dataset = ArchiveDataset(folder)
    for without in (
        pc.field("recording_id").isin([0, 2]),
        pc.field("recording_id") != 1,
        pc.field("stream_id") == 10,
        pc.field("position") < 0,
    ):
        dataset.to_table(filter=without)
    with pytest.raises(RecordingDamagedError, match="position 0 of recording 1"):
        dataset.to_table()


def test_rows_before_damage_come_first(folder: Path, whole: pa.Table) -> None:
    (folder / "2-0.rec").unlink()
    rows = 0
    with pytest.raises(RecordingDamagedError, match="position 0 of recording 2"):
        for batch in ArchiveDataset(folder).to_reader():
            rows += batch.num_rows
    assert rows == whole.filter(pc.field("recording_id") < 2).num_rows


@pytest.mark.parametrize(
    ("condition", "column", "bound"),
    [
        ("recording_id = 1", "recording_id", Bound.of([1])),
        ("recording_id IN (0, 2)", "recording_id", Bound.of([0, 2])),
        ("session_id = 2", "session_id", Bound.of([2])),
        ("position BETWEEN 1000 AND 70000", "position", Bound(1000, 70_000)),
        ("position > 65536 AND session_id = 2", "position", Bound(low=65_537)),
        ("stream_id = 11", "stream_id", Bound.of([11])),
    ],
)
def test_duckdb_hands_down_columns_and_bounds(
    watched: Watched, whole: pa.Table, condition: str, column: str, bound: Bound
) -> None:
    connection = duckdb.connect()
    connection.register("frames", watched)
    connection.register("whole", whole)
    query = f"SELECT count(*), sum(reserved_value) FROM {{}} WHERE {condition}"
    found = connection.execute(query.format("frames")).fetchall()
    assert found == connection.execute(query.format("whole")).fetchall()
    assert found[0][0] > 0
    ((columns, bounds),) = watched.asked
    assert "payload" not in columns
    assert bounds.of(column) == bound


def test_duckdb_reads_payloads_and_joins(folder: Path, whole: pa.Table) -> None:
    connection = duckdb.connect()
    connection.register("frames", ArchiveDataset(folder))
    connection.register("whole", whole)
    same = "SELECT count(*) FROM frames f JOIN whole w USING (recording_id, position, payload)"
    assert connection.execute(same).fetchall() == [(whole.num_rows,)]
    with open_recording(folder, 0) as recording:
        connection.register("stream", recording.scan(columns=("payload",)))
        total = "SELECT sum(octet_length(payload)) FROM {}"
        alone = total.format("whole WHERE recording_id = 0")
        assert (
            connection.execute(total.format("stream")).fetchall()
            == connection.execute(alone).fetchall()
        )


def test_polars_hands_down_columns_and_bounds(watched: Watched, whole: pa.Table) -> None:
    wanted = (pl.col("recording_id") == 1) & (pl.col("position") > 65_536)
    found = watched.to_polars().filter(wanted).select("position", "reserved_value").collect()
    expected = pl.from_arrow(whole).filter(wanted).select("position", "reserved_value")
    assert found.equals(expected)
    assert found.height > 0
    columns, bounds = watched.asked[-1]
    assert "payload" not in columns
    assert bounds.of("recording_id") == Bound.of([1])
    assert bounds.of("position") == Bound(low=65_537)


def test_several_places_follow_each_other(folder: Path, tmp_path: Path, whole: pa.Table) -> None:
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    dataset = ArchiveDataset([folder, str(other)], Choice(stream_id=11))
    one = whole.filter(pc.field("stream_id") == 11)
    assert dataset.to_table().equals(pa.concat_tables([one, one]))


def test_a_catalog_and_a_search_choose_recordings(folder: Path, whole: pa.Table) -> None:
    with RecordingCatalog.open(archive_dir=folder) as catalog:
        sync_folder(catalog, folder)
        for source in (catalog, f"sqlite:///{folder}/aerolog-catalog.db"):
            assert ArchiveDataset(source).to_table().equals(whole)
        found = ArchiveDataset(catalog, Search(stream_id=11)).to_table()
        assert found.equals(whole.filter(pc.field("stream_id") == 11))
        with pytest.raises(TypeError, match="Choice goes with places"):
            ArchiveDataset(catalog, Choice()).to_table()
        with pytest.raises(TypeError, match="Search goes with an open catalog"):
            ArchiveDataset(folder, Search()).to_table()
        with CatalogFile.open(folder) as binary:
            binary.change_state(1, RecordingState.INVALID)
        with pytest.raises(RecordingChangedError, match=r"unknown recording id: 1.*catalog sync"):
            ArchiveDataset(catalog).to_table()


def test_times_choose_recordings(folder: Path, whole: pa.Table) -> None:
    assert ArchiveDataset(folder, since=1_700_000_002_000).count_rows() == 0
    assert ArchiveDataset(folder, until=1_700_000_000_001).count_rows() == whole.num_rows


def test_going_around_the_scanner_is_an_error_and_no_crash(folder: Path) -> None:
    dataset = ArchiveDataset(folder)
    with pytest.raises(FileNotFoundError, match="rows are read through scanner"):
        ds.Scanner.from_dataset(dataset).to_table()
    with pytest.raises(TypeError, match="rows are read through"):
        dataset.get_fragments()
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(dataset)
