"""How a session becomes an image: elicited, set up, refused, kept away (spec wire-protocol 8)."""

import pytest

from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.driver.receive.receive_transport import ReceiveTransport
from aerolog.transport.driver.receive.receiver_events import (
    CreateImage,
    SessionLimitExceeded,
)
from aerolog.transport.protocol.frame_codec import StatusMessage

MS = 1_000_000
S = 1_000 * MS
SESSION = 0x01020304
STREAM = 1001
RECEIVER_ID = -8574284853424707855
ELICITING = StatusMessage(SESSION, STREAM, 0, 0, 0, RECEIVER_ID, flags=0x80)


def test_data_without_setup_elicits_once_a_second(station, source):
    station.listen()
    source.data(0)
    station.cycle()
    assert source.heard() == [ELICITING]
    source.data(64)
    source.heartbeat(128)
    station.run(999 * MS)
    assert source.heard() == []
    station.run(2 * MS)
    source.heartbeat(128)
    station.cycle()
    assert source.heard() == [ELICITING]
    assert station.count(SystemCounter.STATUS_MESSAGES_SENT) == 0


def test_a_heartbeat_of_an_ended_stream_elicits_nothing(station, source):
    station.listen()
    source.heartbeat(0, flags=0xE0)
    station.cycle()
    assert source.heard() == []


def test_a_setup_makes_an_image_that_answers_at_once(station, source):
    endpoint = station.listen()
    source.setup(4096)
    station.cycle()
    event = station.events[0]
    assert event == CreateImage(
        endpoint, 0, SESSION, STREAM, 0x10, 0x10, 4096, 65536, 1408, 0,
        source.port.local_address, source.port.local_address,
    )  # fmt: skip
    assert source.heard() == [StatusMessage(SESSION, STREAM, 0x10, 4096, 32768, RECEIVER_ID)]
    assert station.image.join_position() == 4096
    assert station.count(SystemCounter.STATUS_MESSAGES_SENT) == 1


def test_status_messages_are_repeated_every_200_ms(streaming):
    station, source = streaming
    station.run(1005 * MS)
    assert source.heard() == [StatusMessage(SESSION, STREAM, 0x10, 0, 32768, RECEIVER_ID)] * 5
    source.heartbeat(0)
    station.run(1005 * MS)
    assert len(source.heard()) == 5


def test_setups_of_an_image_force_no_status_message(streaming):
    station, source = streaming
    for _ in range(3):
        source.setup()
        station.cycle()
    assert source.heard() == []
    assert len(station.events) == 1


def test_streams_that_nobody_wants_are_dropped(station, make_source):
    station.listen()
    other = make_source(stream_id=7)
    other.setup()
    other.data(0)
    station.cycle()
    assert other.heard() == []
    assert station.events == []


def test_only_the_wanted_session_is_answered_until_all_are(station, source, make_source):
    endpoint = station.endpoint()
    station.receiver.add_subscription(endpoint, STREAM, SESSION)
    other = make_source(session_id=9)
    for sender in (source, other):
        sender.data(0)
    station.cycle()
    assert source.heard() == [ELICITING]
    assert other.heard() == []
    station.receiver.add_subscription(endpoint, STREAM)
    other.data(0)
    station.cycle()
    assert [frame.flags for frame in other.heard()] == [0x80]


def test_an_image_stays_while_a_single_subscription_wants_it(streaming):
    station, source = streaming
    (endpoint,) = station.endpoint_of.values()
    station.receiver.add_subscription(endpoint, STREAM, SESSION)
    station.receiver.remove_subscription(endpoint, STREAM)
    source.data(0)
    station.run(10 * MS)
    assert station.image.rebuild_position == 64
    assert source.heard() == []
    station.receiver.remove_subscription(endpoint, STREAM, SESSION)
    station.cycle()
    assert [frame.flags for frame in source.heard()] == [0x40]


def test_a_refused_session_may_ask_again_after_a_second(station, source):
    station.listen()
    station.refuses = True
    source.setup()
    station.cycle()
    for _ in range(9):
        station.run(100 * MS)
        source.setup()
    station.cycle()
    assert len(station.events) == 1
    station.refuses = False
    station.run(110 * MS)
    source.setup()
    station.cycle()
    assert len(station.events) == 2
    assert len(source.heard()) == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"mtu": 1000}, {"mtu": 32}, {"mtu": 0}, {"mtu": -32}, {"mtu": 8224}, {"mtu": 65536},
        {"term_length": 65535}, {"term_length": 32768}, {"term_length": 0},
        {"term_length": -(2**31)}, {"term_length": 2**30 + 1},
        {"term_offset": 65536}, {"term_offset": -32}, {"term_offset": 16},
        {"active_term_id": 0x0F}, {"active_term_id": 0x10 - 2**31},
    ],
)  # fmt: skip
def test_setups_that_no_log_fits_are_invalid(station, source, changes):
    station.listen()
    source.setup(**changes)
    station.cycle()
    assert station.events == []
    assert station.count(SystemCounter.INVALID_PACKETS) == 1
    source.setup()
    station.cycle()
    assert len(station.images) == 1


def test_a_stream_has_no_more_sessions_than_its_limit(station, source, make_source):
    endpoint = station.listen(session_limit=1)
    source.setup()
    station.cycle()
    other = make_source(session_id=9)
    for _ in range(50):
        other.setup()
        station.cycle(10 * MS)
    limits = [event for event in station.events if isinstance(event, SessionLimitExceeded)]
    assert limits == [SessionLimitExceeded(endpoint, STREAM, other.port.local_address)]
    assert len(station.images) == 1
    assert other.heard() == []


def test_a_receiver_with_control_elicits_once_a_second(station, make_source):
    source = make_source()
    control = source.port.local_address
    transport = ReceiveTransport(0, station.port(), explicit_control=control)
    endpoint = station.endpoint(transport)
    any_session = StatusMessage(0, 0, 0, 0, 0, RECEIVER_ID, flags=0x80)
    station.cycle()
    assert source.heard() == [any_session]
    station.run(1500 * MS)
    assert source.heard() == []
    station.receiver.add_subscription(endpoint, STREAM)
    station.cycle()
    assert source.heard() == [any_session]
    station.run(3010 * MS)
    assert source.heard() == [any_session] * 3
    station.receiver.add_subscription(endpoint, 1004, 55)
    station.cycle()
    assert source.heard() == [StatusMessage(55, 1004, 0, 0, 0, RECEIVER_ID, flags=0x80)]
    station.receiver.request_setup(endpoint, 20, 777)
    station.cycle()
    assert source.heard() == [StatusMessage(777, 20, 0, 0, 0, RECEIVER_ID, flags=0x80)]


def test_a_moved_control_address_is_elicited_from_then_on(station, make_source):
    old, new = make_source(), make_source()
    transport = ReceiveTransport(0, station.port(), explicit_control=old.port.local_address)
    endpoint = station.endpoint(transport)
    station.receiver.add_subscription(endpoint, STREAM)
    station.cycle()
    assert len(old.heard()) == 1
    station.run(7 * S)
    (event,) = station.events
    assert (event.endpoint, event.transport) == (endpoint, transport)
    station.receiver.change_address(endpoint, transport, new.port.local_address)
    station.cycle()
    old.heard()
    station.run(2 * S)
    assert old.heard() == []
    assert len(new.heard()) == 2
