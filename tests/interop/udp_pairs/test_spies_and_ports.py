"""Spies, ports that the driver chooses, tags, and channels that the driver refuses."""

import pytest
from peer import counters as types
from peer.channels import check_rest, join, unicast
from peer.streams import Receipt, checked_messages, free_port, transfer
from waits import wait_until

from aerolog.transport.errors import RegistrationError

pytestmark = pytest.mark.interop


def batch(number, count=100):
    return checked_messages(count, first=number * count, longest=2000)


def test_a_spy_reads_along_with_the_receiver(link, stream_id):
    publication, (subscription,) = join(link, unicast(), stream_id)
    endpoint = publication.channel.split("|")[0]
    spy = link.publisher.add_subscription("aeron-spy:" + endpoint, stream_id)
    (image,) = wait_until(lambda: spy.images, "an image of the spy")
    assert image.source_identity == "aeron:ipc"
    assert image.session_id == publication.session_id
    end = transfer(publication, [Receipt(subscription), Receipt(spy)], batch(0))
    check_rest(link, publication, [subscription], end)
    publication.close()
    wait_until(lambda: image.closed, "the image of the spy to go")
    assert image.is_end_of_stream
    assert image.position == end


def test_a_spy_alone_connects_a_publication_that_asks_for_it(link, stream_id):
    endpoint = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    publication = link.publisher.add_publication(endpoint + "|term-length=64k|ssc=true", stream_id)
    spy = link.publisher.add_subscription("aeron-spy:" + endpoint, stream_id)
    wait_until(lambda: publication.is_connected and spy.images, "the spy")
    receipt = Receipt(spy)
    middle = transfer(publication, [receipt], batch(0))
    sending, _ = link.counters()
    key = (publication.session_id, stream_id)
    wait_until(lambda: sending.value(types.SENDER_POSITION, *key) == middle, "the spy's pace")
    subscription = link.subscriber.add_subscription(endpoint, stream_id)
    (image,) = wait_until(lambda: subscription.images, "a receiver after all")
    assert image.join_position == middle
    # Until then the spy sets the pace, and leaves behind whoever has just joined.
    wait_until(lambda: sending.value(types.SENDER_LIMIT, *key) > middle, "the receiver to be heard")
    late = Receipt(subscription, next_number=100)
    end = transfer(publication, [receipt, late], batch(1))
    assert receipt.position == late.position == end
    # Without the receiver the spy goes on alone.
    subscription.close()
    alone = transfer(publication, [receipt], batch(2))
    assert alone > end


def test_a_spy_alone_connects_nothing_otherwise(link, stream_id):
    endpoint = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    publication = link.publisher.add_publication(endpoint + "|term-length=64k", stream_id)
    spy = link.publisher.add_subscription("aeron-spy:" + endpoint, stream_id)
    wait_until(lambda: spy.images, "the spy")
    assert not publication.is_connected
    subscription = link.subscriber.add_subscription(endpoint, stream_id)
    transfer(publication, [Receipt(subscription), Receipt(spy)], batch(0))


def test_a_subscriber_gets_any_port_and_tells_which(link, stream_id):
    subscriptions = [
        link.subscriber.add_subscription("aeron:udp?endpoint=127.0.0.1:0", stream_id)
        for _ in range(2)
    ]
    endpoints = [
        wait_until(lambda s=each: s.resolved_endpoint, "a resolved endpoint")
        for each in subscriptions
    ]
    assert len(set(endpoints)) == 2
    for subscription, endpoint in zip(subscriptions, endpoints, strict=True):
        host, port = endpoint.split(":")
        assert host == "127.0.0.1"
        assert int(port) > 0
        publication = link.publisher.add_publication(
            f"aeron:udp?endpoint={endpoint}|term-length=64k", stream_id
        )
        end = transfer(publication, [Receipt(subscription)], batch(0))
        assert subscription.images[0].position == end
    assert [len(s.images) for s in subscriptions] == [1, 1]


def test_a_source_gets_any_control_port_and_tells_which(link, stream_id):
    publication = link.publisher.add_publication(
        "aeron:udp?control=127.0.0.1:0|control-mode=dynamic|term-length=64k", stream_id
    )
    (address,) = wait_until(lambda: publication.local_addresses, "a local address")
    assert not address.endswith(":0")
    subscription = link.subscriber.add_subscription(
        f"aeron:udp?endpoint=127.0.0.1:0|control={address}", stream_id
    )
    wait_until(lambda: publication.is_connected, "the receiver")
    end = transfer(publication, [Receipt(subscription)], batch(0))
    assert subscription.images[0].position == end


def test_ports_come_from_the_given_ranges(own_link, stream_id):
    ports = [*two_ports(), *two_ports()]
    link = own_link(
        {"aeron.sender.wildcard.port.range": f"{ports[0]} {ports[1]}"},
        {"aeron.receiver.wildcard.port.range": f"{ports[2]} {ports[3]}"},
    )
    room = ports[3] - ports[2] + 1
    subscriptions = [
        link.subscriber.add_subscription("aeron:udp?endpoint=127.0.0.1:0", stream_id + number)
        for number in range(room)
    ]
    endpoints = [
        wait_until(lambda s=each: s.resolved_endpoint, "a resolved endpoint")
        for each in subscriptions
    ]
    taken = [int(endpoint.rsplit(":", 1)[1]) for endpoint in endpoints]
    assert taken == list(range(ports[2], ports[3] + 1))
    with pytest.raises(RegistrationError, match="no available ports in range"):
        link.subscriber.add_subscription("aeron:udp?endpoint=127.0.0.1:0", stream_id)
    subscriptions[0].close()
    subscriptions[0] = wait_until(lambda: any_port(link, stream_id), "a port to be free again")
    publication = link.publisher.add_publication(
        "aeron:udp?control=127.0.0.1:0|control-mode=dynamic|term-length=64k", stream_id
    )
    (address,) = wait_until(lambda: publication.local_addresses, "a local address")
    assert ports[0] <= int(address.split(":")[1]) <= ports[1]
    subscription = link.subscriber.add_subscription(
        f"aeron:udp?endpoint=127.0.0.1:{free_port()}|control={address}", stream_id
    )
    transfer(publication, [Receipt(subscription)], batch(0))


def two_ports():
    """Two free ports side by side."""
    while True:
        first, last = free_port(), free_port()
        if last - first == 1:
            return first, last


def any_port(link, stream_id):
    try:
        return link.subscriber.add_subscription("aeron:udp?endpoint=127.0.0.1:0", stream_id)
    except RegistrationError as error:
        if "no available ports" not in str(error):
            raise
        return None


def test_tags_name_channels_and_sessions(link, stream_id):
    base = stream_id * 10
    endpoint = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    subscription = link.subscriber.add_subscription(f"{endpoint}|tags={base}", stream_id)
    same = link.subscriber.add_subscription(f"aeron:udp?tags={base}", stream_id + 1)
    first = link.publisher.add_publication(
        f"{endpoint}|term-length=64k|tags={base + 1},{base + 2}", stream_id
    )
    second = link.publisher.add_publication(
        f"aeron:udp?tags={base + 1}|session-id=tag:{base + 2}|term-length=64k", stream_id + 1
    )
    assert second.session_id == first.session_id
    assert (second.mtu, second.term_length) == (first.mtu, first.term_length)
    for publication, source in ((first, subscription), (second, same)):
        receipt = Receipt(source)
        assert transfer(publication, [receipt], batch(0)) == receipt.position
    sending, receiving = link.counters()
    assert len(sending.of_channel(types.SEND_CHANNEL, endpoint)) == 1
    assert len(receiving.of_channel(types.RECEIVE_CHANNEL, endpoint)) == 1


def test_what_endpoints_are_bound_to_is_told(link, stream_id):
    publication, (subscription,) = join(link, unicast(), stream_id)
    assert subscription.channel_status == publication.channel_status == 1
    endpoint = subscription.channel.split("=")[1]
    assert subscription.local_addresses == [endpoint]
    (local,) = publication.local_addresses
    assert local.startswith("127.0.0.1:")
    (image,) = subscription.images
    assert image.source_identity == local
    taken = f"aeron:udp?endpoint=localhost:{endpoint.split(':')[1]}"
    with pytest.raises(RegistrationError, match=r"channel error - .*[Aa]ddress already in use"):
        link.subscriber.add_subscription(taken, stream_id)


PUBLICATIONS_REFUSED = [
    "aeron:udp?endpoint=127.0.0.1:0",
    "aeron:udp?endpoint=224.20.30.40:25001|interface=127.0.0.1",
    "aeron:udp?endpoint=127.0.0.1:25001|mtu=1000",
    "aeron:udp?endpoint=127.0.0.1:25001|mtu=9216|term-length=64k",
    "aeron:udp?control=127.0.0.1:25001",
    "aeron:udp?control-mode=dynamic",
    "aeron:udp?term-length=64k",
    "aeron:udp?endpoint=127.0.0.1:25001|fc=max",
    "aeron:udp?endpoint=127.0.0.1:25001|pub-wnd=64k|term-length=64k",
    "aeron:udp?endpoint=127.0.0.1:25001|max-resend=257",
    "aeron:udp?control-mode=response",
    "aeron:udp?endpoint=no.such.host.invalid:25001",
    "aeron:udp?endpoint=127.0.0.1:25001|interface=10.99.99.99/32",
]
SUBSCRIPTIONS_REFUSED = [
    "aeron:udp?endpoint=127.0.0.1:25002|control=127.0.0.1:0",
    "aeron:udp?endpoint=224.20.30.40:25002|interface=127.0.0.1",
    "aeron:udp?endpoint=127.0.0.1:25002|rcv-wnd=32k|so-rcvbuf=16k",
    "aeron:udp?endpoint=203.0.113.9:25002",
]


def refusals(client, stream_id, channels, add):
    """Code and message of each refusal."""
    answers = {}
    for channel in channels:
        with pytest.raises(RegistrationError) as error:
            getattr(client, add)(channel, stream_id)
        answers[channel] = error.value.code_value
    return answers


def test_both_drivers_refuse_the_same_channels_with_the_same_code(link, stream_id):
    for add, channels in (
        ("add_publication", PUBLICATIONS_REFUSED),
        ("add_subscription", SUBSCRIPTIONS_REFUSED),
    ):
        sending = refusals(link.publisher, stream_id, channels, add)
        receiving = refusals(link.subscriber, stream_id, channels, add)
        assert sending == receiving
