"""Copies that go on with the live stream when they have caught up with its recording."""

from __future__ import annotations

from typing import Any

import pytest

from aerolog.archive import protocol as ap
from aerolog.archive.protocol.counter_types import ArchiveCounterType
from aerolog.transport.counters.counter_types import CounterType

pytestmark = pytest.mark.interop

HOST = "127.0.0.1"
BEGUN = [
    "REPLICATE recording=destination subscription=none position=0",
    "OK subscription",
    "EXTEND recording=destination subscription=subscription position=0",
]
ENDED = "REPLICATE_END recording=destination subscription=none position=-1"
REPLAYS = ArchiveCounterType.REPLAY_SESSIONS
SUBSCRIBER_POSITIONS = CounterType.SUBSCRIBER_POSITION


class LiveSource:
    """A stream over the network that the source records and others can join.

    Its flow control waits for the slowest receiver: a destination must not be outrun.
    """

    def __init__(self, pair: Any) -> None:
        self.pair = pair
        control = f"{HOST}:{pair.free_port()}"
        self.source = pair.source.source(
            pair.stream_id,
            f"aeron:udp?control-mode=dynamic|control={control}|fc=min|ssc=true|term-length=64k",
        )
        self.destination = f"aeron:udp?endpoint={HOST}:0|control={control}"

    def offer_until_merged(self, replication: Any) -> int:
        """Go on sending until the copy has joined; the position at which it did."""

        def merged() -> Any:
            self.source.offer(1)
            return replication.signals("MERGE")

        return self.pair.wait(merged, "the copy to join the live stream")[0].position


@pytest.fixture
def live(pair) -> LiveSource:
    return LiveSource(pair)


def copy_of(replication: Any) -> int:
    (signal,) = replication.signals("REPLICATE")
    return signal.recording_id


@pytest.mark.parametrize("tags", [False, True], ids=["plain", "tagged"])
def test_a_copy_joins_the_live_stream_and_lives_as_long(pair, live, tags) -> None:
    live.source.offer(200)
    number = 500_000 + 10 * pair.stream_id
    named = {"channel_tag_id": number, "subscription_tag_id": number + 1} if tags else {}
    replication = pair.replicate(
        live.source.recording_id, live_destination=live.destination, **named
    )
    replication.wait_signal("EXTEND")
    merged = live.offer_until_merged(replication)
    replication.wait_signal("REPLICATE_END")
    copy = copy_of(replication)
    pair.wait(
        lambda: all(c.value == 0 for c in pair.source.counters(REPLAYS)),
        "the replay to end, which nobody needs any more",
    )
    position = live.source.offer(200)
    assert position > merged
    pair.wait(
        lambda: pair.destination.archive.recording_position(copy) == position,
        "what came after the join to be copied",
    )
    recording = live.source.stop()
    replication.wait_signal("STOP")
    assert replication.transcript() == [
        *BEGUN,
        f"MERGE recording=destination subscription=none position={merged}",
        ENDED,
        f"STOP recording=destination subscription=subscription position={position}",
    ]
    pair.check_copied(recording, copy)


def test_a_copy_that_exists_joins_the_live_stream(pair, live) -> None:
    live.source.offer(100)
    first = pair.replicate(
        live.source.recording_id, stop_position=50_000, replication_session_id=4714
    )
    first.wait_end()
    copy = copy_of(first)
    middle = pair.destination.archive.stop_position(copy)
    live.source.offer(100)
    second = pair.replicate(
        live.source.recording_id, live_destination=live.destination, dst_recording_id=copy
    )
    second.wait_signal("EXTEND")
    merged = live.offer_until_merged(second)
    second.wait_signal("REPLICATE_END")
    position = live.source.offer(20)
    pair.wait(
        lambda: pair.destination.archive.recording_position(copy) == position, "all to be copied"
    )
    recording = live.source.stop()
    second.wait_signal("STOP")
    assert second.transcript() == [
        "OK subscription",
        f"EXTEND recording=destination subscription=subscription position={middle}",
        f"MERGE recording=destination subscription=none position={merged}",
        ENDED,
        f"STOP recording=destination subscription=subscription position={position}",
    ]
    pair.check_copied(recording, copy)


def test_a_copy_that_cannot_join_is_stopped(pair, live) -> None:
    position = live.source.offer(20)
    nowhere = f"aeron:udp?endpoint={HOST}:{pair.free_port()}"
    replication = pair.replicate(live.source.recording_id, live_destination=nowhere)
    replication.wait_signal("EXTEND")
    copy = copy_of(replication)
    pair.wait(
        lambda: pair.destination.archive.recording_position(copy) == position, "all to be copied"
    )
    answer = pair.watch.ask(
        pair.watch.message(ap.StopReplicationRequest, replication_id=replication.replication_id)
    )
    assert answer.code == ap.ControlResponseCode.OK
    assert replication.wait_end() == [
        *BEGUN,
        ENDED,
        f"STOP recording=destination subscription=subscription position={position}",
    ]
    pair.check_copied(live.source.stop(), copy, position)


def test_a_source_that_stops_while_its_copy_joins(pair, live) -> None:
    position = live.source.offer(20)
    nowhere = f"aeron:udp?endpoint={HOST}:{pair.free_port()}"
    replication = pair.replicate(live.source.recording_id, live_destination=nowhere)
    replication.wait_signal("EXTEND")
    copy = copy_of(replication)
    pair.wait(
        lambda: pair.destination.archive.recording_position(copy) == position, "all to be copied"
    )
    recording = live.source.stop()
    lines = replication.wait_end()
    assert lines[:3] == BEGUN
    assert lines[4:] == [
        ENDED,
        f"STOP recording=destination subscription=subscription position={position}",
    ]
    assert lines[3] in {
        "ERROR 0 ERROR - cannot live merge without active source recording",
        "ERROR 0 ERROR - replication image closed unexpectedly",
    }
    pair.check_copied(recording, copy)


@pytest.mark.parametrize("make", ["reference", "ours"], ids=lambda make: f"from-{make}")
def test_a_live_destination_that_cannot_be_added_ends_the_copy(make, sites, pair_of) -> None:
    """The reference only logs it, and asks for positions for ever."""
    pair = pair_of(sites.get(make, 1), sites.get("ours", 2))
    live = LiveSource(pair)
    position = live.source.offer(20)
    replication = pair.replicate(live.source.recording_id, live_destination="garbage")
    lines = replication.wait_end()
    assert lines[:3] == BEGUN
    assert lines[3].startswith("ERROR 0 ERROR - "), lines
    assert lines[4:] == [
        ENDED,
        f"STOP recording=destination subscription=subscription position={position}",
    ]
    live.source.stop()


@pytest.mark.slow
def test_the_reference_asks_for_positions_for_ever(sites, pair_of) -> None:
    """After a live destination that cannot be added (spec archive-protocol 15.6)."""
    pair = pair_of(sites.get("ours", 1), sites.get("reference", 2))
    live = LiveSource(pair)
    position = live.source.offer(20)
    errors = pair.destination.error_count()
    replication = pair.replicate(live.source.recording_id, live_destination="garbage")
    replication.wait_signal("EXTEND")
    copy = copy_of(replication)
    pair.wait(
        lambda: pair.destination.archive.recording_position(copy) == position, "all to be copied"
    )
    pair.wait(lambda: pair.destination.error_count() > errors, "the error to be counted")

    def asked() -> int:
        return max(counter.value for counter in pair.source.counters(SUBSCRIBER_POSITIONS))

    for _ in range(3):
        before = asked()
        pair.wait(lambda: asked() > before + 10_000, "more requests")  # noqa: B023
    assert replication.transcript() == BEGUN
    answer = pair.watch.ask(
        pair.watch.message(ap.StopReplicationRequest, replication_id=replication.replication_id)
    )
    assert answer.code == ap.ControlResponseCode.OK
    assert replication.wait_end()[3] == ENDED
    live.source.stop()
