"""A folder that is mounted read-only: what only reads works, and what would write says so."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from prerequisites import MOUNT_NAMESPACE, needs_mount_namespace

from aerolog.catalog.index import RecordingCatalog, sync_folder

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = needs_mount_namespace

#: Mounts a folder read-only where it is, and runs the rest of the arguments.
_READ_ONLY = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@"'


@pytest.fixture
def synced(folder: Path) -> Path:
    """An archive's folder with a SQL catalog."""
    with RecordingCatalog.open(archive_dir=folder) as catalog:
        sync_folder(catalog, folder)
    return folder


def on_read_only(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command of aerolog that sees the folder read-only."""
    own = (sys.executable, "-m", "aerolog", *arguments, "--archive-dir", str(folder))
    return subprocess.run(
        (*MOUNT_NAMESPACE, "sh", "-c", _READ_ONLY, "sh", str(folder), *own),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_search_and_sql_answer(synced: Path) -> None:
    found = on_read_only(synced, "catalog", "search", "--json")
    assert (found.returncode, found.stderr) == (0, "")
    assert sorted(one["recording_id"] for one in json.loads(found.stdout)) == [0, 1, 2, 3]
    query = "SELECT count(*) AS messages FROM frames WHERE recording_id = 1"
    asked = on_read_only(synced, "catalog", "sql", query, "--json")
    assert (asked.returncode, asked.stderr) == (0, "")
    assert json.loads(asked.stdout) == {"messages": 200}


def test_an_export_warns_once_that_it_is_not_noted(synced: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    exported = on_read_only(synced, "export", "1", "2", "--to", str(out), "--time-source", "none")
    assert exported.returncode == 0, exported.stderr
    (warned,) = exported.stderr.splitlines()
    assert warned.startswith(f"the export is not noted in the catalog: {synced} is read-only")
    assert pq.read_metadata(out / "recording-1.parquet").num_rows == 200


def test_a_catalog_elsewhere_is_searched_and_gets_no_notes(folder: Path, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'fleet.db'}"
    synced = on_read_only(folder, "catalog", "sync", "--catalog", url)
    assert synced.returncode == 0, synced.stderr
    out = tmp_path / "out"
    exported = on_read_only(folder, "export", "1", "--catalog", url, "--to", str(out))
    assert exported.returncode == 0, exported.stderr
    assert exported.stderr.count("is not noted") == 1


@pytest.mark.parametrize("command", [("sync",), ("tag", "1", "--set", "a=b")])
def test_what_would_write_says_so(synced: Path, command: tuple[str, ...]) -> None:
    refused = on_read_only(synced, "catalog", *command)
    assert refused.returncode == 1
    assert refused.stderr.startswith("aerolog: ")
    assert "read-only" in refused.stderr or "make the folder writable" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1


def test_a_log_that_was_left_there_is_read_too(synced: Path) -> None:
    database = synced / "aerolog-catalog.db"
    # A process that is killed leaves the log of the database and its index behind.
    program = (
        "import os, sqlite3, sys; c = sqlite3.connect(sys.argv[1]);"
        "c.execute('DELETE FROM time_index'); c.execute('DELETE FROM segments');"
        "c.execute('DELETE FROM recordings WHERE recording_id = 3');"
        "c.commit(); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", program, str(database)], check=True, timeout=30)
    assert database.with_name(f"{database.name}-wal").stat().st_size > 0
    found = on_read_only(synced, "catalog", "search", "--json")
    assert (found.returncode, found.stderr) == (0, "")
    assert sorted(one["recording_id"] for one in json.loads(found.stdout)) == [0, 1, 2]


def test_nothing_appears_in_the_folder(synced: Path) -> None:
    before = sorted(path.name for path in synced.iterdir())
    assert on_read_only(synced, "catalog", "search").returncode == 0
    assert sorted(path.name for path in synced.iterdir()) == before
    with sqlite3.connect(synced / "aerolog-catalog.db") as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
