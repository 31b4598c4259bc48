"""The reference's clients on either side, so that its client and our driver meet as well."""

import pytest
from peer.channels import dynamic, manual, multicast, unicast
from peer.streams import free_port
from waits import wait_until

pytestmark = pytest.mark.interop
COUNT = 3000


@pytest.fixture
def clients(link, peer_client):
    """A publisher and a subscriber of the reference."""
    return peer_client(link.sending.aeron_dir), peer_client(link.receiving.aeron_dir)


def start(clients, row, stream_id, add="add_publication"):
    publisher, subscriber = clients
    ports = {name: free_port() for name in "pqr"}
    subscriptions = [
        subscriber.add_subscription(c.format(**ports), stream_id) for c in row.subscriptions
    ]
    publication = getattr(publisher, add)(row.publication.format(**ports), stream_id)
    for destination in row.destinations:
        publication.addDestination(destination.format(**ports))
    wait_until(publication.isConnected, "the connection")
    for subscription in subscriptions:
        wait_until(subscription.isConnected, "an image")
    return publication, subscriptions


@pytest.mark.parametrize("length", [32, 1000, 8192])
@pytest.mark.parametrize("add", ["add_publication", "add_exclusive_publication"])
def test_numbered_messages_cross(clients, stream_id, add, length):
    count = COUNT if length < 8192 else 300
    publication, (subscription,) = start(clients, unicast(), stream_id, add)
    sent = publication.start_offer_numbered(count, length)
    got = subscription.poll_numbered(count, length)
    assert got == {"count": count, "position": sent.result(30)["position"], "first_wrong": None}


@pytest.mark.parametrize(
    "row",
    [multicast(), dynamic("|fc=min,g:/2"), manual("|fc=min,g:/2")],
    ids=["multicast", "dynamic", "manual"],
)
def test_groups_get_every_message(clients, stream_id, row):
    publication, subscriptions = start(clients, row, stream_id)
    sent = publication.start_offer_numbered(COUNT, 200)
    polls = [s.start_poll_numbered(COUNT, 200) for s in subscriptions]
    end = sent.result(40)["position"]
    for poll in polls:
        assert poll.result(40) == {"count": COUNT, "position": end, "first_wrong": None}


def test_the_end_of_a_stream_is_told(clients, stream_id):
    publication, (subscription,) = start(clients, unicast(), stream_id)
    publication.offer(b"last")
    (image,) = subscription.images()
    publication.close()
    assert [m["data"] for m in subscription.poll(10, until_eos=True)] == [b"last"]
    events = []

    def told() -> bool:
        events.extend(e for e in clients[1].events() if "image" in e["event"])
        return len(events) >= 2

    # The reference closes an image before it calls the handler.
    wait_until(told, "both events")
    assert image.isClosed()
    assert [e["event"] for e in events] == ["available_image", "unavailable_image"]
    assert events[0]["correlationId"] == events[1]["correlationId"]
    assert events[1]["position"] == 64


@pytest.mark.error_log("onPublicationError")
def test_a_refusal_is_told(clients, stream_id):
    publication, (subscription,) = start(clients, unicast(), stream_id)
    publication.offer(b"unwanted")
    assert len(subscription.poll(1)) == 1
    (image,) = subscription.images()
    image.reject("no thanks")
    told = []
    wait_until(
        lambda: (
            told.extend(e for e in clients[0].events() if e["event"] == "publication_error") or told
        ),
        "the error",
    )
    assert told[0]["message"] == "no thanks"
    assert told[0]["errorCode"] == 13
    assert told[0]["sessionId"] == publication.sessionId()


def test_a_revocation_is_told(clients, stream_id):
    publication, (subscription,) = start(clients, unicast(), stream_id, "add_exclusive_publication")
    publication.offer(b"one")
    assert len(subscription.poll(1)) == 1
    (image,) = subscription.images()
    publication.revoke()
    wait_until(image.isClosed, "the image to go")
    assert image.isPublicationRevoked()
