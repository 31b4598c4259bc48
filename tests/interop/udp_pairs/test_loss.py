"""Streams over a bad network: losses are found, asked for, sent again, or given up in order.

Our driver is the one that loses; with the reference on both sides its debug endpoints do.
"""

import pytest
from peer import counters as types
from peer.balance import Tally, quiet
from peer.channels import check_rest, dynamic, join, manual, multicast, unicast
from peer.streams import Receipt, checked_messages, number_of, transfer
from waits import wait_until

pytestmark = pytest.mark.interop
COUNT = 1500
LONGEST = 3000

ROWS = {
    "unicast": unicast(),
    "unicast with cubic": unicast(sub="|cc=cubic", count=300),  # it slows down for each loss
    "unicast with group semantics": unicast(sub="|group=true"),
    "multicast": multicast(),
    "dynamic destinations": dynamic("|fc=min,g:/2"),
    "manual destinations": manual("|fc=min,g:/2"),
}
# What the sending and the receiving driver are told: in the reference's words, then in ours.
DEBUG = {
    "aeron.SendChannelEndpoint.supplier": "io.aeron.driver.ext.DebugSendChannelEndpointSupplier",
    "aeron.ReceiveChannelEndpoint.supplier": (
        "io.aeron.driver.ext.DebugReceiveChannelEndpointSupplier"
    ),
}


def debug_loss(side, kinds, rate=0.05):
    """The reference's properties, which our driver knows too."""
    properties = dict(DEBUG)
    for kind in kinds:
        properties[f"aeron.debug.{side}.{kind}.loss.rate"] = str(rate)
        properties[f"aeron.debug.{side}.{kind}.loss.seed"] = "5"
    return properties


@pytest.fixture
def lossy_link(direction, pair_servers, make_link):
    """``lossy_link("data", "control")``: what our driver loses; by the sender when both are alike.

    The drivers live as long as the run.
    """

    def make(*kinds):
        sending, receiving = direction.split("-to-")
        is_sender = sending == "ours" or receiving == "reference"
        own = debug_loss("send" if is_sender else "receive", kinds)
        return make_link(
            pair_servers(sending, 1, own if is_sender else None),
            pair_servers(receiving, 2 if sending == receiving else 1, None if is_sender else own),
        )

    return make


@pytest.mark.c_driver
@pytest.mark.parametrize("name", list(ROWS))
def test_five_percent_loss_both_ways_is_made_good(lossy_link, stream_id, name):
    link = lossy_link("data", "control")
    tally = Tally(link)
    publication, subscriptions = join(link, ROWS[name], stream_id)
    receipts = [Receipt(subscription) for subscription in subscriptions]
    count = min(COUNT, 3 * ROWS[name].count)
    end = transfer(publication, receipts, checked_messages(count, longest=LONGEST, seed=stream_id))
    assert [r.position for r in receipts] == [end] * len(receipts)
    check_rest(link, publication, subscriptions, end)
    sent, received = tally.read()
    assert received["naks_sent"] > 0
    assert 0 < sent["naks_received"] <= received["naks_sent"]
    assert sent["retransmits_sent"] > 0
    for side in (sent, received):
        assert side["errors"] == side["invalid_packets"] == side["loss_gap_fills"] == 0


def test_unreliable_subscribers_get_padding_for_what_is_lost(lossy_link, stream_id):
    link = lossy_link("data", "control")
    tally = Tally(link)
    publication, (subscription,) = join(link, unicast(sub="|reliable=false"), stream_id)
    messages = checked_messages(COUNT, longest=LONGEST, seed=stream_id)
    numbers = []
    sent = 0

    def step():
        nonlocal sent
        while sent < COUNT and publication.offer(messages[sent]) > 0:
            sent += 1
        numbers.extend(number_of(m.data) for m in subscription.poll_messages(64))
        return sent == COUNT and subscription.images[0].position == publication.position

    wait_until(step, "the end of the stream", 60)
    assert numbers == sorted(set(numbers))
    assert COUNT // 2 < len(numbers) < COUNT
    check_rest(link, publication, [subscription], publication.position)
    sent_side, received_side = tally.read()
    assert received_side["loss_gap_fills"] > 0
    assert received_side["naks_sent"] == sent_side["retransmits_sent"] == 0


def test_streams_that_end_in_loss_are_complete(lossy_link, stream_id):
    """Publications closed right after the last offer: what is missing is still asked for."""
    link = lossy_link("data", "control")
    streams = []
    for number in range(6):
        # A receiver that stands still for a while must find its publisher yet.
        row = unicast("|linger=10s")
        publication, (subscription,) = join(link, row, stream_id * 100 + number)
        streams.append((publication, subscription, Receipt(subscription)))
    messages = checked_messages(12, longest=2500, seed=stream_id)
    ends = []
    for publication, _, _ in streams:
        for message in messages:
            publication.send(message, timeout=30.0)
        ends.append(publication.position)
        publication.close()
    for (_, _, receipt), end in zip(streams, ends, strict=True):
        wait_until(lambda r=receipt, e=end: r.poll() == 0 and r.position == e, f"the end {end}")
        assert receipt.count == len(messages)


@pytest.mark.parametrize("name", ["unicast", "multicast", "manual destinations"])
def test_naks_and_status_messages_balance_while_data_is_lost(lossy_link, stream_id, name):
    link = lossy_link("data")
    quiet(link)
    # Before that a lost setup may have had to be elicited, which only the sender counts.
    publication, subscriptions = join(link, ROWS[name], stream_id)
    tally = Tally(link)
    receipts = [Receipt(subscription) for subscription in subscriptions]
    end = transfer(publication, receipts, checked_messages(COUNT, longest=LONGEST, seed=stream_id))
    check_rest(link, publication, subscriptions, end)
    key = (publication.session_id, stream_id)

    def is_balanced():
        sent, received = tally.stable()
        same = (
            sent["naks_received"] == received["naks_sent"]
            and sent["status_messages_received"] == received["status_messages_sent"]
        )
        return same and (sent, received)

    sent, received = wait_until(is_balanced, tally)
    sending, receiving = link.counters()
    assert sent["naks_received"] == sending.value(types.NAKS_RECEIVED, *key) > 0
    assert sum(receiving.values(types.NAKS_SENT, *key)) == received["naks_sent"]
    assert sent["retransmitted_bytes"] > 0
