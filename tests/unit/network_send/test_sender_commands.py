"""The sender and the conductor: hand-over, release, order, full queues, failures."""

import pytest

from aerolog.testing.network import FakeNetwork
from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.driver.send.live_receivers import LiveReceivers
from aerolog.transport.driver.send.send_endpoint import MANUAL, SendDestinations, SendEndpoint
from aerolog.transport.driver.send.sender_events import (
    EndpointReleased,
    PublicationReleased,
    SendFailed,
    Unresolved,
)
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.protocol.frame_codec import Nak as NakFrame
from aerolog.transport.protocol.frame_codec import decode_frame, encode_frame

MS = 1_000_000


def test_what_is_removed_is_given_back_and_sends_no_more(bench):
    receiver, stream = bench.unicast()
    bench.turn()
    endpoint = stream.publication.endpoint
    bench.sender.remove_publication(stream.publication)
    bench.sender.remove_endpoint(endpoint)
    bench.turn(2)
    assert bench.events == [PublicationReleased(stream.publication), EndpointReleased(endpoint)]
    bench.heard(receiver)
    bench.wait(300)
    assert bench.heard(receiver) == []
    receiver.send_datagrams([stream.status(0, 1024)], bench.address_of(endpoint))
    bench.turn(2)
    assert bench.count(SystemCounter.STATUS_MESSAGES_RECEIVED) == 0


def test_a_frame_of_an_unknown_stream_is_counted_where_the_specification_says(bench):
    receiver, stream = bench.unicast()
    bench.turn()
    bench.sender.remove_publication(stream.publication)
    nak = NakFrame(stream.session_id, stream.stream_id, stream.initial_term_id, 0, 64)
    bench.answer(receiver, stream, stream.status(0, 1024), encode_frame(nak))
    assert bench.count(SystemCounter.STATUS_MESSAGES_RECEIVED) == 1
    assert bench.count(SystemCounter.NAK_MESSAGES_RECEIVED) == 0


def test_commands_that_find_no_room_wait_their_turn(make_bench, make_stream):
    bench = make_bench(queue_length=4)
    receiver, first = bench.unicast()
    endpoint = first.publication.endpoint
    streams = [make_stream(bench, endpoint, stream_id=n) for n in range(20)]
    assert bench.count(SystemCounter.SENDER_PROXY_FAILS) > 0
    bench.turn(10)
    setups = {decode_frame(d).stream_id for d in bench.heard(receiver)}
    assert setups == {first.stream_id, *range(20)}
    for stream in streams:
        bench.sender.remove_publication(stream.publication)
    bench.turn(10)
    assert bench.events == [PublicationReleased(s.publication) for s in streams]


def test_releases_wait_for_room_among_the_events(make_bench, make_stream):
    bench = make_bench(queue_length=256)
    _, first = bench.unicast()
    endpoint = first.publication.endpoint
    small = {"term_length": 65536}
    streams = [make_stream(bench, endpoint, stream_id=n, **small) for n in range(70)]
    bench.turn(10)
    everybody = [PublicationReleased(s.publication) for s in streams]
    for stream in streams:
        bench.sender.remove_publication(stream.publication)
    for _ in range(20):
        bench.sender.on_cycle()
    assert bench.sender.has_waiting_events()
    assert bench.sender.events() == everybody
    assert not bench.sender.has_waiting_events()


def test_removing_one_of_many_leaves_the_others_alone(bench, make_stream):
    receiver, first = bench.unicast()
    endpoint = first.publication.endpoint
    streams = [make_stream(bench, endpoint, stream_id=n) for n in range(30)]
    bench.turn(8)
    for stream in streams[::2]:
        bench.sender.remove_publication(stream.publication)
    bench.turn(8)
    bench.heard(receiver)
    for stream in streams[1::2]:
        bench.answer(receiver, stream, stream.status(0, 4096))
    assert all(s.publication.is_connected for s in streams[1::2])
    bench.wait(101)
    assert {decode_frame(d).stream_id for d in bench.heard(receiver)} == {
        first.stream_id,
        *range(1, 30, 2),
    }


def test_heartbeats_of_streams_that_share_an_endpoint_leave_together(bench, make_stream):
    receiver, first = bench.unicast()
    endpoint = first.publication.endpoint
    streams = [first, *(make_stream(bench, endpoint, stream_id=n) for n in range(59))]
    bench.turn(10)
    for stream in streams:
        bench.answer(receiver, stream, stream.status(0, 4096))
    bench.heard(receiver)
    before = bench.count(SystemCounter.HEARTBEATS_SENT)
    bench.clock.advance_ns(101 * MS)
    bench.turn()
    assert len(bench.heard(receiver)) == len(streams)
    assert bench.count(SystemCounter.HEARTBEATS_SENT) == before + len(streams)


def test_what_only_keeps_a_stream_alive_is_no_work_so_that_the_driver_may_rest(bench):
    receiver, stream = bench.unicast()
    bench.turn()
    bench.answer(receiver, stream, stream.status(0, 4096))
    bench.turn(4)
    before = bench.count(SystemCounter.HEARTBEATS_SENT)
    endpoint = stream.publication.endpoint
    receiver.send_datagrams([stream.status(0, 4096)], bench.address_of(endpoint))
    bench.clock.advance_ns(101 * MS)
    assert [bench.sender.on_cycle() for _ in range(3)] == [0, 0, 0]
    assert bench.count(SystemCounter.HEARTBEATS_SENT) == before + 1
    stream.offer(b"news")
    assert bench.sender.on_cycle() > 0


def test_an_endpoint_whose_name_is_silent_is_looked_up_again(bench, make_stream):
    receiver = bench.there.open_receive_port((bench.there.ipv4, 21001))
    other = bench.there.open_receive_port((bench.there.ipv4, 21002))
    remote = receiver.local_address
    port = bench.here.open_send_port(remote, (bench.here.ipv4, 0))
    endpoint = bench.endpoint(port, remote=remote, needs_resolution=True)
    stream = make_stream(bench, endpoint)
    for _ in range(60):
        bench.wait(100)
        bench.answer(receiver, stream, stream.status(0, 1024))
    assert bench.events == []
    bench.wait(7000)
    assert bench.events == [Unresolved(endpoint, None)]
    bench.sender.change_destination(endpoint, None, other.local_address)
    bench.heard(receiver)
    bench.wait(101)
    assert bench.heard(receiver) == []
    assert bench.heard(other)
    assert endpoint.remote == other.local_address


def test_a_port_that_is_not_connected_sends_to_its_remote(bench, make_stream):
    receiver = bench.there.open_receive_port((bench.there.ipv4, 21001))
    remote = receiver.local_address
    port = bench.here.open_send_port(remote, (bench.here.ipv4, 0), connect=False)
    stream = make_stream(bench, bench.endpoint(port, remote=remote, is_connected=False))
    bench.turn()
    assert len(bench.heard(receiver)) == 1
    bench.answer(receiver, stream, stream.status(0, 1024))
    assert stream.logs.is_connected


def test_what_cannot_be_sent_is_short_and_reported_once_a_second(bench):
    receiver, stream = bench.unicast()
    bench.turn()
    stream.publication.endpoint.port.close()
    bench.wait(950)
    assert bench.count(SystemCounter.SHORT_SENDS) == 9
    (event,) = bench.events
    assert isinstance(event, SendFailed)
    assert event.endpoint is stream.publication.endpoint
    bench.wait(1010)
    assert len(bench.events) == 2


def test_data_that_was_not_taken_is_sent_later_and_the_receiver_is_not_forgotten(make_bench):
    bench = make_bench()
    receiver, stream = bench.unicast()
    bench.turn()
    bench.answer(receiver, stream, stream.status(0, 32768))
    bench.turn()
    receiver.close()
    stream.offer(bytes(100))
    bench.wait(20)
    assert stream.counter("snd_pos") == 160


def test_an_endpoint_has_one_kind_of_destination(bench):
    port = bench.here.open_send_port(None, (bench.here.ipv4, 21000))
    with pytest.raises(ConfigurationError, match="to destinations, to one remote"):
        SendEndpoint(port, destinations=SendDestinations(MANUAL), is_response=True)
    with pytest.raises(ConfigurationError, match="DYNAMIC"):
        SendDestinations(3)
    with pytest.raises(IndexError, match="no such counter"):
        SendDestinations(MANUAL, counters=bench.counters, counter_id=10_000)


def test_many_false_receivers_do_not_keep_a_true_one_from_living_on():
    receivers = LiveReceivers(1000)
    receivers.hear(-1, 0)
    for receiver_id in range(5000):
        receivers.hear(receiver_id, 1)
    assert len(receivers) == 1024
    receivers.hear(-1, 900)
    assert receivers.expire_at(1001) == 1024
    assert receivers.expire_at(1002) == 1
    assert receivers.drop(-1)
    assert not receivers.drop(-1)


def test_timestamps_of_sending_are_written_into_the_first_message_of_a_datagram(bench):
    receiver, stream = bench.unicast(send_timestamp_offset=8)
    bench.turn()
    bench.answer(receiver, stream, stream.status(0, 32768))
    bench.turn()
    bench.heard(receiver)
    stream.offer(bytes(40), bytes(40), bytes(1300), bytes(10))
    bench.turn()
    first, second = bench.heard(receiver)
    now = bench.clock.now_epoch_ns()
    assert int.from_bytes(first[40:48], "little") == now
    assert not any(first[96 + 32 : 192])
    assert int.from_bytes(second[40:48], "little") == now
    stream.offer(bytes(7))
    bench.turn(2)
    (short,) = bench.heard(receiver)
    assert not any(short[32:])


def test_timestamps_of_sending_may_go_into_the_reserved_value(bench):
    receiver, stream = bench.unicast(send_timestamp_offset=-8)
    bench.turn()
    bench.answer(receiver, stream, stream.status(0, 32768))
    bench.turn()
    bench.heard(receiver)
    stream.offer(b"x")
    bench.turn()
    (datagram,) = bench.heard(receiver)
    assert decode_frame(datagram).reserved_value == bench.clock.now_epoch_ns()


@pytest.mark.parametrize("offset", [-2, -9, -(2**31)])
def test_other_negative_offsets_of_timestamps_are_refused(bench, offset):
    with pytest.raises(ConfigurationError, match=f"no offset of timestamps: {offset}"):
        bench.unicast(send_timestamp_offset=offset)


def test_the_simulated_network_is_the_same_under_the_same_seed(make_bench):
    prints = []
    for _ in range(2):
        bench = make_bench()
        assert isinstance(bench.network, FakeNetwork)
        receiver, stream = bench.unicast()
        bench.wait(250)
        bench.answer(receiver, stream, stream.status(0, 4096))
        stream.offer(bytes(1000))
        bench.wait(250)
        prints.append(bench.network.fingerprint)
    assert prints[0] == prints[1]


def test_what_the_sender_was_told_to_let_go_of_is_told_of_no_more(bench, make_stream):
    receiver, stream = bench.unicast()
    bench.turn()
    publication, endpoint = stream.publication, stream.publication.endpoint
    for _ in range(2):
        bench.sender.remove_publication(publication)
        bench.sender.remove_endpoint(endpoint)
    bench.sender.add_destination(endpoint, 1, receiver.local_address)
    bench.sender.change_destination(endpoint, None, receiver.local_address)
    bench.turn(4)
    assert bench.events == [PublicationReleased(publication), EndpointReleased(endpoint)]


def answers_heard_while_sending(bench, size, cycles):
    """How many of the status messages that wait are heard in cycles that all send."""
    receiver, stream = bench.unicast(window_length=32768)
    bench.turn()
    bench.answer(receiver, stream, stream.status(0, 65536))
    bench.turn()
    before = bench.count(SystemCounter.STATUS_MESSAGES_RECEIVED)
    for _ in range(cycles):
        stream.offer(*[bytes(1024)] * size)
        receiver.send_datagrams(
            [stream.status(0, 65536)], bench.address_of(stream.publication.endpoint)
        )
        bench.sender.on_cycle()
    return bench.count(SystemCounter.STATUS_MESSAGES_RECEIVED) - before


def test_while_little_is_sent_control_frames_are_polled_for_by_the_ratio(make_bench):
    assert answers_heard_while_sending(make_bench(send_to_status_poll_ratio=6), 1, 5) == 0
    assert answers_heard_while_sending(make_bench(send_to_status_poll_ratio=6), 1, 7) >= 6
    assert answers_heard_while_sending(make_bench(send_to_status_poll_ratio=1), 1, 5) == 5


def test_while_much_is_sent_they_are_polled_for_by_the_bytes(make_bench):
    assert answers_heard_while_sending(make_bench(send_to_status_poll_ratio=100), 16, 2) == 2
