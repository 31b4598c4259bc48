"""The mark file: claim, signs of life, errors, damage (spec archive-files 13)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from aerolog.archive.format.mark_file import ArchiveMarkFile, mark_file_dir
from aerolog.archive.protocol.mark_header import MarkFileHeader
from aerolog.transport.concurrent.clock import ManualClock
from aerolog.transport.errors import ActiveArchiveError, ConfigurationError, FileFormatError
from aerolog.transport.memory.mark_file import ACTIVATION_IN_PROGRESS, LIVENESS_TIMEOUT_MS

NAME = "archive-mark.dat"


def header(**changes: object) -> MarkFileHeader:
    values: dict[str, object] = {
        "start_timestamp": 5,
        "pid": os.getpid(),
        "control_stream_id": 10,
        "local_control_stream_id": 10,
        "events_stream_id": 30,
        "archive_id": 101,
        "control_channel": "aeron:udp?endpoint=localhost:22500",
        "local_control_channel": "aeron:ipc?term-length=64k",
        "events_channel": "",
        "aeron_directory": "aeron",
    }
    return MarkFileHeader(**(values | changes))


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(epoch_ms=1_700_000_000_000)


def claim(folder: Path, clock: ManualClock, **changes: object) -> ArchiveMarkFile:
    return ArchiveMarkFile.claim(folder, header(**changes), clock=clock)


def gone_pid() -> int:
    """The id of a process that ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_a_claimed_file_has_the_stated_bytes(tmp_path: Path, clock: ManualClock) -> None:
    mark = claim(tmp_path, clock, pid=976)
    content = (tmp_path / NAME).read_bytes()
    assert len(content) == 1056768
    assert content[:8] == bytes.fromhex("8000c80064000200")
    assert content[8:24] == bytes(16)
    assert content[32:72] == bytes.fromhex(
        "d003000000000000 0a0000000a000000 1e00000000200000 0000100000000000 6500000000000000"
    )
    assert content[136:140] == (34).to_bytes(4, "little")
    mark.ready()
    content = (tmp_path / NAME).read_bytes()
    assert content[8:12] == bytes.fromhex("00010300")
    assert int.from_bytes(content[16:24], "little") == clock.now_epoch_ms()


def test_a_reader_sees_all_fields(tmp_path: Path, clock: ManualClock) -> None:
    claim(tmp_path, clock).ready()
    seen = ArchiveMarkFile.open(tmp_path, clock=clock)
    assert seen.header == header(version=0x00030100, activity_timestamp=clock.now_epoch_ms())
    assert seen.is_active()


def test_a_beating_archive_is_active_and_a_silent_one_is_not(
    tmp_path: Path, clock: ManualClock
) -> None:
    mark = claim(tmp_path, clock)
    mark.ready()
    clock.advance_ns(LIVENESS_TIMEOUT_MS * 1_000_000)
    assert not mark.is_active()
    mark.beat()
    assert mark.is_active()
    mark.terminated()
    assert mark.activity_timestamp == -1
    assert not mark.is_active()


def test_a_live_archive_keeps_its_folder(tmp_path: Path, clock: ManualClock) -> None:
    first = claim(tmp_path, clock)
    first.ready()
    with pytest.raises(ActiveArchiveError, match=f"active mark file detected: .*{os.getpid()}"):
        claim(tmp_path, clock, archive_id=7)
    assert first.header.archive_id == 101


def test_a_silent_archive_loses_its_folder(tmp_path: Path, clock: ManualClock) -> None:
    claim(tmp_path, clock).ready()
    clock.advance_ns(LIVENESS_TIMEOUT_MS * 1_000_000)
    second = claim(tmp_path, clock, archive_id=7)
    assert second.activity_timestamp == ACTIVATION_IN_PROGRESS
    second.ready()
    assert second.header.archive_id == 7


def test_a_folder_of_a_process_that_is_gone_is_free_at_once(
    tmp_path: Path, clock: ManualClock
) -> None:
    first = claim(tmp_path, clock, pid=gone_pid())
    first.ready()
    assert first.is_active()
    del first  # its process has ended: nobody has the file open
    assert claim(tmp_path, clock).header.pid == os.getpid()


def test_a_live_archive_whose_process_is_not_seen_here_keeps_its_folder(
    tmp_path: Path, clock: ManualClock
) -> None:
    first = claim(tmp_path, clock, pid=gone_pid())
    first.ready()
    with pytest.raises(ActiveArchiveError, match="active mark file detected"):
        claim(tmp_path, clock)
    clock.advance_ns(LIVENESS_TIMEOUT_MS * 1_000_000 - 1_000_000)
    with pytest.raises(ActiveArchiveError, match="active mark file detected"):
        claim(tmp_path, clock)
    first.beat()
    assert first.is_owned


def test_an_archive_that_lost_its_folder_stops_and_writes_nothing(
    tmp_path: Path, clock: ManualClock
) -> None:
    first = claim(tmp_path, clock, start_timestamp=1)
    first.ready()
    clock.advance_ns(LIVENESS_TIMEOUT_MS * 1_000_000)
    second = claim(tmp_path, clock, start_timestamp=2)
    second.ready()
    before = (tmp_path / NAME).read_bytes()
    clock.advance_ns(1_000_000_000)
    with pytest.raises(ActiveArchiveError, match=f"process {os.getpid()} has taken .* over"):
        first.beat()
    first.terminated()
    first.given_up()
    assert (tmp_path / NAME).read_bytes() == before
    second.beat()


def test_an_archive_whose_mark_file_was_replaced_stops(tmp_path: Path, clock: ManualClock) -> None:
    first = claim(tmp_path, clock)
    first.ready()
    (tmp_path / NAME).unlink()
    first.beat()
    second = claim(tmp_path, clock)
    second.ready()
    with pytest.raises(ActiveArchiveError, match="was replaced by another file"):
        first.beat()
    second.beat()


def test_a_process_that_died_while_starting_does_not_block_the_folder(
    tmp_path: Path, clock: ManualClock
) -> None:
    claim(tmp_path, clock, pid=gone_pid())  # and its mapping goes, as at the end of a process
    claim(tmp_path, clock).ready()
    assert ArchiveMarkFile.open(tmp_path, clock=clock).is_active()


def test_an_ended_archive_is_followed_at_once(tmp_path: Path, clock: ManualClock) -> None:
    first = claim(tmp_path, clock)
    first.ready()
    first.terminated()
    second = claim(tmp_path, clock, archive_id=8)
    second.ready()
    assert second.header.archive_id == 8


def test_errors_of_an_earlier_archive_are_saved_and_cleared(
    tmp_path: Path, clock: ManualClock
) -> None:
    first = claim(tmp_path, clock)
    assert first.saved_errors is None
    first.error_log().record("something went wrong")
    first.ready()
    assert [seen.text for seen in first.errors()] == ["something went wrong"]
    first.terminated()
    second = claim(tmp_path, clock)
    assert second.errors() == []
    assert second.saved_errors is not None
    saved = Path(second.saved_errors)
    assert saved.parent == tmp_path
    assert saved.name.startswith("archive-20")
    assert saved.name.endswith("-error.log")
    assert "something went wrong" in saved.read_text()


def test_a_mark_file_elsewhere_is_linked(tmp_path: Path, clock: ManualClock) -> None:
    archive, marks = tmp_path / "archive", tmp_path / "marks"
    archive.mkdir()
    marks.mkdir()
    ArchiveMarkFile.claim(archive, header(), mark_dir=marks, clock=clock).ready()
    link = archive / "archive-mark.lnk"
    assert link.read_text() == str(marks.resolve())
    assert mark_file_dir(archive) == str(marks.resolve())
    assert not (archive / NAME).exists()
    assert ArchiveMarkFile.open(archive, clock=clock).is_active()
    link.write_text(f"  {marks}\n")
    assert ArchiveMarkFile.open(archive, clock=clock).is_active()
    ArchiveMarkFile.claim(archive, header(), clock=clock)
    assert not link.exists()


def test_strings_that_do_not_fit_are_refused_before_anything_is_written(
    tmp_path: Path, clock: ManualClock
) -> None:
    with pytest.raises(ConfigurationError, match="headerLength=8289 > headerLengthCapacity=8192"):
        claim(tmp_path, clock, aeron_directory="d" * (8192 - 80), control_channel="")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_file_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        ArchiveMarkFile.open(tmp_path)


def test_a_file_that_was_never_ready_is_refused_by_readers(
    tmp_path: Path, clock: ManualClock
) -> None:
    claim(tmp_path, clock)
    with pytest.raises(FileFormatError, match="created but not initialised"):
        ArchiveMarkFile.open(tmp_path, clock=clock)


def test_another_major_version_is_refused(tmp_path: Path, clock: ManualClock) -> None:
    mark = claim(tmp_path, clock)
    mark.ready()
    mark.terminated()
    mark.mapped.store_i32(8, 0x00020000)
    message = r"mark file \(.*\) major version 2 does not match software: 3"
    with pytest.raises(FileFormatError, match=message):
        ArchiveMarkFile.open(tmp_path, clock=clock)
    with pytest.raises(FileFormatError, match=message):
        claim(tmp_path, clock)


@pytest.mark.parametrize("length", [0, 1, 23, 24, 100, 135, 139, 8192])
def test_a_truncated_file_is_an_error_for_readers(
    tmp_path: Path, clock: ManualClock, length: int
) -> None:
    claim(tmp_path, clock).ready()
    path = tmp_path / NAME
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(FileFormatError, match=NAME):
        ArchiveMarkFile.open(tmp_path, clock=clock)


@pytest.mark.parametrize(
    ("offset", "value", "message"),
    [
        (136, 2**32 - 1, "control_channel passes the mark file's header.*offset 136: 4294967295"),
        (56, 2**31 - 1, "error log passes the mark file's end.*offset 56: 2147483647"),
        (56, 2**32 - 1, "error log passes.*offset 56: -1"),
        (52, 100, "unknown mark file header length.*offset 52: 100"),
    ],
)
def test_damaged_fields_name_file_offset_and_value(
    tmp_path: Path, clock: ManualClock, offset: int, value: int, message: str
) -> None:
    claim(tmp_path, clock).ready()
    path = tmp_path / NAME
    content = bytearray(path.read_bytes())
    content[offset : offset + 4] = value.to_bytes(4, "little")
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=message) as raised:
        ArchiveMarkFile.open(tmp_path, clock=clock)
    assert str(path) in str(raised.value)


def test_the_layout_without_a_message_header_is_read_and_replaced(
    tmp_path: Path, clock: ManualClock
) -> None:
    mark = claim(tmp_path, clock)
    mark.ready()
    mark.terminated()
    path = tmp_path / NAME
    content = path.read_bytes()
    path.write_bytes(content[8:] + bytes(8))
    assert ArchiveMarkFile.open(tmp_path, clock=clock).header.archive_id == 101
    second = claim(tmp_path, clock, archive_id=9)
    assert second.activity_timestamp == ACTIVATION_IN_PROGRESS
    second.ready()
    assert path.read_bytes()[:8] == bytes.fromhex("8000c80064000200")
    assert ArchiveMarkFile.open(tmp_path, clock=clock).header.archive_id == 9
