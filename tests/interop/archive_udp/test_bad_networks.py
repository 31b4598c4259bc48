"""Recording and replaying while 5 % of what arrives at our side is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from aerolog.transport.counters.system_counters import SystemCounter

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.interop
HOST = "127.0.0.1"
COUNT = 8000
LENGTH = 500
LOSS = "rate=0.05|seed=11"
RETRANSMITS_SENT = SystemCounter.RETRANSMITS_SENT

# Archive, its driver, the driver of its clients; our drivers lose.
LOSSY_SITES = [("ours", "ours", "reference"), ("reference", "reference", "ours")]


@pytest.fixture(params=LOSSY_SITES, ids=["-".join(site) for site in LOSSY_SITES])
def lossy(request: pytest.FixtureRequest, sites: Any) -> Any:
    """A site whose drivers of ours lose data and control frames that come in."""
    return sites.get(*request.param, loss=LOSS)


@pytest.fixture
def bench(lossy: Any, bench_on: Callable[..., Any], java_client: Callable[..., Any]) -> Any:
    """A reference client over the lossy network."""
    return bench_on(lossy, java_client)


def sent_again(aeron_dir: str) -> int:
    """Datagrams that a driver has sent again."""
    from aerolog.transport.client import CountersReader

    (found,) = [c for c in CountersReader(aeron_dir).infos() if c.counter_id == RETRANSMITS_SENT]
    return found.value


def test_a_lossy_stream_is_recorded_and_replayed_whole(bench: Any) -> None:
    recording_id, position = bench.recorded(COUNT, LENGTH)
    replay = bench.replay_here(recording_id, 0, position)
    assert replay.poll_numbered(COUNT, LENGTH)["position"] == position
    replay.close()
    bench.site.wait_replays_ended()
    lost_towards_archive = bench.site.archive.implementation == "ours"
    sender = bench.site.elsewhere if lost_towards_archive else bench.site.archive
    assert sent_again(sender.aeron_dir) > 0


def test_a_local_recording_is_whole_whatever_the_receivers_lose(
    bench: Any, java_client: Callable[..., Any]
) -> None:
    local = java_client(bench.site.archive_aeron_dir)
    subscription = bench.client.add_subscription(bench.channel, bench.stream_id)
    bench.record(location="LOCAL")
    publication = bench.publish(client=local)
    offered = publication.start_offer_numbered(COUNT, LENGTH)
    assert subscription.poll_numbered(COUNT, LENGTH)["first_wrong"] is None
    position = offered.result(30)["position"]
    recording_id = bench.recording_id()
    bench.wait_recorded(recording_id, position)
    bench.archive.stopRecording(bench.channel, bench.stream_id)
    assert bench.wait_stopped(recording_id) == position
    replay = bench.replay_here(recording_id, 0, position)
    assert replay.poll_numbered(COUNT, LENGTH)["position"] == position


def test_a_lossy_replay_over_a_response_channel(bench: Any, address: Callable[[], str]) -> None:
    recording_id, position = bench.recorded(COUNT, LENGTH)
    params = bench.client.peer.new("io.aeron.archive.client.ReplayParams")
    params.position(0).length(position)
    replay = bench.archive.replay(
        recording_id,
        f"aeron:udp?control-mode=response|control={address()}",
        bench.stream_id + 50_000,
        params,
    )
    assert replay.poll_numbered(COUNT, LENGTH)["position"] == position
    replay.close()
    bench.site.wait_replays_ended()
