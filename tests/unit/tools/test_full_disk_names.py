"""On a full disk every error names the file that could not be written."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from prerequisites import needs_mounts, small_disk

from aerolog.catalog.export.store import FolderStore
from aerolog.catalog.index.errors import JournalError
from aerolog.catalog.index.journal_file import JOURNAL_NAME, JournalFile
from aerolog.tools.wireshark.plugin_folder import place
from aerolog.transport.errors import StorageSpaceError
from aerolog.transport.memory.filesystem import RealFileSystem
from aerolog.transport.security.passwords import set_password

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Path]:
    """A disk without a free byte, which still takes empty files."""
    with small_disk(tmp_path / "disk", 256 * 1024) as disk:
        (disk / "_temporary").mkdir()
        (disk / "man1").mkdir()
        free = os.statvfs(disk)
        with (disk / "filler").open("wb") as filler:
            os.posix_fallocate(filler.fileno(), 0, free.f_bavail * free.f_frsize)
        yield disk


def export(disk: Path) -> None:
    FolderStore(disk).write("recording-0.parquet", b"x" * 8192)


WRITERS: dict[str, Callable[[Path], object]] = {
    "a small file": lambda disk: RealFileSystem().write_bytes(str(disk / "small"), b"x"),
    "an export": export,
    "passwords": lambda disk: set_password(disk / "users", "me", "secret", log_n=4),
    "a dissector": lambda disk: place("lua", disk),
}


@needs_mounts
@pytest.mark.parametrize("writer", WRITERS)
def test_an_error_names_the_file_that_has_no_room(full: Path, writer: str) -> None:
    with pytest.raises(StorageSpaceError) as told:
        WRITERS[writer](full)
    assert told.value.errno == errno.ENOSPC
    assert told.value.filename.startswith(f"{full}/")
    assert told.value.filename in str(told.value)


@needs_mounts
def test_a_journal_that_cannot_be_begun_is_named(full: Path) -> None:
    with (
        pytest.raises(JournalError, match=rf"{full}/{JOURNAL_NAME} cannot be written: No space"),
        JournalFile.locked(full, create=True),
    ):
        pass
    (full / "filler").unlink()
    with JournalFile.locked(full, create=True) as journal:
        assert journal is not None
        assert list(journal.lines()) == []


@needs_mounts
def test_a_manual_page_that_cannot_be_written_is_named(full: Path) -> None:
    done = run("man", "--to", str(full))
    assert done.returncode == 1
    assert done.stderr.startswith(f"aerolog: {full}/man1/")
    assert done.stderr.endswith(": No space left on device\n")


@pytest.mark.parametrize("command", [["doctor", "--list"], ["--version"], ["stat", "--help"]])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_that_has_no_room_is_named(command: list[str], unbuffered: str) -> None:
    with Path("/dev/full").open("wb") as output:
        done = run(*command, stdout=output, unbuffered=unbuffered)
    assert (done.returncode, done.stderr) == (
        1,
        "aerolog: standard output: No space left on device\n",
    )


def run(
    *command: str, stdout: object = None, unbuffered: str = ""
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "aerolog", *command],
        stdout=stdout,  # type: ignore[call-overload]
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        text=True,
        timeout=60,
        check=False,
    )
