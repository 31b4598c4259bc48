"""Persistent subscriptions over IPC, by spying and over response channels, on either archive."""

from __future__ import annotations

import pytest
from peer.streams import free_port
from waits import wait_until

from aerolog.archive.client import LiveJoined, LiveLeft, ReplayStarted
from aerolog.archive.protocol.counter_types import ArchiveCounterType
from aerolog.transport.client import CountersReader

pytestmark = pytest.mark.interop
HOST = "127.0.0.1"
HISTORY = 2000
IPC = "aeron:ipc?term-length=64k"


@pytest.fixture
def ipc_line(plain_line):
    """A recorded history over IPC."""
    line = plain_line
    line.channel, line.recorded_channel = IPC, "aeron:ipc"
    line.publish()
    line.feeder.feed(HISTORY)
    line.wait_recorded()
    return line


def test_over_ipc_with_a_publisher_that_begins_anew(ipc_line, follow) -> None:
    line = ipc_line
    line.feeder.feed(HISTORY)
    follower = follow(line, local=True)
    follower.until_live()
    for _ in range(2):
        follower.until_received(line.feeder.feed(500))
        line.restart()
        follower.until(lambda: not follower.stream.is_live, "the publisher to end")
        follower.until_received(line.feeder.feed(500))
        follower.until_live()
    follower.until_received(line.feeder.feed(500))
    assert follower.receipt.count == 2 * HISTORY + 2500
    joins = [kind for kind in follower.kinds() if kind in {LiveJoined, LiveLeft}]
    assert joins == [LiveJoined, LiveLeft, LiveJoined, LiveLeft, LiveJoined]


def test_over_a_spy(plain_line, follow) -> None:
    line = plain_line
    line.channel = line.recorded_channel = (
        f"aeron:udp?endpoint={HOST}:{line.live_port}|term-length=64k|ssc=true"
    )
    line.publish()
    line.feeder.feed(HISTORY)
    follower = follow(line, local=True, live_channel=f"aeron-spy:{line.live_channel}")
    follower.until_live()
    follower.until_received(line.feeder.feed(500))
    assert follower.kinds() == [ReplayStarted, LiveJoined]
    assert follower.receipt.count == HISTORY + 500


@pytest.mark.parametrize("medium", ["udp", "udp with endpoint", "ipc"])
def test_a_replay_over_a_response_channel(plain_line, follow, medium) -> None:
    line = plain_line
    changes = {"replay_channel": f"aeron:udp?control-mode=response|control={HOST}:{free_port()}"}
    if medium == "udp with endpoint":
        changes["replay_channel"] += f"|endpoint={HOST}:0"
    if medium == "ipc":
        line.channel, line.recorded_channel = IPC, "aeron:ipc"
        changes = {"local": True, "replay_channel": "aeron:ipc?control-mode=response"}
    line.publish()
    if medium != "ipc":
        line.connect_live()
    line.feeder.feed(HISTORY)
    follower = follow(line, **changes)
    follower.until_live()
    follower.until_received(line.feeder.feed(500))
    assert follower.receipt.count == HISTORY + 500


def test_the_counters_are_those_of_the_reference(ipc_line, follow, java_peer) -> None:
    line = ipc_line
    follower = follow(line, local=True)
    follower.until_live()

    def ours_and_theirs():
        found = {}
        for counter in CountersReader(line.server.aeron_dir).infos():
            if (
                ArchiveCounterType.SUBSCRIPTION_STATE
                <= counter.type_id
                <= ArchiveCounterType.SUBSCRIPTION_LIVE_JOINED
                and f" {line.stream_id} " in f"{counter.label} "
            ):
                found.setdefault(counter.type_id, []).append(
                    (counter.label, counter.key, counter.value)
                )
        return found

    mine = ours_and_theirs()
    arguments = {
        "dir": line.server.aeron_dir,
        "recording_id": line.recording_id,
        "live_stream": line.stream_id,
        **dict.fromkeys(
            ("live_channel", "replay_channel", "request_channel", "response_channel"), "aeron:ipc"
        ),
    }
    run = java_peer.wrap(java_peer.request("join_follow", **arguments))
    wait_until(run.isLive, "the reference to be live", 60)
    both = wait_until(
        lambda: (found := ours_and_theirs()) and all(len(v) == 2 for v in found.values()) and found,
        "both to have counters",
    )
    run.end()
    assert sorted(mine) == [114, 115, 116, 117]
    for type_id, ((label, key, value), (their_label, their_key, their_value)) in both.items():
        assert (label, key) == (their_label, their_key)
        if type_id != ArchiveCounterType.SUBSCRIPTION_JOIN_DIFFERENCE:
            assert value == their_value
