"""``aerolog retention``: what it says, what it asks, and what it changes."""

from __future__ import annotations

import io
import json
import os
import sys
import time
from typing import TYPE_CHECKING

import pytest
from prerequisites import needs_mounts, small_disk
from retention_facts import DAY_MS, NOW_MS, SEGMENT, write_recording

from aerolog.archive.retention.journal import STEP_BEGIN, Journal
from aerolog.archive.retention.retention_folder import (
    RESERVE_LENGTH,
    holds_path,
    make_folder,
    reserve_path,
    run_lock,
)
from aerolog.catalog.index import RecordingCatalog, sync_folder
from aerolog.catalog.index.labels import label
from aerolog.tools.main import main
from aerolog.tools.retention import retention_run
from aerolog.transport.errors import AerologError
from aerolog.transport.memory.filesystem import RealFileSystem

if TYPE_CHECKING:
    from pathlib import Path

FILES = RealFileSystem()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two recordings of two streams; the first one ended ten days ago, the second one just now."""
    folder = tmp_path / "archive"
    folder.mkdir()
    ahead_ms = time.time_ns() // 1_000_000 - NOW_MS
    write_recording(str(folder), FILES, stream_id=10, age_ms=10 * DAY_MS - ahead_ms)
    write_recording(str(folder), FILES, stream_id=11, age_ms=60_000 - ahead_ms)
    return folder


@pytest.fixture
def run(folder: Path, capsys):
    def call(*arguments: str, where: Path = folder) -> tuple[int, str, str]:
        code = main(["retention", *arguments, "--archive-dir", str(where)])
        out, err = capsys.readouterr()
        return code, out, err

    return call


def files(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def answered(monkeypatch, text: str) -> None:
    terminal = io.StringIO(text)
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stdin", terminal)


AGE = ("--stream", "0-99", "--max-age", "7d")


def test_a_plan_says_what_would_go_and_changes_nothing(folder, run) -> None:
    before = files(folder)
    code, out, err = run("plan", *AGE)
    assert (code, err) == (0, "")
    assert "4 segment files of 1 recording would go, 262144 bytes" in out
    assert "older than 7d" in out
    code, out, _ = run("plan", *AGE, "--json")
    assert [step["recording_id"] for step in json.loads(out)["steps"]] == [0]
    code, out, _ = run("apply", *AGE, "--dry-run", "--json")
    assert json.loads(out)["dry_run"] is True
    assert files(folder) == before


@needs_mounts
def test_room_is_reserved_before_anything_else_of_a_run_can_fail(
    tmp_path, run, monkeypatch
) -> None:
    def no_answer(*_arguments: object) -> None:
        raise AerologError("the archive does not answer")

    with small_disk(tmp_path / "disk", 4 << 20) as disk:
        write_recording(str(disk), FILES, age_ms=10 * DAY_MS - time.time_ns() // 10**6 + NOW_MS)
        write_recording(str(disk), FILES, stream_id=500)
        with monkeypatch.context() as patched:
            patched.setattr(retention_run, "archive_access", no_answer)
            code, _, err = run("apply", *AGE, "--yes", where=disk)
            assert (code, err) == (1, "aerolog: the archive does not answer\n")
        assert FILES.size(reserve_path(disk)) == RESERVE_LENGTH
        free = os.statvfs(disk)
        with (disk / "filler").open("wb") as filler:
            os.posix_fallocate(filler.fileno(), 0, free.f_bavail * free.f_frsize)
        code, _, err = run("apply", *AGE, "--yes", where=disk)
        assert (code, list(disk.glob("0-*.rec"))) == (0, []), err


@needs_mounts
def test_the_first_run_ever_on_a_full_disk_says_what_to_free(tmp_path, run) -> None:
    with small_disk(tmp_path / "disk", 4 << 20) as disk:
        write_recording(str(disk), FILES, age_ms=10 * DAY_MS - time.time_ns() // 10**6 + NOW_MS)
        write_recording(str(disk), FILES, stream_id=500)
        free = os.statvfs(disk)
        filler = disk / "filler"
        with filler.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, free.f_bavail * free.f_frsize)
        for command in (("apply", *AGE, "--yes"), ("hold", "0", "--reason", "audit")):
            code, out, err = run(*command, where=disk)
            assert (code, out) == (1, ""), command
            assert f"free {RESERVE_LENGTH} bytes in {disk}" in err
            assert f"aerolog: {disk}/aerolog/retention/" in err
            assert len(list(disk.glob("0-*.rec"))) == 4  # nothing is deleted without a journal
        filler.write_bytes(bytes(filler.stat().st_size - RESERVE_LENGTH))
        code, _, err = run("apply", *AGE, "--yes", where=disk)
        assert (code, list(disk.glob("0-*.rec"))) == (0, []), err
        assert FILES.size(reserve_path(disk)) == RESERVE_LENGTH


def test_policies_come_from_a_file(folder, run, tmp_path) -> None:
    file = tmp_path / "retention.toml"
    file.write_text("[[policy]]\nname = 'old'\nstream = '0-99'\nmax_age = '7d'\n")
    code, out, _ = run("plan", "--policies", str(file), "--json")
    assert json.loads(out)["steps"][0]["policy"] == "old"
    file.write_text("[[policy]]\nmax_age = '7d'\n")
    code, out, err = run("plan", "--policies", str(file))
    assert (code, out) == (1, "")
    assert f"{file}:1: policy 'policy 1': it chooses every recording" in err
    code, out, err = run("plan", "--policies", str(file), "--max-age", "1d")
    assert code == 2
    assert "do not go together" in err
    code, out, err = run("plan")
    assert code == 2
    assert "pass --policies FILE" in err


def test_apply_asks(folder, run, monkeypatch) -> None:
    answered(monkeypatch, "n\n")
    code, out, err = run("apply", *AGE)
    assert (code, out) == (1, "")
    assert "recording 0: all of it, 4 segment files, 262144 bytes: older than 7d" in err
    assert "nothing is changed" in err
    assert (folder / "0-0.rec").exists()
    answered(monkeypatch, "y\n")
    code, out, err = run("apply", *AGE)
    assert code == 0
    assert "4 segment files of 1 recording went, 262144 bytes; 0 kept back" in out
    assert not list(folder.glob("0-*.rec"))
    assert len(list(folder.glob("1-*.rec"))) == 4


def test_nobody_can_be_asked_without_a_terminal(run, monkeypatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    code, _, err = run("apply", *AGE)
    assert code == 2
    assert "--yes" in err
    for arguments in (("--every", "1m"), ("--every", "0", "--yes"), ("--every", "1m", "--dry-run")):
        code, _, err = run("apply", *AGE, *arguments)
        assert code == 2, arguments
        assert "--every" in err


def test_holds_are_shown_and_heeded(folder, run) -> None:
    code, out, _ = run("hold", "0", "1", "--reason", "audit 4711", "--until", "2099-01-01")
    assert code == 0
    assert out.splitlines() == [
        "recording 0 is held: audit 4711",
        "recording 1 is held: audit 4711",
    ]
    code, out, _ = run("apply", *AGE, "--yes")
    assert "recording 0 from 0 on: held: audit 4711" in out
    code, out, _ = run("status")
    assert "audit 4711" in out
    assert "2098-12-31" in out or "2099-01-01" in out
    assert run("release", "0")[1] == "recording 0 is released: audit 4711\n"
    code, out, err = run("release", "0")
    assert (code, out, err) == (1, "", "aerolog: recording 0 is not held\n")
    assert run("apply", *AGE, "--yes", "--json")[0] == 0
    assert not list(folder.glob("0-*.rec"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("hold", "9", "--reason", "x"), "has no recording 9"),
        (("hold", "0", "--reason", " "), "needs a reason"),
        (("hold", "0", "--reason", "x", "--until", "2001-01-01"), "over already"),
        (("hold", "0", "--reason", "x", "--until", "soonish"), "--until"),
        (("plan", "--stream", "1", "--max-age", "0s"), "more than 0"),
        (("plan", "--stream", "x", "--max-age", "1d"), "a range such as"),
        (("plan", "--label", "tier=hot", "--max-age", "1d"), "there is no SQL catalog"),
        (("plan", "--max-age", "1d"), "it chooses every recording"),
    ],
)
def test_bad_input_is_told_in_a_line_and_changes_nothing(folder, run, arguments, said) -> None:
    before = files(folder)
    code, out, err = run(*arguments)
    assert (code, out) == (1, "")
    assert said in err
    assert len(err.splitlines()) == 1
    assert files(folder) == before


def test_a_folder_without_an_archive_is_told(run, tmp_path) -> None:
    for arguments in (("plan", *AGE), ("status",), ("hold", "0", "--reason", "x")):
        code, _, err = run(*arguments, where=tmp_path)
        assert code == 1
        assert "has no archive.catalog" in err
        code, _, err = run(*arguments, where=tmp_path / "none")
        assert code == 1
        assert "there is no such folder" in err
    assert [path.name for path in tmp_path.iterdir()] == ["archive"]


def test_a_second_run_is_refused_and_told_who_runs(folder, run) -> None:
    with run_lock(folder, FILES, NOW_MS, what="the first run"):
        code, out, err = run("apply", *AGE, "--yes")
        assert (code, out) == (1, "")
        assert "the first run by process" in err
        assert "the first run by process" in run("status")[1]
    assert len(list(folder.glob("0-*.rec"))) == 4
    assert run("apply", *AGE, "--yes")[0] == 0


def test_holds_that_cannot_be_read_stop_everything(folder, run) -> None:
    make_folder(folder, FILES)
    (folder / "aerolog/retention/holds.json").write_text("{")
    assert holds_path(folder).endswith("holds.json")
    for arguments in (("plan", *AGE), ("apply", *AGE, "--yes"), ("status",)):
        code, _, err = run(*arguments)
        assert code == 1
        assert "holds.json cannot be read" in err
    assert len(list(folder.glob("0-*.rec"))) == 4


def test_a_plan_that_leaves_nothing_is_not_done_unasked(folder, run) -> None:
    code, _, err = run("apply", "--stream", "0-99", "--max-age", "1s", "--yes")
    assert code == 1
    assert "every recording of the archive" in err
    assert len(list(folder.glob("*.rec"))) == 8
    assert run("apply", "--everything", "--max-age", "1s", "--yes")[0] == 0
    assert list(folder.glob("*.rec")) == []


def test_what_a_crash_left_is_gone_on_with_and_told(folder, run) -> None:
    journal = Journal.open(folder)
    journal.append(
        STEP_BEGIN,
        time.time_ns() // 1_000_000,
        step=1,
        recording_id=0,
        kind="segments",
        first_base=0,
        start_ms=5,
        stream_id=10,
        start_position=0,
        new_start_position=SEGMENT,
        files=1,
        bytes=SEGMENT,
    )
    assert json.loads(run("status", "--json")[1])["unfinished"][0]["recording_id"] == 0
    code, _, err = run("apply", "--stream", "99", "--max-age", "1d", "--yes")
    assert code == 0
    assert "a step of recording 0 was cut off by a crash" in err
    assert json.loads(run("status", "--json")[1])["unfinished"] == []


def test_labels_of_the_catalog_choose(folder, run) -> None:
    with RecordingCatalog.open(archive_dir=folder) as opened:
        sync_folder(opened, folder)
        label(opened, folder, [0], tags={"tier": "hot"})
    code, out, _ = run("plan", "--label", "tier=hot", "--max-age", "1d", "--json")
    assert code == 0
    assert [step["recording_id"] for step in json.loads(out)["steps"]] == [0]
    code, out, _ = run("plan", "--label", "tier=cold", "--max-age", "1d", "--json")
    assert json.loads(out)["steps"] == []
