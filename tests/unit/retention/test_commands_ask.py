"""Commands that delete data, or put it out of reach, ask who needs it, as retention does."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from job_marks import commit
from live_recordings import SEGMENT, Live, live_archive
from preservation import content_of, missing

from aerolog.archive.client import AeronArchive
from aerolog.archive.retention.holds import Holds
from aerolog.catalog.index import RecordingCatalog, sync_folder
from aerolog.tools.main import main
from aerolog.tools.retention import removal_check

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@dataclass
class Desk:
    """A live archive with three stopped recordings, of which the third follows the first."""

    live: Live
    capsys: pytest.CaptureFixture[str]

    @property
    def folder(self) -> Path:
        return self.live.folder

    def run(self, *arguments: object, code: int = 0) -> tuple[str, str]:
        """Run a command about recordings; its output and its errors."""
        self.capsys.readouterr()
        where = ["--aeron-dir", str(self.live.aeron.aeron_dir)]
        ended = main(["recordings", *map(str, arguments), *where])
        printed = self.capsys.readouterr()
        assert ended == code, printed.err
        return printed.out, printed.err

    def descriptors(self) -> list[tuple[int, int, int | None]]:
        return [
            (one.recording_id, one.start_position, one.stop_position)
            for one in self.live.archive.recordings()
        ]

    def check(self) -> None:
        """Everything is where it was."""
        assert missing(self.live.published, content_of(self.folder)) == []


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Desk]:
    with live_archive(tmp_path / "archive") as live:
        live.record(0, 3)
        live.record(0, 1.5)
        live.archive.truncate_recording(0, 3 * SEGMENT)
        live.cut(0, lambda at: at < 3 * SEGMENT)
        live.record(3 * SEGMENT, 1.5)
        yield Desk(live, capsys)


COMMANDS = {
    "purge": ("purge", 0, "--yes"),
    "truncate": ("truncate", 0, 2 * SEGMENT, "--yes"),
    "detach": ("detach", 0, 2 * SEGMENT),
    "purge-segments": ("purge-segments", 0, 2 * SEGMENT, "--yes"),
    "migrate": ("migrate", 0, 2, "--yes"),
    "delete-detached": ("delete-detached", 0, "--yes"),
}


def prepared(desk: Desk, command: str) -> None:
    if command == "delete-detached":
        desk.live.archive.detach_segments(0, SEGMENT)


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_held_is_not_taken_unless_that_is_meant(desk: Desk, command: str) -> None:
    prepared(desk, command)
    Holds.open(desk.folder).add(0, "incident 4711")
    before = desk.descriptors()
    _, err = desk.run(*COMMANDS[command], code=1)
    text = "recording 0 is needed from position 0 on: held: incident 4711"
    assert err == f"aerolog: {text}; to go on all the same, pass --force\n"
    assert desk.descriptors() == before
    desk.check()
    _, err = desk.run(*COMMANDS[command], "--force")
    assert err.startswith(f"warning: {text}\n")
    assert desk.descriptors() != before or command == "delete-detached"


@pytest.mark.parametrize("command", COMMANDS)
def test_what_a_job_has_not_read_is_not_taken(desk: Desk, command: str) -> None:
    prepared(desk, command)
    with RecordingCatalog.open(archive_dir=desk.folder) as catalog:
        sync_folder(catalog, desk.folder)
        commit(catalog, desk.folder, {0: SEGMENT - 64, 1: 64, 2: 0})
        before = desk.descriptors()
        _, err = desk.run(*COMMANDS[command], code=1)
        assert "job nightly has loaded it up to position" in err
        assert desk.descriptors() == before
        desk.check()
        commit(catalog, desk.folder, {0: 3 * SEGMENT}, number=2)
    desk.run(*COMMANDS[command])
    assert desk.descriptors() != before or command == "delete-detached"


def test_a_dry_run_names_what_would_be_refused(desk: Desk) -> None:
    Holds.open(desk.folder).add(1, "audit")
    out, err = desk.run("purge", 1, "--dry-run", "--json", code=1)
    assert "held: audit" in json.loads(out)["refusal"]
    assert "held: audit" in err
    assert json.loads(desk.run("purge", 0, "--dry-run", "--json")[0])["refusal"] is None


def test_a_hold_that_comes_while_somebody_is_asked_is_heeded(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = removal_check.RemovalCheck.refusal

    def look_and_hold(self: removal_check.RemovalCheck, what: Any) -> str | None:
        found = look(self, what)
        Holds.open(desk.folder).add(0, "just now")
        return found

    monkeypatch.setattr(removal_check.RemovalCheck, "refusal", look_and_hold)
    _, err = desk.run("purge", 0, "--yes", code=1)
    assert "held: just now" in err
    desk.check()


def lost_catalog(folder: Path) -> None:
    (folder / "aerolog-catalog.db").unlink()


def damaged_holds(folder: Path) -> None:
    Holds.open(folder).add(1, "audit")
    (folder / "aerolog" / "retention" / "holds.json").write_text("{")


@pytest.mark.parametrize("harm", [lost_catalog, damaged_holds])
def test_nothing_is_taken_while_it_is_not_known_who_needs_it(
    desk: Desk, harm: Callable[[Path], None]
) -> None:
    with RecordingCatalog.open(archive_dir=desk.folder) as catalog:
        sync_folder(catalog, desk.folder)
        commit(catalog, desk.folder, {0: 0})
    harm(desk.folder)
    _, err = desk.run("purge", 1, "--yes", code=1)
    assert "who needs recording 1 is not known: " in err
    desk.check()
    _, err = desk.run("purge", 1, "--yes", "--force")
    assert "warning: who needs recording 1 is not known: " in err


def test_an_archive_that_does_not_tell_its_folder_needs_it_named(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert desk.live.archive.archive_folder() == str(desk.folder.resolve())
    monkeypatch.setattr(AeronArchive, "archive_folder", lambda _self: None)
    _, err = desk.run("purge", 0, "--yes", code=1)
    assert "the archive does not tell its folder: pass --archive-dir DIR" in err
    with live_archive(tmp_path / "other") as others:
        others.record(0, 1)
        other = ("--archive-dir", tmp_path / "other")
        _, err = desk.run("purge", 0, "--yes", *other, code=1)
    assert f"{tmp_path}/other is not the folder of this archive here" in err
    desk.check()
    desk.run("purge", 0, "--yes", "--archive-dir", desk.folder)
    assert [one[0] for one in desk.descriptors()] == [1, 2]


def test_exports_that_are_named_are_asked(desk: Desk, tmp_path: Path) -> None:
    target = tmp_path / "lake"
    target.mkdir()
    _, err = desk.run("purge", 0, "--yes", "--export", target, code=1)
    assert "there is no export in" in err
    desk.check()
