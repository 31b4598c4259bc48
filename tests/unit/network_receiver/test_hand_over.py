"""Commands and events between conductor and receiver: full queues, late answers, threads."""

from __future__ import annotations

import time

import pytest

from aerolog.transport.concurrent.agent_runner import AgentRunner
from aerolog.transport.concurrent.clock import SystemClock
from aerolog.transport.concurrent.idle import YieldingIdleStrategy
from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.driver.receive.data_packet_dispatcher import SESSION_REFUSED, SESSION_UNKNOWN
from aerolog.transport.driver.receive.receive_transport import ReceiveTransport
from aerolog.transport.driver.receive.receiver import Receiver
from aerolog.transport.driver.receive.receiver_events import EndpointReleased, TransportReleased
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.network import sockets

MS = 1_000_000
STREAM = 1001


def test_commands_that_the_queue_does_not_take_are_kept_in_order(station):
    station.receiver = Receiver(station.clock, station.counters, queue_length=4)
    endpoint = station.endpoint()
    for stream_id in range(100):
        station.receiver.add_subscription(endpoint, stream_id)
        station.receiver.remove_subscription(endpoint, stream_id)
    station.receiver.add_subscription(endpoint, 7)
    for _ in range(100):
        station.cycle()
    assert endpoint.dispatcher.wants(7, 1)
    assert not any(endpoint.dispatcher.wants(stream, 1) for stream in range(100) if stream != 7)


def test_releases_wait_for_room_among_the_events(station, make_source):
    station.conductor_sleeps = True
    endpoint = station.endpoint(multi_destination=True)
    station.receiver.add_subscription(endpoint, STREAM)
    removed = []
    for port in range(5000, 5400):
        transport = ReceiveTransport(endpoint.free_index(), station.port(port))
        station.receiver.add_destination(endpoint, transport)
        station.receiver.remove_destination(endpoint, transport)
        removed.append(transport)
    source = make_source()
    for session in range(2000):
        source.session_id = session
        source.setup()
        station.cycle()
    station.receiver.remove_endpoint(endpoint)
    events = []
    for _ in range(400):
        station.receiver.flush()
        station.cycle()
        events += station.receiver.events()
    released = [event.transport for event in events if isinstance(event, TransportReleased)]
    assert released == removed
    assert events[-1] == EndpointReleased(endpoint)


def test_a_refusal_after_the_subscription_went_does_nothing(station, source):
    station.conductor_sleeps = True
    endpoint = station.listen()
    source.setup()
    station.cycle()
    station.receiver.remove_subscription(endpoint, STREAM)
    station.cycle()
    station.receiver.refuse_image(endpoint, source.session_id, STREAM)
    station.cycle()
    assert endpoint.dispatcher.session_state(STREAM, source.session_id) == SESSION_UNKNOWN
    station.receiver.add_subscription(endpoint, STREAM)
    station.refuses = True
    source.setup()
    station.cycle()
    station.conduct()
    station.conduct()
    station.cycle()
    assert endpoint.dispatcher.session_state(STREAM, source.session_id) == SESSION_REFUSED


def test_an_image_that_comes_too_late_drains_at_once(station, source):
    station.conductor_sleeps = True
    endpoint = station.listen()
    source.setup()
    station.cycle()
    station.receiver.remove_subscription(endpoint, STREAM)
    station.cycle()
    station.conduct()
    station.cycle()
    assert [frame.flags for frame in source.heard()] == [0x40]
    assert endpoint.dispatcher.image_count(STREAM) == 0


def test_images_of_other_endpoints_are_refused(streaming):
    station, _ = streaming
    other = station.endpoint(ReceiveTransport(0, station.port(4001)))
    with pytest.raises(ConfigurationError, match="another endpoint"):
        station.receiver.add_image(other, station.image)


def test_conductor_and_receiver_work_on_threads_of_their_own(station_of, source_of):
    """Loss, status messages and data cross threads all the time; nothing is lost or invented."""
    station = station_of(SystemClock(), None)
    receiving = sockets.open_receive_port(("127.0.0.1", 0), so_rcvbuf=1 << 20)
    sending = sockets.open_send_port(receiving.local_address, ("127.0.0.1", 0), so_rcvbuf=1 << 20)
    with receiving, sending:
        endpoint = station.endpoint(ReceiveTransport(0, receiving))
        station.receiver.add_subscription(endpoint, STREAM)
        source = source_of(sending, None)
        with AgentRunner(station.receiver, YieldingIdleStrategy()):
            received = _received_with_repair(station, source, 4 * 65536)
    expected = b"".join(bytes([at // 1024 % 251]) * 992 for at in range(0, 4 * 65536, 1024))
    assert received == expected
    assert station.count(SystemCounter.NAK_MESSAGES_SENT) > 0


def _received_with_repair(station, source, end):
    """Send with holes and serve every NAK, until all has been consumed; what was consumed."""
    deadline = time.monotonic() + 30
    position, limit, consumed = 0, 0, b""
    skipped = 0
    source.setup()
    while len(consumed) < end // 1024 * 992:
        assert time.monotonic() < deadline, "the stream did not come through in time"
        station.conduct()
        for frame in source.heard():
            begin = (frame.term_id - source.initial_term_id) * 65536 + frame.term_offset
            if type(frame).__name__ == "StatusMessage":
                limit = max(limit, begin + frame.window)
                continue
            for at in range(begin, begin + frame.length, 1024):
                source.data(at, 1024, fill=at // 1024 % 251)
        while position < min(limit, end):
            skipped += 1
            if skipped % 5:
                source.data(position, 1024, fill=position // 1024 % 251)
            position += 1024
        source.heartbeat(position)
        if station.images:
            consumed += station.consume(station.image)
    return consumed


def test_many_setups_take_half_of_the_conductors_time(station, source):
    station.conductor_sleeps = True
    station.listen()
    for session in range(1, 101):
        source.session_id = session
        source.setup()
    station.cycle()
    receiver, clock = station.receiver, station.clock

    def sessions():
        return [event.session_id for event in receiver.events()]

    assert sessions() == [1, 2, 3, 4, 5, 6, 7, 8]
    clock.advance_ns(60 * MS)
    assert receiver.has_waiting_events()
    assert sessions() == [9]
    given, waited_ns = 1, 0
    while given < 50:
        clock.advance_ns(4 * MS)
        while not receiver.has_waiting_events():
            clock.advance_ns(100_000)
            waited_ns += 100_000
        assert sessions() == [9 + given]
        given += 1
    assert 0.7 < waited_ns / (given * 4 * MS) <= 1


def test_setups_that_wait_hold_nothing_else_up(station, source):
    station.conductor_sleeps = True
    endpoint = station.listen()
    other = station.endpoint(ReceiveTransport(0, station.port(4001)))
    for session in range(1, 101):
        source.session_id = session
        source.setup()
    station.cycle()
    receiver, clock = station.receiver, station.clock
    receiver.events()
    clock.advance_ns(200 * MS)
    assert not receiver.has_waiting_events()
    receiver.remove_endpoint(other)
    station.cycle()
    assert receiver.has_waiting_events()
    assert receiver.events() == [EndpointReleased(other)]
    receiver.remove_endpoint(endpoint)
    station.cycle()
    clock.advance_ns(1000 * MS)
    assert receiver.events() == [EndpointReleased(endpoint)]
    assert not receiver.has_waiting_events()


def test_what_was_given_back_takes_no_commands(station, source):
    station.conductor_sleeps = True
    endpoint = station.listen()
    source.setup()
    station.cycle()
    (event,) = station.receiver.events()
    station.receiver.remove_endpoint(endpoint)
    station.cycle()
    assert station.receiver.events() == [EndpointReleased(endpoint)]
    station.receiver.refuse_image(event.endpoint, event.session_id, event.stream_id)
    station.receiver.remove_endpoint(endpoint)
    station.receiver.remove_image(station.make_image(event))
    station.cycle()
    assert station.receiver.events() == []
