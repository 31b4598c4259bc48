"""Counters of both drivers add up exactly: what one sent is what the other one counted."""

import random

import pytest
from peer.balance import PaddedLog, Tally, quiet
from peer.channels import dynamic, join, manual, multicast, unicast
from peer.streams import Receipt, checked_messages, transfer
from waits import wait_until

pytestmark = pytest.mark.interop
COUNT = 800
MTU = 1408
SETUP_LENGTH, HEARTBEAT_LENGTH = 40, 32
ROWS = {
    "unicast": (unicast(), 1),
    "multicast": (multicast(), 1),
    "dynamic": (dynamic("|fc=min,g:/2"), 2),
    "manual": (manual("|fc=min,g:/2"), 2),
}


@pytest.mark.parametrize("name", list(ROWS))
def test_a_stream_without_loss_balances_to_the_byte(link, stream_id, name):
    row, receivers = ROWS[name]
    quiet(link)
    tally = Tally(link)
    publication, subscriptions = join(link, row, stream_id)
    if receivers > 1:  # what the first one got before the second one came balances with nothing
        tally = Tally(link)
    messages = checked_messages(COUNT, seed=stream_id)
    end = transfer(publication, [Receipt(s) for s in subscriptions], messages)
    log = PaddedLog(64 * 1024, MTU)
    for message in messages:
        log.append(len(message))
    assert log.position == end

    def is_balanced():
        sent, received = tally.stable()
        if sent["heartbeats_sent"] * receivers != received["heartbeats_received"]:
            return False
        if received["status_messages_sent"] > sent["status_messages_received"]:
            return False
        # A driver may stand still between two counters of one datagram: bytes count as well.
        if sent["bytes_sent"] != end + HEARTBEAT_LENGTH * sent["heartbeats_sent"]:
            return False
        return sent, received

    sent, received = wait_until(is_balanced, tally)
    heartbeats = sent["heartbeats_sent"]
    stream_bytes = receivers * (log.bytes_on_wire + HEARTBEAT_LENGTH * heartbeats)
    setups, rest = divmod(received["bytes_received"] - stream_bytes, SETUP_LENGTH)
    assert rest == 0
    assert (receivers == 1) <= setups <= 100
    # Eliciting status messages are counted where they arrive, and only there.
    eliciting = sent["status_messages_received"] - received["status_messages_sent"]
    assert eliciting == 0 or name == "dynamic"
    for side in (sent, received):
        for quantity in (
            "naks_sent",
            "naks_received",
            "retransmits_sent",
            "under_runs",
            "over_runs",
            "invalid_packets",
            "errors",
            "short_sends",
            "loss_gap_fills",
            "status_messages_rejected",
        ):
            assert side[quantity] == 0, quantity


def test_random_messages_make_the_log_that_is_predicted():
    """The prediction itself: frames are aligned, fragments full, terms end with padding."""
    log = PaddedLog(64 * 1024, MTU)
    log.append(100)
    assert log.position == 160
    log.append(MTU - 32 + 1)
    assert log.position == 160 + MTU + 64
    source = random.Random(5)
    while log.padding == 0:
        log.append(source.randint(1000, 5000))
    assert 64 * 1024 < log.position < 2 * 64 * 1024
    assert log.bytes_on_wire == log.position - log.padding + 32
