"""The reference's ReplayMerge and PersistentSubscription on either archive, all checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from waits import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import peer
    from conftest import Line

pytestmark = pytest.mark.interop
HOST = "127.0.0.1"
HISTORY = 3000
PATIENCE_S = 60.0


class Run:
    """Something of the reference that follows a line on a thread of its process."""

    def __init__(self, run: peer.JavaObject) -> None:
        self.run = run

    def facts(self) -> dict[str, Any]:
        found = self.run.properties("nextNumber", "count", "position", "wrong", "error", "events")
        assert not found["wrong"]
        assert not found["error"]
        return found

    def until(self, condition: Callable[[dict[str, Any]], Any], what: str) -> dict[str, Any]:
        facts: dict[str, Any] = {}

        def holds() -> bool:
            facts.update(self.facts())
            return bool(condition(facts))

        wait_until(holds, (what, facts), PATIENCE_S)
        return facts

    def until_received(self, last: int) -> dict[str, Any]:
        return self.until(lambda facts: facts["nextNumber"] > last, f"message {last}")


@pytest.fixture
def started() -> Iterator[list[Run]]:
    runs: list[Run] = []
    yield runs
    for run in runs:
        run.run.end()


@pytest.fixture
def merge(line: Line, java_client, started: list[Run]) -> Callable[[], Run]:
    """``merge()`` starts a ReplayMerge of the reference on a driver elsewhere."""

    def make() -> Run:
        client = java_client(line.elsewhere.aeron_dir)
        archive = client.archive(request_channel=line.control, response_channel=line.responses)
        subscription = client.add_subscription("aeron:udp?control-mode=manual", line.stream_id)
        session = line.publication.session_id
        answer = client.peer.request(
            "join_merge",
            archive=archive.handle,
            subscription=subscription.handle,
            replay_channel=f"aeron:udp?session-id={session}",
            replay_destination=f"aeron:udp?endpoint={HOST}:0",
            live_destination=line.live_channel,
            recording_id=line.recording_id,
        )
        started.append(Run(client.peer.wrap(answer)))
        return started[-1]

    return make


@pytest.fixture
def follow(line: Line, reference_peer: peer.JavaPeer, started: list[Run]) -> Callable[..., Run]:
    """``follow()`` starts a PersistentSubscription of the reference on a driver elsewhere."""

    def make(**changes: Any) -> Run:
        arguments = {
            "dir": line.elsewhere.aeron_dir,
            "recording_id": line.recording_id,
            "live_channel": line.live_channel,
            "live_stream": line.stream_id,
            "replay_channel": f"aeron:udp?endpoint={HOST}:0",
            "request_channel": line.control,
            "response_channel": line.responses,
            **changes,
        }
        answer = reference_peer.request("join_follow", **arguments)
        started.append(Run(reference_peer.wrap(answer)))
        return started[-1]

    return make


@pytest.fixture
def recorded_line(line: Line) -> Line:
    line.publish()
    line.feeder.feed(HISTORY)
    line.wait_recorded()
    return line


def test_replay_merge_of_the_reference(recorded_line: Line, merge: Callable[[], Run]) -> None:
    line = recorded_line
    line.connect_live()
    line.feeder.feed(HISTORY)
    run = merge()
    run.until(lambda _: run.run.isMerged(), "the merge")
    facts = run.until_received(line.feeder.feed(1000))
    assert facts["count"] == 2 * HISTORY + 1000
    wait_until(lambda: run.run.transports() == 1, "the replay to end", 20)
    run.until_received(line.feeder.feed(100))


def test_persistent_subscription_of_the_reference(recorded_line, follow) -> None:
    line = recorded_line
    line.connect_live()
    line.feeder.feed(HISTORY)
    run = follow()
    run.until(lambda _: run.run.isLive(), "live")
    facts = run.until_received(line.feeder.feed(1000))
    assert facts["count"] == 2 * HISTORY + 1000
    assert facts["events"] == ["joined"]


def test_persistent_subscription_of_the_reference_over_drops(recorded_line, follow) -> None:
    line = recorded_line
    line.connect_live()
    run = follow()
    run.until(lambda _: run.run.isLive(), "live")
    run.until_received(line.feeder.feed(500))
    line.disconnect_live()
    line.feeder.feed(500)
    run.until(lambda facts: facts["events"][-1] == "left", "the live stream to drop")
    run.until_received(line.feeder.feed(500))
    line.connect_live()
    run.until(lambda facts: facts["events"][-1] == "joined", "live again")
    facts = run.until_received(line.feeder.feed(500))
    assert facts["count"] == HISTORY + 2000
