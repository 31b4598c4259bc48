"""One image of several transports (spec wire-protocol 9.5, 13)."""

import pytest

from aerolog.transport.driver.receive import receive_stream as states
from aerolog.transport.driver.receive.receive_transport import MAX_TRANSPORTS, ReceiveTransport
from aerolog.transport.driver.receive.receiver_events import TransportReleased
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.protocol.frame_codec import Nak, StatusMessage

MS = 1_000_000
S = 1_000 * MS
SESSION = 0x01020304
STREAM = 1001


class Pair:
    """A multi-destination subscription with two destinations and a source for each."""

    def __init__(self, station, make_source):
        self.station = station
        self.endpoint = station.listen(multi_destination=True)
        self.transports = []
        self.sources = []
        for port in (4001, 4002):
            transport = ReceiveTransport(self.endpoint.free_index(), station.port(port))
            station.receiver.add_destination(self.endpoint, transport)
            self.transports.append(transport)
            self.sources.append(make_source((station.host.ipv4, port)))
        station.cycle()

    def heard(self):
        return [source.heard() for source in self.sources]


@pytest.fixture
def pair(station, make_source):
    return Pair(station, make_source)


def flags_of(frames):
    return [frame.flags for frame in frames if isinstance(frame, StatusMessage)]


def test_destinations_take_the_first_free_index(pair, station):
    assert [transport.index for transport in pair.transports] == [0, 1]
    station.receiver.remove_destination(pair.endpoint, pair.transports[0])
    assert pair.endpoint.free_index() == 0
    station.cycle()
    assert station.events == [TransportReleased(pair.endpoint, pair.transports[0])]


def test_one_image_of_both_sources_answers_both(pair, station):
    first, second = pair.sources
    first.setup()
    station.cycle()
    second.setup()
    station.cycle()
    first.data(0, fill=1)
    second.data(0, fill=1)
    second.data(64, fill=2)
    station.cycle(MS)
    assert station.consume(station.image) == b"\1" * 32 + b"\2" * 32
    station.run(405 * MS)
    heard = pair.heard()
    assert flags_of(heard[0]) == [0, 0, 0]
    assert flags_of(heard[1]) == [0, 0]
    assert {frame.receiver_id for frames in heard for frame in frames} == {
        pair.endpoint.receiver_id
    }
    assert station.image.logs.active_transport_count == 2


def test_gaps_are_reported_to_every_source(pair, station):
    first, second = pair.sources
    for source in pair.sources:
        source.setup()
        station.cycle()
    pair.heard()
    first.data(64)
    station.cycle(MS)
    station.cycle(MS)
    for frames in pair.heard():
        assert Nak(SESSION, STREAM, 0x10, 0, 64) in frames
    second.data(0)
    station.cycle(MS)
    assert station.image.rebuild_position == 128


def test_the_stream_ends_when_all_sources_have_ended(pair, station):
    first, second = pair.sources
    for source in pair.sources:
        source.setup()
        station.cycle()
    first.heartbeat(0, flags=0xE0)
    station.run(5 * MS)
    assert station.image.state == states.ACTIVE
    assert not station.image.is_end_of_stream
    pair.heard()
    second.heartbeat(0, flags=0xE0)
    station.run(5 * MS)
    assert station.image.state == states.DRAINING
    assert [flags_of(frames) for frames in pair.heard()] == [[0x40], [0x40]]


def test_a_destination_without_a_source_holds_the_end_back(pair, station):
    first, _ = pair.sources
    first.setup()
    station.cycle()
    first.heartbeat(0, flags=0xE0)
    station.run(5 * MS)
    assert not station.image.is_end_of_stream
    station.receiver.remove_destination(pair.endpoint, pair.transports[1])
    first.heartbeat(0, flags=0xE0)
    station.run(5 * MS)
    assert station.image.is_end_of_stream


def test_a_source_that_is_silent_for_five_seconds_is_not_answered(pair, station):
    first, second = pair.sources
    station.image_options = {"image_liveness_timeout_ns": 60 * S}
    for source in pair.sources:
        source.setup()
        station.cycle()
    for _ in range(60):
        first.heartbeat(0)
        station.run(100 * MS, 10 * MS)
        first.heard()
    second.heard()
    station.run(400 * MS)
    assert second.heard() == []
    assert flags_of(first.heard()) == [0, 0]
    second.heartbeat(0)
    station.run(400 * MS)
    assert flags_of(second.heard()) == [0, 0]


def test_a_removed_destination_is_heard_and_answered_no_more(pair, station):
    first, second = pair.sources
    for source in pair.sources:
        source.setup()
        station.cycle()
    station.receiver.remove_destination(pair.endpoint, pair.transports[1])
    station.cycle()
    pair.transports[1].port.close()
    pair.heard()
    second.data(0)
    first.data(64)
    station.run(300 * MS)
    heard = pair.heard()
    assert heard[1] == []
    assert flags_of(heard[0])
    assert station.image.rebuild_position == 0
    assert station.image.logs.active_transport_count == 1


def test_a_destination_with_control_elicits_at_once_and_is_answered(pair, station, make_source):
    third = make_source((station.host.ipv4, 4003))
    pair.sources[0].setup()
    station.cycle()
    transport = ReceiveTransport(
        pair.endpoint.free_index(), station.port(4003), explicit_control=third.port.local_address
    )
    station.receiver.add_destination(pair.endpoint, transport)
    station.cycle()
    (elicited,) = third.heard()
    assert (elicited.flags, elicited.session_id, elicited.stream_id) == (0x80, 0, 0)
    station.run(205 * MS)
    assert flags_of(third.heard()) == [0]


def test_a_subscription_has_a_bounded_number_of_destinations(station):
    transports = [ReceiveTransport(i, station.port(5000 + i)) for i in range(MAX_TRANSPORTS)]
    endpoint = station.endpoint(*transports, multi_destination=True)
    with pytest.raises(ConfigurationError, match=f"at most {MAX_TRANSPORTS} destinations"):
        endpoint.free_index()
    with pytest.raises(ConfigurationError, match="transport index is 32"):
        ReceiveTransport(MAX_TRANSPORTS, station.port(6000))


def test_a_normal_endpoint_has_one_transport(station):
    with pytest.raises(ConfigurationError, match="one transport"):
        station.endpoint(ReceiveTransport(1, station.port()))
    endpoint = station.endpoint(ReceiveTransport(0, station.port(4001)))
    with pytest.raises(ConfigurationError, match="multi-destination"):
        station.receiver.add_destination(endpoint, ReceiveTransport(1, station.port(4002)))
