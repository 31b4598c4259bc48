"""Replaying recordings, stopped and live."""

from __future__ import annotations

import pytest
from peer.client import JavaError
from waits import wait_until

pytestmark = pytest.mark.interop

CHANNEL = "aeron:ipc?term-length=64k"
FOLLOW = -1
TO_STOP = -2
FRAME = 160  # a numbered message of 100 bytes with its header, aligned


def test_a_stopped_recording_is_replayed_whole(bench) -> None:
    recording_id, position = bench.recorded(5000, 100)
    replay = bench.replay(recording_id, 0, position)
    found = replay.poll_numbered(5000, 100)
    assert (found["count"], found["position"]) == (5000, position)
    replay.close()
    bench.wait_replays_ended()


def test_fragmented_messages_are_replayed(bench) -> None:
    recording_id, position = bench.recorded(200, 5000)
    replay = bench.replay(recording_id, 0, TO_STOP)
    assert replay.poll_numbered(200, 5000)["position"] == position


@pytest.mark.parametrize("first", [1, 409, 410, 1000])
def test_a_replay_starts_at_any_frame_with_the_recordings_positions(bench, first: int) -> None:
    recording_id, position = bench.recorded(2000, 100)
    # 65536 is not a multiple of a frame's length: a padding frame ends each term.
    per_term = 65536 // FRAME
    start = first // per_term * 65536 + first % per_term * FRAME
    replay = bench.replay(recording_id, start, FOLLOW)
    found = replay.poll_numbered(2000 - first, 100, first=first)
    assert (found["count"], found["position"]) == (2000 - first, position)


def test_a_length_inside_a_frame_sends_the_whole_frame(bench) -> None:
    recording_id, _ = bench.recorded(100, 100)
    replay = bench.replay(recording_id, FRAME, FRAME * 10 + 1)
    messages = replay.poll(100, until_eos=True)
    assert [m["position"] for m in messages] == [FRAME * (i + 2) for i in range(11)]


def test_the_replay_stream_has_the_recordings_terms_and_a_session_of_its_own(bench) -> None:
    recording_id, position = bench.recorded(10, 100)
    (descriptor,) = bench.archive.recordings(recording_id=recording_id)
    session_id = bench.archive.startReplay(
        recording_id, 0, position, "aeron:ipc", bench.stream_id + 50_000
    )
    low = (session_id + 2**31) % 2**32 - 2**31
    subscription = bench.client.add_subscription(
        f"aeron:ipc?session-id={low}", bench.stream_id + 50_000
    )
    messages = subscription.poll(10)
    assert {m["sessionId"] for m in messages} == {low}
    assert {m["streamId"] for m in messages} == {bench.stream_id + 50_000}
    assert {m["termId"] for m in messages} == {descriptor["initialTermId"]}
    subscription.close()


def test_a_live_recording_is_followed_to_its_end(bench) -> None:
    bench.record()
    publication = bench.publish()
    recording_id = bench.recording_id()
    first = publication.offer_numbered(1000, 100)["position"]
    bench.wait_recorded(recording_id, first)
    replay = bench.replay(recording_id, 0, FOLLOW)
    assert replay.poll_numbered(1000, 100)["count"] == 1000
    last = publication.offer_numbered(4000, 100, first=1000)["position"]
    found = replay.poll_numbered(4000, 100, first=1000)
    assert (found["count"], found["position"]) == (4000, last)
    publication.close()
    assert replay.poll(1, until_eos=True) == []
    bench.archive.stopRecording(CHANNEL, bench.stream_id)
    bench.wait_replays_ended()


def test_the_length_to_stop_of_a_live_recording_is_its_position_now(bench) -> None:
    bench.record()
    publication = bench.publish()
    recording_id = bench.recording_id()
    position = publication.offer_numbered(10, 100)["position"]
    bench.wait_recorded(recording_id, position)
    replay = bench.replay(recording_id, 0, TO_STOP)
    publication.offer_numbered(10, 100, first=10)
    messages = replay.poll(100, until_eos=True)
    assert len(messages) == 10
    bench.archive.stopRecording(CHANNEL, bench.stream_id)
    publication.close()


def test_a_bounded_replay_waits_at_the_counter(bench) -> None:
    recording_id, position = bench.recorded(100, 100)
    bound = bench.client.addCounter(1001, f"bound {bench.stream_id}")
    bound.set(10 * FRAME)
    bench.archive.startBoundedReplay(
        recording_id, 0, position, bound.id(), "aeron:ipc", bench.stream_id + 50_000
    )
    subscription = bench.client.add_subscription("aeron:ipc", bench.stream_id + 50_000)
    assert subscription.poll_numbered(10, 100)["position"] == 10 * FRAME
    assert subscription.poll(1, timeout=0.2) == []
    bound.set(position)
    assert subscription.poll_numbered(90, 100, first=10)["position"] == position
    subscription.close()
    bound.close()
    bench.wait_replays_ended()


def test_a_replay_can_be_stopped(bench) -> None:
    recording_id, _ = bench.recorded(5000, 100)
    session_id = bench.archive.startReplay(
        recording_id, 0, FOLLOW, "aeron:ipc", bench.stream_id + 50_000
    )
    subscription = bench.client.add_subscription("aeron:ipc", bench.stream_id + 50_000)
    wait_until(subscription.isConnected, "the replay to connect")
    bench.archive.stopReplay(session_id)
    bench.archive.stopReplay(session_id)
    bench.wait_replays_ended()
    wait_until(lambda: not subscription.isConnected(), "the replay's image to go")
    subscription.close()


def test_all_replays_of_a_recording_can_be_stopped(bench) -> None:
    recording_id, _ = bench.recorded(5000, 100)
    subscription = bench.client.add_subscription("aeron:ipc", bench.stream_id + 50_000)
    for _ in range(3):
        bench.archive.startReplay(recording_id, 0, FOLLOW, "aeron:ipc", bench.stream_id + 50_000)
    wait_until(lambda: subscription.imageCount() == 3, "three replays")
    bench.archive.stopAllReplays(recording_id)
    bench.wait_replays_ended()
    subscription.close()


def test_an_empty_recording_is_replayed_to_its_end(bench) -> None:
    bench.record()
    publication = bench.publish()
    recording_id = bench.recording_id()
    publication.close()
    assert bench.wait_stopped(recording_id) == 0
    replay = bench.replay(recording_id, -1, FOLLOW)
    assert replay.poll(1, until_eos=True) == []
    bench.archive.stopRecording(CHANNEL, bench.stream_id)
    bench.wait_replays_ended()


@pytest.mark.parametrize("first", [0, 3])
def test_a_replay_of_length_zero_sends_nothing_and_stays_until_it_is_left(
    bench, first: int
) -> None:
    recording_id, _ = bench.recorded(10, 100)
    replay = bench.replay(recording_id, first * FRAME, 0)
    wait_until(replay.isConnected, "the replay to connect")
    assert replay.poll(1, timeout=0.5) == []
    assert replay.isConnected()
    assert bench.archive.pollForErrorResponse() is None
    replay.close()
    bench.wait_replays_ended()


REFUSED = [
    (99999, 0, 1, 5, "unknown recording id: 99999"),
    (None, 7, 1, 0, ("requested replay start position=7 is not a multiple of FRAME_ALIGNMENT (32)"
     " for recording {id}")),
    (None, -32, 1, 16, ("requested replay start position=-32 is less than recording start"
     " position=0 for recording {id}")),
    (None, 1 << 30, 1, 16, ("requested replay start position=1073741824 must be less than the limit"
     " position={stop} for recording {id}")),
    (None, 0, -5, 0, ("replay length must be positive: replayLength=-5, length=-5,"
     " stopPosition={stop}, replayPosition=0 for recording {id}")),
]  # fmt: skip


@pytest.mark.parametrize(("unknown", "position", "length", "code", "text"), REFUSED)
def test_a_replay_that_cannot_be_is_refused(
    bench, unknown: int | None, position: int, length: int, code: int, text: str
) -> None:
    recording_id, stop = bench.recorded(100, 100)
    with pytest.raises(JavaError) as refused:
        bench.archive.startReplay(
            recording_id if unknown is None else unknown, position, length,
            "aeron:ipc", bench.stream_id + 50_000,
        )  # fmt: skip
    assert refused.value.code == code
    assert refused.value.message.endswith(text.format(id=recording_id, stop=stop))


@pytest.mark.error_log("replayPosition=")
def test_a_position_inside_a_frame_is_refused_by_the_replayer(bench) -> None:
    recording_id, _ = bench.recorded(100, 100)
    with pytest.raises(JavaError) as refused:
        bench.archive.startReplay(recording_id, 32, FOLLOW, "aeron:ipc", bench.stream_id + 50_000)
    assert refused.value.code == 16
    assert (
        "replayPosition=32 (segmentFilePosition=0, segmentOffset=0, termOffset=32, frameOffset=0)"
        f" does not point to a valid frame, recordingId={recording_id}, replaySessionId="
    ) in refused.value.message
    assert refused.value.message.endswith(f", segmentFile={recording_id}-0.rec")


@pytest.mark.error_log("For input string")
def test_a_linger_with_a_unit_is_refused_in_the_references_words(bench) -> None:
    recording_id, _ = bench.recorded(10, 100)
    with pytest.raises(JavaError) as refused:
        bench.archive.startReplay(
            recording_id, 0, FOLLOW, "aeron:ipc?linger=3s", bench.stream_id + 50_000
        )
    assert refused.value.code == 0
    assert refused.value.message.endswith(
        'failed to process replayChannel - For input string: "3s"'
    )


def test_a_bound_that_is_no_counter_is_refused(bench) -> None:
    recording_id, _ = bench.recorded(10, 100)
    with pytest.raises(JavaError) as refused:
        bench.archive.startBoundedReplay(
            recording_id, 0, FOLLOW, 100_000, "aeron:ipc", bench.stream_id + 50_000
        )
    assert refused.value.code == 0
    assert (
        "unable to create replay limit counter id= 100000 because of: Range [12800000, 12800000"
        " + 8) out of bounds for length "
    ) in refused.value.message
