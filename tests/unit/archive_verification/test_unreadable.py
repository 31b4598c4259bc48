"""What cannot be read is not damaged: a finding of its own, no repair, and nothing overwritten.

Permissions are real ones, of a process without the right to pass them over. Errors of a disk come
from the file system's own methods, and from a descriptor on which every read fails.
"""

from __future__ import annotations

import errno
import json
import os
from typing import TYPE_CHECKING

import pytest
from unprivileged import forbid, run_unprivileged

from aerolog.archive.format.archive_folder import ArchiveFolder
from aerolog.archive.verification import Health, Kind, verify_recording
from aerolog.archive.verification.health_file import HealthWriter, read_health
from aerolog.archive.verification.layout import health_path
from aerolog.testing.recordings import RecordingBuilder
from aerolog.tools.main import main
from aerolog.transport.memory.data_file import DataFile
from aerolog.transport.memory.filesystem import RealFileSystem

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SEGMENT = 64 * 1024
LAST = f"0-{3 * SEGMENT}.rec"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A recording of four segments."""
    folder = tmp_path / "archive"
    folder.mkdir()
    builder = RecordingBuilder()
    for number in range(210):
        builder.add(bytes([number % 251 + 1]) * 1000)
    builder.write(folder)
    return folder


@pytest.fixture
def fail_with(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Lets a file of the folder fail to open with an error number."""
    opened = RealFileSystem.open_data_file

    def fail_with(number: int, name: str = LAST) -> None:
        def open_data_file(files: RealFileSystem, path: str, **options: bool) -> DataFile:
            if path == f"{folder}/{name}":
                raise OSError(number, os.strerror(number), path)
            return opened(files, path, **options)

        monkeypatch.setattr(RealFileSystem, "open_data_file", open_data_file)

    return fail_with


def content(folder: Path) -> dict[str, bytes]:
    """What is in a folder, but for what may not be read."""
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): path.read_bytes() for path in paths}


def only(found: list) -> tuple[Kind, int]:
    (finding,) = found
    return finding.kind, finding.position


@pytest.mark.parametrize(
    "number", [errno.EACCES, errno.EPERM, errno.EIO, errno.EBUSY, errno.ESTALE, errno.ENXIO]
)
def test_a_file_that_does_not_open_is_unreadable_and_noted_as_that(
    number: int, folder: Path, fail_with: Callable
) -> None:
    assert verify_recording(folder, 0, note=True) == []
    before = Health.open(folder, 0).segments
    fail_with(number)

    found = verify_recording(folder, 0, note=True)

    assert only(found) == (Kind.UNREADABLE, 3 * SEGMENT)
    assert os.strerror(number) in found[0].text
    health = Health.open(folder, 0)
    assert health.state == "unreadable"
    assert health.bad_segments == []
    assert [one.xxh3 for one in health.segments] == [one.xxh3 for one in before]


def test_reads_that_fail_are_no_damage(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreadable(files: RealFileSystem, path: str, **options: bool) -> DataFile:
        del files, options
        return DataFile.from_descriptor(os.open(path, os.O_WRONLY), path, writable=False)

    monkeypatch.setattr(RealFileSystem, "open_data_file", unreadable)
    found = verify_recording(folder, 0)
    assert {one.kind for one in found} == {Kind.UNREADABLE}


def test_what_a_permission_forbids_is_told_and_not_repaired(folder: Path) -> None:
    before = content(folder)
    forbid(folder / LAST)

    for arguments in (("--repair-plan",), ("--repair", "--yes")):
        done = run_unprivileged("verify", "--archive-dir", folder, *arguments)

        assert done.returncode == 1
        told = done.stdout + done.stderr
        assert "the segment cannot be read: Permission denied" in told
        assert "1 recording(s) cannot be read" in told
        assert "repair: end" not in told
        assert "INVALID" not in told
        assert "not sound" not in told
    assert content(folder) == before


def test_damage_beside_what_cannot_be_read_is_not_cut_off(folder: Path) -> None:
    with (folder / f"0-{2 * SEGMENT}.rec").open("r+b") as file:
        file.seek(6)
        file.write(b"\x09")
    before = content(folder)
    forbid(folder / LAST)
    done = run_unprivileged("verify", "--archive-dir", folder, "--repair", "--yes")
    assert "nothing helps" in done.stderr
    assert "1 recording(s) are not sound" in done.stdout
    assert content(folder) == before


def test_the_end_of_a_recording_that_cannot_be_read_is_no_damaged_catalog(tmp_path: Path) -> None:
    builder = RecordingBuilder()
    builder.add(b"first")
    builder.write(tmp_path, stopped=False)
    forbid(tmp_path / "0-0.rec")

    done = run_unprivileged("verify", "--archive-dir", tmp_path, "--json")

    assert done.returncode == 1, done.stderr
    (row,) = json.loads(done.stdout)["recordings"]
    (finding,) = row["findings"]
    assert finding["kind"] == "unreadable"
    assert "explain" not in finding["remedy"]


def test_a_link_that_leads_nowhere_is_a_mount_that_is_missing(folder: Path, capfd) -> None:
    (folder / LAST).unlink()
    (folder / LAST).symlink_to("/mnt/of-nobody/0-196608.rec")

    assert only(verify_recording(folder, 0)) == (Kind.UNREADABLE, 3 * SEGMENT)

    assert main(["verify", "--archive-dir", str(folder), "--repair", "--yes"]) == 1
    assert "mounted" in capfd.readouterr().out
    assert (folder / LAST).is_symlink()


@pytest.mark.parametrize("is_empty", [True, False])
def test_a_folder_that_is_not_mounted_is_told_to_be_that(
    tmp_path: Path, is_empty: bool, capfd
) -> None:
    if is_empty:
        (tmp_path / "gone").mkdir()
    assert main(["verify", "--archive-dir", str(tmp_path / "gone")]) == 1
    assert "mount" in capfd.readouterr().err


def test_a_health_file_that_cannot_be_read_is_not_written_over(folder: Path) -> None:
    assert verify_recording(folder, 0, note=True) == []
    path = health_path(str(folder), 0)
    before = content(folder)
    forbid(folder / "aerolog" / "health" / "0.health")

    done = run_unprivileged("verify", "--archive-dir", folder, "--note")

    assert done.returncode == 1
    assert path in done.stderr + done.stdout
    assert content(folder) == before


def test_a_health_file_that_can_be_read_again_is_written_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert verify_recording(folder, 0, note=True) == []
    with ArchiveFolder(folder) as archive:
        descriptor = archive.recording(0).descriptor
    files, path = RealFileSystem(), str(folder)
    read = RealFileSystem.read_bytes

    def fails(files: RealFileSystem, path: str) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO), path)

    monkeypatch.setattr(RealFileSystem, "read_bytes", fails)
    writer = HealthWriter(files, path, descriptor)
    record = next(iter(read_before(files, path, descriptor, read).by_base.values()))
    with pytest.raises(OSError, match="Input/output"):
        writer.note(record)
    monkeypatch.setattr(RealFileSystem, "read_bytes", read)
    writer.note(record)
    assert len(read_health(files, path, descriptor).by_base) == 4


def read_before(files, path, descriptor, read):
    """What the health file held before it could not be read."""

    class Reading(RealFileSystem):
        def read_bytes(self, path: str) -> bytes:
            return read(files, path)

    return read_health(Reading(), path, descriptor)
