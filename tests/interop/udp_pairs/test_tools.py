"""The reference's tools read what either driver writes about its UDP streams."""

import peer
import pytest
from peer.channels import join, unicast
from peer.streams import Receipt, checked_messages, transfer
from waits import wait_until

pytestmark = pytest.mark.interop


def test_aeron_stat_shows_a_stream_on_both_sides(link, stream_id):
    publication, (subscription,) = join(link, unicast(), stream_id)
    transfer(publication, [Receipt(subscription)], checked_messages(50))
    sending = peer.aeron_stat(link.sending.aeron_dir)
    receiving = peer.aeron_stat(link.receiving.aeron_dir)
    stream = f"{publication.session_id} {stream_id}"
    own = f"{publication.registration_id} {stream}"
    (image,) = subscription.images
    assert f"pub-pos (concurrent): {own} {publication.channel}" in sending
    for name in ("pub-lmt", "snd-pos", "snd-lmt", "snd-bpe", "snd-naks-received"):
        assert f"{name}: {own} {publication.channel}" in sending
    (address,) = publication.local_addresses
    assert f"snd-channel: {publication.channel} {address}" in sending
    theirs = f"{image.correlation_id} {stream} {subscription.channel}"
    for name in ("rcv-hwm", "rcv-pos", "rcv-naks-sent"):
        assert f"{name}: {theirs}" in receiving
    assert (
        f"sub-pos: {subscription.registration_id} {stream} {subscription.channel} @0" in receiving
    )
    endpoint = subscription.channel.split("=")[1]
    assert f"rcv-channel: {subscription.channel} {endpoint}" in receiving


def test_stream_stat_pairs_the_positions(link, stream_id):
    publication, (subscription,) = join(link, unicast(), stream_id)
    end = transfer(publication, [Receipt(subscription)], checked_messages(50))
    for server, names in (
        (link.sending, ("pub-pos", "pub-lmt", "snd-pos", "snd-lmt")),
        (link.receiving, ("rcv-hwm", "rcv-pos", "sub-pos")),
    ):
        shown = peer.java_tool(
            "io.aeron.samples.StreamStat", properties={"aeron.dir": server.aeron_dir}
        )
        (line,) = [
            text
            for text in shown.splitlines()
            if f"sessionId={publication.session_id} streamId={stream_id}" in text
        ]
        assert all(name in line for name in names), line
        assert f":{end}" in line


def test_loss_stat_tells_where_data_was_lost(lossy_receiver, stream_id):
    link = lossy_receiver
    publication, (subscription,) = join(link, unicast(), stream_id)
    transfer(publication, [Receipt(subscription)], checked_messages(400, longest=2000))

    def reported():
        shown = peer.java_tool(
            "io.aeron.samples.LossStat", properties={"aeron.dir": link.receiving.aeron_dir}
        )
        return [line for line in shown.splitlines() if subscription.channel in line]

    (line,) = wait_until(reported, "an entry of the loss report")
    count, total, *_, session, stream, _channel, source = [part.strip() for part in line.split(",")]
    assert int(count) > 0
    assert int(total) >= 32
    assert (int(session), int(stream)) == (publication.session_id, stream_id)
    assert source == subscription.images[0].source_identity


@pytest.fixture
def lossy_receiver(direction, own_link):
    return own_link(
        receiving={
            "aeron.ReceiveChannelEndpoint.supplier": (
                "io.aeron.driver.ext.DebugReceiveChannelEndpointSupplier"
            ),
            "aeron.debug.receive.data.loss.rate": "0.05",
            "aeron.debug.receive.data.loss.seed": "3",
        }
    )


def test_error_stat_shows_the_refused_stream(link, stream_id):
    publication, (subscription,) = join(link, unicast(), stream_id)
    transfer(publication, [Receipt(subscription)], checked_messages(5))
    reason = f"refused in stream {stream_id}"
    subscription.images[0].reject(reason)
    wait_until(lambda: not publication.is_connected, "the refusal to arrive")

    def told():
        shown = peer.java_tool(
            "io.aeron.samples.ErrorStat", properties={"aeron.dir": link.sending.aeron_dir}
        )
        return shown if reason in shown else None

    shown = wait_until(told, "the refusal in the log")
    assert "onPublicationError: " in shown
    assert f"registrationId={publication.registration_id}" in shown
    assert f"errorMessage={reason}" in shown
