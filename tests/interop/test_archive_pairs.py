"""The reference's archive client and tools on our archive, and the same on the reference's own."""

import time

import peer
import pytest
from peer.counters import DriverCounters

from aerolog.transport.client import CountersReader

pytestmark = pytest.mark.interop
CHANNEL = "aeron:ipc?term-length=64k"
COUNT = 5000
LENGTH = 64
FRAME = 96  # header and payload; the first 682 of a term stand one after the other


def recorded(archive, client, stream_id, count=COUNT):
    """A stopped recording made through the reference's archive client: id and stop position."""
    archive.startRecording(CHANNEL, stream_id, "LOCAL")
    with client.add_publication(CHANNEL, stream_id) as publication:
        end = publication.offer_numbered(count, LENGTH)["position"]
        recording = only_recording(archive, stream_id)
        counters = [c for c in client.counters() if c["typeId"] == 100]
        assert recording["sessionId"] == publication.sessionId()
        assert any(f"rec-pos: {recording['recordingId']} " in c["label"] for c in counters)
    wait_signal(archive, recording["recordingId"], "STOP")
    archive.stopRecording(CHANNEL, stream_id)
    return recording["recordingId"], end


def only_recording(archive, stream_id):
    """The stream's one recording, which the archive makes once it has seen the publication."""
    deadline = time.monotonic() + 30
    while not (found := archive.recordings(channel="aeron:ipc", stream=stream_id)):
        assert time.monotonic() < deadline, f"no recording of stream {stream_id}"
    (recording,) = found
    return recording


def wait_signal(archive, recording_id, wanted):
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        for signal in archive.signals():
            if signal.get("recordingId") == recording_id and signal.get("signal") == wanted:
                return signal
    raise AssertionError(f"no {wanted} signal of recording {recording_id}")


def test_the_reference_s_client_records_lists_and_replays(any_archive, peer_client, stream_id):
    client = peer_client(any_archive.aeron_dir)
    archive = client.archive()
    recording_id, end = recorded(archive, client, stream_id)
    (entry,) = archive.recordings(recording_id=recording_id)
    assert (entry["startPosition"], entry["stopPosition"]) == (0, end)
    assert entry["originalChannel"] == CHANNEL
    assert archive.getStopPosition(recording_id) == archive.getMaxRecordedPosition(recording_id)
    replay = archive.replay(recording_id, 0, end, CHANNEL, stream_id + 50_000)
    got = replay.poll_numbered(COUNT, LENGTH)
    assert got == {"count": COUNT, "position": end, "first_wrong": None}


def test_the_reference_s_client_replays_from_the_middle(any_archive, peer_client, stream_id):
    client = peer_client(any_archive.aeron_dir)
    archive = client.archive()
    recording_id, _ = recorded(archive, client, stream_id)
    replay = archive.replay(recording_id, 500 * FRAME, -2, CHANNEL, stream_id + 50_000)
    count = COUNT - 500
    assert replay.poll_numbered(count, LENGTH, first=500)["first_wrong"] is None
    assert archive.getStartPosition(recording_id) == 0
    replay.close()


def test_the_reference_s_client_follows_a_live_recording(any_archive, peer_client, stream_id):
    client = peer_client(any_archive.aeron_dir)
    archive = client.archive()
    archive.startRecording(CHANNEL, stream_id, "REMOTE")
    publication = client.add_exclusive_publication(CHANNEL, stream_id)
    publication.offer_numbered(100, LENGTH)
    recording = only_recording(archive, stream_id)
    replay = archive.replay(recording["recordingId"], 0, (1 << 63) - 1, CHANNEL, stream_id + 50_000)
    assert replay.poll_numbered(100, LENGTH)["first_wrong"] is None
    publication.offer_numbered(100, LENGTH, first=100)
    assert replay.poll_numbered(100, LENGTH, first=100)["first_wrong"] is None
    assert archive.getStopPosition(recording["recordingId"]) == -1
    archive.stopRecording(CHANNEL, stream_id)


def test_the_reference_s_client_reads_the_events_stream(any_archive, java_client, stream_id):
    client = java_client(any_archive.aeron_dir)
    archive = client.archive()
    subscription = client.add_subscription("aeron:ipc", 30)
    deadline = time.monotonic() + 30
    while not subscription.isConnected():
        assert time.monotonic() < deadline, "no events stream"
    # A subscriber is given first what nobody had read before, and events that find no room are
    # lost: make room, and record few messages, since nobody reads while they are recorded.
    counters = DriverCounters(CountersReader(any_archive.aeron_dir))
    while subscription.poll(10_000, timeout=0.2) or not counters.is_stream_read(30):
        assert time.monotonic() < deadline, "old events do not end"
    recording_id, end = recorded(archive, client, stream_id, count=50)
    events = []
    deadline = time.monotonic() + 30
    while not events or events[-1]["event"] != "stop":
        assert time.monotonic() < deadline, events
        events += [
            event
            for event in archive.recording_events(subscription, 1)
            if event["recordingId"] == recording_id
        ]
    assert events[0]["event"] == "start"
    assert (events[0]["streamId"], events[0]["channel"]) == (stream_id, CHANNEL)
    assert events[-1]["stopPosition"] == end


def test_a_stream_of_ours_is_replayed_to_the_reference(
    any_archive, peer_client, our_archive_client, stream_id
):
    from peer.client import numbered_message

    ours = our_archive_client(any_archive.aeron_dir)
    ours.start_recording(CHANNEL, stream_id)
    with ours.aeron.add_publication(CHANNEL, stream_id) as publication:
        publication.wait_connected(30.0)
        for index in range(1000):
            end = publication.send(numbered_message(index, LENGTH), timeout=30.0)
        deadline = time.monotonic() + 30
        while not (found := list(ours.recordings(stream_id=stream_id))):
            assert time.monotonic() < deadline, f"no recording of stream {stream_id}"
        (recording,) = found
        ours.recording_position_counter(recording.recording_id).wait(end, timeout=30.0)
    ours.stop_recording(CHANNEL, stream_id)
    theirs = peer_client(any_archive.aeron_dir).archive()
    replay = theirs.replay(recording.recording_id, 0, end, CHANNEL, stream_id + 50_000)
    assert replay.poll_numbered(1000, LENGTH) == {
        "count": 1000,
        "position": end,
        "first_wrong": None,
    }


@pytest.mark.parametrize("implementation", ["ours", "reference"])
def test_archive_tool_reads_the_folder(implementation, start_server, java_client, stream_id):
    server = start_server(implementation, "archiving-driver")
    client = java_client(server.aeron_dir)
    recording_id, end = recorded(client.archive(), client, stream_id)
    live = peer.archive_tool(server.archive_dir, "describe")
    assert f"recordingId={recording_id}|" in live
    assert f"stopPosition={end}|" in live
    client.close()
    assert server.process.stop() == 0
    described = peer.archive_tool(server.archive_dir, "describe-all")
    assert f"recordingId={recording_id}|" in described
    dumped = peer.archive_tool(server.archive_dir, "dump", "1000000", stdin="n\n", check=False)
    assert f"recordingId={recording_id}" in dumped
    verified = peer.archive_tool(server.archive_dir, "verify", "-a", check=False)
    assert f"(recordingId={recording_id}) OK" in verified
    assert "ERR" not in verified


@pytest.mark.parametrize("first", ["ours", "reference"])
def test_a_folder_of_one_is_taken_over_by_the_other(
    first, start_server, java_client, stream_id, tmp_path
):
    second = "reference" if first == "ours" else "ours"
    server = start_server(first, "archiving-driver", archive_dir=tmp_path / "archive")
    client = java_client(server.aeron_dir)
    recording_id, end = recorded(client.archive(), client, stream_id)
    client.close()
    assert server.process.stop() == 0
    other = start_server(second, "archiving-driver", archive_dir=tmp_path / "archive")
    client = java_client(other.aeron_dir)
    archive = client.archive()
    assert archive.getStopPosition(recording_id) == end
    replay = archive.replay(recording_id, 0, end, CHANNEL, stream_id + 50_000)
    got = replay.poll_numbered(COUNT, LENGTH)
    assert got == {"count": COUNT, "position": end, "first_wrong": None}
    recorded(archive, client, stream_id + 1)
