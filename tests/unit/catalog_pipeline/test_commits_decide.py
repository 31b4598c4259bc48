"""What a target has is what its commits say, whatever has become of the catalog."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest
from pipelines_here import (
    JOB,
    HereExecutor,
    lengthen,
    loaded_numbers,
    numbers,
    run_here,
    write_job,
)
from sqlalchemy import select, update

from aerolog.catalog.export.pipeline.errors import TargetError
from aerolog.catalog.export.pipeline.job import load_job
from aerolog.catalog.export.pipeline.job_run import plan_job, run_job
from aerolog.catalog.index import RecordingCatalog, sync_folder
from aerolog.catalog.index.job_runs import load_marks
from aerolog.catalog.index.journal_file import JOURNAL_NAME
from aerolog.catalog.index.models import Export, Mark
from aerolog.catalog.index.reconstruction import rebuild

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from aerolog.catalog.export.pipeline.units import UnitResult

COUNT = 2000


def state(archive: Path, out: Path) -> tuple[dict[tuple[str, int], int], list[tuple[int, ...]]]:
    """The marks and exports of the folder's catalog."""
    with RecordingCatalog.open(archive_dir=archive) as catalog, catalog.session() as session:
        columns = (Export.from_position, Export.until_position, Export.rows, Export.bytes)
        exports = [tuple(one) for one in session.execute(select(*columns).order_by(*columns))]
        return load_marks(catalog, "numbers", str(out)), exports


def remove_database(archive: Path) -> None:
    for path in archive.glob("aerolog-catalog.db*"):
        path.unlink()


def remove_both(archive: Path) -> None:
    remove_database(archive)
    (archive / JOURNAL_NAME).unlink()


def rebuild_without_journal(archive: Path) -> None:
    (archive / JOURNAL_NAME).unlink()
    with RecordingCatalog.open(archive_dir=archive) as catalog:
        rebuild(catalog, archive, without_journal=True)


def move_marks(by: int) -> Callable[[Path], None]:
    def move(archive: Path) -> None:
        with (
            RecordingCatalog.open(archive_dir=archive) as catalog,
            catalog.session(writes=True) as session,
        ):
            session.execute(update(Mark).values(position=Mark.position + by))

    return move


@pytest.mark.parametrize(
    "harm",
    [
        remove_database,
        remove_both,
        rebuild_without_journal,
        move_marks(-4096),
        move_marks(4096),
    ],
    ids=["removed", "made again", "rebuilt", "marks behind", "marks ahead"],
)
def test_each_message_is_loaded_once(home: Path, harm: Callable[[Path], None]) -> None:
    archive, out = home / "archive", home / "out"
    builder = numbers(0, COUNT)
    recording_id = builder.write(archive)
    numbers(COUNT, COUNT + 10).write(archive)
    path = write_job(home)
    assert run_here(path).rows == COUNT + 10
    before = state(archive, out)
    harm(archive)
    plan, _ = plan_job(load_job(path))
    assert plan.units == ()
    assert run_here(path).rows == 0
    assert state(archive, out) == before
    harm(archive)
    for number in range(COUNT + 10, COUNT + 50):
        builder.add(b'{"n": %d}' % number)
    lengthen(archive, recording_id, builder)
    assert run_here(path).rows == 40
    assert sorted(loaded_numbers(out)) == list(range(COUNT + 50))


def test_an_archive_that_becomes_known_later_is_not_loaded_again(home: Path) -> None:
    one, two = home / "archive", home / "two"
    numbers(0, 100).write(one)
    two.mkdir()
    numbers(100, 200).write(two)
    url = f"sqlite:///{home}/catalog.db"
    path = write_job(home, text=f'catalog = "{url}"\n' + JOB.replace("archive-dir", "#"))

    def sync(*folders: Path) -> None:
        for database in home.glob("catalog.db*"):
            database.unlink()
        with RecordingCatalog.open(url) as catalog:
            for folder in folders:
                sync_folder(catalog, folder)

    sync(one, two)
    assert run_here(path).rows == 200
    sync(one)
    (two / JOURNAL_NAME).unlink()
    assert run_here(path).rows == 0
    with RecordingCatalog.open(url) as catalog:
        sync_folder(catalog, two)
        assert load_marks(catalog, "numbers", f"{home}/out").keys() == {(str(one), 0)}
        assert run_here(path).rows == 0
        assert load_marks(catalog, "numbers", f"{home}/out").keys() == {
            (str(one), 0),
            (str(two), 0),
        }
    assert sorted(loaded_numbers(home / "out")) == list(range(200))


@pytest.mark.parametrize("with_catalog", [True, False])
def test_a_folder_that_was_moved_is_known_again(home: Path, with_catalog: bool) -> None:
    builder = numbers(0, 100)
    recording_id = builder.write(home / "archive")
    path = write_job(home)
    assert run_here(path).rows == 100
    moved = home / "moved"
    (home / "archive").rename(moved)
    if not with_catalog:
        remove_both(moved)
    text: Any = JOB.replace('"archive"', '"moved"')
    path = write_job(home, text=text)
    assert run_here(path).rows == 0
    marks, _ = state(moved, home / "out")
    assert marks == {(str(moved), recording_id): builder.position}
    builder.add(b'{"n": 100}')
    lengthen(moved, recording_id, builder)
    assert run_here(path).rows == 1
    assert sorted(loaded_numbers(home / "out")) == list(range(101))


def test_a_copy_of_an_archive_is_another_archive(home: Path) -> None:
    numbers(0, 100).write(home / "archive")
    path = write_job(home)
    assert run_here(path).rows == 100
    shutil.copytree(home / "archive", home / "copy", ignore=shutil.ignore_patterns("aerolog-*"))
    assert run_here(write_job(home, text=JOB.replace('"archive"', '"copy"'))).rows == 100


def test_nothing_is_committed_whose_files_are_gone(home: Path) -> None:
    class Cleaned(HereExecutor):
        """Its files are removed before it commits, by a run that another catalog has allowed."""

        def run(self, *arguments: Any) -> list[UnitResult]:
            results = super().run(*arguments)
            shutil.rmtree(home / "out" / "_aerolog" / "staging")
            return results

    numbers(0, 100).write(home / "archive")
    path = write_job(home)
    with pytest.raises(TargetError, match="another run of the job has cleaned up"):
        run_job(load_job(path), Cleaned())
    assert run_here(path).rows == 100
    assert sorted(loaded_numbers(home / "out")) == list(range(100))
