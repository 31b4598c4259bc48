"""Bad networks that our driver makes by its own properties, with the other side unharmed."""

import pytest
from peer.balance import Tally
from peer.channels import check_rest, dynamic, join, multicast, unicast
from peer.streams import Receipt, checked_messages, transfer

pytestmark = pytest.mark.interop
WEATHERS = {
    "loss both ways": {"data": "rate=0.05|seed=3", "control": "rate=0.05|seed=4"},
    "bursts": {"data": "rate=0.01|burst=6|seed=5", "control": "rate=0.02|burst=3|seed=6"},
    "duplicates": {"data": "duplicate=0.1|seed=7", "control": "duplicate=0.1|seed=8"},
    "another order": {
        "data": "reorder=0.05|reorder-time=1ms|seed=9",
        "control": "reorder=0.05|reorder-time=1ms|seed=10",
    },
    "delays": {"data": "delay=1ms|jitter=500us|seed=11", "control": "delay=1ms|seed=12"},
    "everything": {
        "data": "rate=0.05|duplicate=0.05|reorder=0.05|reorder-time=500us|delay=200us|seed=13",
        "control": "rate=0.05|duplicate=0.05|reorder=0.05|reorder-time=500us|seed=14",
    },
}
ROWS = {"unicast": unicast(), "multicast": multicast(), "dynamic": dynamic("|fc=min,g:/2")}
CASES = [(weather, "unicast") for weather in WEATHERS] + [
    ("everything", "multicast"),
    ("everything", "dynamic"),
]


@pytest.mark.ours("either")
@pytest.mark.parametrize(("weather", "name"), CASES)
def test_streams_come_through_all_weathers(
    direction, pair_servers, make_link, stream_id, weather, name
):
    sending, receiving = direction.split("-to-")
    own = [
        {f"aeron.rehearse.{side}.{kind}": text for kind, text in WEATHERS[weather].items()}
        if implementation == "ours"
        else None
        for side, implementation in (("send", sending), ("receive", receiving))
    ]
    link = make_link(
        pair_servers(sending, 1, own[0]),
        pair_servers(receiving, 2 if sending == receiving else 1, own[1]),
    )
    tally = Tally(link)
    publication, subscriptions = join(link, ROWS[name], stream_id)
    receipts = [Receipt(subscription) for subscription in subscriptions]
    messages = checked_messages(600, longest=3000, seed=stream_id)
    end = transfer(publication, receipts, messages)
    check_rest(link, publication, subscriptions, end)
    for side in tally.read():
        assert side["errors"] == side["invalid_packets"] == side["loss_gap_fills"] == 0


# The C driver's names of losing interceptors.
INTERCEPTORS = {
    "random": {
        "aeron.udp.channel.incoming.interceptors": "loss",
        "aeron.udp.channel.transport.bindings.loss.args": "rate=0.05|seed=11|recv-msg-mask=0xF",
    },
    "one gap": {
        "aeron.udp.channel.incoming.interceptors": "fixed-loss",
        "aeron.udp.channel.transport.bindings.fixed.loss.args": (
            "term-id=7|term-offset=0|length=4096"
        ),
    },
    "many gaps": {
        "aeron.udp.channel.incoming.interceptors": "multi-gap-loss",
        "aeron.udp.channel.transport.bindings.multi.gap.loss.args": (
            "term-id=7|gap-radix=8192|gap-length=1408|total-gaps=6"
        ),
    },
}


@pytest.mark.ours("receiving")
@pytest.mark.parametrize("name", list(INTERCEPTORS))
def test_the_c_driver_s_interceptors_lose_and_the_stream_comes_through(own_link, stream_id, name):
    link = own_link(receiving=INTERCEPTORS[name])
    tally = Tally(link)
    row = unicast("|init-term-id=7|term-id=7|term-offset=0")
    publication, subscriptions = join(link, row, stream_id)
    receipts = [Receipt(subscription) for subscription in subscriptions]
    end = transfer(publication, receipts, checked_messages(400, longest=3000, seed=stream_id))
    check_rest(link, publication, subscriptions, end)
    sent, received = tally.read()
    assert received["naks_sent"] > 0
    assert sent["retransmits_sent"] > 0
    if name == "many gaps":
        assert received["naks_sent"] >= 6
