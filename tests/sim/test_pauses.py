"""Archives and clients that stand still while others take what the driver frees of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from aerolog.testing import Simulation
from aerolog.transport.client import OfferStatus
from aerolog.transport.errors import ConductorServiceTimeoutError, ResourceClosedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.testing.hosts import SimulatedHost

CHANNEL = "aeron:ipc?term-length=64k"
STREAMS = 4
COUNTERS = 60
PAUSE_S = 4.0  # the driver gives a client up after 2 s
TAKEN_S = 3.5


def message(number: int) -> bytes:
    return number.to_bytes(8, "little") * (2 + number * 37 % 60)


def publisher(publications: list[Any]) -> Callable[[], int]:
    """A party that offers numbered messages, at another speed to each publication."""
    numbers = [0] * len(publications)

    def turn() -> int:
        before = sum(numbers)
        for index, publication in enumerate(publications):
            for _ in range(2 + index):
                if publication.offer(message(numbers[index])) <= 0:
                    break
                numbers[index] += 1
        return sum(numbers) - before

    return turn


def take_counters(simulation: Simulation, host: SimulatedHost) -> list[Any]:
    """Counters of another client, on the ids that became free."""
    simulation.run(timeout=TAKEN_S)
    other = host.connect()
    return [other.add_counter(5000, f"another's counter {index}") for index in range(COUNTERS)]


@pytest.mark.parametrize("seed", range(6))
def test_an_archive_that_stood_still_records_no_wrong_byte_and_writes_no_other_counter(seed):
    with Simulation(seed) as simulation:
        host = simulation.host()
        host.start_driver()
        archive = host.start_archive()
        client = host.connect()
        session = host.connect_archive(client)
        streams = [
            session.add_recorded_exclusive_publication(CHANNEL, 100 + index)
            for index in range(STREAMS)
        ]
        party = simulation.add_party("publisher", publisher(streams))
        simulation.run(lambda: all(stream.position > 150_000 for stream in streams))
        host.pause_archive(PAUSE_S)
        taken = take_counters(simulation, host)
        simulation.run(lambda: archive.is_closed)
        simulation.remove_party(party)
        assert [counter.value for counter in taken] == [0] * COUNTERS
        host.stop_archive()
        host.start_archive()
        again = host.connect_archive(host.connect())
        recordings = list(again.recordings())
        assert len(recordings) == STREAMS
        for recording in recordings:
            got = [bytes(each.data) for each in again.read(recording.recording_id)]
            assert len(got) > 300
            assert got == [message(number) for number in range(len(got))]


@pytest.mark.parametrize("seed", range(4))
def test_a_client_that_stood_still_reads_and_writes_nothing_more(seed):
    with Simulation(seed) as simulation:
        host = simulation.host()
        host.start_driver()
        source = host.connect()
        paused = host.connect()
        subscription = paused.add_subscription(CHANNEL, 1)
        beside = source.add_subscription(CHANNEL, 1)
        stream = source.add_exclusive_publication(CHANNEL, 1)
        own = [paused.add_publication(CHANNEL, 2), paused.add_exclusive_publication(CHANNEL, 3)]
        reader = source.add_subscription(CHANNEL, 2)
        other_reader = source.add_subscription(CHANNEL, 3)
        counter = paused.add_counter(5001, "the paused client's")
        party = simulation.add_party("publisher", publisher([stream]))
        simulation.add_party("reader beside", lambda: len(beside.poll_messages(50)))
        simulation.run(lambda: subscription.is_connected and all(p.is_connected for p in own))
        got: list[bytes] = []

        def read_some() -> bool:
            got.extend(bytes(each.data) for each in subscription.poll_messages(50))
            return stream.position > 150_000

        simulation.run(read_some)
        (image,) = subscription.images
        position = image.position
        host.pause_client(paused, PAUSE_S)
        taken = take_counters(simulation, host)
        simulation.remove_party(party)
        assert stream.position > position + 100_000  # what stood there is overwritten
        # Nothing of the client has had a turn since.
        seen: list[bytes] = []
        assert subscription.poll_messages(100) == []
        assert subscription.poll(lambda data, _: seen.append(bytes(data)), 100) == 0
        assert image.poll_block(lambda data, *_: seen.append(bytes(data)), 65536) == 0
        assert image.peek(lambda data, _: seen.append(bytes(data))) == position
        assert seen == []
        assert image.position == image.message_position == position
        assert [each.offer(b"too late") for each in own] == [OfferStatus.CLOSED] * 2
        with pytest.raises(ResourceClosedError):
            counter.value = 1
        with pytest.raises(ResourceClosedError):
            counter.add(1)
        assert [each.value for each in taken] == [0] * COUNTERS
        with pytest.raises(ConductorServiceTimeoutError):
            simulation.run(lambda: subscription.poll_messages(100))
        assert got == [message(number) for number in range(len(got))]
        assert [each.value for each in taken] == [0] * COUNTERS
        assert reader.poll_messages() == other_reader.poll_messages() == []


@pytest.mark.parametrize("difference_ms", [30_000, 3_600_000, -30_000, -3_600_000])
def test_a_step_of_the_wall_clock_ends_nobody(difference_ms):
    with Simulation(1) as simulation:
        host = simulation.host()
        driver = host.start_driver()
        archive = host.start_archive()
        client = host.connect()
        session = host.connect_archive(client)
        stream = session.add_recorded_publication(CHANNEL, 1)
        party = simulation.add_party("publisher", publisher([stream]))
        simulation.run(lambda: stream.position > 1_000)
        simulation.clock.step_epoch_ms(difference_ms)
        simulation.run(timeout=5)
        assert not client.closed
        assert not archive.is_closed
        assert not driver.is_closed
        position = stream.position
        simulation.run(lambda: stream.position > position)
        simulation.remove_party(party)
        (recording,) = host.connect_archive(host.connect()).recordings()
        counter = session.recording_position_counter(recording.recording_id)
        simulation.run(lambda: counter.value == stream.position)
