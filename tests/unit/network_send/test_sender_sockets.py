"""The sender on real sockets of the loopback interface: runs, refusals, groups, both families."""

import contextlib
import time

import pytest

from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.driver.flow_control.flow_control import MinFlowControl
from aerolog.transport.driver.send.send_endpoint import DYNAMIC, SendDestinations
from aerolog.transport.network import sockets
from aerolog.transport.protocol.frame_codec import DataFrame, SetupFrame, decode_frame

TERM = 65536
DEADLINE_S = 60
LOOPBACK = {"ipv4": "127.0.0.1", "ipv6": "::1"}


def until(bench, condition):
    """Turn until something holds; the clock of the bench stands still."""
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        bench.turn()


@pytest.fixture
def opened():
    """Closes the ports that are given to it."""
    with contextlib.ExitStack() as stack:
        yield stack.enter_context


@pytest.fixture(params=["ipv4", "ipv6"])
def pair(request, bench, opened, make_stream):
    """A receiver's port and a publication to it."""
    host = LOOPBACK[request.param]
    receiver = opened(sockets.open_receive_port((host, 0), so_rcvbuf=512 * 1024))
    remote = receiver.local_address
    port = opened(sockets.open_send_port(remote, (host, 0), so_sndbuf=512 * 1024))
    return receiver, make_stream(bench, bench.endpoint(port, remote=remote))


def collect(bench, receiver, enough):
    """Datagrams that come while the sender turns, until they are enough."""
    found = []

    def is_enough():
        found.extend(d for d, _, _ in receiver.receive_datagrams())
        return enough(found)

    until(bench, is_enough)
    return found


def say(bench, receiver, stream, *frames):
    """A receiver answers; the sender has heard it after this."""
    to = stream.publication.endpoint.port.local_address
    before = bench.count(SystemCounter.STATUS_MESSAGES_RECEIVED)
    assert receiver.send_datagrams(frames, to) == len(frames)
    expected = before + len(frames)
    until(bench, lambda: bench.count(SystemCounter.STATUS_MESSAGES_RECEIVED) == expected)
    bench.turn()


def test_a_stream_reaches_its_receiver_whole_and_in_order(bench, pair):
    receiver, stream = pair
    setup = decode_frame(collect(bench, receiver, bool)[0])
    assert isinstance(setup, SetupFrame)
    say(bench, receiver, stream, stream.status(0, TERM))
    messages = [bytes([n]) * 1024 for n in range(200)]
    waiting, heard = list(messages), []
    while len(heard) < len(messages):
        while waiting and stream.writer.offer(waiting[0]) > 0:
            waiting.pop(0)
        until(bench, lambda: stream.counter("snd_pos") == stream.writer.position)
        while len(heard) < len(messages) - len(waiting):
            for datagram in collect(bench, receiver, bool):
                frame = decode_frame(datagram)
                if isinstance(frame, DataFrame) and frame.payload:
                    heard.append(frame.payload)
        say(bench, receiver, stream, stream.status(stream.counter("snd_pos"), TERM))
    assert heard == messages
    heartbeats = bench.count(SystemCounter.HEARTBEATS_SENT)
    assert bench.count(SystemCounter.BYTES_SENT) == stream.counter("snd_pos") + 32 * heartbeats


def test_small_messages_leave_in_full_datagrams(bench, pair):
    receiver, stream = pair
    collect(bench, receiver, bool)
    say(bench, receiver, stream, stream.status(0, TERM // 2))
    stream.offer(*[bytes(32)] * 220)
    datagrams = collect(bench, receiver, lambda found: len(found) >= 11)
    assert [len(d) for d in datagrams if len(d) > 40] == [1408] * 10


def test_nobody_listening_is_a_short_send_now_and_then_and_no_failure(bench, opened, make_stream):
    receiver = sockets.open_receive_port(("127.0.0.1", 0))
    remote = receiver.local_address
    receiver.close()
    port = opened(sockets.open_send_port(remote, ("127.0.0.1", 0)))
    stream = make_stream(bench, bench.endpoint(port, remote=remote))
    bench.wait(2000)
    assert bench.events == []
    receiver = opened(sockets.open_receive_port(remote))
    bench.wait(202)
    assert collect(bench, receiver, bool)
    say(bench, receiver, stream, stream.status(0, 4096))
    assert stream.logs.is_connected


def test_a_full_socket_loses_nothing_that_counts_as_sent(bench, opened, make_stream):
    receiver = opened(sockets.open_receive_port(("127.0.0.1", 0), so_rcvbuf=4 * 1024 * 1024))
    remote = receiver.local_address
    port = opened(sockets.open_send_port(remote, ("127.0.0.1", 0), so_sndbuf=4096))
    stream = make_stream(bench, bench.endpoint(port, remote=remote))
    collect(bench, receiver, bool)
    say(bench, receiver, stream, stream.status(0, TERM // 2))
    stream.offer(*[bytes(1024)] * 30)
    until(bench, lambda: stream.counter("snd_pos") == 30 * 1056)
    data = collect(bench, receiver, lambda found: sum(len(d) > 40 for d in found) == 30)
    assert [decode_frame(d).term_offset for d in data if len(d) > 40] == [
        n * 1056 for n in range(30)
    ]


def test_a_group_is_sent_to_with_its_time_to_live(bench, opened, make_stream):
    probe = sockets.open_receive_port(("127.0.0.1", 0))
    port_number = probe.local_address[1]
    probe.close()
    group, control = ("224.20.30.39", port_number), ("224.20.30.40", port_number)
    local = ("127.0.0.1", 0)
    receiver = opened(sockets.open_receive_port(group, local))
    port = opened(sockets.open_send_port(group, local, control=control, ttl=4))
    flow_control = MinFlowControl(TERM)
    endpoint = bench.endpoint(port, remote=group, is_multicast=True)
    stream = make_stream(bench, endpoint, flow_control=flow_control)
    setup = decode_frame(collect(bench, receiver, bool)[0])
    assert isinstance(setup, SetupFrame)
    assert (setup.flags, setup.ttl) == (0x40, 4)
    receiver.send_datagrams([stream.status(0, 2048)], control)
    until(bench, lambda: stream.logs.is_connected)
    receiver.send_datagrams([stream.status(0, 2048, flags=0x40)], control)
    until(bench, lambda: bench.count(SystemCounter.STATUS_MESSAGES_RECEIVED) == 2)
    assert not stream.publication.has_received_unicast_eos


def test_destinations_are_learned_from_real_sockets(bench, opened, make_stream):
    port = opened(sockets.open_send_port(None, ("127.0.0.1", 0)))
    endpoint = bench.endpoint(port, destinations=SendDestinations(DYNAMIC))
    stream = make_stream(bench, endpoint)
    receivers = [opened(sockets.open_receive_port(("127.0.0.1", 0))) for _ in range(3)]
    for number, receiver in enumerate(receivers):
        say(bench, receiver, stream, stream.status(0, 8192, receiver_id=number))
    stream.offer(b"to everybody")
    for receiver in receivers:
        data = collect(bench, receiver, lambda found: any(len(d) == 64 for d in found))
        assert b"to everybody" in b"".join(data)
    assert {a for a in endpoint.destinations.addresses() if a} == {
        r.local_address for r in receivers
    }


def test_many_endpoints_are_all_heard(bench, opened, make_stream):
    streams, receivers = [], []
    for number in range(20):
        receiver = opened(sockets.open_receive_port(("127.0.0.1", 0)))
        remote = receiver.local_address
        port = opened(sockets.open_send_port(remote, ("127.0.0.1", 0)))
        receivers.append(receiver)
        streams.append(make_stream(bench, bench.endpoint(port, remote=remote), stream_id=number))
    bench.turn(10)
    for receiver, stream in zip(receivers[::3], streams[::3], strict=True):
        say(bench, receiver, stream, stream.status(0, 4096))
    assert [s.logs.is_connected for s in streams] == [n % 3 == 0 for n in range(20)]
    for stream in streams[:10]:
        bench.sender.remove_publication(stream.publication)
        bench.sender.remove_endpoint(stream.publication.endpoint)
    bench.turn(5)
    for receiver, stream in zip(receivers[10:], streams[10:], strict=True):
        say(bench, receiver, stream, stream.status(0, 4096))
    assert all(s.logs.is_connected for s in streams[10:])
