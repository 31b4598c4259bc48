"""A Java publisher on the reference's driver is received by subscriptions on ours."""

import pytest
from peer.streams import free_port

pytestmark = pytest.mark.interop

COUNT = 2000
# Shorter than a frame, of several frames, and the longest that a term of 64 KiB takes.
LENGTHS = (40, 1000, 5000, 8192)


@pytest.fixture
def endpoint():
    return f"127.0.0.1:{free_port()}"


def channel(kind, endpoint):
    if kind == "unicast":
        return f"aeron:udp?endpoint={endpoint}"
    port = endpoint.rpartition(":")[2]
    return f"aeron:udp?endpoint=224.20.30.39:{port}|interface=localhost"


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("kind", ["unicast", "multicast"])
def test_java_to_java_through_our_driver(
    java_driver, our_driver, java_client, stream_id, endpoint, kind, length
):
    text = channel(kind, endpoint)
    count = COUNT if length < 5000 else COUNT // 10
    receiver = java_client(our_driver.aeron_dir)
    subscription = receiver.addSubscription(text, stream_id)
    sender = java_client(java_driver.aeron_dir)
    publication = sender.addPublication(f"{text}|term-length=64k", stream_id)
    received = subscription.start_poll_numbered(count, length)
    sent = publication.offer_numbered(count, length)
    assert sent["count"] == count
    assert received.result(60) == {
        "count": count,
        "position": sent["position"],
        "first_wrong": None,
    }
