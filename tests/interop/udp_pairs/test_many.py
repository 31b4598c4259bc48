"""Many streams at once, in every threading mode, and strangers who send what they like."""

import random
import socket
import struct

import pytest
from peer import counters as types
from peer.channels import check_rest, join, unicast
from peer.streams import Receipt, checked_messages, free_port, transfer
from waits import wait_until

pytestmark = pytest.mark.interop
STREAMS = 60


def open_streams(link, channel, stream_id, count):
    """As many streams over one channel, connected: publications and what they arrive in.

    Their windows together fit a socket's buffer: a receiver that loses all of a window up to the
    end of a term, with padding behind it, takes heartbeats for over-runs and gives the image up.
    """
    subscriptions = [
        link.subscriber.add_subscription(channel + "|rcv-wnd=4k", stream_id * 1000 + n)
        for n in range(count)
    ]
    publications = [
        link.publisher.add_publication(channel + "|term-length=64k", stream_id * 1000 + n)
        for n in range(count)
    ]
    for publication, subscription in zip(publications, subscriptions, strict=True):
        wait_until(lambda p=publication: p.is_connected, "a connection")
        wait_until(lambda s=subscription: s.images, "an image")
    return publications, subscriptions


def run_together(publications, subscriptions, count, seed):
    """Every stream gets messages of its own, in turn."""
    receipts = [Receipt(subscription) for subscription in subscriptions]
    messages = [checked_messages(count, longest=3000, seed=seed + n) for n in range(len(receipts))]
    sent = [0] * len(receipts)

    def step():
        for n, publication in enumerate(publications):
            while sent[n] < count and publication.offer(messages[n][sent[n]]) > 0:
                sent[n] += 1
            receipts[n].poll()
        return all(receipt.count == count for receipt in receipts)

    wait_until(step, "all streams to arrive", 60)


def test_many_streams_share_an_endpoint(link, stream_id):
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    publications, subscriptions = open_streams(link, channel, stream_id, STREAMS)
    run_together(publications, subscriptions, 60, stream_id)
    for publication, subscription in zip(publications, subscriptions, strict=True):
        check_rest(link, publication, [subscription], publication.position)
    sending, receiving = link.counters()
    assert len(sending.of_channel(types.SEND_CHANNEL, channel)) == 1
    assert len(receiving.of_channel(types.RECEIVE_CHANNEL, channel)) == 1


@pytest.mark.ours("either")
@pytest.mark.parametrize("offload", ["true", "false"])
@pytest.mark.parametrize("mode", ["DEDICATED", "SHARED_NETWORK"])
def test_every_threading_mode_carries_streams(
    direction, pair_servers, make_link, stream_id, mode, offload
):
    """With the kernel's segmentation of datagrams, where it has it, and without."""
    own = {
        "aeron.network.offload": offload,
        "aeron.threading.mode": mode,
        "aeron.sender.idle.strategy": "backoff",
        "aeron.receiver.idle.strategy": "backoff",
        "aeron.sharednetwork.idle.strategy": "backoff",
    }
    sending, receiving = direction.split("-to-")
    link = make_link(
        pair_servers(sending, 1, own if sending == "ours" else None),
        pair_servers(
            receiving, 2 if sending == receiving else 1, own if receiving == "ours" else None
        ),
    )
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    publications, subscriptions = open_streams(link, channel, stream_id, 5)
    run_together(publications, subscriptions, 200, stream_id)
    for publication, subscription in zip(publications, subscriptions, strict=True):
        check_rest(link, publication, [subscription], publication.position)
        publication.close()
        (image,) = subscription.images
        wait_until(lambda i=image: i.is_end_of_stream or i.closed, "the end")


def strangers(source, session_id, stream_id, term_id):
    """Datagrams that belong to nobody, or to a stream in a wrong way."""
    head = struct.Struct("<iBBHiiii")
    frames = [source.randbytes(source.randrange(1, 200)) for _ in range(40)]
    for kind in range(13):
        for length in (-1, 0, 7, 32, 0x7FFFFFFF):
            offset = source.choice([-32, 0, 32, 65504, 65536, 0x7FFFFFE0])
            term = source.choice([term_id + 1000, term_id - 1, 0, -(2**31)])
            body = source.randbytes(source.choice([0, 4, 16, 300]))
            frames.append(
                head.pack(length, 0, 0xC0, kind, offset, session_id, stream_id, term) + body
            )
        frames.append(head.pack(32, 1, 0, kind, 0, session_id, stream_id, term_id))
    return frames


@pytest.mark.ours("either")
def test_strangers_disturb_no_stream(direction, link, stream_id):
    """Random and wrong datagrams at every port of our driver while a stream runs through it."""
    publication, (subscription,) = join(link, unicast("|control=127.0.0.1:{q}"), stream_id)
    receipt = Receipt(subscription)
    transfer(publication, [receipt], checked_messages(50))
    (local,) = publication.local_addresses
    ports = [subscription.local_addresses[0]] if direction.endswith("-to-ours") else []
    ports += [local] if direction.startswith("ours") else []
    source = random.Random(stream_id)
    junk = strangers(source, publication.session_id, stream_id, publication.initial_term_id)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:

        def disturb():
            for address in ports:
                host, port = address.split(":")
                stranger.sendto(source.choice(junk), (host, int(port)))

        messages = checked_messages(400, first=50, longest=2000)
        end = transfer(publication, [receipt], messages, also=disturb)
    assert receipt.position == end
    check_rest(link, publication, [subscription], end)
    assert link.sending.process.running
    assert link.receiving.process.running
