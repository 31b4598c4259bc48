"""Exports that are killed anywhere go on, and end with the bytes of one that was not."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from shared_memory import memory_folder, memory_path

from aerolog.testing.recordings import RecordingBuilder

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.timeout(400)

PROGRAM = Path(__file__).parent / "killed_export.py"


@pytest.fixture(scope="module")
def archive() -> Iterator[Path]:
    """Three recordings: long, with messages that are no text, empty but for padding."""
    folder = memory_path("exports")
    folder.mkdir()
    long = RecordingBuilder()
    for index in range(400):
        long.add(f"{index} {'m' * (index * 37 % 1500)}".encode())
    long.write(folder)
    mixed = RecordingBuilder(stream_id=11)
    for index in range(200):
        mixed.add(b"\xff\xfe" + bytes(9) if index % 7 == 0 else b"text %d" % index * 40)
    mixed.write(folder, stopped=False)
    padded = RecordingBuilder(stream_id=12)
    padded.pad()
    padded.write(folder)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def work() -> Iterator[Path]:
    with memory_folder() as folder:
        yield folder


def rounds(archive: Path, work: Path, *arguments: str) -> int:
    done = subprocess.run(
        [sys.executable, PROGRAM, archive, work, *arguments],
        capture_output=True,
        text=True,
        timeout=380,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


# Some places all over the export; `slow` has all of them.
@pytest.mark.parametrize(
    ("kind", "first", "step"),
    [("parts", "1", "41"), ("decoded", "2", "59"), ("whole", "1", "17"), ("replaced", "1", "23")],
)
def test_an_export_killed_at_a_write_goes_on_to_the_same_bytes(
    archive: Path, work: Path, kind: str, first: str, step: str
) -> None:
    assert rounds(archive, work, kind, "at", first, step) >= 5


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["parts", "decoded", "whole", "replaced"])
def test_an_export_killed_at_any_write_goes_on_to_the_same_bytes(
    archive: Path, work: Path, kind: str
) -> None:
    assert rounds(archive, work, kind, "at", "1", "1") >= 40


@pytest.mark.parametrize("kind", ["parts", "decoded"])
def test_an_export_killed_again_and_again_goes_on_to_the_same_bytes(
    archive: Path, work: Path, kind: str
) -> None:
    assert rounds(archive, work, kind, "after", "7", "4") >= 1
