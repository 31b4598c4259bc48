"""The reference's client on archives over UDP, from a driver elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

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
    resolved = subscription.tryResolveChannelEndpointPort()
    bench.archive.startReplay(recording_id, 0, position, resolved, bench.stream_id + 50_000)
    found = subscription.poll_numbered(2000, 100)
    assert (found["count"], found["position"]) == (2000, position)
    subscription.close()
    bench.site.wait_replays_ended()
