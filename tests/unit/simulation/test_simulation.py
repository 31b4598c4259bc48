"""Whose turn it is, how time passes, and that a seed decides both."""

import gc
import itertools

import pytest

from aerolog.testing import Pace, Simulation, SimulationTimeoutError
from aerolog.transport.errors import AeronTimeoutError, DriverTimeoutError

MS = 1_000_000


def turns_of(seed, pace=None):
    """Who worked when, in a world of three that always have something to do."""
    seen = []
    with Simulation(seed, pace=pace) as world:
        for name in "abc":
            world.add_party(name, lambda name=name: seen.append((name, world.clock.now_ns())) or 1)
        for _ in range(300):
            world.step()
        return seen, world.fingerprint


def test_a_seed_gives_the_same_turns_again():
    assert turns_of(7) == turns_of(7)
    assert turns_of(7)[1] != turns_of(8)[1]


def test_everybody_gets_turns_and_every_turn_takes_its_time():
    seen, _ = turns_of(7, Pace(turn_ns=1000))
    assert {name for name, _ in seen} == set("abc")
    times = [when for _, when in seen]
    assert times == sorted(times)
    assert all(0 <= b - a < 1000 for a, b in itertools.pairwise(times))


def test_a_stalled_party_gets_no_turn_for_so_long(simulation):
    seen = []
    lazy = simulation.add_party("lazy", lambda: seen.append(simulation.clock.now_ns()) or 1)
    simulation.add_party("busy", lambda: 1)
    until = simulation.clock.now_ns() + 5 * MS
    simulation.stall(lazy, 5 * MS)
    simulation.run(lambda: seen, timeout=1)
    assert until <= seen[0] < until + MS


def test_stalls_come_by_chance():
    seen, _ = turns_of(3, Pace(stall_chance=0.5, stall_ns=MS))
    assert len(seen) < 200


def test_time_leaps_when_nobody_has_anything_to_do(simulation):
    simulation.add_party("idle", lambda: 0)
    simulation.run(timeout=10)
    assert 10 <= simulation.now_s < 10.1
    assert simulation.turn_count < 10_000


def test_time_never_leaps_over_an_arrival(simulation):
    left, right = simulation.network.host(), simulation.network.host()
    sender = left.open_send_port((right.ipv4, 40_000), (left.ipv4, 0))
    receiver = right.open_receive_port((right.ipv4, 40_000))
    simulation.network.set_link(delay_ns=3 * MS)
    simulation.add_party("idle", lambda: 0)
    simulation.run(timeout=1)  # leaps are at their longest now
    sender.send_datagrams([b"late"])
    due_ns = simulation.clock.now_ns() + 3 * MS
    arrived = []

    def look():
        found = receiver.receive_datagrams()
        if found:
            arrived.append(simulation.clock.now_ns())
        return len(found)

    simulation.add_party("receiver", look)
    simulation.run(lambda: arrived, timeout=1)
    assert due_ns <= arrived[0] < due_ns + MS


def test_waiting_ends_when_the_time_is_over(simulation):
    with pytest.raises(SimulationTimeoutError, match=r"seed 1: not within 0\.5 simulated seconds"):
        simulation.run(lambda: False, timeout=0.5)


def test_a_party_that_waits_gets_no_turn_inside_its_turn(simulation):
    depth, deepest, others = 0, 0, 0

    def waits():
        nonlocal depth, deepest
        depth += 1
        deepest = max(deepest, depth)
        for _ in range(5):
            simulation.step()
        depth -= 1

    def counts():
        nonlocal others
        others += 1

    simulation.add_party("waits", waits)
    simulation.add_party("counts", counts)
    for _ in range(20):
        simulation.step()
    assert deepest == 1
    assert others > 20


def test_a_party_that_left_gets_no_turn(simulation):
    seen = []
    party = simulation.add_party("short", lambda: seen.append(1) or 1)
    simulation.remove_party(party)
    simulation.remove_party(party)
    simulation.run(timeout=0.1)
    assert not seen


def test_the_trace_tells_turns_and_events():
    lines = []
    with Simulation(1, trace=lines.append) as world:
        world.add_party("worker", lambda: 3)
        world.note("something")
        world.step()
    assert [line.split(maxsplit=1)[1] for line in lines] == ["something", "worker did 3"]


def test_events_are_part_of_the_fingerprint(simulation):
    before = simulation.fingerprint
    simulation.note("something")
    assert simulation.fingerprint != before


def test_the_garbage_collector_rests_while_a_world_is_open():
    assert gc.isenabled()
    with Simulation(1):
        assert not gc.isenabled()
    assert gc.isenabled()


def test_blocking_calls_turn_everybody(host):
    client = host.connect()
    subscription = client.add_subscription("aeron:ipc", 1)
    with client.add_publication("aeron:ipc", 1) as publication:
        publication.send(b"hello", timeout=1)
        assert next(subscription.messages(timeout=1)).data == b"hello"


def test_a_killed_client_is_given_up_by_its_driver(simulation, host):
    client, other = host.connect(), host.connect()
    client.add_publication("aeron:ipc", 1)
    subscription = other.add_subscription("aeron:ipc", 1)
    simulation.run(lambda: subscription.is_connected, timeout=1)
    host.kill_client(client)
    assert client.closed
    assert subscription.is_connected
    simulation.run(lambda: not subscription.is_connected, timeout=5)


def test_clients_of_a_killed_driver_say_why_they_end(simulation, host):
    errors = []
    client = host.connect(on_error=errors.append)
    host.kill_driver()
    simulation.run(lambda: client.closed, timeout=5)
    assert isinstance(client.close_reason, DriverTimeoutError)
    assert [type(error) for error in errors] == [DriverTimeoutError]


def test_a_driver_starts_again_where_one_was_killed(simulation, host):
    host.connect().add_publication("aeron:ipc", 1)
    host.kill()
    simulation.run(timeout=3)
    host.start_driver()
    assert host.connect().add_publication("aeron:ipc", 1).is_original


def test_without_a_driver_a_client_gives_up_in_simulated_time(simulation):
    before = simulation.now_s
    with pytest.raises(AeronTimeoutError):
        simulation.host().connect(driver_timeout=3.0)
    assert simulation.now_s - before >= 3


def test_an_archive_records_and_replays(simulation, host):
    host.start_archive()
    client = host.connect()
    with host.connect_archive(client) as archive:
        archive.start_recording("aeron:ipc", 7)
        with client.add_publication("aeron:ipc", 7) as publication:
            for number in range(10):
                publication.send(b"%d" % number, timeout=1)
        simulation.run(lambda: archive.list_recording(0), timeout=5)
        simulation.run(lambda: archive.stop_position(0) is not None, timeout=5)
        assert [m.data for m in archive.read(0)] == [b"%d" % number for number in range(10)]


def test_a_killed_archive_s_recording_is_found_by_the_next_one(simulation, host):
    host.start_archive()
    client = host.connect()
    archive = host.connect_archive(client)
    archive.start_recording("aeron:ipc", 7)
    publication = client.add_publication("aeron:ipc", 7)
    publication.send(b"kept", timeout=1)
    simulation.run(lambda: archive.list_recording(0), timeout=5)
    simulation.run(lambda: archive.recording_position(0) == 64, timeout=5)
    host.kill_archive()
    host.kill_client(client)
    simulation.run(timeout=11)  # until the mark file has become old
    host.start_archive()
    with host.connect_archive() as again:
        assert again.stop_position(0) == 64
        assert [m.data for m in again.read(0)] == [b"kept"]
