"""Pipes and devices in place of files: they are refused, and never waited for."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
from typing import TYPE_CHECKING

import pytest

from aerolog.transport.errors import FileFormatError, NoRegularFileError
from aerolog.transport.memory.data_file import DataFile
from aerolog.transport.memory.filesystem import RealFileSystem, read_at_most
from aerolog.transport.memory.mapped_file import MappedFile
from aerolog.transport.memory.regular_file import WHOLE_MAX, open_regular

if TYPE_CHECKING:
    from pathlib import Path

FILES = RealFileSystem()
OPENINGS = {
    "data": DataFile.open,
    "data, writable": lambda path: DataFile.open(path, writable=True, create=True),
    "mapped": lambda path: MappedFile.open(path, writable=False),
    "mapped, writable": MappedFile.open,
    "bytes": FILES.read_bytes,
    "new bytes": lambda path: FILES.write_bytes(path, b"x"),
    "lock": FILES.try_lock,
    "settings": lambda path: read_at_most(path, 100),
}


@pytest.fixture(params=["pipe", "device", "socket", "link to a pipe"])
def odd(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The path of what is no regular file."""
    path = tmp_path / "odd"
    if request.param == "socket":
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(path))
    elif request.param == "device":
        path.symlink_to("/dev/zero")
    else:
        os.mkfifo(tmp_path / "pipe")
        path.symlink_to("pipe")
    return str(tmp_path / "pipe") if request.param == "pipe" else str(path)


@pytest.mark.parametrize("opening", OPENINGS)
def test_what_is_no_regular_file_is_refused_at_once(odd: str, opening: str) -> None:
    with pytest.raises(NoRegularFileError, match="no regular file, but a pipe or a device") as told:
        OPENINGS[opening](odd)
    assert told.value.filename == odd


def test_nobody_has_a_pipe_for_certain(odd: str) -> None:
    assert FILES.is_unused(odd) is False


@pytest.mark.parametrize("opening", ["data", "data, writable", "bytes", "new bytes"])
def test_the_error_of_a_folder_is_the_system_s(tmp_path: Path, opening: str) -> None:
    def read() -> None:
        opened = OPENINGS[opening](str(tmp_path))
        if isinstance(opened, DataFile):
            opened.read_at(1, 0)

    with pytest.raises(IsADirectoryError) as told:
        read()
    assert told.value.filename == str(tmp_path)
    with pytest.raises(OSError, match="No such device"):
        OPENINGS["mapped"](str(tmp_path))


def test_a_file_is_waited_for_while_somebody_asks_who_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x")
    leased = os.open(path, os.O_RDONLY)
    fcntl.fcntl(leased, fcntl.F_SETSIG, 0)
    fcntl.fcntl(leased, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    opened: list[int] = []
    opening = os.open

    def end_lease(*arguments: int, **options: int) -> int:
        opened.append(arguments[1])
        if len(opened) == 2:
            os.close(leased)
        return opening(*arguments, **options)

    monkeypatch.setattr(os, "open", end_lease)
    handler = signal.signal(signal.SIGIO, lambda *_: None)
    try:
        os.close(open_regular(path, os.O_RDWR))
    finally:
        signal.signal(signal.SIGIO, handler)
    assert [bool(flags & os.O_NONBLOCK) for flags in opened] == [True, False]


def test_what_this_process_has_open_may_be_a_pipe(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.write(writer, b"settings")
    os.close(writer)
    try:
        assert read_at_most(f"/dev/fd/{reader}", 100) == b"settings"
    finally:
        os.close(reader)


def test_a_file_is_opened_to_wait_as_usual_and_for_nobody_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x")
    fd = open_regular(path)
    try:
        assert os.get_blocking(fd)
        assert not os.get_inheritable(fd)
    finally:
        os.close(fd)


def test_a_file_that_is_too_long_to_be_read_whole_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with path.open("wb") as file:
        file.truncate(WHOLE_MAX)
    assert len(FILES.read_bytes(str(path))) == WHOLE_MAX
    with path.open("r+b") as file:
        file.truncate(WHOLE_MAX + 1)
    with pytest.raises(FileFormatError, match=r"journal\.jsonl: it has over \d+ bytes"):
        FILES.read_bytes(str(path))
