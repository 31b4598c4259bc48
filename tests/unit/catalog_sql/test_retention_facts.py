"""What a catalog tells retention: labels, and who still needs what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from aerolog.catalog.export import export_parquet
from aerolog.catalog.export.part_writer import PartWriter
from aerolog.catalog.index import RecordingCatalog, sync_folder
from aerolog.catalog.index.exports import note_begun
from aerolog.catalog.index.job_runs import (
    AppliedRange,
    RunTotals,
    apply_commit,
    begin_run,
    fail_run,
)
from aerolog.catalog.index.journal import record
from aerolog.catalog.index.labels import label
from aerolog.catalog.index.retention_facts import retention_facts

if TYPE_CHECKING:
    from pathlib import Path

    from aerolog.archive.retention.facts import Need


def kinds(needs: tuple[Need, ...]) -> list[tuple[int, int, str]]:
    return [(need.recording_id, need.position, need.kind) for need in needs]


def test_labels_and_names_are_by_recording(catalog: RecordingCatalog, folder: Path) -> None:
    sync_folder(catalog, folder)
    label(catalog, folder, [1, 2], tags={"keep": "long"})
    label(catalog, folder, [2], tags={"desk": "fx"}, name="morning")
    found = retention_facts(folder, catalog)
    assert found.has_catalog
    assert found.labels == {1: {"keep": "long"}, 2: {"keep": "long", "desk": "fx"}}
    assert found.names == {2: ("morning",)}
    assert found.needs == () == found.problems


def test_a_folder_without_a_catalog_has_no_labels(folder: Path) -> None:
    found = retention_facts(folder)
    assert not found.has_catalog
    assert (found.labels, found.needs, found.problems) == ({}, (), ())


def test_a_catalog_that_does_not_know_the_archive_says_so(
    catalog: RecordingCatalog, folder: Path
) -> None:
    found = retention_facts(folder, catalog)
    assert not found.has_catalog
    assert "aerolog catalog sync" in found.problems[0]


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


def test_a_job_needs_what_is_behind_its_mark(catalog: RecordingCatalog, folder: Path) -> None:
    sync_folder(catalog, folder)
    for recording_id, position in ((0, 64), (1, 1 << 20)):
        part = AppliedRange(str(folder.resolve()), recording_id, 0, position, 1, {})
        apply_commit(
            catalog,
            job="nightly",
            output="/lake",
            run_id=f"run-{recording_id}",
            time_ms=1,
            ranges=[part],
            totals=RunTotals(1, 1, 0, "{}"),
        )
    (need,) = retention_facts(folder, catalog).needs
    assert (need.recording_id, need.position, need.kind) == (0, 64, "pipeline")
    assert "nightly" in need.text


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
