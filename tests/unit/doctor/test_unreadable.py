"""What cannot be read is not damaged: findings of their own, without a repair.

Permissions are real ones, of a process without the right to pass them over. Links lead to what is
not there, as links to a file system that is not mounted.
"""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest
from unprivileged import forbid, run_unprivileged

from aerolog.archive.time_index import index_path
from aerolog.archive.verification import verify_recording
from aerolog.testing.recordings import RecordingBuilder, write_time_index
from aerolog.tools.doctor.check_groups import all_kinds, examine
from aerolog.tools.doctor.examination import Examination
from aerolog.tools.doctor.system_snapshot import Case
from aerolog.tools.main import main
from aerolog.transport.memory.data_file import DataFile
from aerolog.transport.memory.filesystem import RealFileSystem

from .driver_files import DriverFiles

TERM = 64 * 1024
#: What tells of damage, or how to repair it.
DAMAGE = {
    "segment-damaged", "segment-missing", "segment-cut", "segments-beside", "segments-orphaned",
    "checksum-wrong", "catalog-damaged", "archive-damaged", "health-damaged", "health-missing",
    "health-changed", "index-damaged", "index-stale",
}  # fmt: skip
LAST = f"0-{3 * TERM}.rec"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A recording of four segments, stopped."""
    made = tmp_path / "archive"
    made.mkdir()
    write_recording(made)
    return made


def write_recording(folder: Path, *, stopped: bool = True) -> None:
    builder = RecordingBuilder()
    for n in range(210):
        builder.add(bytes([n]) * 1000)
    builder.write(folder, stopped=stopped)


def found_without_rights(folder: Path, *options: str) -> dict[str, dict]:
    """Findings by code, of a user whom permissions bind."""
    done = run_unprivileged("doctor", "--archive-dir", folder, "--interval", 0, "--json", *options)
    assert done.returncode in {3, 4}, done.stderr
    return {one["code"]: one for one in json.loads(done.stdout)["findings"]}


def found_in(folder: Path, **options: bool) -> dict:
    """Findings of one look, by code."""
    return {
        one.code: one
        for one in examine(Case(Examination(archive_dir=str(folder), **options).look()))
    }


def fail_opens(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Lets no segment open."""
    opened = RealFileSystem.open_data_file

    def open_data_file(files: RealFileSystem, path: str, **options: bool) -> DataFile:
        if path.endswith(".rec"):
            raise OSError(number, os.strerror(number), path)
        return opened(files, path, **options)

    monkeypatch.setattr(RealFileSystem, "open_data_file", open_data_file)


def test_the_codes_of_damage_are_known() -> None:
    assert {kind.code for kind in all_kinds()} >= DAMAGE


@pytest.mark.parametrize("options", [(), ("--deep",)])
@pytest.mark.parametrize("name", ["0-0.rec", f"0-{TERM}.rec", LAST])
def test_a_segment_that_may_not_be_read(folder: Path, name: str, options: tuple[str, ...]) -> None:
    forbid(folder / name)
    found = found_without_rights(folder, *options)
    assert not DAMAGE & found.keys()
    finding = found["segment-unreadable"]
    assert (finding["severity"], finding["subject"]) == ("warning", "recording 0")
    assert "Permission denied" in finding["what"]
    assert name in finding["what"]


def test_the_last_segment_of_a_recording_without_an_end(tmp_path: Path) -> None:
    write_recording(tmp_path, stopped=False)
    forbid(tmp_path / LAST)
    found = found_without_rights(tmp_path)
    assert not DAMAGE & found.keys()
    assert LAST in found["segment-unreadable"]["what"]


@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("stopped", [False, True])
@pytest.mark.parametrize("base", [TERM, 3 * TERM])
def test_a_link_to_what_is_not_mounted(
    tmp_path: Path, base: int, stopped: bool, deep: bool
) -> None:
    write_recording(tmp_path, stopped=stopped)
    path = tmp_path / f"0-{base}.rec"
    path.unlink()
    path.symlink_to(f"/mnt/of-nobody/0-{base}.rec")
    found = found_in(tmp_path, deep=deep)
    assert not DAMAGE & found.keys()
    assert found["segment-unreadable"].figures["files"] == path.name


@pytest.mark.parametrize("number", [errno.EIO, errno.EBUSY, errno.ESTALE, errno.ENXIO])
def test_a_disk_that_fails(folder: Path, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_opens(monkeypatch, number)
    for deep in (False, True):
        found = found_in(folder, deep=deep)
        assert not DAMAGE & found.keys()
        assert os.strerror(number) in found["segment-unreadable"].what


def test_reads_that_fail_in_the_middle(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreadable(files: RealFileSystem, path: str, **options: bool) -> DataFile:
        del files, options
        return DataFile.from_descriptor(os.open(path, os.O_WRONLY), path, writable=False)

    monkeypatch.setattr(RealFileSystem, "open_data_file", unreadable)
    found = found_in(folder, deep=True)
    assert not DAMAGE & found.keys()
    assert "segment-unreadable" in found


def test_what_verification_could_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        fail_opens(patched, errno.EIO)
        assert len(verify_recording(folder, 0, note=True)) == 4
    found = found_in(folder)
    assert not DAMAGE & found.keys()
    assert found["health-segments-unreadable"].figures["count"] == 4


@pytest.mark.parametrize("name", ["archive.catalog", "archive-mark.dat"])
def test_a_file_of_the_archive_that_may_not_be_read(folder: Path, name: str, tmp_path) -> None:
    (folder / "archive-mark.dat").touch()
    forbid(folder / name)
    driver = tmp_path / "nothing"
    done = run_unprivileged(
        "doctor", "--archive-dir", folder, "--aeron-dir", driver, "--interval", 0, "--json"
    )
    if name == "archive.catalog":
        assert done.returncode == 1
        assert "Permission denied: run this as the user that owns it" in done.stderr
        return
    found = {one["code"]: one for one in json.loads(done.stdout)["findings"]}
    assert not DAMAGE & found.keys()
    assert "Permission denied" in found["archive-mark-unreadable"]["what"]


def test_an_index_that_may_not_be_read_is_neither_damaged_nor_made_anew(folder: Path) -> None:
    write_time_index(folder, 0, [(1_700_000_000_000_000_000, 0)])
    path = Path(index_path(str(folder), 0))
    before = path.read_bytes()
    forbid(path)

    found = found_without_rights(folder)
    done = run_unprivileged("recordings", "times", 0, "--archive-dir", folder, "--rebuild")

    assert not DAMAGE & found.keys()
    assert "Permission denied" in found["index-unreadable"]["what"]
    assert "--rebuild" not in found["index-unreadable"]["remedy"]
    assert done.returncode == 1
    assert "Permission denied" in done.stderr
    assert path.read_bytes() == before


@pytest.mark.parametrize("is_empty", [True, False])
def test_an_archive_that_is_not_mounted(
    is_empty: bool, tmp_path: Path, files: DriverFiles, capsys: pytest.CaptureFixture[str]
) -> None:
    where = tmp_path / "gone"
    if is_empty:
        where.mkdir()
    main(
        ["doctor", "--interval", "0", "--json", "--aeron-dir", str(files.folder),
         "--archive-dir", str(where)]
    )  # fmt: skip
    found = {one["code"]: one for one in json.loads(capsys.readouterr().out)["findings"]}
    assert not DAMAGE & found.keys()
    assert "mount" in found["archive-unreadable"]["what"]
    assert "before an archive starts" in found["archive-unreadable"]["remedy"]


def test_a_damaged_catalog_is_told_from_one_that_cannot_be_read(
    folder: Path, files: DriverFiles, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "archive.catalog").write_bytes(b"nothing of a catalog")
    main(
        ["doctor", "--interval", "0", "--json", "--aeron-dir", str(files.folder),
         "--archive-dir", str(folder)]
    )  # fmt: skip
    found = {one["code"] for one in json.loads(capsys.readouterr().out)["findings"]}
    assert "archive-damaged" in found
    assert "archive-unreadable" not in found


@pytest.fixture
def files(tmp_path: Path) -> DriverFiles:
    """A driver that lives."""
    return DriverFiles(tmp_path / "aeron")
