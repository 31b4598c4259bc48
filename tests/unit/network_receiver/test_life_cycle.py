"""How an image ends, and what its sender hears of it (spec wire-protocol 9.7, 18.3, 18.4)."""

import pytest

from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.driver.receive import receive_stream as states
from aerolog.transport.driver.receive.receiver_events import EndpointReleased
from aerolog.transport.protocol.frame_codec import ErrorFrame, ResponseSetup, StatusMessage

MS = 1_000_000
S = 1_000 * MS
SESSION = 0x01020304
STREAM = 1001
RECEIVER_ID = -8574284853424707855
NEVER = 2**63 - 1


def flags_of(frames):
    return [frame.flags for frame in frames if isinstance(frame, StatusMessage)]


def beat(station, source, position, duration_ns, flags=0xC0):
    """Heartbeats every 100 ms; what was heard in that time."""
    heard = []
    for _ in range(duration_ns // (100 * MS)):
        source.heartbeat(position, flags)
        station.run(100 * MS)
        heard += source.heard()
    return heard


def test_an_ended_stream_is_confirmed_and_then_released(streaming):
    station, source = streaming
    image = station.image
    source.data(0)
    source.heartbeat(64, flags=0xE0)
    station.run(2 * MS)
    assert source.heard() == [
        StatusMessage(SESSION, STREAM, 0x10, 0, 32768, RECEIVER_ID, flags=0x40)
    ]
    assert image.logs.end_of_stream_position == 64
    assert (image.state, image.is_end_of_stream, image.is_drained) == (states.DRAINING, True, False)
    heard = beat(station, source, 64, 1 * S, flags=0xE0)
    assert flags_of(heard) == [0x40] * 4
    station.run(1 * S)
    assert station.images == [image]
    station.consume(image)
    station.run(1 * S)
    source.heard()
    assert station.released == [image]
    source.setup(64)
    station.run(2 * MS)
    assert flags_of(source.heard()) == [0]
    assert station.image.join_position() == 64


def test_an_end_does_not_stop_repair(streaming):
    station, source = streaming
    source.data(128)
    source.heartbeat(192, flags=0xE0)
    station.run(5 * MS)
    heard = source.heard()
    assert heard
    assert {type(frame).__name__ for frame in heard} == {"Nak"}
    assert station.image.state == states.ACTIVE
    source.data(0, 128)
    station.run(2 * MS)
    assert station.image.rebuild_position == 192
    assert flags_of(source.heard()) == [0x40]
    assert station.image.state == states.DRAINING


def test_a_silent_source_is_dropped_and_may_come_back(streaming):
    station, source = streaming
    image = station.image
    station.run(1990 * MS)
    assert flags_of(source.heard()) == [0] * 9
    assert image.state == states.ACTIVE
    station.run(20 * MS)
    assert image.state == states.DRAINING
    source.heartbeat(0)
    source.setup()
    station.run(500 * MS)
    assert source.heard() == []
    assert image.logs.end_of_stream_position == NEVER
    station.run(1500 * MS)
    assert station.released == [image]
    source.heartbeat(0)
    station.run(2 * MS)
    assert flags_of(source.heard()) == [0x80]


def test_a_silent_source_stays_away_without_rejoin(streaming):
    station, source = streaming
    station.rejoin = False
    station.run(4100 * MS)
    source.heard()
    assert len(station.released) == 1
    source.heartbeat(0)
    source.setup()
    station.run(100 * MS)
    assert source.heard() == []


def test_a_revoked_stream_ends_at_the_next_timer_event(streaming):
    station, source = streaming
    image = station.image
    source.data(0)
    station.run(700 * MS)
    source.heard()
    source.heartbeat(64, flags=0xF0)
    station.run(2 * MS)
    assert flags_of(source.heard()) == [0x40]
    assert (image.is_revoked, image.logs.end_of_stream_position) == (True, 64)
    assert station.count(SystemCounter.PUBLICATION_IMAGES_REVOKED) == 1
    station.run(310 * MS)
    assert station.released == [image]
    assert station.images == []
    assert set(flags_of(source.heard())) == {0x40}


def test_a_closed_subscription_says_so_until_all_is_read(streaming):
    station, source = streaming
    image = station.image
    (endpoint,) = station.endpoint_of.values()
    source.data(0)
    station.run(100 * MS)
    source.heard()
    station.receiver.remove_subscription(endpoint, STREAM)
    station.run(2 * MS)
    assert flags_of(source.heard()) == [0x40]
    assert image.state == states.DRAINING
    source.data(64)
    station.consume(image)
    station.run(2 * S)
    assert station.released == [image]
    assert image.rebuild_position == 64
    assert flags_of(source.heard()) == [0x40] * 9


def test_a_younger_image_of_the_session_silences_the_older(streaming):
    station, source = streaming
    (endpoint,) = station.endpoint_of.values()
    station.receiver.remove_subscription(endpoint, STREAM)
    station.run(2 * MS)
    station.receiver.add_subscription(endpoint, STREAM)
    source.setup()
    station.run(2 * MS)
    assert flags_of(source.heard()) == [0x40, 0]
    assert len(station.images) == 2
    assert flags_of(beat(station, source, 0, 900 * MS)) == [0] * 4


def test_a_rejected_image_answers_with_errors_until_it_times_out(station, source):
    station.listen(group_tag=258)
    source.setup()
    station.cycle()
    source.heard()
    station.image.reject("because reasons")
    heard = beat(station, source, 0, 1 * S)
    error = ErrorFrame(SESSION, STREAM, RECEIVER_ID, 13, "because reasons", 258, flags=0x08)
    assert heard == [error] * 4
    assert station.count(SystemCounter.ERROR_FRAMES_SENT) == 4
    assert station.count(SystemCounter.HEARTBEATS_RECEIVED) == 0
    beat(station, source, 0, 1900 * MS)
    assert source.heard() == []
    station.run(2 * S)
    assert station.images == []


def test_the_reason_of_a_rejection_is_cut(streaming):
    station, source = streaming
    station.image.reject("é" + "x" * 2000)
    station.run(300 * MS)
    (error,) = source.heard()
    assert error.text == "?" + "x" * 1022


def test_a_response_session_is_announced_with_timed_status_messages(streaming):
    station, source = streaming
    station.image.response_session_id = -777
    assert station.image.response_session_id == -777
    station.run(405 * MS)
    pair = [
        ResponseSetup(SESSION, STREAM, -777),
        StatusMessage(SESSION, STREAM, 0x10, 0, 32768, RECEIVER_ID),
    ]
    assert source.heard() == pair * 2
    station.image.response_session_id = None
    station.run(201 * MS)
    assert source.heard() == pair[1:]


def test_an_endpoint_is_released_with_its_transports(streaming):
    station, source = streaming
    image = station.image
    (endpoint,) = station.endpoint_of.values()
    assert image.logs.active_transport_count == 1
    station.receiver.remove_endpoint(endpoint)
    station.cycle()
    assert station.events[-1] == EndpointReleased(endpoint)
    assert image.state == states.DRAINING
    endpoint.transports[0].port.close()
    source.data(0)
    station.run(2 * S)
    assert source.heard() == []
    assert station.released == [image]


@pytest.mark.parametrize("state", [states.INIT, states.ACTIVE, states.DRAINING])
def test_the_conductor_enters_only_the_last_states(streaming, state):
    station, _ = streaming
    with pytest.raises(ValueError, match="does not go from state 1"):
        station.image.enter(state, station.clock.now_ns())


def test_images_linger_until_their_subscribers_are_gone(streaming):
    station, _ = streaming
    image = station.image
    now_ns = station.clock.now_ns()
    image.enter(states.LINGER, now_ns)
    assert not image.done_is_due(now_ns + 2 * S - 1)
    assert image.done_is_due(now_ns + 2 * S)
    image.enter(states.DONE, now_ns + 2 * S)
    assert image.state == states.DONE
    assert not image.accepts_subscribers()
