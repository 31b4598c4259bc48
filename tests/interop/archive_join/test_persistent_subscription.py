"""Our PersistentSubscription on either archive, over drivers of both makes, with loss and drops."""

from __future__ import annotations

import pytest

from aerolog.archive.client import (
    FROM_LIVE,
    LiveJoined,
    LiveLeft,
    ReplayStarted,
)

pytestmark = pytest.mark.interop
HISTORY = 3000


def test_recorded_then_live_messages_come_once_and_in_order(recorded_line, follow) -> None:
    line = recorded_line
    line.connect_live()
    line.feeder.feed(HISTORY)
    follower = follow(line)
    follower.until_live()
    follower.until_received(line.feeder.feed(1000))
    assert follower.kinds() == [ReplayStarted, LiveJoined]
    assert follower.stream.position == line.publication.position
    assert follower.states[-1] == "LIVE"


def test_a_live_stream_that_drops_and_comes_back(recorded_line, follow) -> None:
    line = recorded_line
    line.connect_live()
    follower = follow(line)
    follower.until_live()
    for _ in range(2):
        follower.until_received(line.feeder.feed(500))
        line.disconnect_live()
        line.feeder.feed(500)
        follower.until(lambda: not follower.stream.is_live, "the live stream to drop")
        last = line.feeder.feed(500)
        follower.until_received(last)
        assert follower.stream.is_replaying
        line.connect_live()
        follower.until_received(line.feeder.feed(500))
        follower.until_live()
    follower.until_received(line.feeder.feed(500))
    joins = [kind for kind in follower.kinds() if kind in {LiveJoined, LiveLeft}]
    assert joins == [LiveJoined, LiveLeft, LiveJoined, LiveLeft, LiveJoined]
    assert follower.receipt.count == HISTORY + 2 * 2000 + 500


def test_from_live_nothing_recorded_comes(recorded_line, follow) -> None:
    line = recorded_line
    line.connect_live()
    follower = follow(line, FROM_LIVE)
    follower.until_live()
    follower.until_received(line.feeder.feed(100))
    assert follower.receipt.first_number == HISTORY
    assert follower.kinds() == [LiveJoined]
