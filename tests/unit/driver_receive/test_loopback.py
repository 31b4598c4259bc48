"""Subscriptions on real sockets, with a thread for every agent."""

import pytest
from peer.streams import free_port
from waits import wait_until

from aerolog.transport.client import Aeron
from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.driver import MediaDriver

STREAM = 7
DEADLINE_S = 60


@pytest.fixture(params=["DEDICATED", "SHARED"])
def driver(request, tmp_path):
    with MediaDriver(
        tmp_path / "aeron",
        threading_mode=request.param,
        term_buffer_length="64k",
        counters_buffer_length="1m",
        timer_interval="50ms",
        image_liveness_timeout="3s",
        publication_linger_timeout="100ms",
    ) as started:
        yield started


@pytest.fixture
def client(driver):
    with Aeron(driver.aeron_dir) as connected:
        yield connected


def receive(subscription, count):
    """So many messages of one subscription."""
    received = []

    def poll():
        subscription.poll(lambda data, _: received.append(bytes(data)), 10)
        return len(received) >= count

    wait_until(poll, f"{count} messages")
    return received


def types(driver):
    return {k.type_id for k in driver.context.counters} - {0, 11}


def test_subscriptions_of_one_port_come_and_go(driver, client):
    """An endpoint may be asked for while the one before it is being closed."""
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    for _ in range(40):
        client.add_subscription(channel, STREAM).close()
    wait_until(lambda: not types(driver), "all counters to be free")
    assert list(driver.context.cnc.errors()) == []


def test_destinations_come_and_go(driver, client):
    destination = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    subscription = client.add_subscription("aeron:udp?control-mode=manual", STREAM)
    publication = client.add_publication(destination, STREAM)
    for number in range(10):
        subscription.add_destination(destination)
        if number == 0:
            wait_until(lambda: publication.is_connected, "a connection")
            publication.send(b"hello", timeout=DEADLINE_S)
            assert receive(subscription, 1) == [b"hello"]
        subscription.remove_destination(destination)
    addresses = [
        k
        for k in driver.context.counters
        if k.type_id == CounterType.LOCAL_SOCKET_ADDRESS and "rcv-local" in k.label
    ]
    assert addresses == []
    assert list(driver.context.cnc.errors()) == []


def test_a_stream_outlives_its_subscribers(driver, client):
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    publication = client.add_publication(channel, STREAM)
    for number in range(2):
        with client.add_subscription(channel, STREAM) as subscription:
            wait_until(lambda: publication.is_connected, "a connection")
            wait_until(lambda s=subscription: s.images, "an image")
            sent = [b"%d-%d" % (number, index) for index in range(100)]
            for message in sent:
                publication.send(message, timeout=DEADLINE_S)
            assert receive(subscription, len(sent)) == sent
        # Until the image is gone nobody may join: it has no subscriber any more.
        wait_until(lambda: CounterType.RECEIVER_HWM not in types(driver), "the image to go")
    publication.close()
    wait_until(lambda: not types(driver), "all counters to be free")
    assert list(driver.context.cnc.errors()) == []
