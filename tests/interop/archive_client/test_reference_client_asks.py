"""Every request that the reference's client can send, to an archive of either make.

A test's name holds the request and whose the archive is. What was sent is read from the control
stream itself, so that no test passes for another request's sake.
"""

import time
from collections.abc import Callable
from typing import Any

import peer
import pytest

from aerolog.archive import protocol as ap
from aerolog.transport.errors import ArchiveErrorCode
from aerolog.transport.uri import ChannelUri

from .conftest import CHANNEL, FRAME, SEGMENT, WAIT_S

pytestmark = pytest.mark.interop
LENGTH = FRAME - 32
UNKNOWN = 99_999
IN_A_SEGMENT = SEGMENT // FRAME
PARAMS = "io.aeron.archive.client."
Proof = Callable[["Bench"], None]
PROOFS: dict[type[ap.Message], Proof] = {}


def proves(*requests: type[ap.Message]) -> Callable[[Proof], Proof]:
    """Note what a function proves."""

    def note(proof: Proof) -> Proof:
        for request in requests:
            assert request not in PROOFS
            PROOFS[request] = proof
        return proof

    return note


class Bench:
    """A client of the reference on an archive, and an ear at the archive's door."""

    def __init__(self, server: Any, java_client: Any, ear: Any, stream_id: int) -> None:
        self.server, self.java_client, self.stream_id = server, java_client, stream_id
        self.client = java_client(server.aeron_dir)
        self._ear = ear.add_subscription("aeron:ipc", 10)
        self._heard: set[type[ap.Message] | None] = set()
        self._seen: list[dict[str, Any]] = []
        self.archive = self.client.archive()

    def heard(self) -> set[type[ap.Message] | None]:
        """The kinds of request that have come to the ear from clients of this test.

        A request that was answered may not be in yet: the ear's client looks for new images no
        sooner than its thread wakes. Publications of earlier tests, which linger, do not count.
        """
        for image in self._ear.images:
            if image.correlation_id < self._ear.registration_id:
                continue
            for received in image.poll_messages(1000):
                message = ap.decode(received.data)
                self._heard.add(None if message is None else type(message))
        return self._heard

    def until_heard(self, kind: type[ap.Message]) -> None:
        """Wait until a request of this kind has come to the ear."""
        self.until(lambda: kind in self.heard(), f"{kind.__name__} to be heard")

    def until(self, condition: Callable[[], Any], what: str) -> Any:
        """The first true answer of a condition; fails when none comes in time."""
        deadline = time.monotonic() + WAIT_S
        while not (answer := condition()):
            assert time.monotonic() < deadline, f"not within {WAIT_S} s: {what}"
            self.heard()  # an ear that is full stops the client's mouth
            time.sleep(0.001)
        return answer

    def signal(self, kind: str, **wanted: int) -> dict[str, Any]:
        """The next signal of a kind, and of what else is wanted."""

        def find() -> dict[str, Any] | None:
            self._seen += self.archive.signals()
            for index, event in enumerate(self._seen):
                if event.get("signal") == kind and wanted.items() <= event.items():
                    return self._seen.pop(index)
            return None

        return self.until(find, f"signal {kind} of {wanted}")

    def live(self, count: int) -> tuple[int, Any, int]:
        """A recording that goes on: its id, its publication, and the position."""
        self.archive.startRecording(CHANNEL, self.stream_id, "LOCAL")
        publication = self.client.add_exclusive_publication(CHANNEL, self.stream_id)
        recording_id = self.signal("START")["recordingId"]
        position = publication.offer_numbered(count, LENGTH)["position"]
        self.recorded(recording_id, position)
        return recording_id, publication, position

    def recorded(self, recording_id: int, position: int) -> None:
        """Wait until a position is recorded."""
        self.until(
            lambda: self.archive.getRecordingPosition(recording_id) == position,
            f"{position} to be recorded",
        )

    def stopped(self, count: int) -> int:
        """The id of a recording of so many frames that has stopped."""
        recording_id, publication, _ = self.live(count)
        self.archive.stopRecording(CHANNEL, self.stream_id)
        self.signal("STOP", recordingId=recording_id)
        publication.close()
        return recording_id

    def holds(self, recording_id: int, count: int, first: int = 0) -> None:
        """Replay a recording and compare every byte."""
        begin = self.archive.getStartPosition(recording_id)
        end = self.archive.getStopPosition(recording_id)
        assert end - begin == count * FRAME
        replay = self.archive.replay(
            recording_id, begin, end - begin, CHANNEL, self.stream_id + 50_000
        )
        got = replay.poll_numbered(count, LENGTH, first=first)
        assert got == {"count": count, "position": end, "first_wrong": None}
        replay.close()

    def without_subscription(self) -> None:
        """Wait until a recording that stops by itself has let go of its subscription."""
        wanted = {"channel": "", "stream": self.stream_id, "apply_stream": True}
        self.until(
            lambda: not self.archive.recording_subscriptions(**wanted),
            "the subscription to be closed",
        )

    def refused(self, code: ArchiveErrorCode, method: str, *args: Any) -> None:
        """The archive refuses a call with this code."""
        with pytest.raises(peer.JavaError) as refused:
            self.archive.call(method, *args)
        assert refused.value.code == code


@pytest.fixture
def bench(any_archive: Any, java_client: Any, our_client: Any, stream_id: int) -> Bench:
    """A client of the reference on an archive of either make."""
    return Bench(any_archive, java_client, our_client(any_archive.aeron_dir), stream_id)


def continued(bench: Bench, recording_id: int) -> str:
    """The channel of a publication that goes on where a recording ends."""
    (descriptor,) = bench.archive.recordings(recording_id=recording_id)
    return str(
        ChannelUri.parse(CHANNEL).with_position(
            descriptor["stopPosition"],
            descriptor["initialTermId"],
            descriptor["termBufferLength"],
        )
    )


# -- sessions -----------------------------------------------------------------------------------


@proves(ap.AuthConnectRequest, ap.ArchiveIdRequest, ap.KeepAliveRequest, ap.CloseSessionRequest)
def a_session_is_made_and_closed(bench: Bench) -> None:
    other = bench.client.archive()
    assert other.control_session_id != bench.archive.control_session_id
    assert other.archiveId() == bench.archive.archive_id
    other.close()
    bench.until_heard(ap.CloseSessionRequest)
    assert bench.archive.archiveId() == bench.archive.archive_id


# -- recordings ---------------------------------------------------------------------------------


@proves(ap.StartRecordingRequest, ap.StopRecordingRequest)
def a_recording_starts_and_stops(bench: Bench) -> None:
    recording_id, _, position = bench.live(5)
    bench.archive.stopRecording(CHANNEL, bench.stream_id)
    bench.signal("STOP", recordingId=recording_id)
    assert bench.archive.getStopPosition(recording_id) == position
    assert bench.archive.tryStopRecording(CHANNEL, bench.stream_id) is False
    bench.refused(ArchiveErrorCode.UNKNOWN_SUBSCRIPTION, "stopRecording", CHANNEL, bench.stream_id)
    bench.holds(recording_id, 5)


@proves(ap.StartRecordingRequest2)
def a_recording_stops_with_its_image(bench: Bench) -> None:
    bench.archive.startRecording(CHANNEL, bench.stream_id, "REMOTE", True)
    publication = bench.client.add_exclusive_publication(CHANNEL, bench.stream_id)
    position = publication.offer_numbered(3, LENGTH)["position"]
    publication.close()
    assert bench.signal("STOP")["position"] == position
    bench.without_subscription()
    assert bench.archive.tryStopRecording(CHANNEL, bench.stream_id) is False


def extend(bench: Bench, *auto_stop: bool) -> None:
    recording_id = bench.stopped(10)
    publication = bench.client.add_exclusive_publication(
        continued(bench, recording_id), bench.stream_id
    )
    subscription_id = bench.archive.extendRecording(
        recording_id, CHANNEL, bench.stream_id, "LOCAL", *auto_stop
    )
    extended = bench.signal("EXTEND", recordingId=recording_id)
    assert (extended["position"], extended["subscriptionId"]) == (10 * FRAME, subscription_id)
    bench.recorded(recording_id, publication.offer_numbered(5, LENGTH, first=10)["position"])
    publication.close()
    bench.signal("STOP", recordingId=recording_id)
    bench.holds(recording_id, 15)
    if auto_stop:
        bench.without_subscription()
    assert bench.archive.tryStopRecording(subscription_id) is (not auto_stop)


@proves(ap.ExtendRecordingRequest, ap.StopRecordingSubscriptionRequest)
def a_recording_is_extended(bench: Bench) -> None:
    extend(bench)


@proves(ap.ExtendRecordingRequest2)
def a_recording_is_extended_until_its_image_ends(bench: Bench) -> None:
    extend(bench, True)


@proves(ap.StopRecordingByIdentityRequest)
def a_recording_stops_by_its_id(bench: Bench) -> None:
    recording_id, _, _ = bench.live(3)
    assert bench.archive.tryStopRecordingByIdentity(recording_id) is True
    bench.signal("STOP", recordingId=recording_id)
    assert bench.archive.tryStopRecordingByIdentity(recording_id) is False


# -- replays ------------------------------------------------------------------------------------


@proves(ap.ReplayRequest)
def a_recording_is_replayed_from_the_middle(bench: Bench) -> None:
    recording_id = bench.stopped(20)
    replay = bench.archive.replay(
        recording_id, 5 * FRAME, 10 * FRAME, CHANNEL, bench.stream_id + 50_000
    )
    got = replay.poll_numbered(10, LENGTH, first=5)
    assert got == {"count": 10, "position": 15 * FRAME, "first_wrong": None}


@proves(ap.BoundedReplayRequest)
def a_replay_stays_behind_a_counter(bench: Bench) -> None:
    recording_id = bench.stopped(20)
    limit = bench.client.addCounter(1001, "limit of a replay")
    limit.setRelease(4 * FRAME)
    stream_id = bench.stream_id + 50_000
    subscription = bench.client.add_subscription(CHANNEL, stream_id)
    bench.archive.startBoundedReplay(recording_id, 0, 20 * FRAME, limit.id(), CHANNEL, stream_id)
    got = subscription.poll_numbered(4, LENGTH)
    assert got == {"count": 4, "position": 4 * FRAME, "first_wrong": None}
    assert subscription.poll(10, timeout=0.1) == []
    limit.setRelease(20 * FRAME)
    got = subscription.poll_numbered(16, LENGTH, first=4)
    assert got == {"count": 16, "position": 20 * FRAME, "first_wrong": None}


@proves(ap.ReplayTokenRequest)
def a_replay_comes_over_a_response_channel(bench: Bench) -> None:
    recording_id = bench.stopped(5)
    params = bench.client.peer.new(f"{PARAMS}ReplayParams")
    channel = "aeron:ipc?control-mode=response"
    replay = bench.archive.replay(recording_id, channel, bench.stream_id + 50_000, params)
    assert replay.poll_numbered(5, LENGTH)["first_wrong"] is None


@proves(ap.StopReplayRequest, ap.StopAllReplaysRequest)
def replays_are_stopped(bench: Bench) -> None:
    recording_id, _, _ = bench.live(5)
    stops = (bench.archive.stopReplay, lambda _: bench.archive.stopAllReplays(recording_id))
    for stop, offset in zip(stops, (50_000, 60_000), strict=True):
        subscription = bench.client.add_subscription(CHANNEL, bench.stream_id + offset)
        replay = bench.archive.startReplay(recording_id, 0, -1, CHANNEL, bench.stream_id + offset)
        assert subscription.poll_numbered(5, LENGTH)["first_wrong"] is None
        stop(replay)
        bench.until(lambda s=subscription: not s.isConnected(), "the replay to end")
        subscription.close()


# -- questions ----------------------------------------------------------------------------------


@proves(ap.ListRecordingRequest, ap.ListRecordingsRequest, ap.ListRecordingsForUriRequest)
def recordings_are_listed(bench: Bench) -> None:
    recording_id = bench.stopped(3)
    (one,) = bench.archive.recordings(recording_id=recording_id)
    assert (one["stopPosition"], one["originalChannel"]) == (3 * FRAME, CHANNEL)
    assert bench.archive.recordings(recording_id=UNKNOWN) == []
    assert bench.archive.recordings(from_=recording_id, count=1) == [one]
    assert bench.archive.recordings(channel="ipc", stream=bench.stream_id) == [one]
    assert bench.archive.recordings(channel="udp", stream=bench.stream_id) == []


@proves(ap.ListRecordingSubscriptionsRequest)
def recording_subscriptions_are_listed(bench: Bench) -> None:
    channels = [f"{CHANNEL}|session-id={session}" for session in (4711, 4712)]
    ids = {bench.archive.startRecording(channel, bench.stream_id, "LOCAL") for channel in channels}
    ask = bench.archive.recording_subscriptions
    found = ask(channel="", stream=bench.stream_id, apply_stream=True)
    assert {one["subscriptionId"] for one in found} == ids
    (named,) = ask(channel="session-id=4712", stream=bench.stream_id, apply_stream=True)
    assert named["strippedChannel"] == "aeron:ipc?session-id=4712"
    for channel in channels:
        bench.archive.stopRecording(channel, bench.stream_id)


@proves(ap.FindLastMatchingRecordingRequest)
def the_last_recording_of_a_session_is_found(bench: Bench) -> None:
    recording_id = bench.stopped(3)
    (one,) = bench.archive.recordings(recording_id=recording_id)
    wanted = ("ipc", bench.stream_id, one["sessionId"])
    assert bench.archive.findLastMatchingRecording(0, *wanted) == recording_id
    assert bench.archive.findLastMatchingRecording(recording_id + 1, *wanted) == -1


@proves(
    ap.StartPositionRequest,
    ap.StopPositionRequest,
    ap.RecordingPositionRequest,
    ap.MaxRecordedPositionRequest,
)
def positions_are_told(bench: Bench) -> None:
    recording_id, _, position = bench.live(3)
    archive = bench.archive
    assert archive.getStartPosition(recording_id) == 0
    assert archive.getStopPosition(recording_id) == -1
    assert archive.getRecordingPosition(recording_id) == position
    assert archive.getMaxRecordedPosition(recording_id) == position
    archive.stopRecording(CHANNEL, bench.stream_id)
    bench.signal("STOP", recordingId=recording_id)
    assert archive.getStopPosition(recording_id) == position
    assert archive.getRecordingPosition(recording_id) == -1
    assert archive.getMaxRecordedPosition(recording_id) == position
    bench.refused(ArchiveErrorCode.UNKNOWN_RECORDING, "getStartPosition", UNKNOWN)


# -- storage ------------------------------------------------------------------------------------


@proves(ap.TruncateRecordingRequest)
def a_recording_is_cut(bench: Bench) -> None:
    recording_id = bench.stopped(2 * IN_A_SEGMENT + 10)
    count = IN_A_SEGMENT + 5
    assert bench.archive.truncateRecording(recording_id, count * FRAME) == 1
    bench.signal("DELETE", recordingId=recording_id)
    bench.holds(recording_id, count)
    bench.refused(ArchiveErrorCode.INVALID_POSITION, "truncateRecording", recording_id, 33)


@proves(ap.PurgeRecordingRequest)
def a_recording_is_purged(bench: Bench) -> None:
    recording_id = bench.stopped(IN_A_SEGMENT + 10)
    assert bench.archive.purgeRecording(recording_id) == 2
    bench.signal("DELETE", recordingId=recording_id)
    assert bench.archive.recordings(recording_id=recording_id) == []
    assert list(bench.server.archive_dir.glob(f"{recording_id}-*")) == []
    bench.refused(ArchiveErrorCode.UNKNOWN_RECORDING, "purgeRecording", recording_id)


@proves(ap.DetachSegmentsRequest, ap.AttachSegmentsRequest)
def segments_are_detached_and_attached(bench: Bench) -> None:
    recording_id = bench.stopped(2 * IN_A_SEGMENT + 10)
    bench.archive.detachSegments(recording_id, SEGMENT)
    bench.holds(recording_id, IN_A_SEGMENT + 10, first=IN_A_SEGMENT)
    assert bench.archive.attachSegments(recording_id) == 1
    bench.holds(recording_id, 2 * IN_A_SEGMENT + 10)


@proves(ap.DeleteDetachedSegmentsRequest)
def detached_segments_are_deleted(bench: Bench) -> None:
    recording_id = bench.stopped(2 * IN_A_SEGMENT + 10)
    bench.archive.detachSegments(recording_id, 2 * SEGMENT)
    assert bench.archive.deleteDetachedSegments(recording_id) == 2
    bench.signal("DELETE", recordingId=recording_id)
    assert bench.archive.attachSegments(recording_id) == 0
    bench.holds(recording_id, 10, first=2 * IN_A_SEGMENT)


@proves(ap.PurgeSegmentsRequest)
def segments_are_purged(bench: Bench) -> None:
    recording_id = bench.stopped(2 * IN_A_SEGMENT + 10)
    assert bench.archive.purgeSegments(recording_id, 2 * SEGMENT) == 2
    bench.signal("DELETE", recordingId=recording_id)
    bench.holds(recording_id, 10, first=2 * IN_A_SEGMENT)
    bench.refused(ArchiveErrorCode.GENERIC, "purgeSegments", recording_id, 33)


@proves(ap.MigrateSegmentsRequest)
def segments_are_migrated(bench: Bench) -> None:
    first = bench.stopped(2 * IN_A_SEGMENT)
    bench.archive.startRecording(CHANNEL, bench.stream_id, "LOCAL")
    publication = bench.client.add_exclusive_publication(continued(bench, first), bench.stream_id)
    second = bench.signal("START")["recordingId"]
    publication.offer_numbered(5, LENGTH, first=2 * IN_A_SEGMENT)
    publication.close()
    bench.signal("STOP", recordingId=second)
    assert bench.archive.getStartPosition(second) == 2 * SEGMENT
    assert bench.archive.migrateSegments(first, second) == 2
    bench.holds(second, 2 * IN_A_SEGMENT + 5)
    bench.archive.stopRecording(CHANNEL, bench.stream_id)


@proves(ap.UpdateChannelRequest)
def a_recording_s_channel_is_changed(bench: Bench) -> None:
    recording_id = bench.stopped(3)
    channel = f"{CHANNEL}|alias=renamed-and-longer-than-before"
    bench.archive.updateChannel(recording_id, channel)
    (changed,) = bench.archive.recordings(recording_id=recording_id)
    assert changed["originalChannel"] == channel
    bench.holds(recording_id, 3)


# -- replication --------------------------------------------------------------------------------


@proves(ap.ReplicateRequest2, ap.StopReplicationRequest)
def recordings_are_replicated_and_replications_stopped(bench: Bench) -> None:
    source = bench.stopped(20)
    params = bench.client.peer.new(f"{PARAMS}ReplicationParams").stopPosition(10 * FRAME)
    archive = bench.archive
    forms = (
        (lambda: archive.replicate(source, -1, 10, "aeron:ipc", ""), 20),
        (lambda: archive.taggedReplicate(source, -1, 5001, 5002, 10, "aeron:ipc", ""), 20),
        (lambda: archive.replicate(source, 10, "aeron:ipc", params), 10),
    )
    for replicate, count in forms:
        replication_id = replicate()
        copy = bench.signal("REPLICATE", correlationId=replication_id)["recordingId"]
        bench.signal("REPLICATE_END", correlationId=replication_id)
        bench.signal("STOP", recordingId=copy)
        bench.holds(copy, count)
    nowhere = bench.archive.replicate(0, -1, 7777, "aeron:ipc", "")
    assert bench.archive.tryStopReplication(nowhere) is True
    bench.signal("REPLICATE_END", correlationId=nowhere)
    assert bench.archive.tryStopReplication(nowhere) is False
    bench.refused(ArchiveErrorCode.UNKNOWN_REPLICATION, "stopReplication", nowhere)


@pytest.mark.parametrize("request_kind", PROOFS, ids=lambda kind: kind.__name__)
def test_the_reference_s_client_asks(bench: Bench, request_kind: type[ap.Message]) -> None:
    PROOFS[request_kind](bench)
    bench.until_heard(request_kind)


# What it cannot send: requests that only older clients know, and what needs a guarded archive.
ELSEWHERE = {
    ap.ConnectRequest,
    ap.ReplicateRequest,
    ap.TaggedReplicateRequest,
    ap.ChallengeResponse,
}


def test_no_request_of_the_reference_s_client_is_left_out() -> None:
    sent = {
        kind
        for kind in ap.MESSAGES.values()
        if "Request" in kind.__name__ or kind is ap.ChallengeResponse
    }
    assert set(PROOFS) == sent - ELSEWHERE
