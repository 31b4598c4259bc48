"""Starting, stopping and extending recordings."""

from __future__ import annotations

import pytest
from peer.client import JavaError
from peer.counters import DriverCounters
from waits import wait_until

from aerolog.transport.client import CountersReader

pytestmark = pytest.mark.interop

CHANNEL = "aeron:ipc?term-length=64k"


def test_a_stream_is_recorded_with_its_descriptor(bench) -> None:
    channel = "aeron:ipc?alias=plain|term-length=64k"
    bench.record(channel)
    publication = bench.publish(channel)
    position = publication.offer_numbered(500, 100)["position"]
    recording_id = bench.recording_id()
    bench.wait_recorded(recording_id, position)
    (active,) = bench.archive.recordings(recording_id=recording_id)
    assert (active["stopPosition"], active["stopTimestamp"]) == (-1, -1)
    publication.close()
    assert bench.wait_stopped(recording_id) == position
    bench.archive.stopRecording(channel, bench.stream_id)
    (stopped,) = bench.archive.recordings(recording_id=recording_id)
    assert stopped["stopPosition"] == position
    assert stopped["stopTimestamp"] >= stopped["startTimestamp"]
    expected = {
        "startPosition": 0,
        "segmentFileLength": 131072,
        "termBufferLength": 65536,
        "mtuLength": 1408,
        "streamId": bench.stream_id,
        "strippedChannel": "aeron:ipc?alias=plain",
        "originalChannel": channel,
        "sourceIdentity": "aeron:ipc",
    }
    assert {name: stopped[name] for name in expected} == expected


def test_signals_come_in_order_with_the_positions(bench) -> None:
    bench.record()
    publication = bench.publish()
    position = publication.offer_numbered(10, 64)["position"]
    bench.wait_recorded(bench.recording_id(), position)
    bench.archive.stopRecording(CHANNEL, bench.stream_id)
    assert bench.signals(2) == [("START", 0), ("STOP", position)]
    publication.close()


def test_a_subscription_records_each_image_as_a_recording_of_its_own(bench) -> None:
    subscription_id = bench.record()
    publications = [bench.publish() for _ in range(3)]
    first = bench.recording_id(3) - 2
    positions = [p.offer_numbered(i + 1, 200)["position"] for i, p in enumerate(publications)]
    for index, position in enumerate(positions):
        bench.wait_recorded(first + index, position)
    bench.archive.stopRecording(subscription_id)
    stops = [bench.wait_stopped(first + index) for index in range(3)]
    assert sorted(stops) == sorted(positions)
    for publication in publications:
        publication.close()


def test_a_recording_spans_segments_of_whole_terms(bench) -> None:
    recording_id, position = bench.recorded(4000, 100)
    assert position > 3 * 131072
    names = sorted(bench.server.archive_dir.glob(f"{recording_id}-*.rec"))
    bases = sorted(int(name.stem.partition("-")[2]) for name in names)
    assert bases == list(range(0, position, 131072))
    assert {name.stat().st_size for name in names} == {131072}


def test_a_recording_starts_where_its_publication_starts(bench) -> None:
    channel = "aeron:ipc?term-length=64k|init-term-id=7|term-id=9|term-offset=4096"
    bench.record("aeron:ipc")
    publication = bench.publish(channel)
    position = publication.offer_numbered(5, 100)["position"]
    recording_id = bench.recording_id()
    bench.wait_recorded(recording_id, position)
    assert bench.archive.getStartPosition(recording_id) == 2 * 65536 + 4096
    publication.close()
    bench.wait_stopped(recording_id)
    assert (bench.server.archive_dir / f"{recording_id}-131072.rec").exists()
    bench.archive.stopRecording("aeron:ipc", bench.stream_id)


def test_stop_by_identity_ends_one_recording_and_unlists_its_subscription(bench) -> None:
    subscription_id = bench.record()
    publications = [bench.publish() for _ in range(2)]
    second = bench.recording_id(2)
    first = second - 1
    assert bench.archive.tryStopRecordingByIdentity(first) is True
    bench.wait_stopped(first)
    assert bench.archive.getStopPosition(second) == -1
    with pytest.raises(JavaError) as refused:
        bench.archive.stopRecording(subscription_id)
    assert refused.value.code == 4
    assert f"no recording subscription found for subscriptionId={subscription_id}" in (
        refused.value.message
    )
    # The second one ends, and the archive says that it did nothing.
    assert bench.archive.tryStopRecordingByIdentity(second) is False
    bench.wait_stopped(second)
    assert bench.archive.tryStopRecordingByIdentity(first) is False
    for publication in publications:
        publication.close()


def test_auto_stop_ends_the_subscription_with_its_first_recording(bench) -> None:
    bench.archive.startRecording(CHANNEL, bench.stream_id, "LOCAL", True)
    publications = [bench.publish() for _ in range(2)]
    second = bench.recording_id(2)
    publications[0].close()
    bench.wait_stopped(second - 1)
    bench.wait_stopped(second)
    bench.wait_unsubscribed()
    with pytest.raises(JavaError) as refused:
        bench.archive.stopRecording(CHANNEL, bench.stream_id)
    assert refused.value.code == 4
    publications[1].close()


def test_a_stopped_channel_can_be_started_again_at_once(bench) -> None:
    first = bench.record()
    bench.archive.stopRecording(CHANNEL, bench.stream_id)
    second = bench.record()
    assert second != first
    bench.archive.stopRecording(second)


def test_parameters_that_say_how_do_not_tell_recorded_channels_apart(bench) -> None:
    bench.record("aeron:ipc?tags=9|term-length=64k")
    with pytest.raises(JavaError) as refused:
        bench.record("aeron:ipc?tags=9|alias=q|mtu=4096")
    assert refused.value.code == 3
    assert refused.value.message.endswith(
        f"recording exists for streamId={bench.stream_id} channel=aeron:ipc?tags=9|alias=q|mtu=4096"
    )
    bench.archive.stopRecording("aeron:ipc?tags=9", bench.stream_id)


def test_a_publication_can_be_recorded_by_its_session(bench) -> None:
    publication = bench.archive.addRecordedExclusivePublication(CHANNEL, bench.stream_id)
    recording_id = bench.recording_id()
    (descriptor,) = bench.archive.recordings(recording_id=recording_id)
    assert descriptor["sessionId"] == publication.sessionId()
    assert descriptor["originalChannel"].endswith(f"session-id={publication.sessionId()}")
    bench.archive.stopRecording(publication)
    bench.wait_stopped(recording_id)
    publication.close()


def test_an_extension_goes_on_where_the_recording_stopped(bench) -> None:
    recording_id, stop = bench.recorded(1000, 100)
    (descriptor,) = bench.archive.recordings(recording_id=recording_id)
    initial = descriptor["initialTermId"]
    term_id = (initial + stop // 65536 + 2**31) % 2**32 - 2**31
    channel = (
        f"aeron:ipc?term-length=64k|init-term-id={initial}|term-id={term_id}"
        f"|term-offset={stop % 65536}"
    )
    publication = bench.client.add_exclusive_publication(channel, bench.stream_id)
    bench.archive.extendRecording(recording_id, channel, bench.stream_id, "LOCAL")
    position = publication.offer_numbered(1000, 100, first=1000)["position"]
    bench.wait_recorded(recording_id, position)
    assert ("EXTEND", stop) in bench.signals(3)
    bench.archive.stopRecording(channel, bench.stream_id)
    assert bench.wait_stopped(recording_id) == position
    (extended,) = bench.archive.recordings(recording_id=recording_id)
    assert extended["sessionId"] == publication.sessionId()
    replay = bench.archive.replay(recording_id, 0, position, "aeron:ipc", bench.stream_id + 50_000)
    assert replay.poll_numbered(2000, 100)["count"] == 2000
    publication.close()


@pytest.mark.error_log("cannot extend recording")
def test_an_extension_that_does_not_fit_is_refused_after_its_ok(bench) -> None:
    recording_id, stop = bench.recorded(100, 100)
    bench.archive.signals()
    bench.archive.extendRecording(recording_id, CHANNEL, bench.stream_id, "LOCAL", True)
    publication = bench.client.add_exclusive_publication(CHANNEL, bench.stream_id)
    error = wait_until(bench.archive.pollForErrorResponse, "the error")
    assert (
        f"cannot extend recording {recording_id} image.joinPosition=0 != rec.stopPosition={stop}"
        in error
    )
    publication.close()


def test_recording_events_tell_start_progress_and_stop(bench) -> None:
    events = bench.client.add_subscription("aeron:ipc", 30)
    wait_until(events.isConnected, "the events stream")
    # A subscriber is given first what nobody had read before; events without room are lost.
    counters = DriverCounters(CountersReader(bench.server.aeron_dir))
    wait_until(
        lambda: not events.poll(10_000, timeout=0.2) and counters.is_stream_read(30),
        "the end of earlier events",
    )
    bench.record()
    publication = bench.publish()
    position = publication.offer_numbered(20, 100)["position"]
    recording_id = bench.recording_id()
    bench.wait_recorded(recording_id, position)
    bench.archive.stopRecording(CHANNEL, bench.stream_id)
    bench.wait_stopped(recording_id)
    publication.close()
    found = []

    def stopped() -> bool:
        found.extend(
            event
            for event in bench.archive.recording_events(events, 1)
            if event["recordingId"] == recording_id
        )
        return bool(found) and found[-1]["event"] == "stop"

    wait_until(stopped, "the event of the end")
    assert [found[0]["event"], found[-1]["event"]] == ["start", "stop"]
    assert found[0]["channel"] == CHANNEL
    assert found[0]["sourceIdentity"] == "aeron:ipc"
    progress = [event["position"] for event in found if event["event"] == "progress"]
    assert progress == sorted(set(progress))
    assert progress[-1] == position == found[-1]["stopPosition"]
