"""The reference's archive client on archives of both makes: each storage request, by its name."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import peer
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.interop

CHANNEL = "aeron:ipc?term-length=64k"
SEGMENT = 128 * 1024
LENGTH = 1024 - 32  # with its header a message fills 1 KiB
PER_SEGMENT = SEGMENT // 1024
WAIT_S = 30.0


@dataclass
class Bench:
    """An archive, the reference's client, a stream of the test's own."""

    server: Any
    client: peer.JavaAeron
    archive: peer.JavaArchive
    stream_id: int

    def recorded(self, count: int, *, first: int = 0, channel: str = CHANNEL) -> dict[str, Any]:
        """A stopped recording of numbered messages: its descriptor."""
        known = {found["recordingId"] for found in self.recordings()}
        self.archive.startRecording(CHANNEL, self.stream_id, "LOCAL")
        with self.client.add_exclusive_publication(channel, self.stream_id) as publication:
            end = publication.offer_numbered(count, LENGTH, first=first)["position"]
            recording = self.new_recording(known)
        recording_id = recording["recordingId"]
        self.signal(recording_id, "STOP")
        self.archive.stopRecording(CHANNEL, self.stream_id)
        (recording,) = self.archive.recordings(recording_id=recording_id)
        assert recording["stopPosition"] == end
        return recording

    def new_recording(self, known: set[int]) -> dict[str, Any]:
        """The one that the archive makes once it has seen the publication."""
        deadline = time.monotonic() + WAIT_S
        while not (found := [f for f in self.recordings() if f["recordingId"] not in known]):
            assert time.monotonic() < deadline, f"no recording of stream {self.stream_id}"
        (recording,) = found
        return recording

    def recordings(self) -> list[dict[str, Any]]:
        """Descriptors of the stream."""
        return self.archive.recordings(channel="aeron:ipc", stream=self.stream_id)

    def signal(self, recording_id: int, wanted: str) -> None:
        """Wait for a signal."""
        deadline = time.monotonic() + WAIT_S
        while not any(
            found.get("recordingId") == recording_id and found.get("signal") == wanted
            for found in self.archive.signals()
        ):
            assert time.monotonic() < deadline, f"no {wanted} of {recording_id}"

    def files(self, recording_id: int) -> list[int]:
        """Positions at which the recording's segment files start."""
        names = [path.stem for path in self.server.archive_dir.glob(f"{recording_id}-*.rec")]
        return sorted(int(name.partition("-")[2]) for name in names)

    def check_replay(self, recording_id: int, first: int, count: int) -> None:
        """Replay a recording: it holds these messages."""
        position = self.archive.getStartPosition(recording_id)
        replay = self.archive.replay(
            recording_id, position, count * 1024, CHANNEL, self.stream_id + 50_000
        )
        got = replay.poll_numbered(count, LENGTH, first=first)
        assert (got["count"], got["first_wrong"]) == (count, None)
        replay.close()


@pytest.fixture
def bench(any_archive, java_client: Callable[..., peer.JavaAeron], stream_id: int) -> Bench:
    client = java_client(any_archive.aeron_dir)
    return Bench(any_archive, client, client.archive(), stream_id)


def test_truncate_recording(bench: Bench) -> None:
    recording_id = bench.recorded(3 * PER_SEGMENT + 5)["recordingId"]
    position = SEGMENT + 7 * 1024
    assert bench.archive.truncateRecording(recording_id, position) == 2
    bench.signal(recording_id, "DELETE")
    assert bench.archive.getStopPosition(recording_id) == position
    assert bench.files(recording_id) == [0, SEGMENT]
    bench.check_replay(recording_id, 0, PER_SEGMENT + 7)
    with pytest.raises(peer.JavaError, match="invalid position 262144: start=0 stop=138240"):
        bench.archive.truncateRecording(recording_id, 2 * SEGMENT)


def test_purge_recording(bench: Bench) -> None:
    recording_id = bench.recorded(2 * PER_SEGMENT + 5)["recordingId"]
    assert bench.archive.purgeRecording(recording_id) == 3
    bench.signal(recording_id, "DELETE")
    assert bench.recordings() == []
    assert bench.files(recording_id) == []
    with pytest.raises(peer.JavaError, match=f"unknown recording id: {recording_id}"):
        bench.archive.purgeRecording(recording_id)


def test_detach_segments_and_attach_segments(bench: Bench) -> None:
    recording_id = bench.recorded(2 * PER_SEGMENT + 5)["recordingId"]
    bench.archive.detachSegments(recording_id, 2 * SEGMENT)
    assert bench.archive.getStartPosition(recording_id) == 2 * SEGMENT
    assert bench.files(recording_id) == [0, SEGMENT, 2 * SEGMENT]
    bench.check_replay(recording_id, 2 * PER_SEGMENT, 5)
    assert bench.archive.attachSegments(recording_id) == 2
    bench.check_replay(recording_id, 0, 2 * PER_SEGMENT + 5)
    with pytest.raises(peer.JavaError, match="invalid segment start: newStartPosition=32"):
        bench.archive.detachSegments(recording_id, 32)


def test_delete_detached_segments(bench: Bench) -> None:
    recording_id = bench.recorded(3 * PER_SEGMENT + 5)["recordingId"]
    bench.archive.detachSegments(recording_id, 2 * SEGMENT)
    assert bench.archive.deleteDetachedSegments(recording_id) == 2
    bench.signal(recording_id, "DELETE")
    assert bench.files(recording_id) == [2 * SEGMENT, 3 * SEGMENT]
    assert bench.archive.attachSegments(recording_id) == 0


def test_purge_segments(bench: Bench) -> None:
    recording_id = bench.recorded(3 * PER_SEGMENT + 5)["recordingId"]
    assert bench.archive.purgeSegments(recording_id, 3 * SEGMENT) == 3
    bench.signal(recording_id, "DELETE")
    assert bench.files(recording_id) == [3 * SEGMENT]
    bench.check_replay(recording_id, 3 * PER_SEGMENT, 5)


def test_migrate_segments(bench: Bench) -> None:
    first = bench.recorded(2 * PER_SEGMENT)
    term_id = first["initialTermId"] + 2 * SEGMENT // first["termBufferLength"]
    second = bench.recorded(
        5,
        first=2 * PER_SEGMENT,
        channel=f"{CHANNEL}|init-term-id={first['initialTermId']}|term-id={term_id}|term-offset=0",
    )
    source, target = first["recordingId"], second["recordingId"]
    assert bench.archive.migrateSegments(source, target) == 2
    bench.signal(source, "DELETE")
    assert bench.files(source) == []
    assert bench.files(target) == [0, SEGMENT, 2 * SEGMENT]
    assert bench.archive.getStartPosition(target) == 0
    assert bench.archive.getStopPosition(source) == 0
    bench.check_replay(target, 0, 2 * PER_SEGMENT + 5)


def test_update_channel(bench: Bench) -> None:
    recording_id = bench.recorded(3)["recordingId"]
    before = bench.recordings()
    other = bench.recorded(4)["recordingId"]
    channel = CHANNEL + "|alias=" + "a-long-name-" * 20
    bench.archive.updateChannel(recording_id, channel)
    (changed,) = bench.archive.recordings(recording_id=recording_id)
    assert changed["originalChannel"] == channel
    assert changed["strippedChannel"].startswith("aeron:ipc?alias=a-long-name-")
    kept = {"originalChannel": before[0]["originalChannel"]}
    assert changed | kept | {"strippedChannel": "aeron:ipc"} == before[0]
    bench.check_replay(recording_id, 0, 3)
    bench.check_replay(other, 0, 4)
    with pytest.raises(peer.JavaError, match="RECORDING_UNKNOWN"):
        bench.archive.updateChannel(99_999, channel)


def test_find_last_matching_recording(bench: Bench) -> None:
    first, second = bench.recorded(1), bench.recorded(1)
    find = bench.archive.findLastMatchingRecording
    stream_id = bench.stream_id
    assert find(0, "ipc", stream_id, first["sessionId"]) == first["recordingId"]
    assert find(0, "", stream_id, second["sessionId"]) == second["recordingId"]
    assert find(second["recordingId"], "ipc", stream_id, first["sessionId"]) == -1
    assert find(0, "nothing has this", stream_id, first["sessionId"]) == -1
    channel = CHANNEL + "|alias=to-be-found"
    bench.archive.updateChannel(first["recordingId"], channel)
    assert find(0, "to-be-found", stream_id, first["sessionId"]) == first["recordingId"]
