"""A run of retention that dies at any operation on the disk, or loses power: the next one goes on.

One run on a disk that notes what a crash at each operation would leave gives all the states; in
each of them a new run has to end where the first one would have, and nothing that is held or needed
may be gone at any time.
"""

from __future__ import annotations

import contextlib
from random import Random

import pytest
from crash_disk import CrashDisk
from retention_facts import DAY_MS, NOW_MS, SEGMENT, reading, write_recording

from aerolog.archive.format.catalog_map import CatalogReader
from aerolog.archive.retention.archive_access import StoppedArchive
from aerolog.archive.retention.facts import Need
from aerolog.archive.retention.holds import Holds
from aerolog.archive.retention.journal import Journal
from aerolog.archive.retention.needs import Known
from aerolog.archive.retention.policy_file import parse_policies
from aerolog.archive.retention.run import Retention
from aerolog.archive.retention.status import retention_status
from aerolog.archive.retention.steps import PlanRun
from aerolog.transport.errors import AerologError

FOLDER = "/archive"
HELD, NEEDED, OLD, LONG = range(4)
POLICIES = parse_policies(
    """
[[policy]]
name = "old"
stream = "0-1"
max_age = "7d"
[[policy]]
name = "long"
stream = 2
max_size = "128k"
"""
)
NEED = Need(NEEDED, SEGMENT, "export", "an export reads it")
RELEASED_LATER = 77


def made() -> CrashDisk:
    disk = CrashDisk()
    disk.make_dirs(FOLDER)
    write_recording(FOLDER, disk, segments=1.5, stream_id=0)
    write_recording(FOLDER, disk, segments=2.5, stream_id=1)
    write_recording(FOLDER, disk, segments=2.5, stream_id=1)
    write_recording(FOLDER, disk, segments=5.5, stream_id=2, age_ms=DAY_MS)
    Holds.open(FOLDER, disk).add(HELD, "audit", now_ms=NOW_MS)
    return CrashDisk.of(disk.state())


def run(disk: CrashDisk) -> None:
    retention = Retention(
        archive_dir=FOLDER,
        policies=POLICIES,
        files=disk,
        read_clock=reading,
        known=lambda _id: Known(needs=(NEED,)),
    )
    with StoppedArchive.borrow(FOLDER, disk) as door:
        planned = retention.plan()
        assert not any(step.recording_id == HELD for step in planned.steps)
        retention.run(door)


def files_of(disk: CrashDisk, recording_id: int) -> list[int]:
    prefix = f"{recording_id}-"
    names = (name for name in disk.list_dir(FOLDER) if name.startswith(prefix))
    return sorted(int(name.removeprefix(prefix).removesuffix(".rec")) // SEGMENT for name in names)


def starts(disk: CrashDisk) -> dict[int, int]:
    with CatalogReader.open(FOLDER, disk) as catalog:
        return {one.recording_id: one.start_position for one in catalog.descriptors()}


def check_whole(disk: CrashDisk) -> None:
    """Each recording has the files that its catalog entry speaks of; the held ones have all."""
    with CatalogReader.open(FOLDER, disk) as catalog:
        for one in catalog.descriptors():
            first, last = one.start_position // SEGMENT, one.stop_position // SEGMENT
            assert set(range(first, last + 1)) <= set(files_of(disk, one.recording_id))
    assert starts(disk)[HELD] == 0
    assert files_of(disk, HELD) == [0, 1]
    assert {1, 2} <= set(files_of(disk, NEEDED))


def check_done(disk: CrashDisk) -> None:
    """All went that was to go, no file is left over, and the journal has no open end."""
    assert starts(disk) == {HELD: 0, NEEDED: SEGMENT, LONG: 4 * SEGMENT}
    found = [files_of(disk, one) for one in (HELD, NEEDED, OLD, LONG)]
    assert found == [[0, 1], [1, 2], [], [4, 5]]
    status = retention_status(FOLDER, NOW_MS, disk)
    assert status.unfinished == ()
    assert [hold.recording_id for hold in status.holds] == [HELD]


def states(disk: CrashDisk, random: Random, kinds: tuple[str, ...]) -> list[tuple[str, dict]]:
    found = []
    for point in disk.points:
        where = f"operation {point.number}: {point.operation}"
        if "kill" in kinds:
            found.append((f"killed before {where}", point.after_kill()))
            found += [(f"killed within {where}", torn) for torn in point.torn]
        if "power" in kinds:
            found += [(f"power lost at {where}", point.after_power_loss(random)) for _ in range(2)]
    return found


def watched(disk: CrashDisk) -> CrashDisk:
    disk.watch(lambda: None)
    run(disk)
    disk.stop_watching()
    return disk


@pytest.mark.parametrize("kind", ["kill", "power"])
def test_a_run_that_dies_anywhere_is_gone_on_with(kind) -> None:
    disk = watched(made())
    check_whole(disk)
    check_done(disk)
    tried = states(disk, Random(8), (kind,))
    assert len(tried) > 30
    for where, state in tried:
        left = CrashDisk.of(state)
        try:
            check_whole(left)
            run(left)
            check_whole(left)
            check_done(left)
        except AssertionError as error:
            raise AssertionError(f"{where}: {error}") from error


def test_a_run_that_dies_while_it_goes_on_is_gone_on_with() -> None:
    random = Random(9)
    first = watched(made())
    for where, state in states(first, random, ("kill",))[10::9]:
        second = watched(CrashDisk.of(state))
        for again, left in states(second, random, ("kill", "power"))[3::7]:
            disk = CrashDisk.of(left)
            try:
                run(disk)
                check_whole(disk)
                check_done(disk)
            except AssertionError as error:
                raise AssertionError(f"{where}, then {again}: {error}") from error


def test_a_hold_that_dies_while_it_is_made_holds_or_does_not() -> None:
    disk = made()
    disk.watch(lambda: None)
    Holds.open(FOLDER, disk).add(OLD, "just now", now_ms=NOW_MS)
    disk.stop_watching()
    for where, state in states(disk, Random(10), ("kill", "power")):
        holds = Holds.open(FOLDER, CrashDisk.of(state))
        assert {one.recording_id for one in holds} - {OLD} == {HELD}, where
    assert {one.recording_id for one in Holds.open(FOLDER, disk)} == {HELD, OLD}


def test_a_release_that_dies_leaves_the_other_holds() -> None:
    disk = made()
    Holds.open(FOLDER, disk).add(RELEASED_LATER, "for a while", now_ms=NOW_MS)
    disk = CrashDisk.of(disk.state())
    disk.watch(lambda: None)
    Holds.open(FOLDER, disk).remove(RELEASED_LATER, now_ms=NOW_MS)
    disk.stop_watching()
    for where, state in states(disk, Random(11), ("kill", "power")):
        left = CrashDisk.of(state)
        assert HELD in {one.recording_id for one in Holds.open(FOLDER, left)}, where
        Holds.open(FOLDER, left).remove(RELEASED_LATER, now_ms=NOW_MS)
        assert {one.recording_id for one in Holds.open(FOLDER, left)} == {HELD}, where


def test_a_disk_that_fails_under_a_run_is_told_and_gone_on_with() -> None:
    for budget in range(0, 4000, 150):
        disk = made()
        disk.tear_after(budget)
        with contextlib.suppress(OSError, AerologError):
            run(disk)
        disk.restart()
        check_whole(disk)
        run(disk)
        check_done(disk)


def test_a_plan_of_before_a_crash_is_not_done_twice() -> None:
    disk = made()
    retention = Retention(archive_dir=FOLDER, policies=POLICIES, files=disk, read_clock=reading)
    old = retention.plan()
    run(disk)
    with StoppedArchive.borrow(FOLDER, disk) as door:
        applied = PlanRun(FOLDER, door, Journal.open(FOLDER, disk), disk, reading).apply(old)
    reasons = {one.recording_id: one.kind for one in applied.kept}
    assert reasons[OLD] == reasons[LONG] == "changed"
    check_done(disk)
