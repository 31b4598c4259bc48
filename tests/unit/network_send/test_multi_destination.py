"""Endpoints with several destinations (spec wire-protocol 12, 18.7)."""

import pytest

from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.driver.flow_control.flow_control import MinFlowControl
from aerolog.transport.driver.send.send_endpoint import DYNAMIC, MANUAL
from aerolog.transport.driver.send.sender_events import PublicationError, Unresolved
from aerolog.transport.protocol.frame_codec import (
    ErrorFrame,
    RttMeasurement,
    SetupFrame,
    StatusMessage,
    decode_frame,
    encode_frame,
)

MS = 1_000_000
TERM = 65536
A, B = 101, 202


def is_setup(datagram):
    return isinstance(decode_frame(datagram), SetupFrame)


@pytest.fixture
def two(bench):
    """Ports of two receivers."""
    ports = (22001, 22002)
    return [bench.there.open_receive_port((bench.there.ipv4, port)) for port in ports]


@pytest.fixture
def manual(bench, two):
    """A publication to both, and its endpoint."""
    endpoint, counter_id, stream = bench.multi(MANUAL)
    for number, receiver in enumerate(two):
        bench.sender.add_destination(endpoint, 40 + number, receiver.local_address)
    bench.turn()
    assert bench.counters.counter_value(counter_id) == 2
    return endpoint, counter_id, stream


def test_receivers_are_learned_from_any_status_message_and_forgotten_after_5_s(bench, two):
    flow_control = MinFlowControl(TERM, group_min_size=2, receiver_timeout_ns=1000 * MS)
    endpoint, destinations, stream = bench.multi(DYNAMIC, flow_control=flow_control)
    receivers = bench.counters.allocate(CounterType.FLOW_CONTROL_RECEIVERS, "fc-receivers")
    flow_control.bind_counter(bench.counters, receivers)
    first, second = two
    bench.turn()
    assert bench.heard(first) == []
    register = encode_frame(StatusMessage(0, 0, 0, 0, 0, A, None, 0x80))
    bench.answer(first, stream, register)
    assert bench.counters.counter_value(destinations) == 1
    bench.wait(101)
    (setup,) = [decode_frame(d) for d in bench.heard(first)]
    assert isinstance(setup, SetupFrame)
    assert setup.flags == 0x40
    bench.answer(first, stream, stream.status(0, 4096, receiver_id=A))
    bench.wait(2)
    assert {len(d) for d in bench.heard(first)} == {32}
    assert not stream.logs.is_connected
    assert stream.counter("snd_lmt") == 0
    bench.answer(second, stream, stream.status(0, 2048, receiver_id=B))
    assert stream.logs.is_connected
    assert bench.counters.counter_value(receivers) == 2
    assert stream.counter("snd_lmt") == 2048
    bench.answer(first, stream, stream.status(0, 8192, receiver_id=A))
    bench.answer(second, stream, stream.status(0, 4096, receiver_id=B))
    bench.wait(1)
    assert stream.counter("snd_lmt") == 4096
    for _ in range(11):
        bench.wait(100)
        bench.answer(first, stream, stream.status(0, 8192, receiver_id=A))
    bench.wait(20)
    assert bench.counters.counter_value(receivers) == 1
    assert not stream.logs.is_connected
    assert stream.counter("snd_lmt") == 4096
    bench.wait(4050)
    assert bench.counters.counter_value(destinations) == 1
    bench.wait(1100)
    assert bench.counters.counter_value(destinations) == 0


def test_one_address_with_another_receiver_is_another_destination(bench, two):
    endpoint, destinations, stream = bench.multi(DYNAMIC)
    bench.answer(two[0], stream, stream.status(0, 1024, receiver_id=A))
    bench.answer(two[0], stream, stream.status(0, 1024, receiver_id=A))
    assert bench.counters.counter_value(destinations) == 1
    bench.answer(two[0], stream, stream.status(0, 1024, receiver_id=B))
    assert bench.counters.counter_value(destinations) == 2


def test_a_rejected_status_message_adds_nobody_and_a_leaving_receiver_stays(bench, two):
    endpoint, destinations, stream = bench.multi(DYNAMIC)
    bench.answer(two[0], stream, stream.status(TERM, 1024, receiver_id=A))
    assert bench.count(SystemCounter.STATUS_MESSAGES_REJECTED) == 1
    assert bench.counters.counter_value(destinations) == 0
    bench.answer(two[0], stream, stream.status(0, 1024, receiver_id=A))
    bench.answer(two[0], stream, stream.status(0, 1024, receiver_id=A, flags=0x40))
    assert bench.counters.counter_value(destinations) == 1
    assert not stream.publication.has_received_unicast_eos


def test_every_destination_gets_every_frame_and_a_send_counts_once(bench, two, manual):
    endpoint, _, stream = manual
    assert all(is_setup(d) for d in bench.heard(two[0]) + bench.heard(two[1]))
    bench.answer(two[0], stream, stream.status(0, 32768, receiver_id=A))
    stream.offer(*[bytes(1024)] * 20)
    bench.turn(2)
    first, second = bench.heard(two[0]), bench.heard(two[1])
    assert first == second
    assert [len(d) for d in first if len(d) > 40] == [1056] * 20
    assert stream.counter("snd_pos") == 20 * 1056
    heartbeats = bench.count(SystemCounter.HEARTBEATS_SENT)
    assert bench.count(SystemCounter.BYTES_SENT) == 20 * 1056 + 32 * heartbeats
    rttm = RttMeasurement(stream.session_id, stream.stream_id, 5, 0, A, 0x80)
    bench.answer(two[0], stream, encode_frame(rttm))
    assert len(bench.heard(two[0])) == len(bench.heard(two[1])) == 1


def test_destinations_come_and_go_by_command(bench, two, manual):
    endpoint, counter_id, stream = manual
    first, second = two
    bench.heard(first), bench.heard(second)
    bench.sender.remove_destination(endpoint, 40)
    bench.wait(101)
    assert not bench.heard(first)
    assert bench.heard(second)
    bench.sender.add_destination(endpoint, 50, first.local_address)
    bench.sender.remove_destination(endpoint, 41)
    bench.wait(102)
    assert bench.heard(first)
    assert not bench.heard(second)
    bench.sender.change_destination(endpoint, 50, second.local_address)
    bench.wait(102)
    assert not bench.heard(first)
    assert bench.heard(second)
    assert bench.counters.counter_value(counter_id) == 1


def test_a_destination_whose_name_is_not_resolved_waits(bench, two):
    endpoint, counter_id, stream = bench.multi(MANUAL)
    bench.sender.add_destination(endpoint, 60, None)
    bench.wait(101)
    assert bench.counters.counter_value(counter_id) == 1
    assert bench.count(SystemCounter.SHORT_SENDS) == 0
    bench.wait(7000)
    assert Unresolved(endpoint, 60) in bench.events
    bench.sender.change_destination(endpoint, 60, two[0].local_address)
    bench.wait(101)
    assert all(is_setup(d) for d in bench.heard(two[0]))


def test_a_silent_destination_is_reported_every_5_s_and_a_heard_one_is_not(bench, two, manual):
    endpoint, _, stream = manual
    for _ in range(70):
        bench.answer(two[0], stream, stream.status(0, 1024, receiver_id=A))
        bench.wait(100)
    assert bench.events == [Unresolved(endpoint, 41)]
    for _ in range(60):
        bench.answer(two[0], stream, stream.status(0, 1024, receiver_id=A))
        bench.wait(100)
    assert bench.events == [Unresolved(endpoint, 41)] * 2


def test_an_error_names_the_destination_that_it_came_from(bench, two, manual):
    endpoint, _, stream = manual
    bench.answer(two[1], stream, stream.status(0, 1024, receiver_id=B))
    error = ErrorFrame(stream.session_id, stream.stream_id, B, 13, "no", 0, 0)
    bench.answer(two[1], stream, encode_frame(error))
    (event,) = bench.events
    assert isinstance(event, PublicationError)
    assert event.destination_registration_id == 41


def test_publications_of_one_endpoint_share_its_destinations(bench, two, manual, make_stream):
    endpoint, _, stream = manual
    other = make_stream(bench, endpoint, stream_id=2002)
    bench.heard(two[0])
    bench.wait(102)
    streams = {decode_frame(d).stream_id for d in bench.heard(two[0])}
    assert streams == {stream.stream_id, other.stream_id}
