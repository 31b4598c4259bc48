"""Either driver dies without a word and is started again; the other one lives on with it."""

import pytest
from peer.streams import Receipt, checked_messages, free_port, transfer
from waits import wait_until

pytestmark = pytest.mark.interop
TIMEOUTS = {
    "aeron.publication.connection.timeout": "3s",
    "aeron.image.liveness.timeout": "3s",
    "aeron.flow.control.receiver.timeout": "3s",
}


def batch(number, count=100):
    return checked_messages(count, first=number * count, longest=2000)


@pytest.mark.parametrize("kind", ["unicast", "multicast"])
def test_a_new_receiving_driver_joins_the_running_stream(
    own_link, start_server, make_link, stream_id, kind
):
    link = own_link(TIMEOUTS, TIMEOUTS)
    channel = channel_of(kind)
    subscription = link.subscriber.add_subscription(channel, stream_id)
    publication = link.publisher.add_publication(channel + "|term-length=64k", stream_id)
    middle = transfer(publication, [Receipt(subscription)], batch(0))
    link.receiving.process.kill()
    wait_until(lambda: not publication.is_connected, "the publication to notice")
    again = make_link(link.sending, start_again(start_server, link.receiving))
    subscription = again.subscriber.add_subscription(channel, stream_id)
    (image,) = wait_until(lambda: subscription.images, "an image on the new driver")
    assert image.join_position == middle
    wait_until(lambda: publication.is_connected, "the publication to be connected again")
    receipt = Receipt(subscription, next_number=100)
    assert transfer(publication, [receipt], batch(1)) == receipt.position


@pytest.mark.parametrize("kind", ["unicast", "multicast"])
def test_a_new_sending_driver_begins_a_new_stream(
    own_link, start_server, make_link, stream_id, kind
):
    link = own_link(TIMEOUTS, TIMEOUTS)
    channel = channel_of(kind)
    subscription = link.subscriber.add_subscription(channel, stream_id)
    publication = link.publisher.add_publication(channel + "|term-length=64k", stream_id)
    end = transfer(publication, [Receipt(subscription)], batch(0))
    (old,) = subscription.images
    link.sending.process.kill()
    again = make_link(start_again(start_server, link.sending), link.receiving)
    publication = again.publisher.add_publication(channel + "|term-length=64k", stream_id)
    wait_until(lambda: subscription.image(publication.session_id), "the new image")
    receipt = Receipt(subscription.image(publication.session_id))
    assert transfer(publication, [receipt], batch(0)) == receipt.position
    wait_until(lambda: old.closed, "the old image to go")
    assert old.position == end
    assert not old.is_end_of_stream
    assert old not in subscription.images


def channel_of(kind):
    port = free_port()
    if kind == "unicast":
        return f"aeron:udp?endpoint=127.0.0.1:{port}"
    return f"aeron:udp?endpoint=224.20.30.41:{port}|interface=127.0.0.1"


def start_again(start_server, server):
    """A driver like the one that was killed, with a directory of its own."""
    return start_server(server.implementation, "driver", properties=server.spec.properties)
