"""``aerolog pipeline`` at the command line, as far as it goes without Spark."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING

from pipelines_here import numbers, run_here, visible, write_job

from aerolog.catalog.index import RecordingCatalog, sync_folder
from aerolog.catalog.index.recording_catalog import DATABASE_NAME
from aerolog.tools.command_line.invocation import run

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = run(["pipeline", *map(str, arguments)])
    out, err = capsys.readouterr()
    return code, out, err


def test_a_dry_run_prints_the_plan_and_changes_nothing(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    builder = numbers(0, 1000)
    builder.write(home / "archive")
    path = write_job(home)
    code, out, err = said(capsys, "run", path, "--dry-run")
    assert code == 0
    (warning,) = err.splitlines()
    assert warning.startswith(f"warning: recordings of {home}/archive have no time index: ")
    assert out.splitlines()[0].split() == [
        *("place", "recording", "stream", "status", "from", "until", "bytes")
    ]
    assert out.splitlines()[1].split()[1:] == [
        *("0", "10", "new", "0", str(builder.position), str(builder.position))
    ]
    assert f"job numbers: 1 new; {builder.position} bytes in 1 units to {home}/out" in out
    assert not (home / "out").exists()
    code, out, _ = said(capsys, "run", path, "--dry-run", "--json")
    plan = json.loads(out)
    assert (plan["bytes"], plan["units"], plan["job"]) == (builder.position, 1, "numbers")
    assert plan["recordings"][0]["status"] == "new"
    assert not (home / "out").exists()


def test_status_shows_runs_and_what_waits(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    numbers(0, 1000).write(home / "archive")
    path = write_job(home)
    run_here(path)
    numbers(1000, 1100).write(home / "archive")
    code, out, _ = said(capsys, "status", path)
    assert code == 0
    assert out.splitlines()[0].split()[:3] == ["started", "job", "state"]
    assert out.splitlines()[1].split()[1:3] == ["numbers", "complete"]
    assert "job numbers: 1 unchanged, 1 new;" in out
    code, out, _ = said(capsys, "status", "--archive-dir", home / "archive", "--json")
    (state,) = json.loads(out)
    assert (state["job"], state["state"], state["rows"]) == ("numbers", "complete", 1000)
    assert state["report"]["files"] == len(visible(home / "out"))
    code, out, _ = said(capsys, "status", path, "--json", "--count", "1")
    assert [one["status"] for one in json.loads(out)["recordings"]] == ["unchanged", "new"]


def test_a_run_without_anything_new_reports_so(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    numbers(0, 1000).write(home / "archive")
    path = write_job(home)
    run_here(path)
    code, out, err = said(capsys, "run", path)
    assert (code, err) == (0, "")
    fields = {line.split("  ")[0]: line.rstrip() for line in out.splitlines()}
    assert fields["recordings"].endswith("1 unchanged")
    assert fields["rows"].endswith("0 (0/s)")
    code, out, _ = said(capsys, "run", path, "--json")
    report = json.loads(out)
    assert (report["rows"], report["files"], report["rows_per_second"]) == (0, 0, 0.0)


def failure(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    code, out, err = said(capsys, *arguments)
    assert (code, out) == (1, "")
    assert err.startswith("aerolog: ")
    assert len(err.splitlines()) == 1
    return err


def test_a_database_that_cannot_be_used_is_named(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers(0, 10).write(home / "archive")
    path = write_job(home)
    monkeypatch.delenv("PGPASSWORD", raising=False)
    url = "postgresql+psycopg://loader:secret@127.0.0.1:1/fleet"
    err = failure(capsys, "run", path, "--catalog", url)
    assert "127.0.0.1" in err
    assert "secret" not in err
    run_here(path)
    database = home / "archive" / "aerolog-catalog.db"
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0000'")
    connection.close()
    for command in ("run", "status"):
        assert str(database) in failure(capsys, command, path)
    database.write_bytes(b"not a database, whatever its name says" * 30)
    assert "no SQLite database" in failure(capsys, "run", path)


def test_what_is_wrong_in_a_job_is_one_line(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    numbers(0, 10).write(home / "archive")
    path = write_job(home, output="colour = 'red'")
    assert "job.toml: output.colour: no such key" in failure(capsys, "run", path)
    path = write_job(home)
    path.write_text(path.read_text() + "[recordings]\nstreams = 3\n")
    assert "recordings: there is no condition 'streams'" in failure(capsys, "run", path)
    assert "none.toml: cannot be read" in failure(capsys, "run", home / "none.toml")
    path = write_job(home)
    path.write_text(path.read_text().replace('"archive"', '"nowhere"', 1))
    assert f"{home}/nowhere" in failure(capsys, "run", path)
    assert not (home / "nowhere").exists()


def test_a_store_that_is_not_there_is_named(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers(0, 10).write(home / "archive")
    url = "s3://lake/out?endpoint_override=127.0.0.1:1&scheme=http&region=us-east-1"
    path = write_job(home, to=url)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "not-shown")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    err = failure(capsys, "run", path)
    assert "s3://lake/out" in err
    assert "check its address and credentials" in err
    assert "not-shown" not in err


def test_a_folder_that_is_no_archives_gets_no_database(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_job(home)
    (home / "archive" / DATABASE_NAME).unlink()
    for words in (("run", path, "--dry-run"), ("run", path), ("status", path)):
        code, _, err = said(capsys, *words)
        assert code == 1
        assert "is no archive's folder, it has no archive.catalog" in err
        assert list((home / "archive").iterdir()) == []


def test_a_job_that_is_given_up_is_forgotten(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    numbers(0, 1000).write(home / "archive")
    run_here(write_job(home))
    where = ("--archive-dir", home / "archive")
    policy = ("retention", "plan", "--stream", "10", "--max-size", "64k", "--accept-clock")
    policy += tuple(map(str, where))
    numbers(1000, 3000).write(home / "archive")
    with RecordingCatalog.open(archive_dir=home / "archive") as catalog:
        sync_folder(catalog, home / "archive")
    assert run([*policy]) == 0
    assert "job numbers has not loaded it" in capsys.readouterr().out
    code, _, err = said(capsys, "forget", "letters", *where)
    assert (code, err.splitlines()[0][:39]) == (1, "aerolog: the catalog has no job 'letters"[:39])
    code, out, _ = said(capsys, "forget", "numbers", *where)
    assert (code, out) == (0, "job numbers is forgotten; it had loaded 1 recordings\n")
    assert run([*policy]) == 0
    assert "has not loaded it" not in capsys.readouterr().out
    assert visible(home / "out") != []
