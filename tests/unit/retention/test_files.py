"""Holds and journal in a folder: kept through damage, and cut-off writes passed over."""

from __future__ import annotations

import json

import pytest
from retention_facts import NOW_MS, reading

from aerolog.archive.retention.clock import ArchiveAge, clock_problem
from aerolog.archive.retention.errors import (
    HoldsDamagedError,
    JournalDamagedError,
    NoRoomError,
    RetentionError,
    RetentionLockedError,
)
from aerolog.archive.retention.holds import Holds
from aerolog.archive.retention.journal import RUN_BEGIN, STEP_BEGIN, STEP_END, Journal, JournalState
from aerolog.archive.retention.retention_folder import holds_path, journal_path, run_lock
from aerolog.archive.retention.status import retention_status
from aerolog.testing import FakeFileSystem
from aerolog.transport.memory.filesystem import RealFileSystem

FOLDER = "/archive"
DAY_MS = 86_400_000


@pytest.fixture
def disk() -> FakeFileSystem:
    made = FakeFileSystem()
    made.make_dirs(FOLDER)
    return made


def held(disk) -> list[tuple[int, str]]:
    return [(one.recording_id, one.reason) for one in Holds.open(FOLDER, disk)]


def test_holds_are_kept_and_released(disk) -> None:
    holds = Holds.open(FOLDER, disk)
    assert list(holds) == []
    holds.add(7, "audit", now_ms=NOW_MS)
    holds.add(7, "incident", NOW_MS + 5, now_ms=NOW_MS)
    holds.add(3, "audit", now_ms=NOW_MS)
    assert held(disk) == [(3, "audit"), (7, "audit"), (7, "incident")]
    assert [one.reason for one in holds.of(7, NOW_MS + 4)] == ["audit", "incident"]
    assert [one.reason for one in holds.of(7, NOW_MS + 5)] == ["audit"]
    assert len(holds.remove(7, "audit", now_ms=NOW_MS)) == 1
    assert holds.remove(9, now_ms=NOW_MS) == []
    assert held(disk) == [(3, "audit"), (7, "incident")]


@pytest.mark.parametrize(
    ("recording_id", "reason", "until"), [(7, " ", None), (7, "x", NOW_MS), (-1, "x", None)]
)
def test_a_hold_that_holds_nothing_is_refused(disk, recording_id, reason, until) -> None:
    with pytest.raises(RetentionError):
        Holds.open(FOLDER, disk).add(recording_id, reason, until, now_ms=NOW_MS)
    assert held(disk) == []


def test_holds_outlive_the_loss_of_their_file(disk) -> None:
    Holds.open(FOLDER, disk).add(7, "audit", now_ms=NOW_MS)
    Holds.open(FOLDER, disk).add(8, "audit", now_ms=NOW_MS)
    Holds.open(FOLDER, disk).remove(8, now_ms=NOW_MS)
    disk.remove(holds_path(FOLDER))
    assert held(disk) == [(7, "audit")]


def test_holds_outlive_the_loss_of_the_journal(disk) -> None:
    Holds.open(FOLDER, disk).add(7, "audit", now_ms=NOW_MS)
    disk.remove(journal_path(FOLDER))
    assert held(disk) == [(7, "audit")]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"version": 1}',
        b'{"version": 2, "holds": []}',
        b'{"version": 1, "holds": [{"recording_id": "7", "reason": "x"}]}',
        b'{"version": 1, "holds": [{"recording_id": 7}]}',
        b'{"version": 1, "holds": [7]}',
        b'{"version": 1, "holds": [{"recording_id": 7, "reason": "x", "until_ms": "soon"}]}',
        b"\xff\xfe\0\0",
    ],
)
def test_holds_that_cannot_be_read_are_an_error_and_nothing_is_overwritten(disk, data) -> None:
    Holds.open(FOLDER, disk).add(7, "audit", now_ms=NOW_MS)
    disk.write_bytes(holds_path(FOLDER), data)
    with pytest.raises(HoldsDamagedError):
        Holds.open(FOLDER, disk)
    status = retention_status(FOLDER, NOW_MS, disk)
    assert status.problems
    assert status.holds == ()
    assert disk.read_bytes(holds_path(FOLDER)) == data


def step(number: int, **fields: object) -> dict[str, object]:
    return {"step": number, "files": 2, "bytes": 20, **fields}


def test_the_journal_adds_up(disk) -> None:
    journal = Journal.open(FOLDER, disk)
    journal.append(RUN_BEGIN, NOW_MS, run=1, boot="b", uptime_ns=5)
    journal.append(STEP_BEGIN, NOW_MS, **step(1))
    journal.append(STEP_END, NOW_MS, **step(1, outcome="done"))
    journal.append(STEP_BEGIN, NOW_MS + 1, **step(2))
    again = Journal.open(FOLDER, disk).state
    assert again == journal.state
    assert (again.files, again.bytes, again.steps, list(again.unfinished)) == (2, 20, 2, [2])
    assert again.last_run is not None
    assert again.last_run.end_ms is None
    assert again.last_ms == NOW_MS + 1


def test_a_line_that_is_cut_off_or_damaged_is_passed_over(disk) -> None:
    journal = Journal.open(FOLDER, disk)
    for number in (1, 2, 3):
        journal.append(STEP_BEGIN, NOW_MS, **step(number))
    whole = disk.read_bytes(journal_path(FOLDER))
    for cut in (1, 20, len(whole) // 3):
        disk.write_bytes(journal_path(FOLDER), whole[:-cut])
        torn = Journal.open(FOLDER, disk)
        assert list(torn.state.unfinished) == [1, 2]
        torn.append(STEP_BEGIN, NOW_MS, **step(4))
        assert list(Journal.open(FOLDER, disk).state.unfinished) == [1, 2, 4]
        assert Journal.open(FOLDER, disk).state.problems == []
    lines = whole.splitlines(keepends=True)
    disk.write_bytes(journal_path(FOLDER), lines[0] + b"\0" * 30 + b"\n" + lines[2])
    state = Journal.open(FOLDER, disk).state
    assert list(state.unfinished) == [1, 3]
    assert len(state.problems) == 1


def test_each_changed_byte_of_a_line_is_noticed(disk) -> None:
    Journal.open(FOLDER, disk).append(STEP_BEGIN, NOW_MS, **step(1))
    whole = disk.read_bytes(journal_path(FOLDER))
    for at in range(len(whole) - 1):
        changed = whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]
        disk.write_bytes(journal_path(FOLDER), changed)
        try:
            assert Journal.open(FOLDER, disk).state.unfinished == {}
        except JournalDamagedError:
            pytest.fail("a checksum comes before a version")


def test_a_long_journal_is_begun_anew_and_says_the_same(disk) -> None:
    journal = Journal.open(FOLDER, disk)
    journal.append(RUN_BEGIN, NOW_MS, run=1, boot="b", uptime_ns=5)
    Holds.open(FOLDER, disk).add(7, "audit", now_ms=NOW_MS)
    journal.append(STEP_BEGIN, NOW_MS, **step(1))
    for number in range(2, 50):
        journal.append(STEP_BEGIN, NOW_MS, **step(number))
        journal.append(STEP_END, NOW_MS, **step(number, outcome="done"))
    before = Journal.open(FOLDER, disk).state
    assert not journal.shorten(NOW_MS)
    assert journal.shorten(NOW_MS, 4000)
    assert len(disk.read_bytes(journal_path(FOLDER)).splitlines()) == 1
    assert Journal.open(FOLDER, disk).state == before
    journal.append(STEP_END, NOW_MS, **step(1, outcome="done"))
    assert Journal.open(FOLDER, disk).state.unfinished == {}


def test_a_journal_of_another_version_is_left_alone(disk) -> None:
    Journal.open(FOLDER, disk).append(STEP_BEGIN, NOW_MS, **step(1))
    whole = disk.read_bytes(journal_path(FOLDER)).replace(b'"v":1', b'"v":2')
    line = json.loads(whole)
    del line["crc"]
    from aerolog.archive.retention import journal as module

    disk.write_bytes(journal_path(FOLDER), module._encoded(line))
    with pytest.raises(JournalDamagedError, match="version 2"):
        Journal.open(FOLDER, disk)


def test_a_full_disk_is_told_and_leaves_the_journal_whole(disk) -> None:
    journal = Journal.open(FOLDER, disk)
    journal.append(STEP_BEGIN, NOW_MS, **step(1))
    disk.fill_up()
    with pytest.raises(NoRoomError, match=r"free 262144 bytes in memory .*journal\.jsonl"):
        for number in range(2, 100):
            journal.append(STEP_BEGIN, NOW_MS, **step(number))
    assert Journal.open(FOLDER, disk).state.problems == []


def test_a_second_run_is_told_who_runs(tmp_path) -> None:
    files = RealFileSystem()
    with run_lock(tmp_path, files, NOW_MS, what="the first"):
        second = run_lock(tmp_path, files, NOW_MS)
        with pytest.raises(RetentionLockedError, match="the first by process") as raised, second:
            pytest.fail("two runs")
        assert raised.value.holder.startswith("the first by process")
        assert retention_status(tmp_path, NOW_MS).running is not None
    assert retention_status(tmp_path, NOW_MS).running is None
    with run_lock(tmp_path, files, NOW_MS):
        assert retention_status(tmp_path, NOW_MS).running is not None


def test_looking_makes_nothing(tmp_path) -> None:
    status = retention_status(tmp_path, NOW_MS)
    assert not status.is_used
    assert list(Holds.open(tmp_path)) == []
    assert list(tmp_path.iterdir()) == []


# -- the clock ------------------------------------------------------------------------------------


def after_run(now_ms: int, *, boot: str = "boot", up_ms: int | None = None) -> JournalState:
    state = JournalState()
    clock = reading(now_ms, boot=boot, up_ms=up_ms)
    state.take(
        {
            "event": RUN_BEGIN,
            "at_ms": now_ms,
            "run": 1,
            "boot": clock.boot,
            "uptime_ns": clock.uptime_ns,
        }
    )
    return state


def test_a_clock_that_goes_right_is_believed() -> None:
    assert clock_problem(reading(), JournalState()) is None
    assert clock_problem(reading(), after_run(NOW_MS - 400 * DAY_MS)) is None
    assert clock_problem(reading(), after_run(NOW_MS - DAY_MS, boot="another")) is None
    assert clock_problem(reading(), JournalState(), newest_ms=NOW_MS - 29 * DAY_MS) is None
    age = ArchiveAge(NOW_MS - 90 * DAY_MS, 90 * DAY_MS * 1_000_000)
    assert clock_problem(reading(), JournalState(), newest_ms=0, archive=age) is None


@pytest.mark.parametrize(
    ("clock", "journal", "more", "said"),
    [
        (reading(1000), JournalState(), {}, "since 1970"),
        (reading(), after_run(NOW_MS + DAY_MS), {}, "behind the journal"),
        (reading(up_ms=NOW_MS), after_run(NOW_MS - 2 * DAY_MS, up_ms=NOW_MS - DAY_MS), {}, "ahead"),
        (reading(boot="b2"), after_run(NOW_MS - 31 * DAY_MS), {}, "nothing tells"),
        (reading(), JournalState(), {"newest_ms": NOW_MS - 31 * DAY_MS}, "nothing tells"),
        (
            reading(),
            JournalState(),
            {"archive": ArchiveAge(NOW_MS - 2 * DAY_MS, DAY_MS * 1_000_000)},
            "since the archive started",
        ),
    ],
)
def test_a_clock_that_cannot_be_right_is_told(clock, journal, more, said) -> None:
    problem = clock_problem(clock, journal, **more)
    assert problem is not None
    assert said in problem
