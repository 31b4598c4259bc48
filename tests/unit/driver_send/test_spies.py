"""Spies: they read what a UDP publication of their driver writes."""

import pytest

from aerolog.transport.counters.counter_types import CounterType as T
from aerolog.transport.protocol import commands as c
from aerolog.transport.protocol import responses as r

MS = 1_000_000
S = 1_000_000_000
CHANNEL = "aeron:udp?endpoint=10.0.0.2:4000"
TERM = 65_536
WINDOW = TERM // 2
MESSAGE = bytes(1000)
FRAMED = 1056


def names(messages):
    return [type(message).__name__ for message in messages]


def test_a_spy_gets_the_images_of_publications_there_and_to_come(bench):
    first = bench.publication()
    spy = bench.spy()
    (available,) = bench.last[1:]
    second = bench.exclusive()
    later = bench.last[-1]

    assert spy.channel_status_id == -1
    assert (available.correlation_id, available.log_file) == (first.registration_id, first.log_file)
    assert available.source_identity == "aeron:ipc"
    assert later.correlation_id == second.registration_id
    labels = [k.label for k in bench.counters(T.SUBSCRIBER_POSITION)]
    assert labels[0].endswith(f"aeron-spy:{CHANNEL} @0")


@pytest.mark.parametrize(
    ("channel", "stream_id", "matches"),
    [
        ("aeron:udp?endpoint=10.0.0.2:4000|alias=x", 7, True),
        ("aeron:udp?endpoint=10.0.0.2:4000", 8, False),
        ("aeron:udp?endpoint=10.0.0.2:4001", 7, False),
        ("aeron:udp?endpoint=10.0.0.2:4000|session-id=4242", 7, True),
        ("aeron:udp?endpoint=10.0.0.2:4000|session-id=4243", 7, False),
        ("aeron:udp?tags=5", 7, True),
        ("aeron:udp?tags=6", 7, False),
    ],
)
def test_a_spy_matches_by_stream_channel_session_and_tag(bench, channel, stream_id, matches):
    bench.publication(f"{CHANNEL}|session-id=4242|tags=5")

    bench.spy(channel, stream_id)

    assert names(bench.last[1:]) == ["AvailableImage"] * matches


def test_a_spy_holds_the_limit_back_but_connects_nobody(bench):
    listener = bench.listener()
    ready = bench.publication()
    bench.spy()
    counter_id = bench.counter(T.SUBSCRIBER_POSITION).counter_id
    assert bench.position_of(ready, T.PUBLISHER_LIMIT) == 0
    setup = bench.connect(listener)
    writer = bench.writer(ready)
    for _ in range(20):
        assert writer.offer(MESSAGE) > 0
    bench.turn()
    listener.status(setup, 20 * FRAMED)
    bench.turn()
    held = bench.position_of(ready, T.PUBLISHER_LIMIT)
    bench.cnc.counters.set_value(counter_id, 20 * FRAMED)
    bench.turn()

    assert held == WINDOW
    assert bench.position_of(ready, T.PUBLISHER_LIMIT) == 20 * FRAMED + WINDOW


def test_a_spy_that_simulates_a_connection_moves_the_sender(bench):
    ready = bench.publication(f"{CHANNEL}|ssc=true")
    bench.spy()
    counter_id = bench.counter(T.SUBSCRIBER_POSITION).counter_id
    bench.turn()
    writer = bench.writer(ready)
    for _ in range(3):
        assert writer.offer(MESSAGE) > 0
    bench.cnc.counters.set_value(counter_id, 3 * FRAMED)
    bench.pass_time(200 * MS)

    assert bench.position_of(ready, T.SENDER_POSITION) == 3 * FRAMED
    assert bench.position_of(ready, T.PUBLISHER_LIMIT) == 3 * FRAMED + WINDOW


def test_a_spy_keeps_a_closed_publication_until_it_has_read_all(bench):
    ready = bench.publication(f"{CHANNEL}|ssc=true|linger=0")
    bench.spy()
    counter_id = bench.counter(T.SUBSCRIBER_POSITION).counter_id
    bench.turn()
    writer = bench.writer(ready)
    assert writer.offer(MESSAGE) > 0
    said = bench.remove(ready)
    said += bench.pass_time(1 * S)
    kept = names(said)
    bench.cnc.counters.set_value(counter_id, FRAMED)
    said = bench.pass_time(1 * S)

    assert kept == ["OperationSuccess"]
    assert names(said) == ["UnavailableImage"]
    assert bench.types() == []


def test_a_removed_spy_goes_without_a_message(bench):
    bench.publication()
    spy = bench.spy()

    said = bench.do(lambda i, n: c.RemoveSubscription(i, n, spy.correlation_id))

    assert names(said) == ["OperationSuccess"]
    assert bench.counters(T.SUBSCRIBER_POSITION) == []


def test_an_untethered_spy_is_left_behind_and_comes_back(start):
    bench = start(
        untethered_window_limit_timeout="300ms",
        untethered_linger_timeout="200ms",
        untethered_resting_timeout="300ms",
    )
    listener = bench.listener()
    ready = bench.publication()
    spy = bench.spy(f"{CHANNEL}|tether=false")
    setup = bench.connect(listener)
    writer = bench.writer(ready)
    while writer.offer(MESSAGE) > 0:
        pass
    bench.turn()
    sent = bench.position_of(ready, T.SENDER_POSITION)
    said = []
    for _ in range(12):
        listener.status(setup, sent)
        said += bench.pass_time(100 * MS)

    assert names(said) == ["UnavailableImage", "AvailableImage"]
    assert {m.subscription_registration_id for m in said} == {spy.correlation_id}
    sent = bench.position_of(ready, T.SENDER_POSITION)
    assert bench.value(said[-1].position_counter_id) == sent


def test_a_spy_is_a_destination_of_a_multi_destination_subscription(bench):
    ready = bench.publication()
    listening = bench.add(lambda i, n: c.AddSubscription(i, n, 7, "aeron:udp?control-mode=manual"))
    assert isinstance(listening, r.SubscriptionReady)
    mds = listening.correlation_id

    added = bench.do(lambda i, n: c.AddReceiveDestination(i, n, mds, f"aeron-spy:{CHANNEL}"))
    removed = bench.do(lambda i, n: c.RemoveReceiveDestination(i, n, mds, f"aeron-spy:{CHANNEL}"))

    assert names(added) == ["OperationSuccess", "AvailableImage"]
    assert added[1].subscription_registration_id == mds
    assert added[1].correlation_id == ready.registration_id
    assert names(removed) == ["OperationSuccess", "UnavailableImage"]


def test_an_ipc_stream_is_a_destination_of_a_multi_destination_subscription(bench):
    ready = bench.publication("aeron:ipc")
    mds = bench.add(
        lambda i, n: c.AddSubscription(i, n, 7, "aeron:udp?control-mode=manual")
    ).correlation_id

    added = bench.do(lambda i, n: c.AddReceiveDestination(i, n, mds, "aeron:ipc"))
    again = bench.do(lambda i, n: c.RemoveReceiveDestination(i, n, mds, "aeron:ipc?alias=x"))
    removed = bench.do(lambda i, n: c.RemoveReceiveDestination(i, n, mds, "aeron:ipc"))

    assert names(added) == ["OperationSuccess", "AvailableImage"]
    assert added[1].correlation_id == ready.registration_id
    assert names(again) == ["OnError"]
    assert names(removed) == ["OperationSuccess", "UnavailableImage"]
