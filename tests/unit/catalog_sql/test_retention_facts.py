"""What a catalog tells retention: labels, and who still needs what."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from job_marks import commit
from retention_facts import DAY_MS, NOW_MS, write_recording

from aerolog.archive.retention.errors import NeedsUnknownError
from aerolog.catalog.export import export_parquet
from aerolog.catalog.export.part_writer import PartWriter
from aerolog.catalog.index import RecordingCatalog, sync_folder
from aerolog.catalog.index.exports import note_begun
from aerolog.catalog.index.job_runs import (
    begin_run,
    fail_run,
    forget,
    load_marks,
)
from aerolog.catalog.index.journal import record
from aerolog.catalog.index.labels import label
from aerolog.catalog.index.reconstruction import rebuild
from aerolog.catalog.index.retention_facts import retention_facts
from aerolog.testing.recordings import RecordingBuilder
from aerolog.transport.memory.filesystem import RealFileSystem

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from aerolog.archive.retention.facts import Need


def kinds(needs: tuple[Need, ...]) -> list[tuple[int, int, str]]:
    return [(need.recording_id, need.position, need.kind) for need in needs]


def test_labels_and_names_are_by_recording(catalog: RecordingCatalog, folder: Path) -> None:
    sync_folder(catalog, folder)
    label(catalog, folder, [1, 2], tags={"keep": "long"})
    label(catalog, folder, [2], tags={"desk": "fx"}, name="morning")
    found = retention_facts(folder, catalog)
    assert found.labels == {1: {"keep": "long"}, 2: {"keep": "long", "desk": "fx"}}
    assert found.names == {2: ("morning",)}
    assert found.needs == ()


def test_a_folder_without_a_catalog_has_no_labels(folder: Path) -> None:
    found = retention_facts(folder)
    assert (found.labels, found.needs) == ({}, ())


def test_a_catalog_that_does_not_know_the_archive_says_so(
    catalog: RecordingCatalog, folder: Path
) -> None:
    with pytest.raises(NeedsUnknownError, match="not in the catalog .*: aerolog catalog sync"):
        retention_facts(folder, catalog)


def test_an_export_that_began_needs_what_it_has_not_written(
    catalog: RecordingCatalog, folder: Path
) -> None:
    note_begun(catalog, folder, "/lake", {1: 4096, 2: 0})
    assert kinds(retention_facts(folder, catalog).needs) == [(1, 4096, "export"), (2, 0, "export")]
    note_begun(catalog, folder, "/lake", {1: 8192})
    assert kinds(retention_facts(folder, catalog).needs) == [(1, 8192, "export"), (2, 0, "export")]


def test_an_export_that_is_killed_is_needed_until_it_is_run_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    with RecordingCatalog.open(archive_dir=folder) as catalog:
        sync_folder(catalog, folder)

        def killed(*_: Any) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(PartWriter, "write", killed)
            with pytest.raises(KeyboardInterrupt):
                export_parquet(folder, [1, 2], out)
        found = retention_facts(folder).needs
        assert kinds(found) == [(1, 0, "export"), (2, 0, "export")]
        assert str(out) in found[0].text
        # The target tells by itself as well, for whoever exports without a catalog.
        told = retention_facts(folder, catalog, exports=[out]).needs
        assert kinds(told) == kinds(found) * 2
        export_parquet(folder, [1, 2], out)
        assert retention_facts(folder, exports=[out]).needs == ()


ALL_READ = 1 << 20


def test_a_job_needs_what_is_behind_its_mark(catalog: RecordingCatalog, folder: Path) -> None:
    sync_folder(catalog, folder)
    commit(catalog, folder, {0: 64, 1: ALL_READ, 2: 128, 3: 256})
    found = retention_facts(folder, catalog).needs
    assert kinds(found) == [
        (0, 64, "pipeline"),
        (1, ALL_READ, "pipeline"),  # It may go on.
        (2, 128, "pipeline"),
        (3, 256, "pipeline"),
    ]
    assert "nightly" in found[0].text
    assert found[1].is_over(ALL_READ)
    assert not found[1].is_over(None)
    assert not found[0].is_over(ALL_READ)


def test_a_job_needs_the_recordings_that_it_chooses_and_has_not_loaded(
    catalog: RecordingCatalog, folder: Path
) -> None:
    sync_folder(catalog, folder)
    commit(catalog, folder, {0: ALL_READ}, conditions={"stream": 2, "state": "active"})
    found = retention_facts(folder, catalog).needs
    assert kinds(found) == [(0, ALL_READ, "pipeline"), (2, 0, "pipeline")]
    assert "pipeline forget nightly" in found[1].text
    commit(catalog, folder, {1: ALL_READ}, number=2, conditions={})
    assert [one.recording_id for one in retention_facts(folder, catalog).needs] == [0, 1, 2, 3]


def test_a_job_that_is_forgotten_needs_nothing(catalog: RecordingCatalog, folder: Path) -> None:
    sync_folder(catalog, folder)
    commit(catalog, folder, {0: 64, 1: 64})
    assert forget(catalog, "other") == (0, [])
    assert len(retention_facts(folder, catalog).needs) == 4
    assert forget(catalog, "nightly") == (2, [])
    assert retention_facts(folder, catalog).needs == ()
    rebuild(catalog, folder)
    assert retention_facts(folder, catalog).needs == ()
    assert load_marks(catalog, "nightly", "/lake") == {}


# -- sources of needs that cannot be believed -----------------------------------------------------


def test_a_catalog_that_is_behind_the_journal_is_read_with_it(
    catalog: RecordingCatalog, folder: Path, tmp_path: Path
) -> None:
    sync_folder(catalog, folder)
    with RecordingCatalog.open(f"sqlite:///{tmp_path}/other.db") as other:
        sync_folder(other, folder)
        commit(other, folder, {0: 64})
        label(other, folder, [1], tags={"keep": "long"})
    found = retention_facts(folder, catalog)
    assert (0, 64, "pipeline") in kinds(found.needs)
    assert found.labels == {1: {"keep": "long"}}
    assert load_marks(catalog, "nightly", "/lake") == {}  # The catalog itself is not changed.


def test_a_recording_that_the_catalog_does_not_have_is_kept(
    catalog: RecordingCatalog, folder: Path
) -> None:
    sync_folder(catalog, folder)
    builder = RecordingBuilder(stream_id=9)
    builder.add(b"new")
    builder.write(folder)
    (need,) = retention_facts(folder, catalog).needs
    assert (need.recording_id, need.position, need.kind) == (4, 0, "catalog")
    assert "aerolog catalog sync" in need.text
    sync_folder(catalog, folder)
    assert retention_facts(folder, catalog).needs == ()


@pytest.fixture
def own(folder: Path) -> Iterator[Path]:
    """The folder with a catalog of its own, in which a job has a mark."""
    with RecordingCatalog.open(archive_dir=folder) as catalog:
        sync_folder(catalog, folder)
        commit(catalog, folder, {0: 64})
    assert (0, 64, "pipeline") in kinds(retention_facts(folder).needs)
    return folder


def test_a_catalog_that_was_removed_is_missed(own: Path) -> None:
    (own / "aerolog-catalog.db").unlink()
    with pytest.raises(NeedsUnknownError, match="aerolog-catalog.db is not in the folder"):
        retention_facts(own)
    assert not (own / "aerolog-catalog.db").exists()
    url = f"sqlite:///{own.parent}/none.db"
    with pytest.raises(NeedsUnknownError, match="none.db is not there"):
        retention_facts(own, url)
    assert not (own.parent / "none.db").exists()


@pytest.mark.parametrize(
    ("content", "problem"),
    [(b"", "is an empty file"), (b"no database" * 500, "no SQLite database")],
)
def test_a_catalog_that_is_no_catalog_is_not_read(own: Path, content: bytes, problem: str) -> None:
    database = own / "aerolog-catalog.db"
    database.write_bytes(content)
    with pytest.raises(NeedsUnknownError, match=problem):
        retention_facts(own)
    assert database.read_bytes() == content


def test_a_catalog_without_tables_is_no_catalog(own: Path) -> None:
    (own / "aerolog-catalog.db").unlink()
    with closing(sqlite3.connect(own / "aerolog-catalog.db")) as database:
        database.execute("PRAGMA user_version = 1")
    with pytest.raises(NeedsUnknownError, match="has no tables"):
        retention_facts(own)


def test_a_journal_that_is_gone_or_older_is_missed(own: Path) -> None:
    journal = own / "aerolog-catalog.journal"
    whole = journal.read_bytes()
    journal.write_bytes(whole.partition(b"\n")[0] + b"\n")
    with pytest.raises(NeedsUnknownError, match="an older copy of it"):
        retention_facts(own)
    journal.unlink()
    with pytest.raises(NeedsUnknownError, match="journal, from which .* is gone"):
        retention_facts(own)
    journal.mkdir()
    with pytest.raises(NeedsUnknownError):
        retention_facts(own)
    journal.rmdir()
    journal.write_bytes(whole + b"no line of a journal\n")
    with pytest.raises(NeedsUnknownError, match="a line is damaged"):
        retention_facts(own)
    journal.write_bytes(whole)
    assert (0, 64, "pipeline") in kinds(retention_facts(own).needs)


def test_another_archives_folder_is_not_taken_for_the_catalogs(
    catalog: RecordingCatalog, folder: Path
) -> None:
    sync_folder(catalog, folder)
    commit(catalog, folder, {0: 64})
    folder.rename(folder.with_name("unmounted"))
    folder.mkdir()
    write_recording(str(folder), RealFileSystem(), age_ms=DAY_MS)
    with pytest.raises(NeedsUnknownError, match="mount the archive's own folder"):
        retention_facts(folder, catalog)
    (folder.with_name("unmounted") / "aerolog-catalog.journal").rename(
        folder / "aerolog-catalog.journal"
    )
    with pytest.raises(NeedsUnknownError, match=f"recording 0 in .* began at {NOW_MS - DAY_MS} ms"):
        retention_facts(folder, catalog)


def test_an_export_that_is_named_is_there_and_of_this_archive(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    with pytest.raises(NeedsUnknownError, match="no export in .*/out"):
        retention_facts(folder, exports=[out])

    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(PartWriter, "write", killed)
        with pytest.raises(KeyboardInterrupt):
            export_parquet(folder, [1], out)
    assert kinds(retention_facts(folder, exports=[out]).needs) == [(1, 0, "export")]
    manifest = out / "_aerolog_manifest.json"
    whole = manifest.read_bytes()
    manifest.write_bytes(whole.replace(b'"start_timestamp": ', b'"start_timestamp": 1'))
    with pytest.raises(NeedsUnknownError, match="of another recording 1 than"):
        retention_facts(folder, exports=[out])
    manifest.write_bytes(whole[:-20])
    with pytest.raises(NeedsUnknownError, match="cannot be looked at"):
        retention_facts(folder, exports=[out])


def test_a_first_run_that_is_under_way_may_read_everything(
    catalog: RecordingCatalog, folder: Path
) -> None:
    sync_folder(catalog, folder)
    assert begin_run(catalog, "nightly", "run-1") is None
    found = retention_facts(folder, catalog).needs
    assert kinds(found) == [(one, 0, "pipeline") for one in range(4)]
    fail_run(catalog, "run-1", "stopped")
    assert retention_facts(folder, catalog).needs == ()


def test_a_replication_needs_what_its_copy_does_not_have(
    catalog: RecordingCatalog, folder: Path
) -> None:
    sync_folder(catalog, folder)
    values = {
        "lineage": "replication",
        "from_position": 0,
        "source_archive": str(folder.resolve()),
        "time_ms": 1,
    }
    # Recording 3 has no stop position: it is still being made. Recording 1 is complete.
    record(catalog, folder, "lineage", recording_id=3, source_recording_id=2, **values)
    record(catalog, folder, "lineage", recording_id=1, source_recording_id=0, **values)
    (need,) = retention_facts(folder, catalog).needs
    assert (need.recording_id, need.kind) == (2, "replication")
    assert need.position > 0


def test_what_is_asked_about_one_recording_is_what_is_known_of_it(
    catalog: RecordingCatalog, folder: Path
) -> None:
    sync_folder(catalog, folder)
    label(catalog, folder, [1, 2], tags={"keep": "long"}, name=None)
    commit(catalog, folder, {0: 64, 2: 128})
    note_begun(catalog, folder, "/lake", {2: 0})
    begin_run(catalog, "weekly", "run-7")
    every = retention_facts(folder, catalog)
    assert {need.recording_id for need in every.needs} == {0, 1, 2, 3}
    for recording_id in range(4):
        found = retention_facts(folder, catalog, recording_id=recording_id)
        assert found.needs == tuple(n for n in every.needs if n.recording_id == recording_id)
        expected = every.labels.get(recording_id)
        assert found.labels == ({} if expected is None else {recording_id: expected})
    assert retention_facts(folder, catalog, recording_id=99).needs == ()
