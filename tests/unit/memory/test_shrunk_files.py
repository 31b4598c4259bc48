"""A file that becomes shorter while it is read is an error that names it, and ends no process."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING

import pytest
from prerequisites import needs_mounts, small_disk

from aerolog.transport.errors import FileFormatError
from aerolog.transport.memory.mapped_file import MappedFile

if TYPE_CHECKING:
    from pathlib import Path

PAGE = 4096
READERS = {
    "a view": "bytes(mapped.view())",
    "a word": "mapped.load_i64(3 * 4096)",
    "an error log": "read_error_log(mapped)",
    "a loss report": "read_loss_report(mapped)",
    "counters": "list(CountersReader(mapped, 0, 8 * 4096, 8 * 4096, 8 * 4096))",
}
PROGRAM = """
import sys
from aerolog.transport.errors import FileFormatError
from aerolog.transport.memory.counters import CountersReader
from aerolog.transport.memory.error_log import read_error_log
from aerolog.transport.memory.loss_report import read_loss_report
from aerolog.transport.memory.mapped_file import MappedFile, last_missing

path = sys.argv[1]
with open(path, "wb") as file:
    file.write((512).to_bytes(4, "little") * 16 * 1024)
mapped = MappedFile.open(path, writable=False)
assert last_missing() == (0, "")
with open(path, "r+b") as file:
    file.truncate(4096 if sys.argv[2] == "part" else 0)
try:
    {reader}
    mapped.check()
except FileFormatError as error:
    print(error)
del mapped
print(*last_missing())
"""


def run(program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("left", ["part", "nothing"])
def test_a_reader_is_told_that_its_file_became_shorter(
    tmp_path: Path, reader: str, left: str
) -> None:
    file = tmp_path / "file.dat"
    done = run(PROGRAM.format(reader=READERS[reader]), file, left)
    assert done.returncode == 0, (done.returncode, done.stderr)
    told, shrunk = done.stdout.splitlines()
    assert told.startswith(f"{file} became shorter while it was read: of 65536 bytes those from")
    assert shrunk == f"1 {file} became shorter while it was read"


def test_what_is_left_of_the_file_is_still_read(tmp_path: Path) -> None:
    file = tmp_path / "file.dat"
    file.write_bytes(b"x" * 2 * PAGE)
    mapped = MappedFile.open(str(file), writable=False)
    with file.open("r+b") as opened:
        opened.truncate(PAGE)
    view = memoryview(mapped)
    assert bytes(view[:PAGE]) == b"x" * PAGE
    mapped.check()
    assert bytes(view[PAGE:]) == b"\0" * PAGE
    with pytest.raises(FileFormatError, match="those from offset 4096 on are gone"):
        mapped.check()
    with pytest.raises(FileFormatError, match="became shorter"):
        mapped.view(0, 8)


def test_many_files_are_watched_and_let_go(tmp_path: Path) -> None:
    files = [tmp_path / f"{index}.dat" for index in range(300)]
    for file in files:
        file.write_bytes(b"x" * PAGE)
    opened = [MappedFile.open(str(file), writable=False) for file in files]
    with files[-1].open("r+b") as last:
        last.truncate(0)
    for mapped in opened[:-1]:
        assert bytes(memoryview(mapped)[:1]) == b"x"
        mapped.check()
    assert bytes(memoryview(opened[-1])[:1]) == b"\0"
    with pytest.raises(FileFormatError, match="299.dat became shorter"):
        opened[-1].check()


@needs_mounts
def test_a_hole_on_a_full_memory_disk_is_told_as_want_of_room(tmp_path: Path) -> None:
    program = """
        import os, sys
        from aerolog.transport.errors import StorageSpaceError
        from aerolog.transport.memory.mapped_file import MappedFile, last_missing
        path = sys.argv[1]
        with open(path, "wb") as file:
            file.truncate(4 * 4096)
        mapped = MappedFile.open(path, writable=False)
        free = os.statvfs(path)
        with open(path + ".filler", "wb") as filler:
            os.posix_fallocate(filler.fileno(), 0, free.f_bavail * free.f_frsize)
        print(mapped.load_i64(2 * 4096))
        try:
            mapped.check()
        except StorageSpaceError as error:
            print(error.filename, error.strerror)
        print(*last_missing())
        os.truncate(path, 4096)
        bytes(mapped)
        del mapped
        print(*last_missing())
        """
    with small_disk(tmp_path / "small", 256 * 1024) as disk:
        done = run(program, disk / "file.dat")
    full = f"there is no room in {disk} (full)"
    wanted = f"{full} for its page at offset 8192, which is not written yet"
    assert done.returncode == 0, (done.returncode, done.stderr)
    assert done.stdout.splitlines() == [
        "0",
        f"{disk}/file.dat {wanted}: free some space and read it again",
        f"1 {disk}/file.dat cannot be read whole: {full}",
        f"1 {disk}/file.dat became shorter while it was read",
    ]


def test_a_fault_that_is_not_ours_ends_the_process_as_before(tmp_path: Path) -> None:
    file = tmp_path / "file.dat"
    file.write_bytes(b"x" * PAGE)
    program = """
        import mmap, sys
        from aerolog.transport.memory.mapped_file import MappedFile
        ours = MappedFile.open(sys.argv[1], writable=False)
        file = open(sys.argv[1], "r+b")
        theirs = mmap.mmap(file.fileno(), 4096, prot=mmap.PROT_READ)
        file.truncate(0)
        print(len(bytes(ours)), flush=True)
        theirs[0]
        """
    done = run(program, file)
    assert done.stdout == "4096\n"
    assert done.returncode == -signal.SIGBUS


def test_the_handler_that_was_there_before_gets_what_is_not_ours(tmp_path: Path) -> None:
    file = tmp_path / "file.dat"
    file.write_bytes(b"x" * PAGE)
    program = """
        import faulthandler, os, signal, sys
        faulthandler.enable()
        from aerolog.transport.memory.mapped_file import MappedFile
        ours = MappedFile.open(sys.argv[1], writable=False)
        os.kill(os.getpid(), signal.SIGBUS)
        """
    done = run(program, file)
    assert "Fatal Python error: Bus error" in done.stderr
    assert done.returncode == -signal.SIGBUS
