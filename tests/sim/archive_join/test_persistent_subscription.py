"""Whatever happens to live stream, network, publisher and archive: each message once, in order."""

import pytest

from aerolog.archive.client import JoinTrouble, LiveJoined, LiveLeft, ReplayStarted

STREAM_ID = 7
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
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.timeout(300)
def test_harm_of_every_kind(make_world, medium, seed):
    events = play(make_world, medium, seed)
    assert events.count(LiveJoined) == events.count(LiveLeft) + 1


@pytest.mark.slow
@pytest.mark.parametrize("medium", ["udp", "ipc", "spy"])
@pytest.mark.parametrize("seed", range(100, 300))
@pytest.mark.timeout(300)
def test_much_harm_of_every_kind(make_world, medium, seed):
    events = play(make_world, medium, seed)
    assert events.count(LiveJoined) == events.count(LiveLeft) + 1


def test_a_slow_subscriber_beside_does_not_matter(make_world):
    """Within a driver the live image begins where the slowest subscriber is."""
    world = make_world(3, "ipc", count=20)
    slow = world.home.connect().add_subscription(world.live_channel, STREAM_ID)
    world.run(lambda: slow.is_connected and world.sent == world.count)
    stop = world.publication.position
    # Stopped at once, it would end where the recorder is.
    world.run(lambda: world.session.recording_position(world.recording_id) == stop)
    world.session.stop_recording_by_identity(world.recording_id)
    world.run(lambda: world.session.stop_position(world.recording_id) == stop)
    stream = world.follow()
    world.read_with(stream.poll_messages)
    world.run(lambda: stream.is_live)
    assert slow.images[0].position < stop
    world.count += 10
    world.finish()
    assert world.received == 30
    stream.close()


@pytest.mark.parametrize("medium", ["udp", "ipc"])
def test_padding_in_place_of_what_a_dead_archive_had_begun_is_no_message(make_world, medium):
    """It dies between claim and commit of a frame, and its driver puts padding there."""
    body_length = 100
    world = make_world(5, medium, count=3000, body_length=body_length)
    world.run(lambda: world.sent == world.count)
    end = world.publication.position
    world.run(lambda: world.session.max_recorded_position(world.recording_id) == end)
    stream = world.follow()
    world.read_with(stream.poll_messages)
    world.run(lambda: world.received > 50)
    (replay,) = world.source.archive._conductor.replays.sessions.values()
    length = 12 + body_length  # number and checksum come first
    world.run(lambda: replay.publication.try_claim(length))
    world.source.kill_archive()
    world.source.kill_client(world.session.aeron)
    begun = world.received
    world.simulation.run(timeout=10.5)  # until its mark file is stale
    assert begun < world.received < world.count
    world.start_archive()
    world.finish()
    stream.close()


@pytest.mark.parametrize(
    ("medium", "states"),
    [
        ("udp", [0, 1, 2, 5, 6, 7, 3, 4, 12, 13, 16]),
        ("ipc", [0, 1, 2, 3, 4, 5, 6, 12, 13, 16]),
    ],
)
def test_the_states_are_those_of_the_reference(make_world, medium, states):
    """As counter 114 of the reference shows them; then the publisher ends."""
    world = make_world(4, medium, count=50)
    world.run(lambda: world.sent == world.count)
    stream = world.follow()
    seen = note_states(stream)
    world.read_with(stream.poll_messages)
    world.run(lambda: stream.is_live)
    assert seen == states
    world.publication.close()
    world.run(lambda: stream.state == 15)
    assert seen[-4:] == [1, 2, 14, 15]
    stream.take_events()
    world.simulation.run(timeout=5)  # longer than the message timeout
    (trouble,) = stream.take_events()
    assert isinstance(trouble, JoinTrouble)
    assert not trouble.is_fatal
    stream.close()


def note_states(stream):
    """The states that a subscription goes through from now on, without repetitions."""
    seen = []
    go = stream._engine.go

    def note(state):
        seen.append(int(state))
        go(state)

    stream._engine.go = note
    return seen


def play(make_world, medium, seed):
    """Harm, then peace until everything has arrived; the kinds of events."""
    world = make_world(seed, medium, loss=LOSSES[seed % len(LOSSES)], count=4000)
    stream = world.follow()
    world.read_with(stream.poll_messages)
    world.direct(6)
    world.finish()
    world.run(lambda: stream.is_live)
    events = kinds(stream)
    stream.close()
    return events
