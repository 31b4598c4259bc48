"""Runs over a folder whose archive does not run."""

from __future__ import annotations

import os

import pytest
from mark_headers import archive_header
from retention_facts import DAY_MS, NOW_MS, SEGMENT, reading, write_recording

from aerolog.archive.format.catalog_file import CatalogFile
from aerolog.archive.format.catalog_map import CatalogReader
from aerolog.archive.format.checksum import checksum_for
from aerolog.archive.format.mark_claim import borrowed_folder
from aerolog.archive.format.mark_file import ArchiveMarkFile
from aerolog.archive.retention.archive_access import RefusedError, StoppedArchive
from aerolog.archive.retention.clock import read_clock
from aerolog.archive.retention.errors import NeedsUnknownError
from aerolog.archive.retention.facts import Need
from aerolog.archive.retention.holds import Holds
from aerolog.archive.retention.journal import STEP_BEGIN, Journal
from aerolog.archive.retention.needs import Known
from aerolog.archive.retention.policy_file import parse_policies
from aerolog.archive.retention.run import Retention
from aerolog.archive.retention.steps import PlanRun
from aerolog.testing import FakeFileSystem
from aerolog.transport.concurrent.clock import ManualClock, SystemClock
from aerolog.transport.errors import ActiveArchiveError

FOLDER = "/archive"
AGE = "[[policy]]\nstream = '0-99'\nmax_age = '7d'\n"
SIZE = "[[policy]]\nstream = '0-99'\nmax_size = '128k'\n"


@pytest.fixture
def disk() -> FakeFileSystem:
    made = FakeFileSystem()
    made.make_dirs(FOLDER)
    return made


def retention(disk, text, **fields) -> Retention:
    return Retention(
        archive_dir=FOLDER,
        policies=parse_policies(text),
        files=disk,
        read_clock=fields.pop("read_clock", reading),
        **fields,
    )


def run(disk, text, **fields):
    with StoppedArchive.borrow(FOLDER, disk) as door:
        return retention(disk, text, **fields).run(door)


def now_ms() -> int:
    return SystemClock().now_epoch_ms()


def names(disk) -> list[str]:
    return [name for name in disk.list_dir(FOLDER) if name.endswith(".rec")]


def start_of(disk, recording_id) -> int | None:
    with CatalogReader.open(FOLDER, disk) as catalog:
        if recording_id not in catalog:
            return None
        return catalog.descriptor(recording_id).start_position


def test_segments_and_recordings_go_with_their_catalog_entries(disk) -> None:
    write_recording(FOLDER, disk)
    write_recording(FOLDER, disk, age_ms=DAY_MS)
    _, applied = run(disk, AGE + SIZE.replace("0-99", "10"))
    assert start_of(disk, 0) is None
    assert start_of(disk, 1) == 2 * SEGMENT
    assert names(disk) == [f"1-{2 * SEGMENT}.rec", f"1-{3 * SEGMENT}.rec"]
    assert (applied.files, applied.bytes) == (6, 6 * SEGMENT)
    state = Journal.open(FOLDER, disk).state
    assert (state.files, state.bytes, state.unfinished) == (6, 6 * SEGMENT, {})
    assert state.last_run.end_ms == NOW_MS


def test_a_second_run_has_nothing_to_do(disk) -> None:
    write_recording(FOLDER, disk, age_ms=DAY_MS)
    run(disk, SIZE)
    planned, applied = run(disk, SIZE)
    assert planned.steps == ()
    assert applied.files == 0


@pytest.mark.parametrize("name", ["CRC-32", "CRC-32C"])
def test_a_descriptor_keeps_a_checksum_that_fits(disk, name) -> None:
    checksum = checksum_for(name)
    write_recording(FOLDER, disk, checksum=checksum)
    run(disk, SIZE)
    with CatalogReader.open(FOLDER, disk) as catalog:
        assert catalog.entry(0).checksum == catalog.checksum_of(0, checksum)
        assert catalog.descriptor(0).start_position == 2 * SEGMENT


def test_a_recording_without_an_end_is_left_alone(disk) -> None:
    write_recording(FOLDER, disk, stopped=False)
    planned, _ = run(disk, AGE)
    assert planned.steps == ()
    with StoppedArchive.borrow(FOLDER, disk) as door:
        with pytest.raises(RefusedError, match="has no end"):
            door.purge_recording(0)
        with pytest.raises(RefusedError, match="has no end"):
            door.purge_segments(0, SEGMENT)
    assert len(names(disk)) == 4


@pytest.mark.parametrize("start", [0, 32, SEGMENT + 32, 4 * SEGMENT, 5 * SEGMENT, -SEGMENT])
def test_a_start_where_none_can_be_is_refused(disk, start) -> None:
    write_recording(FOLDER, disk)
    with StoppedArchive.borrow(FOLDER, disk) as door:
        with pytest.raises(RefusedError):
            door.purge_segments(0, start)
        with pytest.raises(RefusedError, match="no recording 9"):
            door.purge_segments(9, SEGMENT)
    assert len(names(disk)) == 4


def test_segments_that_were_removed_by_hand_are_told_and_not_missed(disk) -> None:
    write_recording(FOLDER, disk, age_ms=DAY_MS)
    disk.remove(f"{FOLDER}/0-{SEGMENT}.rec")
    disk.remove(f"{FOLDER}/0-0.rec")
    planned, applied = run(disk, SIZE.replace("128k", "64k"))
    assert "2 segment files are missing, at 0, 65536" in planned.warnings[0]
    assert (applied.files, start_of(disk, 0)) == (1, 3 * SEGMENT)


def test_others_files_stay(disk) -> None:
    write_recording(FOLDER, disk)
    others = ["00-0.rec", "1-0.rec", "0.rec", "notes.txt", "x-0.rec"]
    for name in others:
        disk.write_bytes(f"{FOLDER}/{name}", b"somebody's")
    run(disk, AGE)
    assert set(others) <= set(disk.list_dir(FOLDER))


def test_a_hold_that_comes_after_the_plan_is_heeded(disk) -> None:
    write_recording(FOLDER, disk)
    write_recording(FOLDER, disk)

    def hold(_planned) -> bool:
        Holds.open(FOLDER, disk).add(0, "just now", now_ms=NOW_MS)
        return True

    with StoppedArchive.borrow(FOLDER, disk) as door:
        planned, applied = retention(disk, AGE).run(door, hold)
    assert len(planned.steps) == 2
    assert [(one.recording_id, one.reason) for one in applied.kept] == [(0, "held: just now")]
    assert (start_of(disk, 0), start_of(disk, 1)) == (0, None)


def test_a_need_that_comes_after_the_plan_is_heeded(disk) -> None:
    write_recording(FOLDER, disk)
    needs: list[Need] = []

    def begin(_planned) -> bool:
        needs.append(Need(0, SEGMENT, "export", "an export began"))
        return True

    with StoppedArchive.borrow(FOLDER, disk) as door:
        known = retention(disk, AGE, known=lambda _id: Known(needs=tuple(needs)))
        _, applied = known.run(door, begin)
    assert [one.reason for one in applied.kept] == ["an export began"]
    assert len(names(disk)) == 4


def test_a_recording_that_changed_after_the_plan_is_left(disk) -> None:
    write_recording(FOLDER, disk, age_ms=DAY_MS)
    with StoppedArchive.borrow(FOLDER, disk) as door:

        def cut(_planned) -> bool:
            door.purge_segments(0, SEGMENT)
            return True

        _, applied = retention(disk, SIZE).run(door, cut)
    assert applied.kept[0].reason == f"its start has moved to {SEGMENT} meanwhile"
    assert start_of(disk, 0) == SEGMENT


def test_a_plan_that_is_not_agreed_to_changes_nothing(disk) -> None:
    write_recording(FOLDER, disk)
    with StoppedArchive.borrow(FOLDER, disk) as door:
        planned, applied = retention(disk, AGE).run(door, lambda _planned: False)
    assert planned.steps
    assert applied is None
    assert len(names(disk)) == 4
    assert Journal.open(FOLDER, disk).state.last_ms is None


def test_a_large_step_is_done_in_parts(disk) -> None:
    write_recording(FOLDER, disk, segments=20.5)
    planned = retention(disk, AGE).plan()
    with StoppedArchive.borrow(FOLDER, disk) as door:
        journal = Journal.open(FOLDER, disk)
        applied = PlanRun(FOLDER, door, journal, disk, reading, files_max=8).apply(planned)
    assert [(one.kind, one.files) for one in applied.done] == [
        ("segments", 8),
        ("segments", 8),
        ("recording", 5),
    ]
    assert (applied.files, names(disk)) == (21, [])


def test_a_clock_that_is_ahead_lets_nothing_go(disk) -> None:
    write_recording(FOLDER, disk, age_ms=DAY_MS)
    run(disk, AGE)
    later = NOW_MS + 3650 * DAY_MS
    ahead = lambda: reading(later, up_ms=NOW_MS + 60_000)  # noqa: E731 - a clock
    planned, _ = run(disk, AGE, read_clock=ahead)
    assert planned.steps == ()
    assert "ahead since the last run" in planned.held_back
    planned, applied = run(disk, AGE, read_clock=ahead, accept_clock=True)
    assert applied.files == 4


def test_an_entry_that_is_damaged_is_told_and_left(disk) -> None:
    write_recording(FOLDER, disk)
    write_recording(FOLDER, disk)
    with disk.open_data_file(f"{FOLDER}/archive.catalog", writable=True) as file:
        file.write_at(b"\x07\0\0\0", 32 + 32 + 60)  # the first one's segment length
    planned, _ = run(disk, AGE)
    assert [step.recording_id for step in planned.steps] == [1]
    assert "recording 0 is left alone" in planned.warnings[0]


def test_a_step_that_failed_is_gone_on_with(disk) -> None:
    write_recording(FOLDER, disk)
    journal = Journal.open(FOLDER, disk)
    row = {"first_base": 0, "start_ms": NOW_MS - 10 * DAY_MS, "stream_id": 10, "recording_id": 0}
    more = {"kind": "segments", "start_position": 0, "new_start_position": 2 * SEGMENT}
    journal.append(STEP_BEGIN, NOW_MS, step=1, files=2, bytes=2 * SEGMENT, **row, **more)
    # Not begun: the catalog says so.
    _, applied = run(disk, "[[policy]]\nstream = 5\nmax_age = '1d'")
    assert "had not begun" in applied.settled[0]
    assert len(names(disk)) == 4
    # Begun: the catalog has moved, two files are left, and one that was detached before.
    journal = Journal.open(FOLDER, disk)
    row |= {"first_base": SEGMENT, "start_position": SEGMENT, "new_start_position": 3 * SEGMENT}
    more |= {"start_position": SEGMENT, "new_start_position": 3 * SEGMENT}
    journal.append(STEP_BEGIN, NOW_MS, step=2, files=2, bytes=2 * SEGMENT, **(row | more))
    with CatalogFile.open(FOLDER, files=disk, capacity=4096) as catalog:
        catalog.update_start_position(0, 3 * SEGMENT)
    _, applied = run(disk, "[[policy]]\nstream = 5\nmax_age = '1d'")
    assert "2 files were left" in applied.settled[0]
    assert names(disk) == ["0-0.rec", f"0-{3 * SEGMENT}.rec"]


@pytest.mark.parametrize("read", [SEGMENT, 4 * SEGMENT])
def test_a_recording_that_was_read_to_its_end_goes_as_a_whole(disk, read) -> None:
    write_recording(FOLDER, disk)
    needs: list[Need] = []

    def begin(_planned) -> bool:
        needs.append(Need(0, read, "pipeline", "a job has come so far", reads_on=True))
        return True

    with StoppedArchive.borrow(FOLDER, disk) as door:
        known = retention(disk, AGE, known=lambda _id: Known(needs=tuple(needs)))
        _, applied = known.run(door, begin)
    assert [one.reason for one in applied.kept] == ["a job has come so far"] * (read == SEGMENT)
    assert (start_of(disk, 0) is None) == (read > SEGMENT)


def test_needs_that_cannot_be_told_any_more_end_a_run(disk) -> None:
    write_recording(FOLDER, disk)
    write_recording(FOLDER, disk)
    asked = []

    def known(_recording_id: int | None) -> Known:
        asked.append(start_of(disk, 0))
        if asked[-1] is None:
            raise NeedsUnknownError("nothing is deleted: the catalog is gone")
        return Known()

    with pytest.raises(NeedsUnknownError):
        run(disk, AGE, known=known)
    assert (start_of(disk, 0), start_of(disk, 1)) == (None, 0)
    assert "the catalog is gone" in Journal.open(FOLDER, disk).state.last_run.error


# -- archives are kept out ------------------------------------------------------------------------


@pytest.fixture
def clock() -> ManualClock:
    made = ManualClock()
    made.advance_ns(1_000_000 * 1_000_000)
    return made


def test_a_running_archive_keeps_its_folder(disk, clock) -> None:
    mark = ArchiveMarkFile.claim(FOLDER, archive_header(pid=os.getpid()), files=disk, clock=clock)
    mark.ready()
    borrowed = borrowed_folder(FOLDER, disk, clock)
    with pytest.raises(ActiveArchiveError, match="an archive runs"), borrowed:
        pytest.fail("two owners")


@pytest.mark.parametrize("minutes", [1, 60])
def test_a_stopped_archive_may_have_been_started_long_ago(disk, minutes) -> None:
    write_recording(FOLDER, disk)
    started = now_ms() - minutes * 60_000
    header = archive_header(pid=os.getpid(), start_timestamp=started)
    mark = ArchiveMarkFile.claim(FOLDER, header, files=disk)
    mark.ready()
    mark.terminated()
    planned, applied = run(disk, SIZE, read_clock=read_clock)
    assert (planned.held_back, applied.files) == (None, 2)
    assert mark.header.start_timestamp == started


def test_a_plan_beside_a_run_on_a_stopped_archive_believes_the_clock(disk) -> None:
    write_recording(FOLDER, disk)
    header = archive_header(pid=os.getpid(), start_timestamp=now_ms() - 60 * 60_000)
    mark = ArchiveMarkFile.claim(FOLDER, header, files=disk)
    mark.ready()
    mark.terminated()
    with StoppedArchive.borrow(FOLDER, disk):
        assert retention(disk, SIZE, read_clock=read_clock).plan().held_back is None


def test_an_archive_does_not_start_in_a_borrowed_folder(disk, clock) -> None:
    mark = ArchiveMarkFile.claim(FOLDER, archive_header(pid=os.getpid()), files=disk, clock=clock)
    mark.ready()
    mark.terminated()
    header = mark.header
    with borrowed_folder(FOLDER, disk, clock) as beat:
        clock.advance_ns(60 * 10**9)
        beat()
        with pytest.raises(ActiveArchiveError):
            ArchiveMarkFile.claim(FOLDER, archive_header(pid=os.getpid()), files=disk, clock=clock)
        again = borrowed_folder(FOLDER, disk, clock)
        with pytest.raises(ActiveArchiveError), again:
            pytest.fail("two owners")
    assert mark.activity_timestamp == -1
    assert mark.header == header
    ArchiveMarkFile.claim(FOLDER, archive_header(pid=os.getpid()), files=disk, clock=clock).ready()
    assert mark.is_active()
