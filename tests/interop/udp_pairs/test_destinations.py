"""Destinations of either side come and go while the stream runs."""

import pytest
from peer import counters as types
from peer.streams import Receipt, checked_messages, free_port, transfer
from waits import wait_until

from aerolog.transport.errors import RegistrationError

pytestmark = [
    pytest.mark.interop,
    pytest.mark.c_driver,
]


def batch(number, count=100):
    return checked_messages(count, first=number * count, longest=2000)


@pytest.mark.parametrize("by", ["channel", "id", "async"])
def test_a_publisher_s_destination_is_removed_and_added_again(link, stream_id, by):
    channels = [f"aeron:udp?endpoint=127.0.0.1:{free_port()}" for _ in range(2)]
    first, second = [link.subscriber.add_subscription(c, stream_id) for c in channels]
    publication = link.publisher.add_publication(
        f"aeron:udp?control-mode=manual|term-length=64k|fc=min|alias={stream_id}", stream_id
    )
    destinations = [publication.add_destination(c, wait=by != "async") for c in channels]
    sending, _ = link.counters()
    number = lambda: sending.of_channel(types.DESTINATIONS, f"alias={stream_id}")[0].value  # noqa: E731
    wait_until(lambda: number() == 2, "two destinations")
    wait_until(lambda: first.is_connected and second.is_connected, "images")
    key = (publication.session_id, stream_id)
    wait_until(
        lambda: sending.value(types.FLOW_CONTROL_RECEIVERS, *key) == 2, "both receivers to count"
    )
    both = [Receipt(first), Receipt(second)]
    middle = transfer(publication, both, batch(0))
    publication.remove_destination(destinations[1].registration_id if by == "id" else channels[1])
    wait_until(lambda: number() == 1, "one destination less")
    second.close()
    wait_until(
        lambda: sending.value(types.FLOW_CONTROL_RECEIVERS, *key) == 1, "one receiver to count"
    )
    assert transfer(publication, both[:1], batch(1)) > middle
    again = link.subscriber.add_subscription(channels[1] + "|alias=again", stream_id)
    publication.add_destination(channels[1])
    (image,) = wait_until(lambda: again.images, "an image again")
    late = Receipt(again, next_number=200)
    end = transfer(publication, [both[0], late], batch(2))
    assert image.join_position < end == both[0].position == late.position


def test_a_subscription_follows_its_stream_to_another_path(link, stream_id):
    """One session over two paths is one image; it goes on when a path is cut."""
    ports = [free_port(), free_port()]
    channels = [f"aeron:udp?endpoint=127.0.0.1:{port}" for port in ports]
    subscription = link.subscriber.add_subscription("aeron:udp?control-mode=manual", stream_id)
    publication = link.publisher.add_publication(
        f"aeron:udp?control-mode=manual|term-length=64k|alias={stream_id}", stream_id
    )
    for channel in channels:
        publication.add_destination(channel)
    subscription.add_destination(channels[0])
    receipt = Receipt(subscription)
    transfer(publication, [receipt], batch(0))
    _, receiving = link.counters()
    subscription.add_destination(channels[1])
    addresses = lambda: sorted(  # noqa: E731
        c.label.split()[-1] for c in of_subscription(receiving, subscription)
    )
    both = sorted(f"127.0.0.1:{port}" for port in ports)
    wait_until(lambda: addresses() == both, "the addresses of both destinations")
    (image,) = subscription.images
    wait_until(lambda: image.active_transport_count == 2, "the image to have two paths")
    transfer(publication, [receipt], batch(1))
    subscription.remove_destination(channels[0])
    wait_until(lambda: addresses() == [f"127.0.0.1:{ports[1]}"], "the address to be free")
    end = transfer(publication, [receipt], batch(2))
    assert receipt.position == end
    assert subscription.images == (image,)


def of_subscription(side, subscription):
    return [
        c
        for c in side.of_channel(types.LOCAL_ADDRESS, "rcv-local-sockaddr")
        if c.registration_id == subscription.registration_id
    ]


def test_two_sources_of_one_session_end_when_both_have_ended(link, stream_id):
    channels = [f"aeron:udp?endpoint=127.0.0.1:{free_port()}" for _ in range(2)]
    subscription = link.subscriber.add_subscription("aeron:udp?control-mode=manual", stream_id)
    for channel in channels:
        subscription.add_destination(channel)
    sources = [
        link.publisher.add_exclusive_publication(
            f"{channel}|term-length=64k|session-id=88|init-term-id=5|term-id=5|term-offset=0",
            stream_id,
        )
        for channel in channels
    ]
    for source in sources:
        wait_until(lambda p=source: p.is_connected, "both sources to be connected")
    receipt = Receipt(subscription)
    messages = batch(0)
    for start in range(0, 100, 5):  # neither runs ahead of the other by much
        part = messages[start : start + 5]
        for message in part:
            sources[0].send(message, timeout=30.0)
        transfer(sources[1], [receipt], part)
    end = sources[0].position
    assert [source.position for source in sources] == [end, end]
    (image,) = subscription.images
    wait_until(lambda: image.active_transport_count == 2, "the image to have two sources")
    sources[0].close()
    sending, _ = link.counters()
    wait_until(
        lambda: len(sending.values(types.SENDER_POSITION, 88, stream_id)) == 1,
        "the first source to go",
    )
    assert not image.is_end_of_stream
    sources[1].close()
    wait_until(lambda: image.closed or image.is_end_of_stream, "the end")
    wait_until(lambda: image.closed, "the image to go")
    assert image.position == image.end_of_stream_position == end


def test_a_local_stream_and_one_from_afar_are_images_of_one_subscription(link, stream_id):
    far = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    subscription = link.subscriber.add_subscription("aeron:udp?control-mode=manual", stream_id)
    subscription.add_destination(far)
    subscription.add_destination("aeron:ipc")
    publications = [
        link.publisher.add_exclusive_publication(far + "|term-length=64k", stream_id),
        link.subscriber.add_exclusive_publication("aeron:ipc?term-length=64k", stream_id),
    ]
    wait_until(lambda: len(subscription.images) == 2, "both images")
    for publication in publications:
        receipt = Receipt(subscription.image(publication.session_id))
        transfer(publication, [receipt], batch(0))
    subscription.remove_destination("aeron:ipc")
    wait_until(lambda: len(subscription.images) == 1, "the local image to go")


def test_spies_are_destinations_too(link, stream_id):
    """A subscription beside the publisher takes its stream from the log."""
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    far = link.subscriber.add_subscription(channel, stream_id)
    publication = link.publisher.add_publication(channel + "|term-length=64k", stream_id)
    near = link.publisher.add_subscription("aeron:udp?control-mode=manual", stream_id)
    near.add_destination("aeron-spy:" + channel)
    wait_until(lambda: near.images and publication.is_connected, "the spy")
    assert near.images[0].source_identity == "aeron:ipc"
    end = transfer(publication, [Receipt(far), Receipt(near)], batch(0))
    assert near.images[0].position == end


REFUSED = {
    "a destination of a plain publication": (
        "aeron:udp?endpoint=127.0.0.1:19999",
        "aeron:udp?endpoint=127.0.0.1:19998",
    ),
    "a destination with any port": (
        "aeron:udp?control-mode=manual",
        "aeron:udp?endpoint=127.0.0.1:0",
    ),
    "a destination with an mtu": (
        "aeron:udp?control-mode=manual",
        "aeron:udp?endpoint=127.0.0.1:19998|mtu=1408",
    ),
    "a spy as destination": (
        "aeron:udp?control-mode=manual",
        "aeron-spy:aeron:udp?endpoint=127.0.0.1:19998",
    ),
}


@pytest.mark.error_log(
    "Aeron spies are invalid",
    "Invalid argument",
    "channel does not allow manual control",
    "destinations must not contain",
    "endpoint has port=0",
    "invalid channel",
)
@pytest.mark.parametrize("name", list(REFUSED))
def test_destinations_that_are_refused(link, stream_id, name):
    channel, destination = REFUSED[name]
    publication = link.publisher.add_publication(channel, stream_id)
    with pytest.raises(RegistrationError) as error:
        publication.add_destination(destination)
    assert error.value.code_value in {1, 11}
