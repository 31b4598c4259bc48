"""Publications of our driver are received by a Java subscriber on the reference's driver."""

import pytest
from peer.streams import checked_messages, free_port, number_of
from waits import wait_until

pytestmark = pytest.mark.interop

COUNT = 2000
# Messages that fit into the window of a publication together.
ROUND = 4
# Shorter than a frame, of several frames, and the longest that a term of 64 KiB takes.
LENGTHS = (40, 1000, 5000, 8192)
CHANNELS = {
    "unicast": ("aeron:udp?endpoint=127.0.0.1:{p}", "aeron:udp?endpoint=127.0.0.1:{p}"),
    "multicast": (
        "aeron:udp?endpoint=224.20.30.39:{p}|interface=localhost",
        "aeron:udp?endpoint=224.20.30.39:{p}|interface=localhost",
    ),
    "dynamic": (
        "aeron:udp?control=127.0.0.1:{p}|control-mode=dynamic",
        "aeron:udp?control=127.0.0.1:{p}|control-mode=dynamic|endpoint=127.0.0.1:0",
    ),
}


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("kind", CHANNELS)
def test_java_to_java_through_our_driver(
    our_driver, java_driver, java_client, stream_id, kind, length
):
    port = free_port()
    sending, receiving = (text.format(p=port) for text in CHANNELS[kind])
    count = COUNT if length < 5000 else COUNT // 10
    subscription = java_client(java_driver.aeron_dir).addSubscription(receiving, stream_id)
    publication = java_client(our_driver.aeron_dir).addPublication(
        f"{sending}|term-length=64k", stream_id
    )
    received = subscription.start_poll_numbered(count, length)
    sent = publication.offer_numbered(count, length)
    assert sent["count"] == count
    assert received.result(60) == {
        "count": count,
        "position": sent["position"],
        "first_wrong": None,
    }


@pytest.mark.parametrize("kind", CHANNELS)
def test_ours_to_java_byte_by_byte(
    our_driver, our_client, java_driver, java_client, stream_id, kind
):
    port = free_port()
    sending, receiving = (text.format(p=port) for text in CHANNELS[kind])
    subscription = java_client(java_driver.aeron_dir).addSubscription(receiving, stream_id)
    publication = our_client(our_driver.aeron_dir).add_exclusive_publication(
        f"{sending}|term-length=64k", stream_id
    )
    wait_until(lambda: publication.is_connected, "the connection")
    messages, got = checked_messages(80), []
    for first in range(0, len(messages), ROUND):
        for message in messages[first : first + ROUND]:
            wait_until(lambda m=message: publication.offer(m) > 0, "room for a message")
        got += subscription.poll(ROUND)

    assert [m["data"] for m in got] == messages
    assert [number_of(m["data"]) for m in got] == list(range(len(messages)))
