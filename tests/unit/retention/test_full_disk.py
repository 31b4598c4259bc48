"""Retention on a disk without a free byte: its lock, its journal and its holds have room."""

from __future__ import annotations

import errno

import pytest
from retention_facts import NOW_MS, SEGMENT, reading, write_recording

from aerolog.archive.retention.archive_access import StoppedArchive
from aerolog.archive.retention.errors import JournalDamagedError
from aerolog.archive.retention.holds import Holds
from aerolog.archive.retention.journal import Journal
from aerolog.archive.retention.policy_file import parse_policies
from aerolog.archive.retention.retention_folder import RESERVE_LENGTH, reserve_path
from aerolog.archive.retention.run import Retention
from aerolog.testing import FakeFileSystem

FOLDER = "/archive"
SIZE = "[[policy]]\nstream = '0-99'\nmax_size = '128k'\n"


@pytest.fixture
def disk() -> FakeFileSystem:
    made = FakeFileSystem()
    made.make_dirs(FOLDER)
    write_recording(FOLDER, made)
    return made


def run(disk: FakeFileSystem):
    with StoppedArchive.borrow(FOLDER, disk) as access:
        policies = parse_policies(SIZE)
        return Retention(archive_dir=FOLDER, policies=policies, files=disk, read_clock=reading).run(
            access
        )


def test_a_run_on_a_full_disk_makes_room(disk: FakeFileSystem) -> None:
    Holds.open(FOLDER, disk).add(7, "policies are set here", now_ms=NOW_MS)
    assert disk.size(reserve_path(FOLDER)) == RESERVE_LENGTH
    disk.fill_up()
    _, applied = run(disk)
    assert applied.files == 2
    assert applied.bytes == 2 * SEGMENT
    assert Journal.open(FOLDER, disk).state.unfinished == {}
    assert disk.size(reserve_path(FOLDER)) == RESERVE_LENGTH  # for the next time


def test_a_hold_on_a_full_disk_is_kept(disk: FakeFileSystem) -> None:
    Holds.open(FOLDER, disk).add(7, "first", now_ms=NOW_MS)
    disk.fill_up()
    Holds.open(FOLDER, disk).add(8, "second", now_ms=NOW_MS)
    assert [hold.recording_id for hold in Holds.open(FOLDER, disk)] == [7, 8]
    assert disk.size(reserve_path(FOLDER)) == RESERVE_LENGTH


def test_without_a_reserve_the_error_names_the_file(disk: FakeFileSystem) -> None:
    Holds.open(FOLDER, disk).add(7, "first", now_ms=NOW_MS)
    disk.remove(reserve_path(FOLDER))
    disk.fill_up()
    with pytest.raises((OSError, JournalDamagedError)) as told:
        Holds.open(FOLDER, disk).add(8, "x" * 1000, now_ms=NOW_MS)
    assert "/archive/aerolog/retention/" in f"{told.value} {getattr(told.value, 'filename', '')}"
    if isinstance(told.value, OSError):
        assert told.value.errno == errno.ENOSPC
