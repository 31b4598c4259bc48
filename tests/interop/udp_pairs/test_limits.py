"""What a receiving driver does not take, and what it forgets on request."""

from bisect import bisect_right

import pytest
from peer import counters as types
from peer.channels import dynamic, join, unicast
from peer.streams import Receipt, checked_messages, free_port, transfer
from waits import wait_until

pytestmark = pytest.mark.interop


def batch(number, count=100):
    return checked_messages(count, first=number * count, longest=2000)


def few(number):
    """The n-th five of one numbered stream, each in a frame of its own."""
    return checked_messages(5, first=number * 5, longest=1000)


def test_sessions_beyond_the_limit_are_refused_and_recorded(own_link, stream_id):
    link = own_link(receiving={"aeron.driver.stream.session.limit": "2"})
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    subscription = link.subscriber.add_subscription(channel, stream_id)
    publications = [
        link.publisher.add_exclusive_publication(channel + "|term-length=64k", stream_id)
        for _ in range(2)
    ]
    wait_until(lambda: len(subscription.images) == 2, "two images")
    third = link.publisher.add_exclusive_publication(channel + "|term-length=64k", stream_id)
    _, receiving = link.counters()
    wait_until(lambda: receiving.system("errors") > 0, "the refusal to be recorded")
    assert not third.is_connected
    for publication in publications:
        receipt = Receipt(subscription.image(publication.session_id))
        transfer(publication, [receipt], batch(0))
    assert len(subscription.images) == 2


def test_frames_larger_than_the_window_make_no_image_and_harm_nobody(link, stream_id):
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    subscription = link.subscriber.add_subscription(channel + "|rcv-wnd=2k", stream_id)
    _, receiving = link.counters()
    before = receiving.system("errors")
    large = link.publisher.add_exclusive_publication(
        channel + "|term-length=64k|mtu=4096", stream_id
    )
    wait_until(lambda: receiving.system("errors") > before, "the refusal to be recorded")
    assert not large.is_connected
    small = link.publisher.add_exclusive_publication(
        channel + "|term-length=64k|mtu=1408", stream_id
    )
    transfer(small, [Receipt(subscription)], batch(0))
    assert [i.session_id for i in subscription.images] == [small.session_id]


def test_a_session_that_may_not_rejoin_stays_away(own_link, stream_id):
    link = own_link(receiving={"aeron.image.liveness.timeout": "3s"})
    publication, (subscription,) = join(link, unicast(sub="|rejoin=false"), stream_id)
    transfer(publication, [Receipt(subscription)], batch(0))
    (image,) = subscription.images
    image.reject("go away")
    wait_until(lambda: image.closed, "the image to go")
    # The sender still tells of itself: a second subscriber, of the same endpoint and mind, is told
    # nothing, while another session is welcome.
    other = link.publisher.add_exclusive_publication(publication.channel, stream_id)
    transfer(other, [Receipt(subscription)], batch(0))
    assert [i.session_id for i in subscription.images] == [other.session_id]


def test_a_sender_with_farther_reach_than_the_receiver_is_noticed(link, stream_id):
    channel = f"aeron:udp?endpoint=224.20.30.49:{free_port()}|interface=127.0.0.1"
    _, receiving = link.counters()
    before = receiving.system("ttl_asymmetry")
    subscription = link.subscriber.add_subscription(channel + "|ttl=2", stream_id)
    publication = link.publisher.add_publication(channel + "|ttl=8|term-length=64k", stream_id)
    transfer(publication, [Receipt(subscription)], batch(0))
    assert receiving.system("ttl_asymmetry") > before


def test_an_untethered_spy_that_stands_still_is_left_behind_and_comes_back(link, stream_id):
    come, gone = [], []
    publication, (subscription,) = join(link, unicast(), stream_id)
    spy = link.publisher.add_subscription(
        "aeron-spy:" + publication.channel.split("|")[0] + "|tether=false",
        stream_id,
        on_image=come.append,
        on_image_gone=gone.append,
    )
    wait_until(lambda: come, "an image of the spy")
    receipt = Receipt(subscription)
    numbers = iter(range(10_000))
    while not gone:
        transfer(publication, [receipt], few(next(numbers)))
    assert gone[0].position == 0
    wait_until(lambda: len(come) == 2, "the spy to come back")
    # It may be back before the other one has all that was under way when it went.
    assert 0 < come[1].join_position <= receipt.position
    first = bisect_right(receipt.ends, come[1].join_position)
    back = Receipt(spy, next_number=first)
    end = transfer(publication, [receipt, back], few(next(numbers)))
    assert receipt.position == back.position == end


def test_receivers_that_fall_silent_are_forgotten(own_link, stream_id):
    """A source forgets a receiver that died; what it held up goes on."""
    link = own_link({"aeron.flow.control.receiver.timeout": "3s"})
    publication, (first, second) = join(link, dynamic("|fc=min"), stream_id)
    sending, _ = link.counters()
    key = (publication.session_id, stream_id)
    wait_until(lambda: sending.value(types.FLOW_CONTROL_RECEIVERS, *key) == 2, "both receivers")
    transfer(publication, [Receipt(first), Receipt(second)], batch(0))
    link.receiving.process.kill()
    wait_until(lambda: sending.value(types.FLOW_CONTROL_RECEIVERS, *key) == 0, "nobody to count")
    control = f"control={publication.channel.split('control=')[1].split('|')[0]}"
    wait_until(
        lambda: sending.of_channel(types.DESTINATIONS, control)[0].value == 0, "no destination"
    )
    wait_until(lambda: not publication.is_connected, "no connection")
