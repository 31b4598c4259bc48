"""Files that are checked and brought to disk while they are written."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from aerolog.catalog.export import durable_file
from aerolog.catalog.export.checksum import RunningChecksum
from aerolog.catalog.export.durable_file import DurableFile
from aerolog.catalog.export.store import FolderStore

if TYPE_CHECKING:
    from pathlib import Path

PIECES = [bytes([number]) * (1000 + number) for number in range(100)]


@pytest.fixture
def short_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(durable_file, "STEP_LENGTH", 4096)


def whole(data: bytes) -> str:
    checksum = RunningChecksum()
    checksum.update(data)
    return checksum.text


@pytest.mark.parametrize("count", [0, 1, 100])
def test_the_checksum_is_that_of_all_bytes(short_steps: None, tmp_path: Path, count: int) -> None:
    target = FolderStore(tmp_path)
    with target.lock(), target.create("a/file") as sink:
        for piece in PIECES[:count]:
            sink.write(piece)
        found = sink.finished_checksum()

    assert (tmp_path / "a/file").read_bytes() == b"".join(PIECES[:count])
    assert found == whole(b"".join(PIECES[:count]))


def test_a_disk_that_does_not_take_it_is_told(
    short_steps: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(durable_file.os, "fdatasync", full)
    target = FolderStore(tmp_path)

    with (
        target.lock(),
        pytest.raises(OSError, match="No space left"),
        target.create("file") as sink,
    ):
        for piece in PIECES:
            sink.write(piece)
        sink.finished_checksum()

    assert not (tmp_path / "file").exists()


def test_a_file_that_is_shorter_than_was_written_is_told(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    fd = os.open(path, os.O_RDWR)
    try:
        with pytest.raises(OSError, match="ends at 5, 6 bytes were written"):
            DurableFile(fd).finish(6)
    finally:
        os.close(fd)
