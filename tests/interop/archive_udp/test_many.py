"""Many streams at a time, recorded and replayed side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from waits import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.interop
STREAMS = 8
COUNT = 5000
LENGTH = 200
SITES = [
    ("ours", "ours", "reference"),
    ("ours", "ours", "ours"),
    ("reference", "reference", "ours"),
]


@pytest.fixture(params=SITES, ids=["-".join(site) for site in SITES])
def bench(
    request: pytest.FixtureRequest, sites: Any, bench_on: Callable[..., Any], java_client: Any
) -> Any:
    """A reference client on a site."""
    return bench_on(sites.get(*request.param), java_client)


def test_streams_of_one_channel_are_recorded_and_replayed_at_once(bench: Any) -> None:
    streams = [bench.stream_id + 1000 * number for number in range(STREAMS)]
    for stream_id in streams:
        bench.archive.startRecording(bench.channel, stream_id, "REMOTE")
    publications = [bench.client.add_exclusive_publication(bench.channel, s) for s in streams]
    for publication in publications:
        wait_until(publication.isConnected, "the archive to subscribe")
    offers = [p.start_offer_numbered(COUNT, LENGTH, first=n) for n, p in enumerate(publications)]
    positions = [offer.result(60)["position"] for offer in offers]
    recordings = []
    for stream_id, position in zip(streams, positions, strict=True):
        (found,) = bench.archive.recordings(from_=0, count=100, channel="", stream=stream_id)
        bench.wait_recorded(found["recordingId"], position)
        recordings.append(found["recordingId"])
        bench.archive.stopRecording(bench.channel, stream_id)
        assert bench.wait_stopped(found["recordingId"]) == position
    replays = [
        bench.replay_here(recording_id, 0, position)
        for recording_id, position in zip(recordings, positions, strict=True)
    ]
    checks = [r.start_poll_numbered(COUNT, LENGTH, first=n) for n, r in enumerate(replays)]
    assert [check.result(60)["position"] for check in checks] == positions
    assert [check.result()["first_wrong"] for check in checks] == [None] * STREAMS
    for closing in (*replays, *publications):
        closing.close()
    bench.site.wait_replays_ended()


def test_a_recording_of_many_segments_is_replayed_while_it_grows(bench: Any) -> None:
    count = 100_000
    bench.record()
    publication = bench.publish()
    recording_id = bench.recording_id()
    replays = [bench.replay_here(recording_id, 0, -1)]
    offered = publication.start_offer_numbered(count, LENGTH, timeout=60)
    checks = [replays[0].start_poll_numbered(count, LENGTH, timeout=60)]
    bench.wait_recorded(recording_id, 1 << 20)
    late = bench.client.add_subscription("aeron:udp?endpoint=127.0.0.1:0", 5)
    channel = wait_until(late.tryResolveChannelEndpointPort, "the port")
    bench.archive.startReplay(recording_id, 0, -1, channel, 5)
    checks.append(late.start_poll_numbered(count, LENGTH, timeout=60))
    position = offered.result(60)["position"]
    assert position > 100 * 131072
    assert [check.result(60)["position"] for check in checks] == [position, position]
    bench.archive.stopRecording(bench.channel, bench.stream_id)
    assert bench.wait_stopped(recording_id) == position
    for closing in (publication, late, *replays):
        closing.close()
    bench.site.wait_replays_ended()
