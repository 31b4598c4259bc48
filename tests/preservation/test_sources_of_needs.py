"""Retention of recordings that grow meanwhile, with what tells of needs gone, empty, old or false.

In each case nothing is deleted, or only what the result lists, and never what is needed.
"""

from __future__ import annotations

import json
import shutil
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Self

import pytest
from job_marks import commit
from live_archive import until
from live_recordings import FRAME, SEGMENT, Live, live_archive
from preservation import content_of, missing

from aerolog.catalog.export import export_parquet
from aerolog.catalog.export.part_writer import PartWriter
from aerolog.catalog.index import RecordingCatalog, sync_folder
from aerolog.catalog.index.journal_file import JOURNAL_NAME
from aerolog.catalog.index.recording_catalog import DATABASE_NAME
from aerolog.testing.recordings import RecordingBuilder
from aerolog.tools.main import main

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

READ, EXPORTED, UNREAD, GROWING = range(4)
#: Where what is needed of each recording begins; READ is needed by nobody.
NEEDED = {EXPORTED: 0, UNREAD: 0, GROWING: 2 * SEGMENT}
POLICIES = {
    "max_size": ("--max-size", "64k"),
    "max_age": ("--max-age", "1s"),
    "max_count": ("--max-count", "1"),
}
MANIFEST = "_aerolog_manifest.json"


class Growth:
    """A recording that grows in a thread for as long as retention runs."""

    def __init__(self, live: Live) -> None:
        self.live = live
        self.recording_id, self.publication = live.begin()
        live.publish(self.recording_id, self.publication, 4)
        self._ends = Event()
        self._thread = Thread(target=self._grow)

    def _grow(self) -> None:
        while not self._ends.wait(0.002):
            self.live.publish(self.recording_id, self.publication, FRAME / SEGMENT)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._thread.join()
        self.publication.close()


@dataclass
class Desk:
    """A folder, who needs what of it, and another archive's folder with the same."""

    folder: Path
    target: Path
    other: Path
    older: Path
    published: dict[int, dict[int, bytes]]
    capsys: pytest.CaptureFixture[str]
    listed: list[tuple[int, int, int]] = field(default_factory=list)

    def apply(self, policy: str, *more: str, folder: Path | None = None) -> list[dict[str, Any]]:
        """Run retention; the steps that it has taken, which are noted."""
        self.capsys.readouterr()
        where = ["--archive-dir", str(folder or self.folder), "--export", str(self.target)]
        options = ["--stream", "0-9999", *POLICIES[policy], "--yes", "--json"]
        code = main(["retention", "apply", *options, *where, *more])
        printed = self.capsys.readouterr()
        if code != 0:
            assert printed.err.startswith("aerolog: "), printed.err
            assert printed.out == ""
            return []
        steps: list[dict[str, Any]] = json.loads(printed.out)["done"]
        for step in steps:
            end = step["new_start_position"] if step["kind"] == "segments" else 2**62
            self.listed.append((step["recording_id"], step["start_position"], end))
        return steps

    def check(self, what: str) -> None:
        """Everything that was published is there, or was listed and is needed by nobody."""
        published = {one: dict(messages) for one, messages in self.published.items()}
        now = content_of(self.folder)
        assert missing(published, now, listed=self.listed) == [], what
        needed = {
            one: {at: data for at, data in published[one].items() if at >= begin}
            for one, begin in NEEDED.items()
        }
        assert missing(needed, now) == [], what


def unfinished_export(folder: Path, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin an export of a recording, and die."""

    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(PartWriter, "write", killed)
        with pytest.raises(KeyboardInterrupt):
            export_parquet(folder, [EXPORTED], target)


@pytest.fixture
def other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Another archive's folder, of whose recordings a job has read all, and its export."""
    folder = tmp_path / "other"
    folder.mkdir()
    for _ in range(4):
        builder = RecordingBuilder()
        builder.add(bytes(1000))
        builder.write(folder)
    with RecordingCatalog.open(archive_dir=folder) as catalog:
        sync_folder(catalog, folder)
        commit(catalog, folder, dict.fromkeys(range(4), 1 << 30))
    unfinished_export(folder, tmp_path / "other-lake", monkeypatch)
    return folder


@pytest.fixture
def desk(
    tmp_path: Path,
    other: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[Desk]:
    """A live archive with three stopped recordings and one that grows."""
    folder = tmp_path / "archive"
    with live_archive(folder) as live:
        for _ in range(3):
            live.record(0, 3.5)
        growth = Growth(live)
        for recording_id in range(4):
            live.archive.update_channel(recording_id, "aeron:ipc")  # one stream, for max_count
        with growth:
            older = tmp_path / "older"
            older.mkdir()
            with RecordingCatalog.open(archive_dir=folder) as catalog:
                sync_folder(catalog, folder)
                commit(catalog, folder, {READ: 1 << 30, GROWING: SEGMENT})
            for name in (DATABASE_NAME, JOURNAL_NAME):
                shutil.copy(folder / name, older / name)
            with RecordingCatalog.open(archive_dir=folder) as catalog:
                marks = {READ: 1 << 30, EXPORTED: 1 << 30, GROWING: 2 * SEGMENT}
                commit(catalog, folder, marks, number=2)
            target = tmp_path / "lake"
            unfinished_export(folder, target, monkeypatch)
            shutil.copy(target / MANIFEST, older / MANIFEST)
            begun = time.monotonic()
            until(lambda: time.monotonic() - begun > 1.2, "what is older than a second")
            found = Desk(folder, target, other, older, live.published, capsys)
            yield found
            found.check("the end")


@contextmanager
def aside(path: Path) -> Iterator[None]:
    """A file, or folder, that is not in its place meanwhile."""
    away = path.with_name(path.name + ".away")
    path.rename(away)
    yield
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    away.rename(path)


def gone(_path: Path, _desk: Desk) -> None:
    """Leave nothing in its place."""


def empty(path: Path, _desk: Desk) -> None:
    path.write_bytes(b"")


def unreadable(path: Path, _desk: Desk) -> None:
    path.mkdir()


def garbage(path: Path, _desk: Desk) -> None:
    whole = path.with_name(path.name + ".away").read_bytes()
    path.write_bytes(whole[: len(whole) // 2] + b"\xff\0 no " + whole[len(whole) // 2 + 6 :])


def older(path: Path, desk: Desk) -> None:
    shutil.copy(desk.older / path.name, path)


def of_another(path: Path, desk: Desk) -> None:
    where = desk.other.with_name("other-lake") if path.name == MANIFEST else desk.other
    shutil.copy(where / path.name, path)


HARMS = [gone, empty, unreadable, garbage, older, of_another]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("source", [DATABASE_NAME, JOURNAL_NAME, MANIFEST])
def test_a_source_that_cannot_tell_costs_nothing_that_is_needed(
    desk: Desk, policy: str, source: str
) -> None:
    path = (desk.target if source == MANIFEST else desk.folder) / source
    for harm in HARMS:
        with aside(path):
            harm(path, desk)
            desk.apply(policy)
            desk.check(f"{source} {harm.__name__}")
    # With every source in its place, what nobody needs goes: nothing has gone before for no reason.
    desk.apply(policy)
    gone_by_now = {recording_id for recording_id, _, _ in desk.listed}
    assert gone_by_now == ({READ} if policy == "max_count" else {READ, GROWING})


@pytest.mark.parametrize("policy", POLICIES)
def test_marks_that_only_the_journal_has_are_heeded(desk: Desk, policy: str) -> None:
    """The database was restored, made again and filled by a sync that read no journal."""
    for remade in (lambda path: older(path, desk), lambda _: None):
        path = desk.folder / DATABASE_NAME
        with aside(path):
            remade(path)
            with RecordingCatalog.open(archive_dir=desk.folder):
                pass
            desk.apply(policy)
            desk.check("a database without marks")


def copy_of(folder: Path, place: Path) -> None:
    shutil.copytree(folder, place)


FOLDERS: dict[str, Callable[[Path, Path, Path], object]] = {
    "gone": lambda _place, _older, _other: None,
    "empty": lambda place, _older, _other: place.mkdir(),
    "unreadable": lambda place, _older, _other: place.write_bytes(b"no folder"),
    "older": lambda place, older, _other: copy_of(older, place),
    "another archive's": lambda place, _older, other: copy_of(other, place),
}


def test_a_folder_that_is_not_the_archives_loses_nothing(
    tmp_path: Path, other: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The catalog is a server's, and knows the folder that was mounted before."""
    folder, before, url = tmp_path / "archive", tmp_path / "before", f"sqlite:///{tmp_path}/c.db"
    with live_archive(folder) as live:
        for _ in range(4):
            live.record(0, 3.5)
        published = live.published
    with RecordingCatalog.open(url) as catalog:
        sync_folder(catalog, folder)
        shutil.copytree(folder, before)
        commit(catalog, folder, {READ: 1 << 30, GROWING: 1 << 30})
    for state, mount in FOLDERS.items():
        with aside(folder):
            mount(folder, before, other)
            seen = content_of(folder) if (folder / "archive.catalog").exists() else None
            for policy in POLICIES.values():
                where = ["--archive-dir", str(folder), "--catalog", url]
                options = ["--stream", "0-9999", *policy, "--yes", "--json"]
                assert main(["retention", "apply", *options, *where]) == 1, (state, policy)
                assert capsys.readouterr().err.startswith("aerolog: ")
            if seen is not None:
                assert content_of(folder) == seen, state
    assert missing(published, content_of(folder)) == []
