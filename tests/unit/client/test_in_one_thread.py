"""A driver and a client in one thread: nothing runs but what the test turns."""

import logging
import threading
from collections.abc import Iterator

import pytest

from aerolog.transport.client import Aeron, Poller, ReconnectingAeron
from aerolog.transport.client.steps.backoff import waiter
from aerolog.transport.concurrent.idle import YieldingIdleStrategy
from aerolog.transport.config import Properties
from aerolog.transport.driver import MediaDriver
from aerolog.transport.errors import ChannelUriError, ConfigurationError, ResourceClosedError


@pytest.fixture
def media_driver() -> Iterator[MediaDriver]:
    with MediaDriver.embedded(
        threading_mode="INVOKER", counters_buffer_length="1m", ipc_term_buffer_length="64k"
    ) as driver:
        yield driver


@pytest.fixture
def client(media_driver: MediaDriver) -> Iterator[Aeron]:
    with Aeron(
        media_driver.aeron_dir, invoker=True, driver_invoker=media_driver.do_work
    ) as connected:
        yield connected


def test_messages_go_through_without_any_other_thread(client):
    threads = set(threading.enumerate())
    subscription = client.add_subscription("aeron:ipc", 1)
    publication = client.add_publication("aeron:ipc", 1)
    publication.wait_connected(30, writable=True)
    sent = 0
    got = []
    while len(got) < 500:
        if sent < 500 and publication.offer(b"%d" % sent * 100) > 0:
            sent += 1
        got += [message.data for message in subscription.poll_messages(5)]
        client.conductor.turn_without_thread()
    assert got == [b"%d" % number * 100 for number in range(500)]
    assert set(threading.enumerate()) <= threads


def test_a_blocking_send_turns_driver_and_client_meanwhile(client):
    publication = client.add_publication("aeron:ipc", 1)
    later = client.add_subscription_async("aeron:ipc", 1)
    assert publication.send(b"x", timeout=30) == 64
    assert [m.data for m in later.result(30).poll_messages()] == [b"x"]


@pytest.mark.parametrize("idle", ["yield", YieldingIdleStrategy(), lambda _: None])
def test_any_idle_strategy_turns_them_too(client, idle):
    publication = client.add_publication("aeron:ipc", 1)
    later = client.add_subscription_async("aeron:ipc", 1)
    assert publication.send(b"x", timeout=30, idle=idle) == 64
    subscription = later.result(30)
    assert next(subscription.messages(timeout=30, idle=idle)).data == b"x"
    got = []
    publication.send(b"y", timeout=30)
    poller = Poller([(subscription, lambda data, _: got.append(bytes(data)))])
    poller.run(idle=idle, until=lambda: bool(got))
    assert got == [b"y"]


@pytest.mark.parametrize("idle", [None, "yield"])
def test_a_busy_wait_turns_them_too(client, idle):
    later = client.add_subscription_async("aeron:ipc", 1)
    wait = waiter(client.conductor, idle)
    for _ in range(1000):  # a stream that always has messages
        wait(1)
    assert later.is_settled()


def test_an_unknown_idle_strategy_is_refused_by_name(client):
    publication = client.add_publication("aeron:ipc", 1)
    with pytest.raises(ConfigurationError, match="dozing"):
        publication.send(b"x", idle="dozing")


def test_a_future_is_done_when_the_turned_driver_has_answered(client):
    future = client.add_exclusive_publication_async("aeron:ipc", 1)
    turns = 0
    while not future.done():
        client.conductor.turn_without_thread()
        turns += 1
        assert turns < 10_000
    assert future.result().offer(b"nobody") < 0
    assert future.exception() is None


def test_a_reconnecting_client_stays_closed_once_the_program_closed_it(media_driver):
    client = ReconnectingAeron(
        media_driver.aeron_dir, invoker=True, driver_invoker=media_driver.do_work
    )
    stream = client.publication("aeron:ipc", 1)
    assert stream.get() is stream.get()
    assert client.reconnect_count == 0
    client.close()
    with pytest.raises(ResourceClosedError, match="closed"):
        client.ensure()


def test_unknown_parameters_are_logged_once_by_the_client(client, caplog):
    for _ in range(2):
        client.add_subscription("aeron:ipc?aliass=x", 1)

    assert caplog.messages == [
        "unknown channel parameter aliass; did you mean alias? (channel aeron:ipc?aliass=x)"
    ]


def test_a_strict_client_refuses_unknown_names(media_driver):
    options = {"invoker": True, "driver_invoker": media_driver.do_work, "strict": True}
    with Aeron(media_driver.aeron_dir, **options) as strict:
        with pytest.raises(ChannelUriError, match=r"parameter sparsee; did you mean sparse\?"):
            strict.add_publication("aeron:ipc?sparsee=true", 1)
        subscription = strict.add_subscription("aeron:udp?control-mode=manual", 1)
        with pytest.raises(ChannelUriError, match=r"endpont; did you mean endpoint\?"):
            subscription.add_destination("aeron:udp?endpont=localhost:0")
    properties = Properties.from_command_line(["-Daeron.client.nam=x"], {})
    with pytest.raises(ConfigurationError, match=r"did you mean aeron\.client\.name\?"):
        Aeron(media_driver.aeron_dir, properties=properties, **options)


def test_connects_and_closes_are_logged_at_debug(media_driver, caplog):
    caplog.set_level(logging.DEBUG, "aerolog.client")
    with Aeron(
        media_driver.aeron_dir, invoker=True, driver_invoker=media_driver.do_work
    ) as connected:
        name = f"client {connected.client_id}: "
        subscription = connected.add_subscription("aeron:ipc", 1)
        publication = connected.add_publication("aeron:ipc", 1)
        publication.wait_connected(30)
        session = f"session_id={publication.session_id}"
        image = subscription.wait_connected(30).images[0]
        of_image = repr(image).removesuffix(">")
        publication.close()
        while not image.closed:
            connected.do_work()
            media_driver.do_work()
        subscription.close()

    assert {record.levelno for record in caplog.records} == {logging.DEBUG}
    told = [message.removeprefix(name) for message in caplog.messages]
    assert told == [
        f"connected to the driver in {media_driver.aeron_dir}",
        "added <Subscription aeron:ipc stream_id=1 images=0>",
        f"added <Publication aeron:ipc stream_id=1 {session}>",
        f"connected {of_image}>",
        f"connected <Publication aeron:ipc stream_id=1 {session}>",
        f"closed <Publication aeron:ipc stream_id=1 {session} closed>",
        f"gone {of_image} closed>",
        "closed <Subscription aeron:ipc stream_id=1 images=0 closed>",
        "closed",
    ]
