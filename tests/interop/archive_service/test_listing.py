"""Listings, look-ups and positions."""

from __future__ import annotations

import pytest
from peer.client import JavaError

pytestmark = pytest.mark.interop

CHANNEL = "aeron:ipc?term-length=64k"


def test_recordings_are_listed_from_an_id_up_to_a_count(bench) -> None:
    ids = [bench.recorded(1, 64)[0] for _ in range(3)]
    everything = bench.archive.recordings(from_=0, count=10_000)
    numbers = [d["recordingId"] for d in everything]
    assert numbers == sorted(numbers)
    assert set(ids) <= set(numbers)
    two = bench.archive.recordings(from_=ids[1], count=2)
    assert [d["recordingId"] for d in two] == ids[1:]
    assert bench.archive.recordings(from_=ids[2] + 1, count=5) == []


def test_recordings_are_listed_by_stream_and_part_of_the_channel(bench) -> None:
    channel = f"aeron:ipc?alias=findme-{bench.stream_id}|term-length=64k"
    bench.record(channel)
    publication = bench.publish(channel)
    recording_id = bench.recording_id()
    listed = bench.archive.recordings(
        from_=0, count=10, channel=f"findme-{bench.stream_id}", stream=bench.stream_id
    )
    assert [d["recordingId"] for d in listed] == [recording_id]
    other = bench.archive.recordings(
        from_=0, count=10, channel="no such text", stream=bench.stream_id
    )
    assert other == []
    bench.archive.stopRecording(channel, bench.stream_id)
    publication.close()


def test_an_unknown_recording_is_listed_as_nothing(bench) -> None:
    assert bench.archive.recordings(recording_id=987_654) == []


def test_the_newest_matching_recording_is_found(bench) -> None:
    first, _ = bench.recorded(1, 64)
    bench.record()
    publication = bench.publish()
    session_id = publication.sessionId()
    second = bench.recording_id(2)
    find = bench.archive.findLastMatchingRecording
    assert find(0, "aeron:ipc", bench.stream_id, session_id) == second
    assert find(second + 1, "aeron:ipc", bench.stream_id, session_id) == -1
    assert find(0, "no such text", bench.stream_id, session_id) == -1
    assert find(0, "", bench.stream_id, session_id) == second
    (descriptor,) = bench.archive.recordings(recording_id=first)
    assert find(0, "", bench.stream_id, descriptor["sessionId"]) == first
    with pytest.raises(JavaError, match="minRecordingId=-1 < 0") as refused:
        find(-1, "", bench.stream_id, session_id)
    assert refused.value.code == 5
    bench.archive.stopRecording(CHANNEL, bench.stream_id)
    publication.close()


def test_positions_of_a_live_and_of_a_stopped_recording(bench) -> None:
    bench.record()
    publication = bench.publish()
    recording_id = bench.recording_id()
    position = publication.offer_numbered(10, 100)["position"]
    bench.wait_recorded(recording_id, position)
    archive = bench.archive
    assert archive.getStartPosition(recording_id) == 0
    assert archive.getStopPosition(recording_id) == -1
    assert archive.getMaxRecordedPosition(recording_id) == position
    archive.stopRecording(CHANNEL, bench.stream_id)
    assert bench.wait_stopped(recording_id) == position
    assert archive.getRecordingPosition(recording_id) == -1
    assert archive.getMaxRecordedPosition(recording_id) == position
    publication.close()


@pytest.mark.parametrize(
    "query",
    ["getStartPosition", "getStopPosition", "getRecordingPosition", "getMaxRecordedPosition"],
)
def test_positions_of_an_unknown_recording_are_refused(bench, query: str) -> None:
    with pytest.raises(JavaError, match="unknown recording id: 987654") as refused:
        bench.archive.call(query, 987_654)
    assert refused.value.code == 5


def test_recording_subscriptions_are_listed(bench) -> None:
    first = bench.record()
    second = bench.record("aeron:ipc?alias=other|tags=77|term-length=64k")
    listed = bench.archive.recording_subscriptions(
        channel="", stream=bench.stream_id, apply_stream=True
    )
    assert {(d["subscriptionId"], d["streamId"]) for d in listed} == {
        (first, bench.stream_id),
        (second, bench.stream_id),
    }
    assert {d["strippedChannel"] for d in listed} == {
        "aeron:ipc", "aeron:ipc?tags=77|alias=other",
    }  # fmt: skip
    (one,) = bench.archive.recording_subscriptions(
        channel="alias=other", stream=bench.stream_id, apply_stream=True
    )
    assert one["subscriptionId"] == second
    bench.archive.stopRecording(first)
    bench.archive.stopRecording(second)


REFUSED = [
    ("stopRecording", (123_456,), 4,
     "no recording subscription found for subscriptionId=123456"),
    ("extendRecording", (987_654, CHANNEL, 1, "LOCAL"), 5, "unknown recording id: 987654"),
    ("startRecording", ("junk", 1, "LOCAL"), 0, "Aeron URIs must start with 'aeron:', found: junk"),
    ("tryStopRecordingByIdentity", (987_654,), 5, "unknown recording id: 987654"),
]  # fmt: skip


@pytest.mark.error_log("Aeron URIs must start with")
@pytest.mark.parametrize(("method", "arguments", "code", "text"), REFUSED)
def test_requests_about_nothing_are_refused(bench, method, arguments, code, text) -> None:
    with pytest.raises(JavaError) as refused:
        bench.archive.call(method, *arguments)
    assert refused.value.code == code
    assert refused.value.message.endswith(text)


def test_stopping_a_channel_that_is_not_recorded_is_refused(bench) -> None:
    with pytest.raises(JavaError) as refused:
        bench.archive.stopRecording("aeron:ipc?alias=x", bench.stream_id)
    assert refused.value.code == 4
    assert refused.value.message.endswith(
        f"no recording found for streamId={bench.stream_id} channel=aeron:ipc?alias=x"
    )


def test_extending_with_another_stream_or_while_active_is_refused(bench) -> None:
    recording_id, _ = bench.recorded(1, 64)
    with pytest.raises(JavaError) as refused:
        bench.archive.extendRecording(recording_id, CHANNEL, bench.stream_id + 1, "LOCAL")
    assert refused.value.code == 5
    assert refused.value.message.endswith(
        f"cannot extend recording {recording_id} with streamId={bench.stream_id + 1}"
        f" for existing streamId={bench.stream_id}"
    )
    bench.record()
    publication = bench.publish()
    active = bench.recording_id(2)
    with pytest.raises(JavaError) as refused:
        bench.archive.extendRecording(active, "aeron:ipc?tags=5", bench.stream_id, "LOCAL")
    assert refused.value.code == 2
    assert refused.value.message.endswith(f"cannot extend active recording {active}")
    bench.archive.stopRecording(CHANNEL, bench.stream_id)
    publication.close()
