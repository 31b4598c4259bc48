"""The sender on a thread of its own while the conductor adds, publishes, revokes and removes."""

import contextlib
import time

import pytest

from aerolog.transport.concurrent.agent_runner import AgentRunner
from aerolog.transport.concurrent.clock import SystemClock
from aerolog.transport.concurrent.idle import idle_strategy
from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.driver.send.sender_events import EndpointReleased, PublicationReleased
from aerolog.transport.network import sockets
from aerolog.transport.protocol.frame_codec import DataFrame, decode_frames

DEADLINE_S = 60
WINDOW = 32768
STREAMS = 24


@pytest.fixture
def opened():
    """Closes the ports that are given to it."""
    with contextlib.ExitStack() as stack:
        yield stack.enter_context


@pytest.fixture
def turning(make_bench):
    """A bench whose sender turns on a thread of its own."""
    bench = make_bench(SystemClock())
    with AgentRunner(bench.sender, idle_strategy("backoff")):
        yield bench


def conduct(bench):
    """The conductor's share, on this thread."""
    for stream in bench.streams:
        stream.publication.on_cycle(bench.clock.now_ns())
    bench.sender.flush()
    bench.events += bench.sender.events()


def until(bench, condition):
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        conduct(bench)


def test_streams_come_and_go_while_others_are_sent_whole(turning, opened, make_stream):
    bench = turning
    receiver = opened(sockets.open_receive_port(("127.0.0.1", 0), so_rcvbuf=1 << 21))
    remote = receiver.local_address
    port = opened(sockets.open_send_port(remote, ("127.0.0.1", 0)))
    endpoint = bench.endpoint(port, remote=remote)
    heard = {}

    def listen():
        for datagram, _, _ in receiver.receive_datagrams():
            for frame in decode_frames(datagram):
                if isinstance(frame, DataFrame) and frame.payload:
                    heard.setdefault(frame.stream_id, []).append(frame.payload)

    def is_heard(stream, count):
        listen()
        # The window fits the socket's buffer: nothing is lost that nobody would ask for again.
        receiver.send_datagrams(
            [stream.status(stream.counter("snd_pos"), WINDOW)], port.local_address
        )
        return len(heard.get(stream.stream_id, [])) == count

    steady = make_stream(bench, endpoint, stream_id=9000)
    until(bench, lambda: is_heard(steady, 0) and steady.logs.is_connected)
    for number in range(STREAMS):
        stream = make_stream(bench, endpoint, stream_id=number)
        until(bench, lambda s=stream: is_heard(s, 0) and s.logs.is_connected)
        until(bench, lambda s=stream: s.writer.position_limit >= WINDOW)
        until(bench, lambda: steady.writer.available_window > 4096)
        for turn in range(10):
            stream.offer(bytes([turn]) * 100)
        steady.offer(bytes([number]) * 1000)
        until(bench, lambda s=stream: is_heard(s, 10))
        until(bench, lambda n=number: is_heard(steady, n + 1))
        bench.sender.remove_publication(stream.publication)
        until(bench, lambda s=stream: PublicationReleased(s.publication) in bench.events)
        bench.streams.remove(stream)
    assert [p[0] for p in heard[9000]] == list(range(STREAMS))
    assert all([p[0] for p in heard[n]] == list(range(10)) for n in range(STREAMS))
    bench.sender.remove_publication(steady.publication)
    bench.sender.remove_endpoint(endpoint)
    until(bench, lambda: EndpointReleased(endpoint) in bench.events)
    assert bench.count(SystemCounter.INVALID_PACKETS) == 0
    assert bench.count(SystemCounter.STATUS_MESSAGES_REJECTED) == 0
