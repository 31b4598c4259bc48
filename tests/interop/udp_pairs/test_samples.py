"""Programs that come with the reference, each half on another driver."""

import sys
from contextlib import ExitStack

import pytest
from peer.artifact import toolchain
from peer.process import ServerProcess
from peer.streams import free_port

pytestmark = pytest.mark.interop


@pytest.fixture
def sample():
    """``sample(server, name, properties)`` starts a program of the samples on a driver."""
    with ExitStack() as stack:

        def start(server, name, properties):
            command = toolchain().command(
                f"io.aeron.samples.{name}",
                properties={"aeron.dir": server.aeron_dir, **properties},
            )
            return stack.enter_context(ServerProcess(f"sample-{name}", command))

        yield start


def test_ping_gets_its_pong(link, sample, stream_id):
    ping, pong = [f"aeron:udp?endpoint=127.0.0.1:{free_port()}|term-length=64k" for _ in range(2)]
    properties = {
        "aeron.sample.ping.channel": ping,
        "aeron.sample.ping.streamId": str(stream_id),
        "aeron.sample.pong.channel": pong,
        "aeron.sample.pong.streamId": str(stream_id + 1),
        "aeron.sample.messages": "300",
        "aeron.sample.warmup.messages": "50",
        "aeron.sample.warmup.iterations": "1",
        "aeron.sample.idleStrategy": "org.agrona.concurrent.BackoffIdleStrategy",
        "aeron.sample.messageLength": "300",
    }
    server = sample(link.receiving, "Pong", properties)
    client = sample(link.sending, "Ping", properties)
    client.wait_line("Histogram of RTT latencies", timeout=40)
    client.wait_line("#[Max", timeout=10)
    assert server.running
    client.write_line("n")
    assert client.wait() == 0


def test_a_basic_publisher_reaches_a_basic_subscriber(link, sample, stream_id):
    properties = {
        "aeron.sample.channel": f"aeron:udp?endpoint=127.0.0.1:{free_port()}",
        "aeron.sample.streamId": str(stream_id),
        "aeron.sample.messages": "1000",
    }
    subscriber = sample(link.receiving, "BasicSubscriber", properties)
    subscriber.wait_line("Subscribing to")
    sample(link.sending, "BasicPublisher", properties)
    # It offers one a second and does not wait for a subscriber: the first ones may get lost.
    line = subscriber.wait_line("<<Hello World! ")
    first = int(line.rpartition(" ")[2].removesuffix(">>"))
    for number in range(first + 1, first + 3):
        subscriber.wait_line(f"<<Hello World! {number}>>")


def test_our_commands_meet_the_samples(link, sample, stream_id):
    """The command line publishes to a subscriber of the samples."""
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    subscriber = sample(
        link.receiving,
        "BasicSubscriber",
        {"aeron.sample.channel": channel, "aeron.sample.streamId": str(stream_id)},
    )
    subscriber.wait_line("Subscribing to")
    command = [sys.executable, "-m", "aerolog.tools.main", "publish", channel, str(stream_id)]
    command += ["--aeron-dir", link.sending.aeron_dir]
    with ServerProcess("aerolog-pub", command) as publisher:
        publisher.write_line("from the command line")
        subscriber.wait_line("from the command line")
        publisher.process.stdin.close()
        assert publisher.wait() == 0
