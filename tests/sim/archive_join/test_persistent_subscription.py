"""Whatever happens to live stream, network, publisher and archive: each message once, in order."""

import pytest

from aerolog.archive.client import LiveJoined, LiveLeft, ReplayStarted

LOSSES = (0.0, 0.0, 0.05, 0.15)


def kinds(stream):
    return [type(event) for event in stream.take_events()]


@pytest.mark.parametrize("medium", ["udp", "ipc", "spy"])
def test_a_quiet_world(make_world, medium):
    world = make_world(1, medium)
    world.run(lambda: world.sent > world.count // 2)
    stream = world.follow()
    world.read_with(stream.poll_messages)
    world.finish()
    world.run(lambda: stream.is_live)
    assert kinds(stream) == [ReplayStarted, LiveJoined]
    assert stream.position == world.publication.position
    stream.close()


@pytest.mark.parametrize("medium", ["udp", "ipc", "spy"])
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.timeout(300)
def test_harm_of_every_kind(make_world, medium, seed):
    play(make_world, medium, seed)


@pytest.mark.slow
@pytest.mark.parametrize("medium", ["udp", "ipc", "spy"])
@pytest.mark.parametrize("seed", range(100, 300))
@pytest.mark.timeout(300)
def test_much_harm_of_every_kind(make_world, medium, seed):
    play(make_world, medium, seed)


def play(make_world, medium, seed):
    """Harm, then peace: everything must have arrived."""
    world = make_world(seed, medium, loss=LOSSES[seed % len(LOSSES)], count=4000)
    stream = world.follow()
    world.read_with(stream.poll_messages)
    world.direct(6)
    world.finish()
    world.run(lambda: stream.is_live)
    events = kinds(stream)
    assert events.count(LiveJoined) == events.count(LiveLeft) + 1
    stream.close()
