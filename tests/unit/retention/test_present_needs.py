"""Each step of a run asks the SQL catalog and the folder's journal as they are at that moment."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from job_marks import commit
from retention_facts import DAY_MS, NOW_MS, reading, write_recording

from aerolog.archive.format.archive_folder import ArchiveFolder
from aerolog.archive.retention.archive_access import StoppedArchive
from aerolog.archive.retention.errors import NeedsUnknownError
from aerolog.archive.retention.policy_file import parse_policies
from aerolog.archive.retention.run import Retention
from aerolog.catalog.index import RecordingCatalog, sync_folder
from aerolog.tools.retention.needs_lookup import lookup_of
from aerolog.tools.retention.options import NeedOptions
from aerolog.transport.memory.filesystem import RealFileSystem

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FILES = RealFileSystem()
ALL_READ = 1 << 20


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three old recordings, all of which a job has read to their ends."""
    ahead_ms = time.time_ns() // 1_000_000 - NOW_MS
    for _ in range(3):
        write_recording(str(tmp_path), FILES, age_ms=10 * DAY_MS - ahead_ms)
    with RecordingCatalog.open(archive_dir=tmp_path) as catalog:
        sync_folder(catalog, tmp_path)
        commit(catalog, tmp_path, dict.fromkeys(range(3), ALL_READ))
    return tmp_path


class Meanwhile:
    """An archive during whose deletion of a recording something else happens."""

    def __init__(self, door: StoppedArchive, recording_id: int, act: Callable[[], object]) -> None:
        self._door, self._recording_id, self._act = door, recording_id, act

    def __getattr__(self, name: str) -> Any:
        return getattr(self._door, name)

    def purge_recording(self, recording_id: int) -> None:
        self._door.purge_recording(recording_id)
        if recording_id == self._recording_id:
            self._act()


@pytest.fixture
def apply(folder: Path) -> Callable[..., Any]:
    """Run retention; something happens before the first step, or after that of a recording."""

    def run(act: Callable[[], object], after: int | None) -> Any:
        retention = Retention(
            archive_dir=folder,
            policies=parse_policies("[[policy]]\nstream = 10\nmax_age = '7d'\n"),
            files=FILES,
            read_clock=lambda: reading(time.time_ns() // 1_000_000),
            known=lookup_of(str(folder), NeedOptions()),
        )

        def agree(planned: Any) -> bool:
            assert [step.recording_id for step in planned.steps] == [0, 1, 2]
            if after is None:
                act()
            return True

        with StoppedArchive.borrow(folder, FILES) as door:
            access = door if after is None else Meanwhile(door, after, act)
            return retention.run(access, agree)[1]

    return run


def left(folder: Path) -> list[int]:
    with ArchiveFolder(folder) as opened:
        return opened.catalog.ids()


@pytest.mark.parametrize("after", [None, 0])
def test_a_need_that_comes_after_the_plan_keeps_its_recording(folder, apply, after) -> None:
    def need() -> None:
        with RecordingCatalog.open(archive_dir=folder) as catalog:
            commit(catalog, folder, {0: ALL_READ, 1: 64, 2: ALL_READ}, number=2, job="weekly")

    applied = apply(need, after)
    (kept,) = applied.kept
    assert (kept.recording_id, kept.kind) == (1, "pipeline")
    assert "weekly has loaded it up to position 64" in kept.reason
    assert left(folder) == [1]


@pytest.mark.parametrize(("after", "stays"), [(None, [0, 1, 2]), (0, [1, 2])])
def test_a_catalog_that_goes_after_the_plan_ends_the_run(folder, apply, after, stays) -> None:
    with pytest.raises(NeedsUnknownError, match="nothing is deleted"):
        apply((folder / "aerolog-catalog.db").unlink, after)
    assert left(folder) == stays
