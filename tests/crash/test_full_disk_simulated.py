"""A disk that fills up at every possible moment, in the simulation: who needs space ends, alone."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest
from crash_disk import CrashDisk
from crash_ledger import Outcome, check_catalog, check_segments
from crash_scripts import SimulatedStage

from aerolog.archive.format.catalog_map import CatalogReader
from aerolog.archive.protocol import RecordingSignal
from aerolog.testing import Simulation
from aerolog.transport.errors import ArchiveError, ArchiveErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterator


FOLDER = "/host-1/archive"
PAGE = 4096
PLENTY = 1 << 40
TERM = 65536


class FullDisk:
    """Two recordings on a disk that is going to be full."""

    def __init__(self, simulation: Simulation, checksum: str | None, threshold: int = 0) -> None:
        self.disk = CrashDisk()
        host = simulation.host(disk=self.disk)
        host.start_driver()
        host.start_archive(record_checksum=checksum, low_storage_space_threshold=threshold)
        self.errors: list[BaseException] = []
        self.signals: list[tuple[str, int, int]] = []
        self.archive = host.connect_archive(on_error=self.errors.append)
        self.stage = SimulatedStage(self.archive, Random(3), checksum, simulation=simulation)
        self.modest, self.modest_stream = self.stage.record(1)
        self.stage.grow(self.modest, self.modest_stream, 1_000)
        self.greedy, self.greedy_stream = self.stage.record(2)
        self.stage.grow(self.greedy, self.greedy_stream, 9_000)

    def stops(self) -> list[tuple[str, int, int]]:
        for found in self.archive.poll_signals():
            if found.signal == RecordingSignal.STOP:
                self.signals.append(("STOP", found.recording_id, found.position))
        return self.signals

    def fill(self, free_bytes: int) -> int:
        """Let the greedy recording meet the end of the disk; where it stops."""
        stage, log = self.stage, self.stage.truths[self.greedy].log
        self.disk.fill_up(free_bytes)
        goal = log.position + free_bytes + 3 * TERM
        while not self.stops() and log.position < goal:
            message = stage.random.randbytes(stage.random.choice((200, 3_000)))
            log.add(message)
            while self.greedy_stream.offer(message) <= 0 and not self.stops():
                stage.turn()
        ((_, recording_id, position),) = self.signals
        assert recording_id == self.greedy
        assert self.archive.stop_position(self.greedy) == position
        self.archive.stop_recording("aeron:ipc", 2)  # it would record the next stream
        self.greedy_stream.close()
        truth = stage.truths[self.greedy]
        truth.log, truth.stop = log.cut(position), position
        return position

    def compare(self) -> None:
        """Every byte on the disk is as it must be."""
        found = list(self.archive.recordings())
        allowed: dict[int, list[Outcome | None]] = {
            i: [truth.outcome()] for i, truth in self.stage.truths.items()
        }
        matched = check_catalog(
            [d for d in found if not d.is_active],
            {
                i: outcomes
                for i, outcomes in allowed.items()
                if self.stage.truths[i].stop is not None
            },
        )
        names = self.disk.list_dir(FOLDER)
        check_segments(
            [name for name in names if not name.startswith(f"{self.modest}-")],
            lambda name: self.disk.read_bytes(f"{FOLDER}/{name}"),
            found,
            matched,
        )


@pytest.fixture
def simulation() -> Iterator[Simulation]:
    with Simulation(seed=4) as simulation:
        yield simulation


@pytest.mark.parametrize("checksum", [None, "CRC-32C"])
@pytest.mark.parametrize("free_pages", [0, 1, 2, 5, 11, 13, 14, 15, 16, 17, 29, 30, 31, 40])
def test_the_recording_that_needs_space_ends_and_everything_recovers(
    simulation: Simulation, free_pages: int, checksum: str | None
) -> None:
    world = FullDisk(simulation, checksum)
    stop = world.fill(free_pages * PAGE)
    assert stop >= 9_000 - 9_000 % 32
    assert stop <= 9_000 + (free_pages + 4) * PAGE + 2 * TERM
    (error,) = world.errors
    assert isinstance(error, ArchiveError)
    assert error.code == ArchiveErrorCode.STORAGE_SPACE
    assert error.message == "java.io.IOException - No space left on device"
    # The other one has room in its page, and what is there is replayed.
    modest = world.stage.truths[world.modest]
    end = modest.log.add(b"into the page that is there")
    assert world.modest_stream.send(b"into the page that is there") == end
    world.stage.wait(lambda: modest.floor() == end)
    for recording_id in (world.greedy, world.modest):
        log = world.stage.truths[recording_id].log
        replayed = [m.data for m in world.archive.read(recording_id)]
        assert replayed == [data for _, data in log.messages_between(0, log.position)]
    world.compare()
    # Space returns.
    world.disk.capacity_bytes = PLENTY
    world.stage.extend(world.greedy, TERM + 1_000)
    third, publication = world.stage.record(3)
    world.stage.grow(third, publication, 2 * TERM)
    world.stage.stop(third, publication)
    world.stage.grow(world.modest, world.modest_stream, TERM)
    world.compare()
    assert len(world.errors) == 1


def begin_on_a_full_disk(world: FullDisk) -> None:
    """A stream comes to a subscription that records; its client is told of error 11."""
    world.archive.start_recording("aeron:ipc", 9)
    world.disk.fill_up(0)
    publication, _ = world.stage.open(9)
    publication.wait_connected(5)
    publication.send(b"nowhere to go")
    world.stage.wait(lambda: world.archive.poll() >= 0 and world.errors)
    publication.close()
    assert {getattr(error, "code", None) for error in world.errors} == {
        ArchiveErrorCode.STORAGE_SPACE
    }
    world.archive.stop_recording("aeron:ipc", 9)


def test_a_recording_whose_first_write_fails_is_empty(simulation: Simulation) -> None:
    world = FullDisk(simulation, None)
    begin_on_a_full_disk(world)
    world.stage.wait(world.stops)
    assert world.signals == [("STOP", 2, 0)]
    assert world.archive.stop_position(2) == 0
    world.disk.capacity_bytes = PLENTY
    world.stage.next_id = 3
    recording_id, publication = world.stage.record(40)
    world.stage.grow(recording_id, publication, TERM)


def test_a_recording_without_room_in_the_catalog_is_none(simulation: Simulation) -> None:
    world = FullDisk(simulation, None)
    with CatalogReader.open(FOLDER, world.disk) as catalog:
        length = (catalog.end_offset - 32) // 2
    while True:
        with CatalogReader.open(FOLDER, world.disk) as catalog:
            if catalog.end_offset % PAGE + length > PAGE:
                break
        recording_id, publication = world.stage.record(100 + world.stage.next_id)
        world.stage.stop(recording_id, publication)
    before = list(world.archive.recordings())
    begin_on_a_full_disk(world)
    assert list(world.archive.recordings()) == before
    world.disk.capacity_bytes = PLENTY
    recording_id, publication = world.stage.record(40)
    world.stage.grow(recording_id, publication, TERM)
    assert [d.recording_id for d in world.archive.recordings()][-1] == recording_id


def test_little_space_refuses_what_begins_and_keeps_what_runs(simulation: Simulation) -> None:
    threshold = 1 << 20
    world = FullDisk(simulation, None, threshold)
    stopped, publication = world.stage.record(3)
    world.stage.stop(stopped, publication)
    world.disk.fill_up(threshold)
    refusal = f"low storage threshold={threshold} <= usableSpace={world.disk.free_bytes}"
    for request in (
        lambda: world.archive.start_recording("aeron:ipc", 9),
        lambda: world.archive.extend_recording(stopped, "aeron:ipc", 3),
    ):
        with pytest.raises(ArchiveError, match=refusal) as caught:
            request()
        assert caught.value.code == ArchiveErrorCode.STORAGE_SPACE
    world.stage.grow(world.greedy, world.greedy_stream, 3 * TERM)
    world.disk.capacity_bytes = PLENTY
    world.stage.extend(stopped, 1_000)
    world.stage.record(4)
    world.compare()
