"""The asyncio client on both drivers."""

import asyncio
import contextlib
import threading
import time

import pytest

from aerolog.transport.client import (
    Aeron,
    AsyncAeron,
    AsyncResponseClient,
    ClientClosed,
    ImageAvailable,
    OfferStatus,
    ResponseClient,
    ResponseServer,
)
from aerolog.transport.errors import (
    AeronTimeoutError,
    BackPressuredError,
    ConfigurationError,
    NotConnectedError,
    PublicationClosedError,
    RegistrationError,
)

pytestmark = pytest.mark.interop
CHANNEL = "aeron:ipc?term-length=64k"


@pytest.fixture
async def client(any_driver):
    async with await AsyncAeron.connect(any_driver.aeron_dir) as connected:
        yield connected


async def test_messages_are_sent_and_iterated_over(client, stream_id):
    subscription = await client.add_subscription("aeron:ipc", stream_id)
    publication = await client.add_publication(CHANNEL, stream_id)
    await publication.wait_connected(30)
    await subscription.wait_connected(30)

    async def publish():
        for number in range(500):
            await publication.send(b"%d" % number * 200, timeout=30)
        publication.close()

    sender = asyncio.create_task(publish())
    got = [message.data async for message in subscription.messages(until_eos=True)]
    await sender
    assert got == [b"%d" % number * 200 for number in range(500)]


async def test_a_busy_subscription_leaves_turns_to_other_tasks(client, stream_id):
    subscription = await client.add_subscription("aeron:ipc", stream_id)
    publication = await client.add_exclusive_publication(CHANNEL, stream_id)
    await publication.wait_connected(30)
    turns = 0
    ended = asyncio.Event()

    async def count_turns():
        nonlocal turns
        while not ended.is_set():
            turns += 1
            await asyncio.sleep(0)

    async def publish():
        for number in range(3000):
            await publication.send(b"%d" % number, timeout=30)

    tasks = [asyncio.create_task(count_turns()), asyncio.create_task(publish())]
    count = 0
    async for _ in subscription:
        count += 1
        if count == 3000:
            break
    ended.set()
    await asyncio.gather(*tasks)
    assert turns >= 3000 // 64


async def test_refusals_are_the_same_errors_as_of_the_blocking_client(client, stream_id):
    with pytest.raises(RegistrationError, match="length=999"):
        await client.add_publication("aeron:ipc?term-length=999", stream_id)
    publication = await client.add_publication(CHANNEL, stream_id)
    assert await publication.send(b"x", on_not_connected="drop") is OfferStatus.NOT_CONNECTED
    with pytest.raises(NotConnectedError):
        await publication.send(b"x", on_not_connected="raise")
    with pytest.raises(NotConnectedError):
        await publication.send(b"x", timeout=0.02)
    with pytest.raises(AeronTimeoutError, match="no subscriber"):
        await publication.wait_connected(0.02)
    subscription = await client.add_subscription("aeron:ipc", stream_id)

    await publication.send(bytes(1000), timeout=30)
    await subscription.wait_connected(30)

    async def fill():
        for _ in range(100):
            await publication.send(bytes(1000), timeout=0.1)

    with pytest.raises(BackPressuredError):
        await fill()
    publication.close()
    with pytest.raises(PublicationClosedError):
        await publication.send(b"x")
    quiet = subscription.messages(timeout=0.05)
    assert len([m async for m in quiet]) >= 30


async def test_an_add_that_is_cancelled_is_taken_back(client, stream_id):
    task = asyncio.create_task(client.add_publication(CHANNEL, stream_id))
    await asyncio.sleep(0)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        (await task).close()
    subscription = await client.add_subscription("aeron:ipc", stream_id)
    publication = await client.add_publication(CHANNEL, stream_id)
    await publication.wait_connected(30)
    deadline = time.monotonic() + 30
    while len(subscription.subscription.images) != 1 or client.aeron.has_active_commands():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.001)


async def test_events_are_iterated_over(client, stream_id):
    seen = []

    async def watch():
        seen.extend([type(event) async for event in client.events()])

    watcher = asyncio.create_task(watch())
    await asyncio.sleep(0)
    subscription = await client.add_subscription("aeron:ipc", stream_id)
    await client.add_publication(CHANNEL, stream_id)
    await subscription.wait_connected(30)
    counter = await client.add_counter(1001, "async")
    counter.value = 3
    assert client.aeron.counters[counter.counter_id].value == 3
    await client.close()
    await asyncio.wait_for(watcher, 60)
    assert ImageAvailable in seen
    assert seen[-1] is ClientClosed


async def test_destinations_counters_and_session_ids_are_awaited(java_driver, stream_id):
    async with await AsyncAeron.connect(java_driver.aeron_dir) as client:
        subscription = await client.add_subscription("aeron:udp?control-mode=manual", stream_id)
        await subscription.add_destination("aeron:udp?endpoint=127.0.0.1:0")
        deadline = time.monotonic() + 30
        while not subscription.subscription.local_addresses:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.001)
        publication = await client.add_publication("aeron:udp?control-mode=manual", stream_id)
        endpoint = subscription.subscription.local_addresses[0]
        await publication.add_destination(f"aeron:udp?endpoint={endpoint}")
        await publication.send(b"there", timeout=30)
        assert (await anext(subscription.messages(timeout=30))).data == b"there"
        with pytest.raises(RegistrationError):
            await subscription.add_destination("aeron:nonsense?x=1")
        counter = await client.add_static_counter(1600, "static", registration_id=stream_id)
        assert counter.is_static
        first = await client.next_session_id(stream_id)
        assert await client.next_session_id(stream_id) != first


async def test_a_client_without_thread_is_refused(any_driver):
    with Aeron(any_driver.aeron_dir, invoker=True) as invoked, pytest.raises(ConfigurationError):
        AsyncAeron(invoked)


async def test_requests_are_awaited_side_by_side(client, stream_id):
    request, response = ("aeron:ipc", stream_id), ("aeron:ipc", stream_id + 70_000)
    server = ResponseServer(
        client.aeron,
        request=request,
        response=response,
        handler=lambda _, data: data.upper(),
        correlated=True,
    )
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        asker = AsyncResponseClient(
            ResponseClient(client.aeron, request=request, response=response, correlated=True)
        )
        await asker.wait_connected(30)
        answers = await asyncio.gather(*(asker.request(b"r%d" % i) for i in range(20)))
        assert answers == [b"R%d" % i for i in range(20)]
        asker.close()
    finally:
        server.stop()
        thread.join(60)
        server.close()


@pytest.mark.parametrize("correlated", [False, True])
async def test_a_request_that_was_cancelled_leaves_nothing_behind(client, stream_id, correlated):
    channels = {
        "request": ("aeron:ipc", stream_id),
        "response": ("aeron:ipc", stream_id + 70_000),
        "correlated": correlated,
    }
    asked, released = threading.Event(), threading.Event()

    def handler(_session, data):
        if data == b"slow":
            asked.set()
            assert released.wait(60)
        return b"answer to " + data

    server = ResponseServer(client.aeron, **channels, handler=handler)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        asker = AsyncResponseClient(ResponseClient(client.aeron, **channels))
        await asker.wait_connected(30)
        slow = asyncio.ensure_future(asker.request(b"slow", timeout=60))
        assert await asyncio.to_thread(asked.wait, 30)
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow
        released.set()
        for number in range(5):
            question = b"%d" % number
            assert await asker.request(question, timeout=30) == b"answer to " + question
        assert asker.awaited == 0
        asker.close()
    finally:
        released.set()
        server.stop()
        thread.join(60)
        server.close()
