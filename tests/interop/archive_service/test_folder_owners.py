"""Who owns an archive's folder: a live archive keeps it, wherever it runs, and a loser stops."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from prerequisites import PROCESS_NAMESPACE, needs_process_namespace
from shared_memory import memory_path
from waits import wait_until

from aerolog.archive.format.mark_file import ArchiveMarkFile

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.interop, needs_process_namespace]

IMPLEMENTATIONS = pytest.mark.parametrize("owner", ["ours", "reference"])
AT_ONCE_S = 8.0  # less than the ten seconds after which an owner that is silent is dead


@contextmanager
def newcomer(
    folder: Path, prefix: tuple[str, ...] = PROCESS_NAMESPACE
) -> Iterator[subprocess.Popen[str]]:
    """Our archive on a folder, in a container that sees no other process."""
    aeron_dir = memory_path("newcomer")
    arguments = [f"-Daeron.dir={aeron_dir}", f"-Daeron.archive.dir={folder}"]
    arguments += ["-Daeron.threading.mode=SHARED", "-Daeron.archive.control.channel.enabled=false"]
    process = subprocess.Popen(
        [*prefix, sys.executable, "-m", "aerolog.tools.main", "archiving-driver", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate()
        shutil.rmtree(aeron_dir, ignore_errors=True)


def ready(process: subprocess.Popen[str], seconds: float) -> str:
    """The first line on stdout within so many seconds, "" without one."""
    assert process.stdout is not None
    found, _, _ = select.select([process.stdout], [], [], seconds)
    return process.stdout.readline() if found else ""


@IMPLEMENTATIONS
def test_a_live_archive_in_another_container_keeps_its_folder(
    start_server, tmp_path: Path, owner: str
) -> None:
    folder = tmp_path / "archive"
    server = start_server(owner, "archiving-driver", archive_dir=folder)
    before = ArchiveMarkFile.open(folder).header
    with newcomer(folder) as process:
        _, errors = process.communicate(timeout=30)
    assert process.returncode != 0
    assert "active mark file detected" in errors
    after = ArchiveMarkFile.open(folder).header
    assert (after.pid, after.start_timestamp) == (before.pid, before.start_timestamp)
    assert server.process.running


@IMPLEMENTATIONS
def test_the_folder_of_a_killed_archive_is_free_at_once(
    start_server, tmp_path: Path, owner: str
) -> None:
    folder = tmp_path / "archive"
    server = start_server(owner, "archiving-driver", archive_dir=folder)
    server.process.kill()
    with newcomer(folder) as process:
        assert "ready" in ready(process, AT_ONCE_S)


def test_an_archive_that_stood_still_and_lost_its_folder_stops_and_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "archive"
    folder.mkdir()
    with newcomer(folder, prefix=()) as first:
        assert "ready" in ready(first, 30)
        os.kill(first.pid, signal.SIGSTOP)
        # Ten seconds, as in the reference, which no property changes.
        wait_until(
            lambda: not ArchiveMarkFile.open(folder).is_active(), "the sign of life to be old"
        )
        aeron_dir = tmp_path / "aeron"
        second = subprocess.Popen(
            [sys.executable, "-m", "aerolog.tools.main", "archiving-driver",
             f"-Daeron.dir={aeron_dir}", f"-Daeron.archive.dir={folder}",
             "-Daeron.threading.mode=SHARED", "-Daeron.archive.control.channel.enabled=false"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            assert "ready" in ready(second, 30)
            owned = ArchiveMarkFile.open(folder).header
            os.kill(first.pid, signal.SIGCONT)
            _, errors = first.communicate(timeout=30)
            assert first.returncode == 1
            assert f"process {second.pid} has taken {folder}/archive-mark.dat over" in errors
            now = ArchiveMarkFile.open(folder)
            assert now.is_active()
            assert (now.header.pid, now.header.start_timestamp) == (
                owned.pid, owned.start_timestamp,
            )  # fmt: skip
        finally:
            second.kill()
            second.communicate()
