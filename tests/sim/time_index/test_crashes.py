"""An index through crashes and clocks that are set: what it tells stays true."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from aerolog.archive.time_index import TimeIndex
from aerolog.testing import FakeFileSystem, Simulation

if TYPE_CHECKING:
    from aerolog.archive.client import AeronArchive
    from aerolog.testing.hosts import SimulatedHost

CHANNEL = "aeron:ipc?term-length=64k"
STREAM_ID = 7
MS = 1_000_000
#: Blocks between two notes keep the clock of the earlier one: see docs/archive/time-index.md.
LEEWAY_NS = 10 * MS


class World:
    """An archive in a simulation, and when each message was sent to it."""

    def __init__(self, simulation: Simulation, seed: int) -> None:
        self.simulation = simulation
        self.random = Random(seed)
        self.disk = FakeFileSystem()
        self.host: SimulatedHost = simulation.host(disk=self.disk)
        self.sent: list[tuple[int, int]] = []
        self.position = 0
        self.behind_ms = 0

    def start(self) -> AeronArchive:
        self.host.start_driver()
        self.host.start_archive()
        return self.host.connect_archive()

    def record(self, archive: AeronArchive, channel: str, count: int) -> None:
        """Send messages with pauses of many lengths; some of the times the clock is set."""
        simulation, clock, random = self.simulation, self.simulation.clock, self.random
        publication = archive.aeron.add_exclusive_publication(channel, STREAM_ID)
        simulation.run(until=lambda: publication.is_connected)
        for _ in range(count):
            clock.advance_ns(random.choice((MS // 10, 2 * MS, 30 * MS, 400 * MS)))
            if random.random() < 0.1:
                clock.advance_ns(30 * MS)
                step_ms = random.choice((-3_600_000, -1000, 500))
                clock.step_epoch_ms(step_ms)
                self.behind_ms -= step_ms
            before, position = clock.now_epoch_ns(), publication.position
            simulation.run(
                until=lambda: publication.offer(random.randbytes(random.choice((50, 1000)))) > 0
            )
            simulation.run(until=lambda: archive.max_recorded_position(0) == publication.position)
            self.sent.append((before, position))
        self.position = publication.position
        # Long enough for the notes to be written.
        clock.advance_ns(100 * MS)
        simulation.run(until=lambda: archive.find_end_position(0, 2**62) == self.position)

    def check(self, stop: int) -> None:
        """Nothing is skipped, whatever time is asked for."""
        with TimeIndex.open(self.host.archive_dir, 0, files=self.disk) as index:
            assert index.end_position == stop
            for wanted, _ in self.sent:
                start, end = index.position_at(wanted - LEEWAY_NS), index.end_position_at(wanted)
                for time_ns, position in self.sent:
                    if position < min(start, stop):
                        assert time_ns < wanted
                    if end <= position < stop:
                        assert time_ns >= wanted - LEEWAY_NS


@pytest.mark.parametrize("lose_unsynced", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_an_index_stays_true_through_a_crash_and_an_extension(seed, lose_unsynced) -> None:
    with Simulation(seed=seed) as simulation:
        world = World(simulation, seed)
        archive = world.start()
        archive.start_recording(CHANNEL, STREAM_ID)
        world.record(archive, CHANNEL, 25)
        world.host.kill()
        world.disk.restart(lose_unsynced=lose_unsynced)
        # A mark file of the future would be one of a running archive.
        simulation.clock.step_epoch_ms(max(world.behind_ms, 0))
        simulation.clock.advance_ns(20_000 * MS)
        archive = world.start()
        descriptor = archive.list_recording(0)
        if lose_unsynced and descriptor is None:
            return
        assert descriptor is not None
        stop = descriptor.stop_position
        world.check(stop)
        world.sent = [pair for pair in world.sent if pair[1] < stop]
        channel = (
            f"{CHANNEL}|init-term-id={descriptor.initial_term_id}"
            f"|term-id={descriptor.initial_term_id + stop // 65536}|term-offset={stop % 65536}"
        )
        archive.extend_recording(0, CHANNEL, STREAM_ID)
        world.record(archive, channel, 10)
        archive.stop_recording(CHANNEL, STREAM_ID)
        simulation.run(until=lambda: archive.stop_position(0) == world.position)
        world.check(world.position)
        with TimeIndex.open(world.host.archive_dir, 0, files=world.disk) as index:
            assert index.source == "clock"
            assert index.last_position == world.position
