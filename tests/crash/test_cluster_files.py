"""A node that dies at any operation on its files, or loses power: the next start goes on from them.

One run of three terms, with snapshots, on a disk that notes what a crash at each operation would
leave gives all the states. What was written before the operation has to be there, and what the
operation wrote is there or is not.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random
from typing import TYPE_CHECKING

import pytest
from crash_disk import CrashDisk
from mark_headers import cluster_header

from aerolog.cluster.files import (
    ClusterMarkFile,
    EntryType,
    FolderSums,
    LogEntry,
    NodeStateFile,
    RecordingLog,
    plan_recovery,
)
from aerolog.cluster.files.node_state import CandidateTerm
from aerolog.cluster.protocol import NULL_POSITION
from aerolog.testing.recordings import RecordingBuilder
from aerolog.transport.concurrent.clock import ManualClock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crash_disk import FaultPoint, State


FOLDER = "/cluster"
LOG = RecordingBuilder(start_position=0).descriptor()
LOG_ID = LOG.recording_id
TERMS = 3
TERM_LENGTH = 4096
START_MS = 1_700_000_000_000


@dataclass(frozen=True)
class Done:
    """What the node has written and said so.

    Attributes:
        candidate_term_id: the highest term that it stood for.
        entries: how many entries its recording log has.
        ends: where terms were said to end, by term.
        snapshots: positions of complete snapshots, oldest first.
        withdrawn: whether the newest of them was invalidated.
    """

    candidate_term_id: int = -1
    entries: int = 0
    ends: dict[int, int] = field(default_factory=dict)
    snapshots: tuple[int, ...] = ()
    withdrawn: bool = False


def claim(disk: CrashDisk, clock: ManualClock) -> ClusterMarkFile:
    header = cluster_header(
        start_timestamp=clock.now_epoch_ms(),
        error_buffer_length=1 << 20,
        ingress_channel="aeron:ipc",
    )
    return ClusterMarkFile.claim(FOLDER, header, files=disk, clock=clock)


class Node:
    """Writes what a node of one member writes."""

    def __init__(self, disk: CrashDisk, clock: ManualClock, sync_level: int) -> None:
        self.done = Done()
        self.clock = clock
        self.mark = claim(disk, clock)
        self.state = NodeStateFile(FOLDER, create=True, files=disk)
        self.sums = FolderSums(FOLDER, "module", disk)
        self.log = RecordingLog(
            FOLDER,
            create=True,
            sync_level=sync_level,
            files=disk,
            on_change=self.sums.cover_log,
        )
        self.mark.ready()

    def run(self) -> None:
        for term in range(TERMS):
            base = term * TERM_LENGTH
            self.state.update(CandidateTerm(term, self.clock.now_epoch_ms(), base))
            self.did(candidate_term_id=term)
            self.append(LOG_ID, term, base, NULL_POSITION, EntryType.TERM)
            self.mark.beat()
            at = base + TERM_LENGTH // 2
            self.append(100 + term, term, base, at, EntryType.SNAPSHOT, service_id=0)
            self.append(200 + term, term, base, at, EntryType.SNAPSHOT)
            self.did(snapshots=(*self.done.snapshots, at))
            self.log.commit_log_position(term, base + TERM_LENGTH)
            self.did(ends={**self.done.ends, term: base + TERM_LENGTH})
        self.log.invalidate_latest_snapshot()
        self.did(withdrawn=True)
        self.log.close()
        self.mark.terminated()

    def did(self, **changes: object) -> None:
        self.done = replace(self.done, **changes)

    def append(
        self,
        recording_id: int,
        term: int,
        base: int,
        at: int,
        kind: EntryType,
        service_id: int = -1,
    ) -> None:
        self.log.append(
            LogEntry(
                recording_id=recording_id,
                leadership_term_id=term,
                term_base_log_position=base,
                log_position=at,
                timestamp=self.clock.now_epoch_ms(),
                service_id=service_id,
                type=kind,
            )
        )
        self.did(entries=self.done.entries + 1)


@pytest.fixture(scope="module")
def points() -> list[FaultPoint]:
    return points_of(sync_level=1)


def points_of(sync_level: int) -> list[FaultPoint]:
    disk = CrashDisk()
    disk.make_dirs(FOLDER)
    disk = CrashDisk.of(disk.state())
    disk.make_dirs(FOLDER)
    nodes: list[Node] = []
    disk.watch(lambda: nodes[0].done if nodes else Done())
    nodes.append(Node(disk, ManualClock(epoch_ms=START_MS), sync_level))
    nodes[0].run()
    disk.stop_watching()
    assert len(disk.points) > 40, "the run is too short"
    return disk.points


def states_of(points: list[FaultPoint], random: Random) -> Iterator[tuple[str, Done, State]]:
    for point in points:
        where = f"operation {point.number}: {point.operation}"
        yield f"killed before {where}", point.progress, point.after_kill()
        for torn in point.torn:
            yield f"killed within {where}", point.progress, torn
        for _ in range(20):
            yield f"power lost at {where}", point.progress, point.after_power_loss(random)


def check_goes_on(done: Done, state: State) -> None:
    """A node finds what was done, at most what was under way besides, and goes on."""
    disk = CrashDisk.of(state)
    disk.make_dirs(FOLDER)
    # The mark file of a killed owner counts as live for ten seconds.
    clock = ManualClock(epoch_ms=START_MS + 60_000)
    mark = claim(disk, clock)
    term = NodeStateFile(FOLDER, create=True, files=disk).candidate_term.candidate_term_id
    assert done.candidate_term_id <= term <= done.candidate_term_id + 1
    with RecordingLog(FOLDER, create=True, files=disk) as log:
        assert done.entries <= len(log.entries) <= done.entries + 1
        for number, end in done.ends.items():
            entry = log.term(number)
            assert entry is not None
            assert entry.log_position == end
        check_plan(done, log)
        check_covered(disk, log)
        next_term = LogEntry(
            recording_id=LOG_ID,
            leadership_term_id=TERMS,
            term_base_log_position=TERMS * TERM_LENGTH,
            log_position=NULL_POSITION,
            timestamp=clock.now_epoch_ms(),
            type=EntryType.TERM,
        )
        log.append(next_term)
    mark.ready()
    with RecordingLog(FOLDER, files=disk) as log:
        last = log.last_term
        assert last is not None
        assert last.leadership_term_id == TERMS
        assert log.torn_length == 0


def check_covered(disk: CrashDisk, log: RecordingLog) -> None:
    """What is covered by checksums is what is there, or older by a change that was under way."""
    assert "lacks" not in FolderSums(FOLDER, "module", disk).check_log(log)


def check_plan(done: Done, log: RecordingLog) -> None:
    """The plan starts from the newest complete snapshot, or from the one that is on its way."""
    plan = plan_recovery(log, {LOG_ID: LOG}.get, 1)
    found = plan.snapshots[0].log_position if plan.snapshots else -1
    known = [-1, *done.snapshots]
    if len(known) > TERMS:
        # All are taken: the newest may be invalid by now, in whole or in part.
        assert found in known[-2:]
        assert not done.withdrawn or found == known[-2]
    else:
        under_way = len(done.snapshots) * TERM_LENGTH + TERM_LENGTH // 2
        assert found in {known[-1], under_way}
    assert all(entry.recording_id >= 100 for entry in plan.snapshots)


def test_every_crash_leaves_files_that_a_node_goes_on_from(points: list[FaultPoint]) -> None:
    failed = []
    for what, done, state in states_of(points, Random(7)):
        try:
            check_goes_on(done, state)
        except Exception as error:
            failed.append(f"{what}, after {done}: {error!r}")
    assert not failed, f"{len(failed)} crashes:\n" + "\n".join(failed[:5])


def test_without_syncing_no_crash_leaves_checksums_that_are_newer_than_the_log() -> None:
    failed = []
    for what, done, state in states_of(points_of(sync_level=0), Random(11)):
        disk = CrashDisk.of(state)
        disk.make_dirs(FOLDER)
        try:
            with RecordingLog(FOLDER, create=True, files=disk) as log:
                check_covered(disk, log)
        except Exception as error:
            failed.append(f"{what}, after {done}: {error!r}")
    assert not failed, f"{len(failed)} crashes:\n" + "\n".join(failed[:5])
