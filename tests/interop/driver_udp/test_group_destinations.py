"""A group with destinations of its own connects to them on either driver."""

import pytest
from peer.streams import Receipt, checked_messages, free_port, transfer
from waits import wait_until

pytestmark = pytest.mark.interop


@pytest.mark.parametrize("kind", ["ours", "reference"])
def test_destinations_of_a_group_get_every_message(start_server, our_client, stream_id, kind):
    server = start_server(kind, "driver", properties={"aeron.term.buffer.length": "64k"})
    client, port = our_client(server.aeron_dir), free_port()
    group = f"aeron:udp?endpoint=224.20.30.45:{free_port()}|interface=localhost"
    subscription = client.add_subscription(f"aeron:udp?endpoint=127.0.0.1:{port}", stream_id)
    publication = client.add_publication(f"{group}|control-mode=manual", stream_id)
    publication.add_destination(f"aeron:udp?endpoint=127.0.0.1:{port}")
    wait_until(lambda: publication.is_connected, "the connection")

    receipt = Receipt(subscription)
    transfer(publication, [receipt], checked_messages(100))

    assert receipt.count == 100
