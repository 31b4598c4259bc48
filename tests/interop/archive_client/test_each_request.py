"""Every request of the protocol, sent by our client to an archive of either make.

A test's name holds the request, the form of our client and whose the archive is.
"""

from collections.abc import Awaitable, Callable

import pytest

from aerolog.archive import protocol as ap
from aerolog.archive.client import RecordingSignal, SourceLocation
from aerolog.archive.client.request import Request
from aerolog.transport.errors import ArchiveError, ArchiveErrorCode
from aerolog.transport.uri import ChannelUri

from .conftest import CHANNEL, FRAME, SEGMENT, WAIT_S, Bench, connect, payload, settle, until

pytestmark = pytest.mark.interop
UNKNOWN = 99_999
IN_A_SEGMENT = SEGMENT // FRAME
Proof = Callable[[Bench], Awaitable[None]]
PROOFS: dict[type[ap.Message], Proof] = {}
# Of no client in use (it has no credentials), and those that need a guarded archive: see
# test_credentials.py.
ELSEWHERE = {ap.ConnectRequest, ap.ChallengeResponse}


def proves(*requests: type[ap.Message]) -> Callable[[Proof], Proof]:
    """Note what a function proves."""

    def note(proof: Proof) -> Proof:
        for request in requests:
            assert request not in PROOFS
            PROOFS[request] = proof
        return proof

    return note


def test_no_request_is_left_out() -> None:
    requests = {
        kind
        for kind in ap.MESSAGES.values()
        if kind.__name__.endswith("Request")
        or kind.__name__.endswith("Request2")
        or kind is ap.ChallengeResponse
    }
    assert set(PROOFS) == requests - ELSEWHERE


@pytest.mark.parametrize("request_kind", PROOFS, ids=lambda kind: kind.__name__)
async def test_our_client_asks(bench: Bench, request_kind: type[ap.Message]) -> None:
    await PROOFS[request_kind](bench)
    assert request_kind in bench.sent


# -- sessions -----------------------------------------------------------------------------------


@proves(ap.AuthConnectRequest, ap.ArchiveIdRequest, ap.KeepAliveRequest)
async def a_session_is_made(bench: Bench) -> None:
    client = bench.archive.client
    assert bench.sent == [ap.AuthConnectRequest, ap.ArchiveIdRequest, ap.KeepAliveRequest]
    assert await bench.archive.query_archive_id() == client.archive_id
    assert client.control_session_id >= 0


@proves(ap.CloseSessionRequest)
async def a_session_is_closed(bench: Bench) -> None:
    form = "awaited" if "Async" in type(bench.archive.client).__name__ else "waiting"
    other = await connect(form, bench.aeron)
    publication = other.client.conversation.session.stream.publication
    offered = []

    class Spy:
        closed, is_connected = False, True

        def offer(self, data: bytes) -> int:
            bench.sent.append(type(ap.decode(data)))
            offered.append(publication.offer(data))
            return offered[-1]

        def close(self) -> None:
            """Left open: only the request ends the session."""

    responses = bench.aeron.add_subscription("aeron:ipc", 20)
    gone = other.client.conversation.session.stream.subscription
    (image,) = gone.images
    other.client.conversation.session.stream.publication = Spy()
    other.client.conversation.session.stream.subscription = responses
    await settle(other.client.close())
    assert offered[0] > 0
    await until(lambda: image.closed or image.is_end_of_stream, "the archive to end the session")
    gone.close()
    publication.close()


# -- recordings ---------------------------------------------------------------------------------


@proves(ap.StartRecordingRequest)
async def a_recording_starts(bench: Bench) -> None:
    recording_id, _, position = await bench.live(5)
    assert await bench.archive.recording_position(recording_id) == position
    (subscription,) = await bench.archive.list_recording_subscriptions(stream_id=bench.stream_id)
    assert subscription.stream_id == bench.stream_id


@proves(ap.StartRecordingRequest2)
async def a_recording_starts_and_stops_with_its_image(bench: Bench) -> None:
    archive = bench.archive
    await archive.start_recording(CHANNEL, bench.stream_id, SourceLocation.REMOTE, auto_stop=True)
    with bench.aeron.add_publication(CHANNEL, bench.stream_id) as publication:
        position = bench.publish(publication, 3)
    assert (await archive.signal(RecordingSignal.STOP)).position == position
    await bench.without_subscription()
    assert await archive.try_stop_recording(CHANNEL, bench.stream_id) is False


async def extend(bench: Bench, *, auto_stop: bool | None) -> None:
    recording = await bench.stopped(10)
    channel = ChannelUri.parse(CHANNEL).with_position(
        recording.stop_position, recording.initial_term_id, recording.term_buffer_length
    )
    with bench.aeron.add_exclusive_publication(str(channel), bench.stream_id) as publication:
        subscription_id = await bench.archive.extend_recording(
            recording.recording_id, CHANNEL, bench.stream_id, auto_stop=auto_stop
        )
        extended = await bench.archive.signal(RecordingSignal.EXTEND)
        assert (extended.recording_id, extended.position, extended.subscription_id) == (
            recording.recording_id,
            recording.stop_position,
            subscription_id,
        )
        await bench.recorded(recording.recording_id, bench.publish(publication, 5, first=10))
    await bench.archive.signal(RecordingSignal.STOP)
    got = await bench.messages(recording.recording_id)
    assert got == [payload(index) for index in range(15)]
    if auto_stop:
        await bench.without_subscription()
    left = await bench.archive.try_stop_recording_subscription(subscription_id)
    assert left is (not auto_stop)


@proves(ap.ExtendRecordingRequest)
async def a_recording_is_extended(bench: Bench) -> None:
    await extend(bench, auto_stop=None)


@proves(ap.ExtendRecordingRequest2)
async def a_recording_is_extended_until_its_image_ends(bench: Bench) -> None:
    await extend(bench, auto_stop=True)


@proves(ap.StopRecordingRequest)
async def a_recording_stops_by_channel_and_stream(bench: Bench) -> None:
    recording_id, _, position = await bench.live(5)
    await bench.archive.stop_recording(CHANNEL, bench.stream_id)
    await bench.archive.signal(RecordingSignal.STOP)
    assert await bench.archive.stop_position(recording_id) == position
    assert await bench.archive.try_stop_recording(CHANNEL, bench.stream_id) is False
    with pytest.raises(ArchiveError) as refused:
        await bench.archive.stop_recording(CHANNEL, bench.stream_id)
    assert refused.value.code == ArchiveErrorCode.UNKNOWN_SUBSCRIPTION


@proves(ap.StopRecordingSubscriptionRequest)
async def a_recording_stops_by_its_subscription(bench: Bench) -> None:
    for stop in (
        bench.archive.stop_recording_subscription,
        bench.archive.try_stop_recording_subscription,
    ):
        await stop(await bench.archive.start_recording(CHANNEL, bench.stream_id))
        left = await bench.archive.list_recording_subscriptions(stream_id=bench.stream_id)
        assert left == []
    assert await bench.archive.try_stop_recording_subscription(UNKNOWN) is False


@proves(ap.StopRecordingByIdentityRequest)
async def a_recording_stops_by_its_id(bench: Bench) -> None:
    recording_id, _, _ = await bench.live(5)
    assert await bench.archive.stop_recording_by_identity(recording_id) is True
    await bench.archive.signal(RecordingSignal.STOP)
    assert await bench.archive.stop_recording_by_identity(recording_id) is False


# -- replays ------------------------------------------------------------------------------------


@proves(ap.ReplayRequest)
async def a_recording_is_replayed(bench: Bench) -> None:
    recording = await bench.stopped(20)
    got = await bench.messages(recording.recording_id, 5 * FRAME, 15 * FRAME)
    assert got == [payload(index) for index in range(5, 15)]


@proves(ap.BoundedReplayRequest)
async def a_replay_stays_behind_a_counter(bench: Bench) -> None:
    recording = await bench.stopped(20)
    with bench.aeron.add_counter(1001, "limit of a replay") as limit:
        limit.value = 4 * FRAME
        with await bench.archive.replay(
            recording.recording_id, limit_counter_id=limit.counter_id, file_io_max_length=65536
        ) as replay:
            messages = replay.messages(timeout=WAIT_S)
            got = [next(messages).data for _ in range(4)]
            assert replay.poll_messages(10) == []
            limit.value = recording.stop_position
            got += [next(messages).data for _ in range(16)]
    assert got == [payload(index) for index in range(20)]


@proves(ap.ReplayTokenRequest)
async def a_replay_comes_over_a_response_channel(bench: Bench) -> None:
    recording = await bench.stopped(5)
    channel = "aeron:ipc?control-mode=response"
    with bench.aeron.add_subscription(channel, bench.stream_id + 50_000) as subscription:
        replay_session_id = await bench.archive.start_replay_to(
            subscription, recording.recording_id, follow=False
        )
        (image,) = subscription.wait_connected(WAIT_S).images
        assert image.session_id & 0xFFFFFFFF == replay_session_id & 0xFFFFFFFF
        got = [one.data for one in subscription.messages(timeout=WAIT_S, until_eos=True)]
    assert got == [payload(index) for index in range(5)]


@proves(ap.StopReplayRequest)
async def a_replay_is_stopped(bench: Bench) -> None:
    recording_id, _, _ = await bench.live(5)
    stream_id = bench.stream_id + 50_000
    with bench.aeron.add_subscription(CHANNEL, stream_id) as subscription:
        replay_session_id = await bench.archive.start_replay(recording_id, CHANNEL, stream_id)
        (image,) = subscription.wait_connected(WAIT_S).images
        await bench.archive.stop_replay(replay_session_id)
        list(subscription.messages(timeout=WAIT_S, until_eos=True))
        assert image.closed or image.is_end_of_stream
    await bench.archive.stop_replay(UNKNOWN)


@proves(ap.StopAllReplaysRequest)
async def all_replays_of_a_recording_are_stopped(bench: Bench) -> None:
    recording_id, _, _ = await bench.live(5)
    replays = [
        await bench.archive.replay(recording_id, stream_id=bench.stream_id + 50_000 + i)
        for i in range(2)
    ]
    images = [replay.wait_connected(WAIT_S).images[0] for replay in replays]
    await bench.archive.stop_all_replays(recording_id)
    for replay in replays:
        list(replay.messages(timeout=WAIT_S, until_eos=True))
        replay.close()
    assert all(image.closed or image.is_end_of_stream for image in images)


# -- questions ----------------------------------------------------------------------------------


@proves(ap.ListRecordingRequest)
async def one_recording_is_listed(bench: Bench) -> None:
    recording = await bench.stopped(3)
    assert (recording.start_position, recording.stop_position) == (0, 3 * FRAME)
    assert (recording.stream_id, recording.original_channel) == (bench.stream_id, CHANNEL)
    assert recording.segment_file_length == SEGMENT
    assert await bench.archive.list_recording(UNKNOWN) is None


@proves(ap.ListRecordingsRequest)
async def recordings_are_listed(bench: Bench) -> None:
    recording = await bench.stopped(3)
    assert await bench.archive.list_recordings(recording.recording_id, 1) == [recording]
    listed = [one.recording_id async for one in bench.archive.recordings(page=3)]
    assert recording.recording_id in listed
    assert listed == sorted(listed)


@proves(ap.ListRecordingsForUriRequest)
async def recordings_of_a_channel_are_listed(bench: Bench) -> None:
    recording = await bench.stopped(3)
    found = await bench.archive.list_recordings_for_uri(0, 10, "ipc", bench.stream_id)
    assert found == [recording]
    assert await bench.archive.list_recordings_for_uri(0, 10, "udp", bench.stream_id) == []


@proves(ap.ListRecordingSubscriptionsRequest)
async def recording_subscriptions_are_listed(bench: Bench) -> None:
    ids = [
        await bench.archive.start_recording(f"{CHANNEL}|session-id={session}", bench.stream_id)
        for session in (4711, 4712)
    ]
    ask = bench.archive.list_recording_subscriptions
    found = await ask(stream_id=bench.stream_id)
    assert {one.subscription_id for one in found} == set(ids)
    every = await ask()  # of other tests too; the index counts all
    assert await ask(from_index=1, count=1) == every[1:2]
    (named,) = await ask(channel_fragment="session-id=4712", stream_id=bench.stream_id)
    assert named.subscription_id == ids[1]
    for subscription_id in ids:
        await bench.archive.stop_recording_subscription(subscription_id)


@proves(ap.FindLastMatchingRecordingRequest)
async def the_last_recording_of_a_session_is_found(bench: Bench) -> None:
    recording = await bench.stopped(3)
    find = bench.archive.find_last_matching_recording
    wanted = (bench.stream_id, recording.session_id)
    assert await find(0, "ipc", *wanted) == recording.recording_id
    assert await find(recording.recording_id + 1, "ipc", *wanted) is None


@proves(
    ap.StartPositionRequest,
    ap.StopPositionRequest,
    ap.RecordingPositionRequest,
    ap.MaxRecordedPositionRequest,
)
async def positions_are_told(bench: Bench) -> None:
    recording_id, _, position = await bench.live(3)
    archive = bench.archive
    assert await archive.start_position(recording_id) == 0
    assert await archive.stop_position(recording_id) is None
    assert await archive.recording_position(recording_id) == position
    assert await archive.max_recorded_position(recording_id) == position
    await archive.stop_recording_by_identity(recording_id)
    await archive.signal(RecordingSignal.STOP)
    assert await archive.stop_position(recording_id) == position
    assert await archive.recording_position(recording_id) is None
    assert await archive.max_recorded_position(recording_id) == position
    with pytest.raises(ArchiveError) as refused:
        await archive.start_position(UNKNOWN)
    assert refused.value.code == ArchiveErrorCode.UNKNOWN_RECORDING


# -- storage ------------------------------------------------------------------------------------


@proves(ap.TruncateRecordingRequest)
async def a_recording_is_cut(bench: Bench) -> None:
    recording = await bench.stopped(2 * IN_A_SEGMENT + 10)
    position = SEGMENT + 5 * FRAME
    assert await bench.archive.truncate_recording(recording.recording_id, position) == 1
    await bench.archive.signal(RecordingSignal.DELETE, recording_id=recording.recording_id)
    assert await bench.archive.stop_position(recording.recording_id) == position
    got = await bench.messages(recording.recording_id)
    assert got == [payload(index) for index in range(IN_A_SEGMENT + 5)]


@proves(ap.PurgeRecordingRequest)
async def a_recording_is_purged(bench: Bench) -> None:
    recording = await bench.stopped(IN_A_SEGMENT + 10)
    assert await bench.archive.purge_recording(recording.recording_id) == 2
    deleted = await bench.archive.signal(RecordingSignal.DELETE)
    assert deleted.recording_id == recording.recording_id
    assert await bench.archive.list_recording(recording.recording_id) is None
    assert list(bench.server.archive_dir.glob(f"{recording.recording_id}-*")) == []


@proves(ap.DetachSegmentsRequest, ap.AttachSegmentsRequest)
async def segments_are_detached_and_attached(bench: Bench) -> None:
    recording = await bench.stopped(2 * IN_A_SEGMENT + 10)
    recording_id = recording.recording_id
    await bench.archive.detach_segments(recording_id, SEGMENT)
    assert await bench.archive.start_position(recording_id) == SEGMENT
    assert len(await bench.messages(recording_id)) == IN_A_SEGMENT + 10
    assert await bench.archive.attach_segments(recording_id) == 1
    assert await bench.archive.start_position(recording_id) == 0
    assert len(await bench.messages(recording_id)) == 2 * IN_A_SEGMENT + 10


@proves(ap.DeleteDetachedSegmentsRequest)
async def detached_segments_are_deleted(bench: Bench) -> None:
    recording = await bench.stopped(2 * IN_A_SEGMENT + 10)
    recording_id = recording.recording_id
    await bench.archive.detach_segments(recording_id, 2 * SEGMENT)
    assert await bench.archive.delete_detached_segments(recording_id) == 2
    await bench.archive.signal(RecordingSignal.DELETE, recording_id=recording_id)
    assert await bench.archive.attach_segments(recording_id) == 0
    assert len(list(bench.server.archive_dir.glob(f"{recording_id}-*.rec"))) == 1


@proves(ap.PurgeSegmentsRequest)
async def segments_are_purged(bench: Bench) -> None:
    recording = await bench.stopped(2 * IN_A_SEGMENT + 10)
    recording_id = recording.recording_id
    assert await bench.archive.purge_segments(recording_id, 2 * SEGMENT) == 2
    await bench.archive.signal(RecordingSignal.DELETE, recording_id=recording_id)
    assert await bench.archive.start_position(recording_id) == 2 * SEGMENT
    got = await bench.messages(recording_id)
    assert got == [payload(index) for index in range(2 * IN_A_SEGMENT, 2 * IN_A_SEGMENT + 10)]


@proves(ap.MigrateSegmentsRequest)
async def segments_are_migrated(bench: Bench) -> None:
    first = await bench.stopped(2 * IN_A_SEGMENT)
    assert first.stop_position == 2 * SEGMENT
    channel = ChannelUri.parse(CHANNEL).with_position(
        first.stop_position, first.initial_term_id, first.term_buffer_length
    )
    await bench.archive.start_recording(CHANNEL, bench.stream_id)
    with bench.aeron.add_exclusive_publication(str(channel), bench.stream_id) as publication:
        second = (await bench.archive.signal(RecordingSignal.START)).recording_id
        bench.publish(publication, 5, first=2 * IN_A_SEGMENT)
    await bench.archive.signal(RecordingSignal.STOP, recording_id=second)
    assert await bench.archive.start_position(second) == 2 * SEGMENT
    assert await bench.archive.migrate_segments(first.recording_id, second) == 2
    assert await bench.archive.start_position(second) == 0
    got = await bench.messages(second)
    assert got == [payload(index) for index in range(2 * IN_A_SEGMENT + 5)]


@proves(ap.UpdateChannelRequest)
async def a_recording_s_channel_is_changed(bench: Bench) -> None:
    recording = await bench.stopped(3)
    channel = f"{CHANNEL}|alias=renamed-and-longer-than-before"
    await bench.archive.update_channel(recording.recording_id, channel)
    changed = await bench.archive.list_recording(recording.recording_id)
    assert changed.original_channel == channel
    assert changed.stop_position == recording.stop_position


# -- replication --------------------------------------------------------------------------------


async def source_of(bench: Bench, count: int) -> tuple[int, int]:
    """A recording in a second archive: its id, and the archive's control stream."""
    server, control_stream_id = bench.another_archive()
    form = "awaited" if "Async" in type(bench.archive.client).__name__ else "waiting"
    other = await connect(form, bench.aeron, request_stream_id=control_stream_id)
    source = Bench(server, other, bench.stream_id + 60_000, None)
    recording = await source.stopped(count)
    await settle(other.client.close())
    return recording.recording_id, control_stream_id


async def replicated(bench: Bench, replication_id: int, count: int) -> None:
    """Wait for the end of a replication and look at what has come."""
    wanted = {"correlation_id": replication_id}
    started = await bench.archive.signal(RecordingSignal.REPLICATE, **wanted)
    await bench.archive.signal(RecordingSignal.REPLICATE_END, **wanted)
    got = await bench.messages(started.recording_id)
    assert got == [payload(index) for index in range(count)]


@proves(ap.ReplicateRequest2)
async def a_recording_is_replicated(bench: Bench) -> None:
    recording_id, control_stream_id = await source_of(bench, 20)
    replication_id = await bench.archive.replicate(recording_id, "aeron:ipc", control_stream_id)
    await replicated(bench, replication_id, 20)


@proves(ap.StopReplicationRequest)
async def a_replication_is_stopped(bench: Bench) -> None:
    assert await bench.archive.try_stop_replication(UNKNOWN) is False
    with pytest.raises(ArchiveError) as refused:
        await bench.archive.stop_replication(UNKNOWN)
    assert refused.value.code == ArchiveErrorCode.UNKNOWN_REPLICATION
    nowhere = await bench.archive.replicate(0, "aeron:ipc", 7777)
    await bench.archive.stop_replication(nowhere)
    await bench.archive.signal(RecordingSignal.REPLICATE_END, correlation_id=nowhere)


def older(kind: type[ap.Message], **fields: object) -> Request[int]:
    """A request for a replication in one of the older forms."""

    def request(control_session_id: int, correlation_id: int) -> ap.Message:
        return kind(control_session_id=control_session_id, correlation_id=correlation_id, **fields)

    return Request("replicate", request, int)


@proves(ap.ReplicateRequest, ap.TaggedReplicateRequest)
async def a_recording_is_replicated_in_the_older_forms(bench: Bench) -> None:
    recording_id, control_stream_id = await source_of(bench, 10)
    source = {
        "src_recording_id": recording_id,
        "dst_recording_id": ap.NULL_VALUE,
        "src_control_stream_id": control_stream_id,
        "src_control_channel": "aeron:ipc",
        "live_destination": "",
    }
    plain = older(ap.ReplicateRequest, **source)
    await replicated(bench, await bench.archive.ask(plain), 10)
    tagged = older(
        ap.TaggedReplicateRequest,
        channel_tag_id=ap.NULL_VALUE,
        subscription_tag_id=ap.NULL_VALUE,
        **source,
    )
    await replicated(bench, await bench.archive.ask(tagged), 10)
