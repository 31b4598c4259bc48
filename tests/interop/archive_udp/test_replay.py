"""Replays to UDP channels of every kind, and those that cannot be."""

from __future__ import annotations

from typing import Any

import pytest
from peer.client import JavaError
from waits import wait_until

pytestmark = pytest.mark.interop
HOST = "127.0.0.1"
FOLLOW = -1
TO_STOP = -2


def low_half(replay_session_id: int) -> int:
    """The session id of a replay's image."""
    return (replay_session_id + 2**31) % 2**32 - 2**31


def test_a_replay_with_a_session_id_has_that_session(bench: Any, address: Any) -> None:
    recording_id, position = bench.recorded(100, 100)
    channel = f"aeron:udp?endpoint={address()}|session-id=-77"
    subscription = bench.client.add_subscription(channel, bench.stream_id + 50_000)
    replay_id = bench.archive.startReplay(
        recording_id, 0, position, channel, bench.stream_id + 50_000
    )
    assert low_half(replay_id) == -77
    messages = subscription.poll(100)
    assert {m["sessionId"] for m in messages} == {-77}
    assert messages[-1]["position"] == position
    subscription.close()
    bench.site.wait_replays_ended()


def test_the_replay_call_subscribes_to_its_session(bench: Any, address: Any) -> None:
    recording_id, position = bench.recorded(2000, 100)
    replays = [
        bench.archive.replay(
            recording_id, 0, position, f"aeron:udp?endpoint={address()}", bench.stream_id + 50_000
        )
        for _ in range(2)
    ]
    for replay in replays:
        assert replay.poll_numbered(2000, 100)["position"] == position
        replay.close()
    bench.site.wait_replays_ended()


@pytest.mark.parametrize("first", [1, 409, 410, 1000])
def test_a_replay_joins_at_the_position_asked_for(bench: Any, first: int) -> None:
    recording_id, position = bench.recorded(2000, 100)
    # 65536 is not a multiple of a frame's 160 bytes: a padding frame ends each term.
    start = first // 409 * 65536 + first % 409 * 160
    replay = bench.replay_here(recording_id, start, FOLLOW)
    assert wait_until(replay.images, "the image")[0].joinPosition() == start
    assert replay.poll_numbered(2000 - first, 100, first=first)["position"] == position
    replay.close()
    bench.site.wait_replays_ended()


def test_fragmented_messages_are_recorded_and_replayed(bench: Any) -> None:
    recording_id, position = bench.recorded(300, 8000)
    replay = bench.replay_here(recording_id, 0, TO_STOP)
    assert replay.poll_numbered(300, 8000)["position"] == position
    replay.close()


def test_a_replay_to_a_dynamic_multi_destination(bench: Any, address: Any) -> None:
    recording_id, position = bench.recorded(1000, 100)
    control = f"control-mode=dynamic|control={address()}"
    stream_id = bench.stream_id + 50_000
    subscriptions = [
        bench.client.add_subscription(f"aeron:udp?endpoint={address()}|{control}", stream_id)
        for _ in range(2)
    ]
    bench.archive.startReplay(
        recording_id, 0, position, f"aeron:udp?{control}|fc=min,g:/2", stream_id
    )
    checks = [s.start_poll_numbered(1000, 100) for s in subscriptions]
    assert [c.result(30)["position"] for c in checks] == [position, position]
    for subscription in subscriptions:
        subscription.close()
    bench.site.wait_replays_ended()


def test_a_live_recording_is_followed_over_udp(bench: Any) -> None:
    bench.record()
    publication = bench.publish()
    recording_id = bench.recording_id()
    first = publication.offer_numbered(1000, 100)["position"]
    bench.wait_recorded(recording_id, first)
    replay = bench.replay_here(recording_id, 0, FOLLOW)
    assert replay.poll_numbered(1000, 100)["position"] == first
    last = publication.offer_numbered(3000, 100, first=1000)["position"]
    assert replay.poll_numbered(3000, 100, first=1000)["position"] == last
    publication.close()
    assert replay.poll(1, until_eos=True) == []
    bench.archive.stopRecording(bench.channel, bench.stream_id)
    bench.site.wait_replays_ended()


def test_a_stopped_replay_is_revoked(bench: Any) -> None:
    recording_id, _ = bench.recorded(5000, 100)
    stream_id = bench.stream_id + 50_000
    subscription = bench.client.add_subscription(f"aeron:udp?endpoint={HOST}:0", stream_id)
    channel = wait_until(subscription.tryResolveChannelEndpointPort, "the port")
    replay_id = bench.archive.startReplay(recording_id, 0, FOLLOW, channel, stream_id)
    wait_until(subscription.isConnected, "the replay")
    bench.archive.stopReplay(replay_id)
    bench.site.wait_replays_ended()
    wait_until(lambda: not subscription.isConnected(), "the replay's image to go")
    subscription.close()


def test_a_replay_ends_when_its_subscriber_leaves(bench: Any) -> None:
    recording_id, _ = bench.recorded(5000, 100)
    replay = bench.replay_here(recording_id, 0, FOLLOW)
    wait_until(replay.isConnected, "the replay")
    replay.close()
    bench.site.wait_replays_ended()


@pytest.mark.error_log("no connection established for replayChannel")
def test_a_replay_nobody_listens_to_is_given_up(bench: Any, address: Any) -> None:
    recording_id, position = bench.recorded(100, 100)
    endpoint = address()
    bench.archive.startReplay(
        recording_id, 0, position, f"aeron:udp?endpoint={endpoint}|session-id=5", 4711
    )
    text = wait_until(bench.archive.pollForErrorResponse, "the replay's error")
    initial = bench.descriptor(recording_id)["initialTermId"]
    assert (
        "no connection established for replayChannel="
        f"aeron:udp?endpoint={endpoint}|mtu=1408|term-length=64k|init-term-id={initial}|"
        f"term-id={initial}|term-offset=0|session-id=5|linger=200ms, replayStreamId=4711,"
        f" recordingId={recording_id}, replaySessionId="
    ) in text
    bench.site.wait_replays_ended()


@pytest.mark.error_log(
    "URIs for UDP must specify", "address:port is required", "control-mode=", "endpoint has port=0"
)
@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ("aeron:udp?endpoint=localhost", "address:port is required for ipv4: localhost"),
        ("aeron:udp", "URIs for UDP must specify an endpoint, control, tags, or"),
        ("aeron:udp?endpoint=127.0.0.1:0", "endpoint has port=0"),
        (
            "aeron:udp?control-mode=response|control=127.0.0.1:0",
            "control-mode=response was specified, but no response-correlation-id set",
        ),
    ],
)
def test_replays_to_channels_that_cannot_be(bench: Any, wrong: str, text: str) -> None:
    recording_id, position = bench.recorded(1, 100)
    with pytest.raises(JavaError) as refused:
        bench.archive.startReplay(recording_id, 0, position, wrong, 4711)
    assert refused.value.code == 0
    assert "failed to create replay publication: " in refused.value.message
    assert text in refused.value.message


def test_a_replay_over_a_response_channel_joins_where_it_is_told(bench: Any, address: Any) -> None:
    recording_id, position = bench.recorded(2000, 100)
    params = bench.client.peer.new("io.aeron.archive.client.ReplayParams")
    start = 2 * 65536
    params.position(start).length(position - start)
    replay = bench.archive.replay(
        recording_id,
        f"aeron:udp?control-mode=response|control={address()}",
        bench.stream_id + 50_000,
        params,
    )
    first = 2 * 409
    assert replay.poll_numbered(2000 - first, 100, first=first)["position"] == position
    replay.close()
    bench.site.wait_replays_ended()


def test_a_refused_replay_over_a_response_channel_says_why(bench: Any, address: Any) -> None:
    params = bench.client.peer.new("io.aeron.archive.client.ReplayParams")
    with pytest.raises(JavaError) as refused:
        bench.archive.replay(
            99_999, f"aeron:udp?control-mode=response|control={address()}", 4711, params
        )
    assert refused.value.code == 5
    assert "unknown recording id: 99999" in refused.value.message
