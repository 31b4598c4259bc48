"""Destinations and channel states over UDP, on the reference's driver until ours has UDP."""

import pytest

from aerolog.transport.client import ChannelStatus
from aerolog.transport.errors import RegistrationError, ResourceClosedError

pytestmark = pytest.mark.interop


@pytest.fixture
def client(connect, java_driver):
    return connect(java_driver)


def ephemeral(client, stream_id):
    """A subscription on a port that the system chose."""
    return client.add_subscription("aeron:udp?endpoint=127.0.0.1:0", stream_id)


def test_an_ephemeral_port_is_resolved(client, stream_id, wait_until):
    subscription = ephemeral(client, stream_id)
    wait_until(lambda: subscription.resolved_endpoint, "the port")
    assert subscription.channel_status is ChannelStatus.ACTIVE
    host, _, port = subscription.resolved_endpoint.rpartition(":")
    assert host == "127.0.0.1"
    assert int(port) > 0
    assert subscription.local_addresses == [subscription.resolved_endpoint]
    assert subscription.resolved_channel == f"aeron:udp?endpoint={subscription.resolved_endpoint}"
    publication = client.add_publication(subscription.resolved_channel, stream_id)
    publication.wait_connected(30, writable=True)
    assert publication.channel_status is ChannelStatus.ACTIVE
    publication.offer(b"over the wire")
    assert next(subscription.messages(timeout=30)).data == b"over the wire"
    assert subscription.images[0].source_identity.startswith("127.0.0.1:")
    image = subscription.images[0]
    wait_until(lambda: image.active_transport_count == 1, "the transport to count")
    subscription.close()
    assert subscription.channel_status is ChannelStatus.NO_ID_ALLOCATED
    assert subscription.local_addresses == []


def test_a_publication_sends_to_destinations_that_come_and_go(client, stream_id, wait_until):
    publication = client.add_publication("aeron:udp?control-mode=manual", stream_id)
    first, second = ephemeral(client, stream_id), ephemeral(client, stream_id)
    for subscription in (first, second):
        wait_until(lambda s=subscription: s.resolved_endpoint, "the port")
    with publication.add_destination(first.resolved_channel) as destination:
        publication.wait_connected(30, writable=True)
        publication.offer(b"to one")
        assert next(first.messages(timeout=30)).data == b"to one"
        assert second.images == ()
        assert destination.registration_id > publication.registration_id
        publication.add_destination(second.resolved_channel)
        second.wait_connected(30)
    assert destination.removed
    publication.offer(b"to the other")
    assert next(second.messages(timeout=30)).data == b"to the other"
    assert list(first.messages(timeout=0.2)) == []
    publication.remove_destination(second.resolved_channel)
    later = publication.add_destination(first.resolved_channel, wait=False)
    later.future.result(30)
    publication.remove_destination(later.registration_id)


def test_a_subscription_listens_to_destinations(client, stream_id, wait_until):
    subscription = client.add_subscription("aeron:udp?control-mode=manual", stream_id)
    assert subscription.channel_status is ChannelStatus.ACTIVE
    network = subscription.add_destination("aeron:udp?endpoint=127.0.0.1:0")
    wait_until(lambda: subscription.local_addresses, "the port")
    endpoint = subscription.local_addresses[0]
    publication = client.add_publication(f"aeron:udp?endpoint={endpoint}", stream_id)
    publication.wait_connected(30, writable=True)
    publication.offer(b"network")
    assert next(subscription.messages(timeout=30)).data == b"network"
    with subscription.add_destination("aeron:ipc"):
        local = client.add_publication("aeron:ipc?term-length=64k", stream_id)
        local.wait_connected(30, writable=True)
        local.offer(b"memory")
        assert next(subscription.messages(timeout=30)).data == b"memory"
    wait_until(lambda: not local.is_connected, "the memory destination to go")
    network.remove()
    network.remove()


def test_destinations_of_wrong_or_closed_objects_are_errors(client, stream_id):
    publication = client.add_publication("aeron:ipc?term-length=64k", stream_id)
    with pytest.raises(RegistrationError, match="unknown publication"):
        publication.add_destination("aeron:udp?endpoint=127.0.0.1:9999")
    subscription = client.add_subscription("aeron:ipc", stream_id)
    subscription.close()
    publication.close()
    for closed in (publication, subscription):
        with pytest.raises(ResourceClosedError):
            closed.add_destination("aeron:udp?endpoint=127.0.0.1:9999")


def test_a_spy_sees_a_network_publication(client, stream_id):
    publication = client.add_publication("aeron:udp?endpoint=127.0.0.1:19999|ssc=true", stream_id)
    spy = client.add_subscription("aeron-spy:aeron:udp?endpoint=127.0.0.1:19999", stream_id)
    publication.wait_connected(30, writable=True)
    publication.offer(b"spied")
    assert next(spy.messages(timeout=30)).data == b"spied"


def test_a_rejected_network_image_is_told_to_the_publisher(
    connect, java_driver, stream_id, wait_until
):
    frames = []
    client = connect(java_driver, on_publication_error=frames.append)
    subscription = ephemeral(client, stream_id)
    wait_until(lambda: subscription.resolved_endpoint, "the port")
    publication = client.add_publication(subscription.resolved_channel, stream_id)
    publication.wait_connected(30, writable=True)
    subscription.wait_connected(30)
    subscription.images[0].reject("not today")
    frame = wait_until(lambda: frames and frames[0], "the error frame")
    assert frame.error_code == 13
    assert frame.error_message == "not today"
    assert frame.session_id == publication.session_id
    assert frame.registration_id == publication.registration_id
    assert frame.source_address.startswith("127.0.0.1:")
    assert frame.destination_registration_id is None
