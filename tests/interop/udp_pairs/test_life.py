"""Streams begin, are joined late, end, are revoked or refused, and both drivers say the same."""

from bisect import bisect_right

import pytest
from peer import counters as types
from peer.channels import Row, check_rest, join, manual, multicast, unicast
from peer.streams import Receipt, checked_messages, free_port, transfer
from waits import wait_until

from aerolog.transport.errors import RegistrationError

pytestmark = pytest.mark.interop
LENGTH = 65536


def batch(number, count=100, **options):
    """The n-th hundred of one numbered stream."""
    return checked_messages(count, first=number * count, longest=2000, **options)


def few(number):
    """The n-th five of one numbered stream, each in a frame of its own."""
    return checked_messages(5, first=number * 5, longest=1000)


@pytest.mark.parametrize("row", [multicast(), unicast()], ids=["multicast", "unicast"])
def test_a_late_subscriber_of_the_same_driver_joins_where_the_others_are(link, stream_id, row):
    publication, (subscription,) = join(link, row, stream_id)
    early = Receipt(subscription)
    middle = transfer(publication, [early], batch(0))
    # What was read is not yet what the driver has seen to be read: that is where one joins.
    check_rest(link, publication, [subscription], middle)
    late_subscription = link.subscriber.add_subscription(subscription.channel, stream_id)
    (image,) = wait_until(lambda: late_subscription.images, "the late image")
    assert image.join_position == middle
    late = Receipt(late_subscription, next_number=100)
    end = transfer(publication, [early, late], batch(1))
    assert (early.count, late.count, late.position) == (200, 100, end)
    check_rest(link, publication, [subscription, late_subscription], end)


def test_a_late_receiver_joins_at_the_sender_s_position(link, stream_id):
    row = Row(
        "aeron:udp?control=127.0.0.1:{p}|control-mode=dynamic|term-length=64k|fc=min",
        ("aeron:udp?endpoint=127.0.0.1:{q}|control=127.0.0.1:{p}",),
    )
    publication, (subscription,) = join(link, row, stream_id)
    early = Receipt(subscription)
    middle = transfer(publication, [early], batch(0))
    check_rest(link, publication, [subscription], middle)
    control = publication.channel.split("control=")[1].split("|")[0]
    late_subscription = link.subscriber.add_subscription(
        f"aeron:udp?endpoint=127.0.0.1:{free_port()}|control={control}", stream_id
    )
    (image,) = wait_until(lambda: late_subscription.images, "the late image")
    assert image.join_position == middle
    late = Receipt(late_subscription, next_number=100)
    end = transfer(publication, [early, late], batch(1))
    assert (early.position, late.position, late.count) == (end, end, 100)
    sending, _ = link.counters()
    (destinations,) = sending.of_channel(types.DESTINATIONS, f"control={control}")
    assert destinations.value == 2


def test_publishers_of_one_endpoint_are_images_of_one_subscription(link, stream_id):
    publication, (subscription,) = join(link, unicast(), stream_id)
    others = [
        link.publisher.add_exclusive_publication(publication.channel, stream_id) for _ in range(2)
    ]
    wait_until(lambda: len(subscription.images) == 3, "three images")
    for number, each in enumerate([publication, *others]):
        wait_until(lambda p=each: p.is_connected, "a connected publication")
        receipt = Receipt(subscription.image(each.session_id))
        end = transfer(each, [receipt], batch(0, count=50, seed=number))
        assert receipt.position == end
    sending, receiving = link.counters()
    assert len(sending.of_channel(types.SEND_CHANNEL, publication.channel)) == 1
    assert len(receiving.of_channel(types.RECEIVE_CHANNEL, subscription.channel)) == 1


def test_a_closed_publication_ends_the_stream_on_the_other_side(link, stream_id):
    gone = []
    row = unicast()
    port = free_port()
    subscription = link.subscriber.add_subscription(
        row.subscriptions[0].format(p=port), stream_id, on_image_gone=gone.append
    )
    publication = link.publisher.add_publication(row.publication.format(p=port), stream_id)
    receipt = Receipt(subscription)
    end = transfer(publication, [receipt], batch(0))
    (image,) = subscription.images
    assert not image.is_end_of_stream
    publication.close()
    wait_until(lambda: image.is_end_of_stream or gone, "the end of the stream")
    wait_until(lambda: gone, "the image to go")
    assert gone == [image]
    assert image.is_end_of_stream
    assert not image.is_revoked
    assert image.position == image.end_of_stream_position == end
    wait_until(lambda: not subscription.images, "no image")
    key = (publication.session_id, stream_id)
    sending, receiving = link.counters()
    wait_until(lambda: not sending.values(types.SENDER_POSITION, *key), "the publication to go")
    wait_until(lambda: not receiving.values(types.RECEIVER_POSITION, *key), "the image to go")


def test_messages_not_yet_polled_outlive_their_publication(link, stream_id):
    publication, (subscription,) = join(link, unicast(), stream_id)
    messages = batch(0, count=10)
    for message in messages:
        publication.send(message, timeout=30.0)
    end = publication.position
    publication.close()
    (image,) = subscription.images
    sending, _ = link.counters()
    key = (publication.session_id, stream_id)
    wait_until(lambda: not sending.values(types.SENDER_POSITION, *key), "the publication to go")
    receipt = Receipt(image)
    wait_until(lambda: receipt.poll() == 0 and receipt.position == end, "all messages")
    assert receipt.count == 10


def test_a_stream_can_be_published_again_after_its_end(link, stream_id):
    port = free_port()
    channel = f"aeron:udp?endpoint=127.0.0.1:{port}"
    subscription = link.subscriber.add_subscription(channel, stream_id)
    for session_id in (71, 71, 72):
        publication = wait_until(
            lambda s=session_id: add_when_free(link, channel, stream_id, s),
            "the session to be free",
        )
        wait_until(lambda s=session_id: subscription.image(s), "an image")
        receipt = Receipt(subscription.image(session_id))
        transfer(publication, [receipt], batch(0))
        publication.close()
        wait_until(lambda: not subscription.images, "the image to go")


def add_when_free(link, channel, stream_id, session_id):
    """A publication of a session that may still linger."""
    try:
        return link.publisher.add_publication(
            f"{channel}|term-length=64k|session-id={session_id}", stream_id
        )
    except RegistrationError as error:
        if "clashing sessionId" not in str(error):
            raise
        return None


@pytest.mark.parametrize(
    "row", [unicast(), multicast(), manual("|fc=min,g:/2")], ids=["unicast", "multicast", "manual"]
)
def test_a_revoked_publication_is_seen_as_revoked(link, stream_id, row):
    publication, subscriptions = join(link, row, stream_id, "exclusive")
    sending, receiving = link.counters()
    before = (sending.system("publications_revoked"), receiving.system("images_revoked"))
    receipts = [Receipt(subscription) for subscription in subscriptions]
    end = transfer(publication, receipts, batch(0))
    images = [image for subscription in subscriptions for image in subscription.images]
    publication.revoke()
    for image in images:
        wait_until(lambda i=image: i.closed, "the image to go")
        assert image.is_revoked
        assert image.position == end
    for side, name, expected in (
        (sending, "publications_revoked", before[0] + 1),
        (receiving, "images_revoked", before[1] + len(images)),
    ):
        wait_until(lambda s=side, n=name, e=expected: s.system(n) == e, f"{name} {expected}")


def test_without_eos_a_stream_ends_by_silence(own_link, stream_id):
    link = own_link(receiving={"aeron.image.liveness.timeout": "3s"})
    publication, (subscription,) = join(link, unicast("|eos=false|linger=0"), stream_id)
    receipt = Receipt(subscription)
    end = transfer(publication, [receipt], batch(0))
    (image,) = subscription.images
    publication.close()
    wait_until(lambda: image.closed, "the image to go")
    assert not image.is_end_of_stream
    assert image.position == end


@pytest.mark.error_log("onPublicationError")
@pytest.mark.parametrize("row", [unicast(), multicast()], ids=["unicast", "multicast"])
def test_a_refused_image_tells_its_publisher_why(make_link, link, our_client, stream_id, row):
    errors = []
    publisher = our_client(link.sending.aeron_dir, on_publication_error=errors.append)
    port = free_port()
    subscription = link.subscriber.add_subscription(row.subscriptions[0].format(p=port), stream_id)
    publication = publisher.add_publication(row.publication.format(p=port), stream_id)
    receipt = Receipt(subscription)
    transfer(publication, [receipt], batch(0))
    sending, receiving = link.counters()
    before = (
        sending.system("error_frames_received"),
        receiving.system("error_frames_sent"),
        receiving.system("images_rejected"),
    )
    (image,) = subscription.images
    image.reject("wrong kind of data")
    (error, *_) = wait_until(lambda: errors, "the error to arrive")
    assert error.registration_id == publication.registration_id
    assert (error.session_id, error.stream_id) == (publication.session_id, stream_id)
    assert error.error_code == 13
    assert error.error_message == "wrong kind of data"
    assert error.destination_registration_id is None
    # Soon after the image went the receiver joins anew: it is still subscribed.
    wait_until(lambda: not publication.is_connected, "the publication to be disconnected")
    wait_until(lambda: image.closed, "the image to go")
    wait_until(lambda: sending.system("error_frames_received") > before[0], "the frame to count")
    wait_until(lambda: receiving.system("error_frames_sent") > before[1], "the frame to count")
    wait_until(lambda: receiving.system("images_rejected") == before[2] + 1, "one image rejected")


def test_an_untethered_subscriber_that_stands_still_is_left_behind_and_comes_back(link, stream_id):
    come, gone = [], []
    publication, (subscription,) = join(link, unicast(), stream_id)
    slow = link.subscriber.add_subscription(
        subscription.channel + "|tether=false",
        stream_id,
        on_image=come.append,
        on_image_gone=gone.append,
    )
    wait_until(lambda: come, "an image of the slow subscriber")
    receipt = Receipt(subscription)
    numbers = iter(range(10_000))
    while not gone:  # the faster one goes on once the slower one is left behind
        transfer(publication, [receipt], few(next(numbers)))
    assert gone[0].position == 0
    wait_until(lambda: len(come) == 2, "the slow subscriber to come back")
    # It may be back before the other one has all that was under way when it went.
    assert 0 < come[1].join_position <= receipt.position
    first = bisect_right(receipt.ends, come[1].join_position)
    back = Receipt(slow, next_number=first)
    end = transfer(publication, [receipt, back], few(next(numbers)))
    assert receipt.position == back.position == end


def test_a_session_specific_subscriber_sees_one_session_alone(link, stream_id):
    port = free_port()
    channel = f"aeron:udp?endpoint=127.0.0.1:{port}"
    everything = link.subscriber.add_subscription(channel, stream_id)
    special = link.subscriber.add_subscription(channel + "|session-id=-4000", stream_id)
    plain = link.publisher.add_exclusive_publication(channel + "|term-length=64k", stream_id)
    wanted = link.publisher.add_exclusive_publication(
        channel + "|term-length=64k|session-id=-4000", stream_id
    )
    wait_until(lambda: len(everything.images) == 2 and special.images, "images")
    ends = {}
    for publication in (plain, wanted):
        receipts = [Receipt(everything.image(publication.session_id))]
        if publication is wanted:
            receipts.append(Receipt(special))
        ends[publication.session_id] = transfer(publication, receipts, batch(0))
    assert [i.session_id for i in special.images] == [-4000]
    assert special.images[0].position == ends[-4000]
    special.close()
    receipt = Receipt(everything.image(-4000), next_number=100)
    transfer(wanted, [receipt], batch(1))


def test_only_the_sessions_asked_for_are_received(link, stream_id):
    port = free_port()
    channel = f"aeron:udp?endpoint=127.0.0.1:{port}"
    special = link.subscriber.add_subscription(channel + "|session-id=-4001", stream_id)
    other = link.publisher.add_exclusive_publication(
        channel + "|term-length=64k|session-id=-4002", stream_id
    )
    wanted = link.publisher.add_exclusive_publication(
        channel + "|term-length=64k|session-id=-4001", stream_id
    )
    transfer(wanted, [Receipt(special)], batch(0))
    assert [i.session_id for i in special.images] == [-4001]
    assert not other.is_connected
    everything = link.subscriber.add_subscription(channel, stream_id)
    wait_until(lambda: len(everything.images) == 2, "both images of the later subscription")
    transfer(other, [Receipt(everything.image(-4002))], batch(0))
