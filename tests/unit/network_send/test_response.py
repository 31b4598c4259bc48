"""Response channels as the sender has them (spec wire-protocol 14, 18.6)."""

import pytest

from aerolog.transport.driver.send.sender_events import ResponseConnected, ResponseSetup
from aerolog.transport.protocol.frame_codec import (
    DataFrame,
    SetupFrame,
    decode_frame,
    encode_frame,
)
from aerolog.transport.protocol.frame_codec import ResponseSetup as ResponseSetupFrame


def kinds(datagrams):
    return [type(decode_frame(d)) for d in datagrams]


@pytest.fixture
def clients(bench):
    """Two ports that a response may go to."""
    return [bench.there.open_receive_port((bench.there.ipv4, port)) for port in (21077, 21078)]


@pytest.fixture
def response(bench, make_stream):
    """A response publication."""
    port = bench.here.open_send_port(None, (bench.here.ipv4, 21000))
    endpoint = bench.endpoint(port, is_response=True)
    return make_stream(bench, endpoint, is_response=True, response_correlation_id=7)


def test_a_request_publication_asks_in_its_setup_for_a_response_setup(bench):
    receiver, stream = bench.unicast(response_correlation_id=9)
    bench.turn()
    (setup,) = map(decode_frame, bench.heard(receiver))
    assert setup.flags == 0x80
    frame = ResponseSetupFrame(stream.session_id, stream.stream_id, 777)
    bench.answer(receiver, stream, encode_frame(frame))
    assert bench.events == [ResponseSetup(stream.publication, 777)]


def test_another_publication_passes_over_response_setups(bench):
    receiver, stream = bench.unicast()
    bench.turn()
    (setup,) = map(decode_frame, bench.heard(receiver))
    assert setup.flags == 0
    frame = ResponseSetupFrame(stream.session_id, stream.stream_id, 777)
    bench.answer(receiver, stream, encode_frame(frame))
    assert bench.events == []


def test_a_response_goes_to_whoever_asked_for_its_setup_last(bench, clients, response):
    first, second = clients
    bench.wait(305)
    assert bench.heard(first) == []
    bench.answer(first, response, response.status(0, 0, flags=0x80))
    bench.wait(350)
    setups = bench.heard(first)
    assert kinds(setups) == [SetupFrame] * len(setups)
    assert 3 <= len(setups) <= 4
    assert [decode_frame(s).flags for s in setups] == [0] * len(setups)
    bench.answer(first, response, response.status(0, 4096))
    assert bench.events == [ResponseConnected(response.publication)]
    bench.wait(101)
    frames = kinds(bench.heard(first))
    assert frames.count(SetupFrame) == 1
    bench.wait(300)
    assert set(kinds(bench.heard(first))) == {DataFrame}
    response.offer(b"to the first")
    bench.turn(2)
    assert any(len(d) == 64 for d in bench.heard(first))
    bench.answer(second, response, response.status(0, 0, flags=0x80))
    response.offer(b"to the second")
    bench.turn(2)
    assert bench.heard(first) == []
    assert any(len(d) == 64 for d in bench.heard(second))


def test_a_response_is_connected_again_after_its_receivers_were_gone(bench, clients, response):
    bench.answer(clients[0], response, response.status(0, 0, flags=0x80))
    bench.answer(clients[0], response, response.status(0, 4096))
    bench.answer(clients[0], response, response.status(0, 4096))
    assert len(bench.events) == 1
    bench.wait(5020)
    bench.answer(clients[0], response, response.status(0, 4096))
    assert bench.events == [ResponseConnected(response.publication)] * 2


def test_responses_of_one_endpoint_go_to_different_receivers(bench, clients, response, make_stream):
    endpoint = response.publication.endpoint
    other = make_stream(bench, endpoint, is_response=True, response_correlation_id=8, session_id=12)
    bench.answer(clients[0], response, response.status(0, 0, flags=0x80))
    bench.answer(clients[1], other, other.status(0, 0, flags=0x80))
    bench.wait(102)
    heard = [{decode_frame(d).session_id for d in bench.heard(c)} for c in clients]
    assert heard == [{response.session_id}, {12}]
