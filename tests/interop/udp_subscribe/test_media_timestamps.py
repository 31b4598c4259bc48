"""Receive timestamps of the kernel, which only the C driver and ours write into messages."""

import socket
import struct
import time

import pytest
from peer.streams import free_port
from waits import wait_until

from aerolog.transport.client import Aeron
from aerolog.transport.errors import RegistrationError

pytestmark = pytest.mark.interop
NEAR_NS = 60 * 1_000_000_000
RESERVED = -8


@pytest.fixture(params=["true", "false"], ids=["offload", "no-offload"], scope="module")
def offload(request):
    """Whether the driver lets the kernel join and cut runs of datagrams."""
    return request.param


@pytest.fixture
def client(start_server, offload):
    """A client of a driver of ours that has its settings as a user of the C driver gives them."""
    server = start_server(
        "ours",
        "driver",
        properties={"aeron.network.offload": offload, "aeron.timer.interval": "100ms"},
    )
    with Aeron(server.aeron_dir, driver_timeout=30) as made:
        yield made


def connected(client, subscription, send_channel, stream_id):
    """A publication that a subscription has an image of."""
    publication = client.add_exclusive_publication(send_channel, stream_id)
    publication.wait_connected(30, writable=True)
    subscription.wait_connected(30)
    return publication


def exchanged(publication, subscription, messages):
    """The messages as they came, each in a datagram of its own unless they were sent at once."""
    got = []
    for number, message in enumerate(messages, 1):
        publication.send(message, timeout=30.0, reserved_value=7)

        def arrived(number=number):
            got.extend(subscription.poll_messages(10))
            return len(got) == number

        wait_until(arrived, "a message")
    return got


def stamp_of(message, offset):
    """The eight bytes at an offset of a message, or its reserved value."""
    if offset == RESERVED:
        return message.reserved_value
    return struct.unpack_from("<q", message.data, offset)[0]


def check_stamps(messages, offset):
    """Each has a time of the last minute there, none is before the one that came earlier."""
    stamps = [stamp_of(message, offset) for message in messages]
    assert stamps == sorted(stamps)
    assert all(abs(stamp - time.time_ns()) < NEAR_NS for stamp in stamps), stamps


def check_untouched(messages, *offsets):
    """What does not hold a time is as it was sent."""
    for message in messages:
        data = bytearray(message.data)
        for offset in offsets:
            if offset != RESERVED:
                data[offset : offset + 8] = bytes(8)
        assert data == bytes(len(data))
        if RESERVED not in offsets:
            assert message.reserved_value == 7


def udp(port, *params):
    return "|".join((f"aeron:udp?endpoint=127.0.0.1:{port}", *params))


@pytest.mark.parametrize(("text", "offset"), [("reserved", -8), ("-8", -8), ("0", 0), ("24", 24)])
def test_the_kernel_s_time_stands_where_it_was_asked_for(client, text, offset):
    port = free_port()
    subscription = client.add_subscription(udp(port, f"media-rcv-ts-offset={text}"), 10)
    publication = connected(client, subscription, udp(port), 10)
    got = exchanged(publication, subscription, [bytes(64)] * 3)
    check_stamps(got, offset)
    check_untouched(got, offset)


def test_three_times_stand_beside_each_other(client):
    port = free_port()
    subscription = client.add_subscription(
        udp(port, "media-rcv-ts-offset=8", "channel-rcv-ts-offset=reserved"), 10
    )
    publication = connected(client, subscription, udp(port, "channel-snd-ts-offset=0"), 10)
    got = exchanged(publication, subscription, [bytes(64)] * 3)
    for offset in (0, 8, RESERVED):
        check_stamps(got, offset)
    check_untouched(got, 0, 8, RESERVED)
    for message in got:
        sent, media, channel = (stamp_of(message, offset) for offset in (0, 8, RESERVED))
        assert sent <= media <= channel


def test_messages_that_end_before_the_offset_are_left_alone(client):
    port = free_port()
    subscription = client.add_subscription(udp(port, "media-rcv-ts-offset=40"), 10)
    publication = connected(client, subscription, udp(port), 10)
    got = exchanged(publication, subscription, [bytes(n) for n in (0, 1, 40, 47)])
    check_untouched(got)
    check_stamps(exchanged(publication, subscription, [bytes(64)]), 40)


def test_only_the_first_frame_of_a_long_message_holds_a_time(client):
    port = free_port()
    subscription = client.add_subscription(udp(port, "media-rcv-ts-offset=0"), 10)
    publication = connected(client, subscription, udp(port), 10)
    got = exchanged(publication, subscription, [bytes(publication.max_payload_length * 5)])
    check_stamps(got, 0)
    check_untouched(got, 0)


def test_each_datagram_of_a_run_has_a_time(client):
    port = free_port()
    subscription = client.add_subscription(udp(port, "media-rcv-ts-offset=0"), 10)
    publication = connected(client, subscription, udp(port), 10)
    length = publication.max_payload_length  # a frame fills a datagram: each is stamped
    for _ in range(20):
        publication.send(bytes(length), timeout=30.0, reserved_value=7)
    got = []

    def arrived():
        got.extend(subscription.poll_messages(100))
        return len(got) == 20

    wait_until(arrived, "the messages of the run")
    check_stamps(got, 0)
    check_untouched(got, 0)


@pytest.mark.parametrize("offset", [RESERVED, 8])
def test_destinations_write_it_where_their_subscription_wants_it(client, offset):
    text = "reserved" if offset == RESERVED else str(offset)
    subscription = client.add_subscription(
        f"aeron:udp?control-mode=manual|media-rcv-ts-offset={text}", 10
    )
    ports = [free_port(), free_port()]
    for port in ports:
        subscription.add_destination(udp(port))
    for number, port in enumerate(ports, 1):
        publication = client.add_exclusive_publication(udp(port), 10)
        publication.wait_connected(30, writable=True)
        wait_until(lambda n=number: len(subscription.images) == n, f"image {number}")
        got = exchanged(publication, subscription, [bytes(64)] * 3)
        check_stamps(got, offset)
        check_untouched(got, offset)


def test_a_stream_merged_of_two_destinations_has_it_from_each(client):
    """As after a replay that has merged: one session comes over two sockets in turn."""
    subscription = client.add_subscription(
        "aeron:udp?control-mode=manual|media-rcv-ts-offset=0", 10
    )
    first, second = free_port(), free_port()
    replay = subscription.add_destination(udp(first))
    live = client.add_exclusive_publication("aeron:udp?control-mode=manual", 10)
    live.add_destination(udp(first))
    live.wait_connected(30, writable=True)
    subscription.wait_connected(30)
    check_stamps(exchanged(live, subscription, [bytes(32)] * 2), 0)
    subscription.add_destination(udp(second))
    live.add_destination(udp(second))
    live.remove_destination(udp(first))
    replay.remove()
    got = exchanged(live, subscription, [bytes(32)] * 3)
    assert len(subscription.images) == 1
    check_stamps(got, 0)
    check_untouched(got, 0)


@pytest.mark.error_log("media-rcv-ts-offset", "option conflicts with existing subscription")
def test_a_subscription_that_wants_it_elsewhere_is_refused(client):
    port = free_port()
    first = client.add_subscription(udp(port, "media-rcv-ts-offset=8"), 10)
    for params in ((), ("media-rcv-ts-offset=0",), ("media-rcv-ts-offset=reserved",)):
        with pytest.raises(RegistrationError, match="media-rcv-ts-offset"):
            client.add_subscription(udp(port, *params), 11)
    second = client.add_subscription(udp(port, "media-rcv-ts-offset=8"), 11)
    assert second.local_addresses == first.local_addresses


@pytest.mark.error_log("media-rcv-ts-offset")
def test_times_that_would_overlap_are_refused(client):
    with pytest.raises(RegistrationError, match="overlap"):
        client.add_subscription(
            udp(free_port(), "media-rcv-ts-offset=0", "channel-rcv-ts-offset=4"), 10
        )


def test_a_sender_that_is_no_driver_is_stamped_too(client):
    """Frames that somebody else writes, shorter than they say: none is written beyond its end."""
    port = free_port()
    subscription = client.add_subscription(udp(port, "media-rcv-ts-offset=0"), 10)
    publication = connected(client, subscription, udp(port), 10)
    exchanged(publication, subscription, [bytes(64)])  # so that position 0 is in the past
    frame = struct.pack(
        "<iBBHiiiiq", 4096, 0, 0xC0, 1, 0, publication.session_id, 10,
        publication.initial_term_id, 7,
    )  # fmt: skip
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        for length in range(8):
            stranger.sendto(frame + bytes(length), ("127.0.0.1", port))
    got = exchanged(publication, subscription, [bytes(64)] * 2)
    check_stamps(got, 0)
