"""Times that drivers write into messages on their way."""

import struct
import time

import pytest
from peer.channels import join, unicast
from waits import wait_until

pytestmark = pytest.mark.interop
NEAR_NS = 60 * 1_000_000_000
CLOCKS_DIFFER_NS = 20_000_000


def exchange(link, row, stream_id, messages):
    publication, (subscription,) = join(link, row, stream_id)
    got = []
    # One by one: a driver stamps the first message of a datagram only.
    for number, message in enumerate(messages, 1):
        publication.send(message, timeout=30.0)

        def arrived(number=number):
            got.extend(subscription.poll_messages(10))
            return len(got) == number

        wait_until(arrived, "a message")
    return got


def is_near(timestamp_ns):
    return abs(timestamp_ns - time.time_ns()) < NEAR_NS


def test_the_sender_writes_when_it_sent(link, stream_id):
    row = unicast("|channel-snd-ts-offset=8")
    got = exchange(link, row, stream_id, [bytes(32)] * 5)
    stamps = [struct.unpack_from("<q", m.data, 8)[0] for m in got]
    assert stamps == sorted(stamps)
    assert all(is_near(stamp) for stamp in stamps)
    assert all(m.data[:8] == bytes(8) and m.data[16:] == bytes(16) for m in got)


def test_the_receiver_writes_when_it_got(link, stream_id):
    row = unicast(sub="|channel-rcv-ts-offset=0")
    got = exchange(link, row, stream_id, [bytes(64)] * 5)
    stamps = [struct.unpack_from("<q", m.data)[0] for m in got]
    assert stamps == sorted(stamps)
    assert all(is_near(stamp) for stamp in stamps)
    assert all(m.data[8:] == bytes(56) for m in got)


def test_both_write_beside_each_other(link, stream_id):
    row = unicast("|channel-snd-ts-offset=0", sub="|channel-rcv-ts-offset=8")
    got = exchange(link, row, stream_id, [bytes(64)] * 5)
    pairs = [struct.unpack_from("<qq", m.data) for m in got]
    assert all(is_near(sent) and is_near(received) for sent, received in pairs)
    # Two processes, two clocks: the reference reads the wall clock once and counts on from there.
    assert all(sent <= received + CLOCKS_DIFFER_NS for sent, received in pairs)


@pytest.mark.parametrize("side", ["sender", "receiver"])
def test_a_time_may_stand_in_the_reserved_value(link, stream_id, side):
    row = {
        "sender": unicast("|channel-snd-ts-offset=reserved"),
        "receiver": unicast(sub="|channel-rcv-ts-offset=reserved"),
    }[side]
    got = exchange(link, row, stream_id, [b"x" * 40] * 3)
    assert all(m.data == b"x" * 40 for m in got)
    assert all(is_near(m.reserved_value) for m in got)


def test_an_offset_beyond_the_message_is_left_alone(link, stream_id):
    row = unicast("|channel-snd-ts-offset=4000", sub="|channel-rcv-ts-offset=4000")
    got = exchange(link, row, stream_id, [b"y" * 40] * 3)
    assert [m.data for m in got] == [b"y" * 40] * 3
