"""Who sets the pace: the fastest, the slowest, or those with a tag; groups that must meet."""

import pytest
from peer import counters as types
from peer.streams import Receipt, checked_messages, free_port, number_of, transfer
from waits import wait_until

pytestmark = pytest.mark.interop
TERM = 64 * 1024


class Group:
    """A dynamic source and receivers that come one by one, each an endpoint of its own."""

    def __init__(self, link, stream_id, flow_control, **options):
        self.link = link
        self.stream_id = stream_id
        self.control = f"127.0.0.1:{free_port()}"
        parameters = "".join(f"|{k}={v}" for k, v in options.items())
        self.publication = link.publisher.add_publication(
            f"aeron:udp?control={self.control}|control-mode=dynamic|term-length=64k"
            f"|fc={flow_control}{parameters}",
            stream_id,
        )

    def join(self, parameters=""):
        subscription = self.link.subscriber.add_subscription(
            f"aeron:udp?endpoint=127.0.0.1:{free_port()}|control={self.control}{parameters}",
            self.stream_id,
        )
        wait_until(lambda: subscription.images, "an image of the receiver")
        return subscription

    def receivers(self):
        sending, _ = self.link.counters()
        return sending.value(
            types.FLOW_CONTROL_RECEIVERS, self.publication.session_id, self.stream_id
        )

    def limit(self):
        sending, _ = self.link.counters()
        return sending.value(types.SENDER_LIMIT, self.publication.session_id, self.stream_id)

    def position(self):
        sending, _ = self.link.counters()
        return sending.value(types.SENDER_POSITION, self.publication.session_id, self.stream_id)


def run_until_held(group, receipt, messages):
    """Sends until nothing more goes, while one receiver takes all that comes; messages taken."""
    sent = 0
    progress = [-1, 0]

    def held():
        nonlocal sent
        while sent < len(messages) and group.publication.offer(messages[sent]) > 0:
            sent += 1
        receipt.poll()
        now = [sent, receipt.count]
        progress[1] = progress[1] + 1 if now == progress[0] else 0
        progress[0] = now
        # Two hundred looks over more than two status message periods without any progress.
        return progress[1] > 1000 or receipt.count == len(messages)

    wait_until(held, "the stream to be held", 30)
    return sent


@pytest.mark.parametrize("options", ["min", "tagged,g:9"])
def test_the_slowest_receiver_that_counts_holds_the_stream(link, stream_id, options):
    group = Group(link, stream_id, options)
    tag = "|gtag=9" if "tagged" in options else ""
    fast, slow = group.join(tag), group.join(tag)
    wait_until(lambda: group.receivers() == 2, "both receivers")
    messages = checked_messages(200, longest=2000)
    receipt = Receipt(fast)
    sent = run_until_held(group, receipt, messages)
    assert sent < len(messages)
    assert receipt.position <= TERM // 2
    assert slow.images[0].position == 0
    late = Receipt(slow)
    # What is in the log already, then the rest at the pace of both.
    end = transfer(group.publication, [receipt, late], messages[sent:])
    assert receipt.position == late.position == end


@pytest.mark.parametrize("options", ["max", "tagged,g:9"])
def test_a_slow_receiver_that_does_not_count_holds_nobody(link, stream_id, options):
    """It loses what it does not take in time, and may never see it."""
    group = Group(link, stream_id, options)
    fast = group.join("|gtag=9" if "tagged" in options else "")
    slow = group.join()
    messages = checked_messages(300, longest=2000)
    receipt = Receipt(fast)
    transfer(group.publication, [receipt], messages)
    assert receipt.position > 2 * TERM
    assert slow.images[0].position == 0
    # What it still gets is right as far as it goes: the first window of the stream.
    numbers = []
    wait_until(
        lambda: not numbers.extend(number_of(m.data) for m in slow.poll_messages(64)) and numbers,
        "the first messages",
    )
    assert numbers == list(range(len(numbers)))


@pytest.mark.parametrize("options", ["min,g:/2,t:3s", "tagged,g:9/2,t:3s"])
def test_a_group_must_be_complete_to_be_connected(link, stream_id, options):
    group = Group(link, stream_id, options)
    tag = "|gtag=9" if "tagged" in options else ""
    first = group.join(tag)
    wait_until(lambda: group.receivers() == 1, "the first receiver")
    assert not group.publication.is_connected
    assert group.limit() == 0
    second = group.join(tag)
    wait_until(lambda: group.publication.is_connected, "the group to be complete")
    assert group.receivers() == 2
    receipts = [Receipt(first), Receipt(second)]
    transfer(group.publication, receipts, checked_messages(50))
    second.close()
    wait_until(lambda: group.receivers() == 1, "the receiver to be forgotten")
    wait_until(lambda: not group.publication.is_connected, "the group to be incomplete")


def test_receivers_with_other_tags_do_not_complete_a_group(link, stream_id):
    group = Group(link, stream_id, "tagged,g:9/1")
    group.join("|gtag=8")
    group.join()
    sending, _ = link.counters()
    wait_until(
        lambda: (
            [c.value for c in sending.of_channel(types.DESTINATIONS, f"control={group.control}")]
            == [2]
        ),
        "both destinations",
    )
    assert (group.receivers(), group.limit()) == (0, 0)
    assert not group.publication.is_connected
    third = group.join("|gtag=9")
    wait_until(lambda: group.publication.is_connected, "the one that counts")
    assert group.receivers() == 1
    transfer(group.publication, [Receipt(third)], checked_messages(50))


def test_the_window_of_a_receiver_is_kept_to(link, stream_id):
    port = free_port()
    subscription = link.subscriber.add_subscription(
        f"aeron:udp?endpoint=127.0.0.1:{port}|rcv-wnd=8k", stream_id
    )
    publication = link.publisher.add_publication(
        f"aeron:udp?endpoint=127.0.0.1:{port}|term-length=64k", stream_id
    )
    wait_until(lambda: publication.is_connected, "the connection")
    messages = checked_messages(100, shortest=993, longest=993)  # 1025 bytes, 1056 with its frame
    wait_until(lambda: publication.offer(messages[0]) > 0, "room for the first")
    sent = 1
    while publication.offer(messages[sent]) > 0:
        sent += 1
    sending, receiving = link.counters()
    key = (publication.session_id, stream_id)
    wait_until(lambda: sending.value(types.SENDER_POSITION, *key) > 6144, "a window to be sent")
    (limit,) = sending.values(types.SENDER_LIMIT, *key)
    assert limit == 8192
    wait_until(lambda: receiving.value(types.RECEIVER_POSITION, *key) == 7 * 1056, "seven messages")
    assert sending.value(types.SENDER_POSITION, *key) == 7 * 1056
    receipt = Receipt(subscription)
    end = transfer(publication, [receipt], messages[sent:])
    assert receipt.position == end
    assert sending.system("flow_control_limits") > 0


def test_cubic_publishes_its_window_and_keeps_to_it(link, stream_id):
    port = free_port()
    subscription = link.subscriber.add_subscription(
        f"aeron:udp?endpoint=127.0.0.1:{port}|cc=cubic", stream_id
    )
    publication = link.publisher.add_publication(
        f"aeron:udp?endpoint=127.0.0.1:{port}|term-length=64k", stream_id
    )
    wait_until(lambda: publication.is_connected, "the connection")
    sending, receiving = link.counters()
    key = (publication.session_id, stream_id)
    labels = [c for c in receiving.labels(types.PER_IMAGE) if f" {publication.session_id} " in c]
    assert sorted(c.split(":")[0] for c in labels) == ["rcv-cc-cubic-rtt", "rcv-cc-cubic-wnd"]
    assert sending.value(types.SENDER_LIMIT, *key) in {n * 1408 for n in range(10, 24)}
    receipt = Receipt(subscription)
    end = transfer(publication, [receipt], checked_messages(300))
    assert receipt.position == end
    (window,) = [
        c.value
        for c in receiving.of_channel(types.PER_IMAGE, "rcv-cc-cubic-wnd")
        if f" {publication.session_id} " in c.label
    ]
    assert 10 * 1408 <= window <= TERM // 2
