"""A follower finds what has changed in a folder, told or not, and goes on after trouble."""

from __future__ import annotations

import os
import sqlite3
import time
from typing import TYPE_CHECKING

import pytest

from aerolog.archive.format.catalog_file import CatalogFile
from aerolog.archive.protocol import RecordingSignal, RecordingSignalEvent
from aerolog.archive.protocol.enums import RecordingState
from aerolog.catalog.index import RecordingCatalog, engine
from aerolog.catalog.index import follower as module
from aerolog.catalog.index.errors import CatalogLockedError
from aerolog.catalog.index.folder_watch import FolderWatch
from aerolog.catalog.index.follower import EventSource, Follower
from aerolog.catalog.index.labels import label, resolve
from aerolog.catalog.index.recording_details import details
from aerolog.catalog.index.search import Search, search
from aerolog.testing.recordings import RecordingBuilder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from aerolog.catalog.index import SyncReport


def add_recording(folder: Path, stream_id: int = 7, *, stopped: bool = True) -> int:
    builder = RecordingBuilder(stream_id=stream_id)
    for _ in range(100):
        builder.add(bytes(1000))
    return builder.write(folder, stopped=stopped)


def ids(catalog: RecordingCatalog) -> list[int]:
    return [one.recording_id for one in search(catalog, Search(order="id"))]


@pytest.fixture
def reports() -> list[SyncReport]:
    return []


@pytest.fixture
def problems() -> list[BaseException]:
    return []


@pytest.fixture
def empty(folder: Path) -> Iterator[RecordingCatalog]:
    with RecordingCatalog.open(archive_dir=folder) as opened:
        yield opened


@pytest.fixture
def follower(
    empty: RecordingCatalog,
    folder: Path,
    reports: list[SyncReport],
    problems: list[BaseException],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Follower]:
    """One that looks at every turn."""
    monkeypatch.setattr(module, "RETRY_S", 0.0)
    with Follower(
        empty,
        folder,
        look_every_s=0.0,
        event_source=EventSource(wanted=False),
        on_report=reports.append,
        on_problem=problems.append,
    ) as made:
        yield made


def test_it_begins_with_a_sync(
    follower: Follower, empty: RecordingCatalog, reports: list[SyncReport]
) -> None:
    follower.turn()

    assert ids(empty) == [0, 1, 2]
    assert [report.added for report in reports] == [3]


def test_nothing_new_is_nothing_to_do(follower: Follower, reports: list[SyncReport]) -> None:
    follower.turn()

    assert [follower.turn() for _ in range(3)] == [0, 0, 0]
    assert len(reports) == 1


def test_a_recording_that_nobody_told_of_is_found(
    follower: Follower, empty: RecordingCatalog, folder: Path, reports: list[SyncReport]
) -> None:
    follower.turn()
    recording_id = add_recording(folder)
    follower.turn()

    assert ids(empty) == [0, 1, 2, recording_id]
    assert (reports[-1].added, reports[-1].changed) == (1, 0)


def test_segments_that_went_away_are_found(
    follower: Follower, empty: RecordingCatalog, folder: Path
) -> None:
    recording_id = add_recording(folder)
    follower.turn()
    first = folder / f"{recording_id}-0.rec"
    first.unlink()
    follower.turn()

    shown = details(empty, resolve(empty, recording_id))
    states = {one["base_position"]: one["state"] for one in shown["segments"]}
    assert states == {0: "missing", 65536: "present"}


def test_a_recording_that_is_invalidated_is_found(
    follower: Follower, empty: RecordingCatalog, folder: Path
) -> None:
    follower.turn()
    with CatalogFile.open(folder) as catalog:
        catalog.change_state(1, RecordingState.INVALID)
    follower.turn()

    (found,) = search(empty, Search(recording_ids=[1]))
    assert found.state == "invalid"


def test_labels_that_another_catalog_gave_are_found(
    follower: Follower, empty: RecordingCatalog, folder: Path, tmp_path: Path
) -> None:
    from aerolog.catalog.index import sync_folder

    follower.turn()
    with RecordingCatalog.open(f"sqlite:///{tmp_path}/other.db") as other:
        sync_folder(other, folder)
        label(other, folder, [2], tags={"carrier": "AA"}, name="best")
    follower.turn()

    (found,) = search(empty, Search(name="best"))
    assert (found.recording_id, dict(found.tags)) == (2, {"carrier": "AA"})


def test_a_signal_is_looked_at_before_its_time(empty: RecordingCatalog, folder: Path) -> None:
    with Follower(
        empty, folder, look_every_s=3600.0, event_source=EventSource(wanted=False)
    ) as follower:
        follower.turn()
        recording_id = add_recording(folder)
        assert follower.turn() == 0
        assert recording_id not in ids(empty)

        follower.on_signal(
            RecordingSignalEvent(
                control_session_id=1,
                correlation_id=2,
                recording_id=recording_id,
                subscription_id=-1,
                position=0,
                signal=RecordingSignal.STOP,
            )
        )
        follower.turn()
        assert recording_id in ids(empty)


def test_a_database_that_is_locked_is_tried_again(
    empty: RecordingCatalog,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    problems: list[BaseException],
) -> None:
    monkeypatch.setattr(engine, "BUSY_TIMEOUT_S", 0.05)
    monkeypatch.setattr(module, "RETRY_S", 0.0)
    with (
        RecordingCatalog.open(archive_dir=folder) as impatient,
        Follower(
            impatient,
            folder,
            look_every_s=0.0,
            event_source=EventSource(wanted=False),
            on_problem=problems.append,
        ) as follower,
    ):
        other = sqlite3.connect(folder / "aerolog-catalog.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        follower.turn()
        follower.turn()
        assert [type(problem) for problem in problems] == [CatalogLockedError]
        other.close()

        follower.turn()
        assert ids(impatient) == [0, 1, 2]


def test_a_folder_without_a_catalog_is_an_error_at_first_and_trouble_later(
    follower: Follower, empty: RecordingCatalog, folder: Path, problems: list[BaseException]
) -> None:
    hidden = folder / "archive.hidden"
    (folder / "archive.catalog").rename(hidden)
    with pytest.raises(FileNotFoundError):
        follower.turn()
    hidden.rename(folder / "archive.catalog")
    follower.turn()
    (folder / "archive.catalog").rename(hidden)
    follower.turn()
    assert [type(problem) for problem in problems] == [FileNotFoundError]
    hidden.rename(folder / "archive.catalog")

    recording_id = add_recording(folder)
    follower.turn()
    assert recording_id in ids(empty)


class TestLooks:
    """What a look finds."""

    @pytest.fixture
    def watch(self, folder: Path) -> FolderWatch:
        """One that has looked once, at a folder whose time has settled."""
        past = time.time() - 60
        os.utime(folder, (past, past))
        made = FolderWatch(folder)
        assert made.look().ids == {0, 1, 2}
        assert not made.look()
        return made

    def test_one_entry_among_many(self, folder: Path) -> None:
        for _ in range(400):
            RecordingBuilder().write(folder)
        watch = FolderWatch(folder)
        watch.look()
        recording_id = RecordingBuilder().write(folder)

        changes = watch.look()

        assert recording_id in changes.ids
        assert not changes.is_whole
        assert len(changes.ids) < 60

    def test_a_catalog_that_is_cut_short(self, watch: FolderWatch, folder: Path) -> None:
        with (folder / "archive.catalog").open("r+b") as catalog:
            catalog.truncate(100)

        assert watch.look().is_whole

    def test_a_catalog_of_noise(self, watch: FolderWatch, folder: Path) -> None:
        (folder / "archive.catalog").write_bytes(os.urandom(200_000))

        assert watch.look().is_whole

    def test_files_of_no_recording(self, watch: FolderWatch, folder: Path) -> None:
        (folder / "99-0.rec").touch()

        assert watch.look().is_whole

    def test_files_that_are_none_of_the_archive_s(self, watch: FolderWatch, folder: Path) -> None:
        (folder / "notes.txt").touch()
        (folder / "x-y.rec").touch()

        assert not watch.look()
