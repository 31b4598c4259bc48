"""Checksums of a node's recording log and snapshots: what is accepted, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from node_steps import STEPS, with_ours

from aerolog.cluster.files import (
    FolderSums,
    MessageSum,
    RecordingLog,
    files_of_sums,
    seed_recording_log,
    sort_recording_log,
)
from aerolog.transport.errors import FileFormatError

if TYPE_CHECKING:
    from collections.abc import Callable

WRITTEN = [name for name, steps in STEPS.items() if steps]
TERM, MODULE = 0, 192  # offsets in "snapshots": the first term, and the module's first snapshot


def path_of(folder: Path) -> Path:
    return folder / "recording.log"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A node with two terms and two snapshots whose recording log is covered."""
    return covered(tmp_path, "snapshots")


def covered(folder: Path, steps: str) -> Path:
    with_ours(folder, STEPS[steps])
    with RecordingLog(folder) as log:
        FolderSums(folder, "module").cover_log(log)
    return folder


def check(folder: Path) -> str:
    with RecordingLog(folder, writable=False) as log:
        return FolderSums(folder, "module").check_log(log)


def put(folder: Path, offset: int, data: bytes) -> None:
    content = bytearray(path_of(folder).read_bytes())
    content[offset : offset + len(data)] = data
    path_of(folder).write_bytes(content)


def invalidate(folder: Path) -> None:
    with RecordingLog(folder) as log:
        assert log.invalidate_latest_snapshot()


def end_term(folder: Path) -> None:
    with RecordingLog(folder) as log:
        log.commit_log_position(1, 1_984)


def add_term(folder: Path) -> None:
    with_ours(folder, "term 7 2 960 3000\n")


def take_again(folder: Path) -> None:
    with_ours(
        folder, "invalidate\nsnapshot 20 1 640 960 3005 1\nsnapshot 21 1 640 960 3005 0\n"
        "snapshot 22 1 640 960 3005 -1\n",
    )  # fmt: skip


@pytest.mark.parametrize("steps", WRITTEN)
def test_what_is_as_it_was_has_not_changed(tmp_path: Path, steps: str) -> None:
    assert check(covered(tmp_path, steps)) == ""


def test_without_checksums_everything_counts(tmp_path: Path) -> None:
    with_ours(tmp_path, STEPS["snapshots"])
    assert check(tmp_path) == ""
    assert files_of_sums(tmp_path) == []


@pytest.mark.parametrize(
    "change",
    [invalidate, end_term, add_term, take_again, seed_recording_log],
    ids=lambda change: change.__name__,
)
def test_what_nodes_and_tools_change_counts(folder: Path, change: Callable[[Path], object]) -> None:
    change(folder)
    assert "counts as it is now" in check(folder)


def test_a_sorted_log_counts(tmp_path: Path) -> None:
    covered(tmp_path, "no order")
    assert sort_recording_log(tmp_path)
    assert "counts as it is now" in check(tmp_path)


@pytest.mark.parametrize("length", [0, 64, 192, 200, 448])
def test_an_older_copy_counts_and_is_told(folder: Path, length: int) -> None:
    path_of(folder).write_bytes(path_of(folder).read_bytes()[:length])
    assert "lacks entries that it had" in check(folder)


@pytest.mark.parametrize("bit", range(8))
@pytest.mark.parametrize(
    ("entry", "field"),
    [
        *((TERM, field) for field in (0, 8, 16, 24, 32, 40)),
        *((MODULE, field) for field in (0, 8, 16, 24, 32, 40)),
    ],
)
def test_a_wrong_bit_is_refused(folder: Path, entry: int, field: int, bit: int) -> None:
    at = entry + field
    value = path_of(folder).read_bytes()[at]
    put(folder, at, bytes([value ^ 1 << bit]))
    with pytest.raises(FileFormatError, match=r"damaged at offset|several recordings"):
        check(folder)


@pytest.mark.parametrize("bit", range(64))
def test_a_wrong_bit_in_an_open_term_s_end_is_refused(folder: Path, bit: int) -> None:
    with RecordingLog(folder) as log:
        last = log.last_term
    assert last is not None
    assert last.log_position == -1
    put(folder, last.offset + 24, ((2**64 - 1) ^ 1 << bit).to_bytes(8, "little"))
    with pytest.raises(FileFormatError, match="damaged at offset"):
        check(folder)


def test_an_invalid_snapshot_that_became_valid_is_refused(folder: Path) -> None:
    before = path_of(folder).read_bytes()
    invalidate(folder)
    with RecordingLog(folder) as log:
        FolderSums(folder, "module").cover_log(log)
    path_of(folder).write_bytes(before)
    with pytest.raises(FileFormatError, match="aerolog cluster accept"):
        check(folder)


@pytest.mark.parametrize("content", [b"", b"\0" * 100, b"{}\n00000000\n", b"\xff" * 5])
def test_a_damaged_file_of_checksums_costs_the_check_only(folder: Path, content: bytes) -> None:
    sums = Path(FolderSums(folder, "module").path)
    put(folder, MODULE, b"\x77")
    sums.write_bytes(content)
    assert check(folder) == ""
    with RecordingLog(folder) as log:
        FolderSums(folder, "module").cover_log(log)
    assert check(folder) == ""


def test_every_wrong_byte_of_the_file_of_checksums_is_noticed(folder: Path) -> None:
    sums = Path(FolderSums(folder, "module").path)
    content = sums.read_bytes()
    for at in range(len(content) - 1):
        sums.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        assert check(folder) == ""  # it is as it was, or nothing is known of it


def summed(*messages: bytes) -> MessageSum:
    found = MessageSum()
    for message in messages:
        found.add(message)
    return found


@pytest.mark.parametrize(
    "messages",
    [(b"one", b"twO"), (b"onet", b"wo"), (b"two", b"one"), (b"one",), (), (b"one", b"tw")],
)
def test_a_snapshot_that_is_not_what_was_written_is_refused(
    tmp_path: Path, messages: tuple[bytes, ...]
) -> None:
    FolderSums(tmp_path, "service-0").cover_snapshot(7, 1, 960, summed(b"one", b"two"))
    found = FolderSums(tmp_path, "service-0").snapshot_check(7, 1, 960)
    for message in messages:
        found.add(message)
    with pytest.raises(FileFormatError, match="recording 7 of the archive is not what was written"):
        found.check()


@pytest.mark.parametrize("more", [(), (b"behind",)])
def test_a_snapshot_that_is_what_was_written_counts(
    tmp_path: Path, more: tuple[bytes, ...]
) -> None:
    FolderSums(tmp_path, "service-0").cover_snapshot(7, 1, 960, summed(b"one", b"two"))
    found = FolderSums(tmp_path, "service-0").snapshot_check(7, 1, 960)
    for message in (b"one", b"two", *more):
        found.add(message)
    found.check()
    assert found.is_covered


@pytest.mark.parametrize("where", [(8, 1, 960), (7, 2, 960), (7, 1, 961)])
def test_a_snapshot_of_another_place_is_not_covered(
    tmp_path: Path, where: tuple[int, int, int]
) -> None:
    FolderSums(tmp_path, "service-0").cover_snapshot(7, 1, 960, summed(b"one"))
    found = FolderSums(tmp_path, "service-0").snapshot_check(*where)
    found.add(b"other")
    found.check()
    assert not found.is_covered
