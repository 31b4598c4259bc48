"""Our PersistentSubscription on either archive, over drivers of both makes, with loss and drops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from peer.streams import Receipt, wait_until

from aerolog.archive.client import (
    FROM_LIVE,
    FROM_START,
    LiveJoined,
    LiveLeft,
    PersistentSubscription,
    ReplayStarted,
)
from aerolog.transport.client import Aeron

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conftest import Line

pytestmark = pytest.mark.interop
HOST = "127.0.0.1"
HISTORY = 3000
PATIENCE_S = 60.0


class Follower:
    """A persistent subscription elsewhere, and a check of all that it delivers."""

    def __init__(self, line: Line, start_position: int = FROM_START, **changes: Any) -> None:
        self.aeron = Aeron(line.elsewhere.aeron_dir)
        arguments = {
            "recording_id": line.recording_id,
            "start_position": start_position,
            "live_channel": line.live_channel,
            "live_stream_id": line.stream_id,
            "replay_channel": f"aeron:udp?endpoint={HOST}:0",
            "request_channel": line.control,
            "response_channel": line.responses,
            "message_timeout": 10.0,
            **changes,
        }
        self.stream = PersistentSubscription(self.aeron, **arguments)
        self.receipt = Receipt(self.stream, 0 if start_position == FROM_START else None)
        self.events: list[Any] = []
        self.states: list[str] = []

    def turn(self) -> None:
        self.receipt.poll()
        self.events += self.stream.take_events()
        if self.stream.state.name not in self.states[-1:]:
            self.states.append(self.stream.state.name)

    def until(self, condition: Callable[[], Any], what: str) -> None:
        def holds() -> bool:
            self.turn()
            return bool(condition())

        wait_until(holds, lambda: f"{what}: {self.stream!r} {self.events}", PATIENCE_S)

    def until_live(self) -> None:
        self.until(lambda: self.stream.is_live, "live")

    def until_received(self, last: int) -> None:
        self.until(lambda: (self.receipt.next_number or 0) > last, f"message {last}")

    def kinds(self) -> list[type]:
        return [type(event) for event in self.events]

    def close(self) -> None:
        self.stream.close()
        self.aeron.close()


@pytest.fixture
def follow() -> Iterator[Callable[..., Follower]]:
    made: list[Follower] = []

    def make(line: Line, *args: Any, **changes: Any) -> Follower:
        made.append(Follower(line, *args, **changes))
        return made[-1]

    yield make
    for follower in made:
        follower.close()


@pytest.fixture
def recorded_line(line: Line) -> Line:
    """With a recorded history and a publisher that is silent as yet."""
    line.publish()
    line.feeder.feed(HISTORY)
    line.wait_recorded()
    return line


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
