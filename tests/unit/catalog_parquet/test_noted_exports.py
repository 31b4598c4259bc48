"""Exports in the SQL catalog, and exports of what a catalog finds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from sqlalchemy import select

from aerolog.catalog.export import MANIFEST_NAME, export_parquet
from aerolog.catalog.index import RecordingCatalog
from aerolog.catalog.index.folder_sync import sync_folder
from aerolog.catalog.index.models import Export, ExportFile
from aerolog.catalog.index.reconstruction import rebuild
from aerolog.catalog.index.search import Search
from aerolog.catalog.locations import Choice
from aerolog.testing.recordings import RecordingBuilder

if TYPE_CHECKING:
    from pathlib import Path

SIZES: dict[str, Any] = {"file_length": 64 * 1024, "row_group_length": 64 * 1024}


@pytest.fixture
def archive(empty_archive: Path) -> Path:
    for stream_id in (5, 6):
        builder = RecordingBuilder(stream_id=stream_id)
        for index in range(600):
            builder.add(b"m" * (index % 300))
        builder.write(empty_archive)
    return empty_archive


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def noted(catalog: RecordingCatalog) -> tuple[list[Any], list[Any]]:
    with catalog.session() as session:
        exports = [
            (one.target, one.from_position, one.until_position, one.rows, one.bytes, one.state,
             one.checksum)
            for one in session.scalars(select(Export).order_by(Export.id))
        ]  # fmt: skip
        files = [
            (one.path, one.from_position, one.until_position, one.rows, one.bytes, one.checksum)
            for one in session.scalars(select(ExportFile).order_by(ExportFile.path))
        ]
    return exports, files


def test_a_catalog_in_the_folder_knows_each_file_even_after_a_rebuild(
    archive: Path, out: Path
) -> None:
    with RecordingCatalog.open(archive_dir=archive) as catalog:
        sync_folder(catalog, archive)
        export_parquet(archive, [0], out, until_positions={0: 70_000}, **SIZES)
        (half,), _ = noted(catalog)
        export_parquet(archive, [0], out, **SIZES)
        exports, files = noted(catalog)
        (whole,) = exports
        assert whole[0] == half[0] == str(out.resolve())
        assert half[2] <= 70_000 < whole[2]
        assert (whole[3], whole[5]) == (600, "complete")
        assert whole[4] == sum(path.stat().st_size for path in out.rglob("part-*"))
        for path, _, _, rows, size, checksum in files:
            assert pq.read_metadata(out / path).num_rows == rows
            assert (out / path).stat().st_size == size
            assert checksum in (out / MANIFEST_NAME).read_text()
        assert sum(file[3] for file in files) == 600
        rebuild(catalog, archive)
        assert noted(catalog) == (exports, files)


def test_what_was_exported_before_there_was_a_catalog_is_noted_by_the_next_run(
    archive: Path, out: Path, tmp_path: Path
) -> None:
    export_parquet(archive, None, out, **SIZES)
    url = f"sqlite:///{tmp_path / 'fleet.db'}"
    assert export_parquet(archive, None, out, catalog=url, **SIZES).rows == 0
    with RecordingCatalog.open(url) as catalog:
        exports, files = noted(catalog)
    assert [one[3] for one in exports] == [600, 600]
    assert len(files) == len(list(out.rglob("part-*")))


def test_a_whole_file_that_is_replaced_is_noted_once(archive: Path, out: Path) -> None:
    with RecordingCatalog.open(archive_dir=archive) as catalog:
        sync_folder(catalog, archive)
        export_parquet(archive, [1], out, partition_by=(), until_positions={1: 70_016})
        export_parquet(archive, [1], out, partition_by=())
        (export,), (file,) = noted(catalog)
    assert (export[3], file[0], file[3]) == (600, "recording-1.parquet", 600)


def test_damage_is_noted_as_a_failure(archive: Path, out: Path) -> None:
    with RecordingCatalog.open(archive_dir=archive) as catalog:
        sync_folder(catalog, archive)
        (archive / "0-65536.rec").unlink()
        export_parquet(archive, [0], out, **SIZES)
        (export,), _ = noted(catalog)
    assert export[5] == "failed"
    assert export[2] <= 65536


@pytest.mark.parametrize("how", ["choice", "search", "ids", "search-in-folder"])
def test_recordings_are_chosen_by_a_catalog(archive: Path, out: Path, how: str) -> None:
    with RecordingCatalog.open(archive_dir=archive) as catalog:
        sync_folder(catalog, archive)
    place: Any = f"sqlite:///{archive / 'aerolog-catalog.db'}"
    wanted: Any = {"choice": Choice(stream_id=6), "ids": [1]}.get(how, Search(stream_id=6))
    if how == "search-in-folder":
        place = archive
    report = export_parquet(place, wanted, out, **SIZES)
    assert [result.recording_id for result in report.results] == [1]
    assert report.rows == 600
