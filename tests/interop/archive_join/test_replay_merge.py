"""Our ReplayMerge on either archive, over drivers of both makes, with loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from peer.streams import Receipt
from waits import wait_until

from aerolog.archive.client import AeronArchive, ReplayMerge
from aerolog.archive.client.replay.replay_merge import ReplayMergeState
from aerolog.transport.client import Aeron

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import Line

pytestmark = pytest.mark.interop
HOST = "127.0.0.1"
HISTORY = 3000


class Follower:
    """A client elsewhere with a subscription for a merge."""

    def __init__(self, line: Line) -> None:
        self.line = line
        self.aeron = Aeron(line.elsewhere.aeron_dir)
        self.archive = AeronArchive(
            self.aeron, request_channel=line.control, response_channel=line.responses
        )
        self.subscription = self.aeron.add_subscription(
            "aeron:udp?control-mode=manual", line.stream_id
        )

    def merge(self, start_position: int = 0, **changes: Any) -> ReplayMerge:
        arguments = {
            "replay_channel": "aeron:udp",
            "replay_destination": f"aeron:udp?endpoint={HOST}:0",
            "live_destination": self.line.live_channel,
            "recording_id": self.line.recording_id,
            "start_position": start_position,
            "progress_timeout": 20.0,
            **changes,
        }
        return ReplayMerge(self.subscription, self.archive, **arguments)

    def close(self) -> None:
        self.archive.close()
        self.aeron.close()


def receive(receipt: Receipt, last: int) -> None:
    """Take messages until a number has come."""

    def has_come() -> bool:
        receipt.poll()
        return receipt.next_number > last

    wait_until(has_come, f"message {last}", 60)


def receipt_of(image: Any, before: Receipt) -> Receipt:
    """Goes on checking what an image delivers."""
    return Receipt(image, before.next_number)


@pytest.fixture
def follower(line: Line) -> Iterator[Follower]:
    line.publish()
    line.feeder.feed(HISTORY)
    line.wait_recorded()
    follower = Follower(line)
    yield follower
    follower.close()


def test_recorded_then_live_messages_come_once_and_in_order(line: Line, follower: Follower) -> None:
    line.connect_live()
    line.feeder.feed(HISTORY)
    states = []
    with follower.merge() as merge:
        receipt = Receipt(merge)

        def turn() -> bool:
            receipt.poll()
            if merge.state not in states[-1:]:
                states.append(merge.state)
            return merge.is_merged

        wait_until(turn, "the merge", 60)
        assert merge.is_live_added
        last = line.feeder.feed(1000)
        receive(receipt, last)
        assert receipt.first_number == 0
        wait_until(lambda: merge.image.active_transport_count == 1, "the replay to end", 20)
    assert states[0] is ReplayMergeState.RESOLVE_REPLAY_PORT
    assert states[-1] is ReplayMergeState.MERGED
    receive(receipt_of(merge.image, receipt), line.feeder.feed(100))
