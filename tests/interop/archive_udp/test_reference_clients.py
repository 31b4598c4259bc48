"""The reference's client on archives over UDP, from a driver elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from waits import wait_until

if TYPE_CHECKING:
    from conftest import Bench

pytestmark = pytest.mark.interop
HOST = "127.0.0.1"
FOLLOW = -1


def test_a_remote_stream_is_recorded_and_replayed_elsewhere(bench: Bench) -> None:
    recording_id, position = bench.recorded(2000, 100)
    subscription = bench.client.add_subscription(
        f"aeron:udp?endpoint={HOST}:0", bench.stream_id + 50_000
    )
    resolved = wait_until(subscription.tryResolveChannelEndpointPort, "the replay's port")
    bench.archive.startReplay(recording_id, 0, position, resolved, bench.stream_id + 50_000)
    found = subscription.poll_numbered(2000, 100)
    assert (found["count"], found["position"]) == (2000, position)
    subscription.close()
    bench.site.wait_replays_ended()


def test_a_replay_comes_back_over_a_response_channel(bench: Bench, address) -> None:
    recording_id, position = bench.recorded(2000, 100)
    params = bench.client.peer.new("io.aeron.archive.client.ReplayParams")
    params.position(0).length(position)
    replay = bench.archive.replay(
        recording_id,
        f"aeron:udp?control-mode=response|control={address()}",
        bench.stream_id + 50_000,
        params,
    )
    found = replay.poll_numbered(2000, 100)
    assert (found["count"], found["position"]) == (2000, position)
    replay.close()
    bench.site.wait_replays_ended()


def test_a_session_over_a_response_channel(bench: Bench, java_client, address) -> None:
    client = java_client(bench.site.elsewhere.aeron_dir)
    archive = client.archive(
        request_channel=bench.site.control,
        response_channel=f"aeron:udp?control-mode=response|control={address()}",
    )
    recording_id, position = bench.recorded(10, 100)
    assert archive.getStopPosition(recording_id) == position
    assert archive.archiveId() == bench.archive.archiveId()
    archive.close()
