"""Our client's requests are the bytes that the reference's client sent for the same operations."""

import pytest
from golden_data import control_messages

from aerolog.archive.client import request
from aerolog.archive.protocol import BooleanType, SourceLocation, decode


def replay(m):
    limit = getattr(m, "limit_counter_id", None)
    return request.start_replay(
        m.recording_id,
        m.replay_channel,
        m.replay_stream_id,
        m.position,
        m.length,
        limit_counter_id=limit,
        file_io_max_length=m.file_io_max_length,
        replay_token=m.replay_token,
    )


def start(m, *recording):
    make = request.extend_recording if recording else request.start_recording
    auto_stop = getattr(m, "auto_stop", None)
    return make(
        *recording,
        m.channel,
        m.stream_id,
        SourceLocation(m.source_location),
        auto_stop=None if auto_stop is None else auto_stop == BooleanType.TRUE,
    )


CALLS = {
    "ArchiveIdRequest": lambda m: request.archive_id(),
    "StartRecordingRequest": start,
    "StartRecordingRequest2": start,
    "ExtendRecordingRequest": lambda m: start(m, m.recording_id),
    "ExtendRecordingRequest2": lambda m: start(m, m.recording_id),
    "StopRecordingRequest": lambda m: request.try_stop_recording(m.channel, m.stream_id),
    "StopRecordingSubscriptionRequest": lambda m: request.try_stop_recording_subscription(
        m.subscription_id
    ),
    "StopRecordingByIdentityRequest": lambda m: request.try_stop_recording_by_identity(
        m.recording_id
    ),
    "ReplayRequest": replay,
    "BoundedReplayRequest": replay,
    "StopReplayRequest": lambda m: request.stop_replay(m.replay_session_id),
    "StopAllReplaysRequest": lambda m: request.stop_all_replays(m.recording_id),
    "ReplayTokenRequest": lambda m: request.replay_token(m.recording_id),
    "StartPositionRequest": lambda m: request.ask_position("start position", m.recording_id),
    "StopPositionRequest": lambda m: request.ask_position("stop position", m.recording_id),
    "RecordingPositionRequest": lambda m: request.ask_position(
        "recording position", m.recording_id
    ),
    "MaxRecordedPositionRequest": lambda m: request.ask_position(
        "max recorded position", m.recording_id
    ),
    "FindLastMatchingRecordingRequest": lambda m: request.find_last_matching(
        m.min_recording_id, m.channel, m.stream_id, m.session_id
    ),
    "ListRecordingRequest": lambda m: request.list_recording(m.recording_id),
    "ListRecordingsRequest": lambda m: request.list_recordings(m.from_recording_id, m.record_count),
    "ListRecordingsForUriRequest": lambda m: request.list_recordings_for_uri(
        m.from_recording_id, m.record_count, m.channel, m.stream_id
    ),
    "ListRecordingSubscriptionsRequest": lambda m: request.list_recording_subscriptions(
        m.pseudo_index,
        m.subscription_count,
        m.channel,
        m.stream_id if m.apply_stream_id == BooleanType.TRUE else None,
    ),
    "TruncateRecordingRequest": lambda m: request.truncate_recording(m.recording_id, m.position),
    "PurgeRecordingRequest": lambda m: request.purge_recording(m.recording_id),
    "DetachSegmentsRequest": lambda m: request.detach_segments(
        m.recording_id, m.new_start_position
    ),
    "DeleteDetachedSegmentsRequest": lambda m: request.delete_detached_segments(m.recording_id),
    "PurgeSegmentsRequest": lambda m: request.purge_segments(m.recording_id, m.new_start_position),
    "AttachSegmentsRequest": lambda m: request.attach_segments(m.recording_id),
    "MigrateSegmentsRequest": lambda m: request.migrate_segments(
        m.src_recording_id, m.dst_recording_id
    ),
    "UpdateChannelRequest": lambda m: request.update_channel(m.recording_id, m.channel),
    "StopReplicationRequest": lambda m: request.try_stop_replication(m.replication_id),
}
# Not calls of a session, of another operation, or of a step to come.
OTHERS = {
    "AuthConnectRequest",
    "ConnectRequest",
    "ChallengeResponse",
    "CloseSessionRequest",
    "KeepAliveRequest",
    "ReplicateRequest",
    "ReplicateRequest2",
    "TaggedReplicateRequest",
}


REQUESTS = [m for m in control_messages() if m["direction"] == "client->archive"]


def test_every_request_of_the_reference_s_client_is_accounted_for():
    sent = {m["name"] for m in REQUESTS if m["header"]["schemaId"] == 101}
    assert sent - OTHERS - set(CALLS) <= {"Unknown"}
    assert set(CALLS) <= sent


def is_endless(entry):
    """A listing of no descriptors, which no archive ends: our client does not ask for it."""
    return entry["fields"].get("recordCount", 1) < 1


@pytest.mark.parametrize(
    "entry", [m for m in REQUESTS if m["name"] in CALLS and is_endless(m)], ids=lambda m: m["seq"]
)
def test_a_listing_that_would_never_end_is_refused(entry):
    with pytest.raises(ValueError, match="count is at least 1"):
        CALLS[entry["name"]](decode(bytes.fromhex(entry["hex"])))


@pytest.mark.parametrize(
    "entry",
    [m for m in REQUESTS if m["name"] in CALLS and not is_endless(m)],
    ids=lambda m: f"{m['seq']}-{m['name']}",
)
def test_the_same_operation_is_the_same_bytes(entry):
    sent = bytes.fromhex(entry["hex"])
    message = decode(sent)
    made = CALLS[entry["name"]](message)
    request = made.message(message.control_session_id, message.correlation_id)
    assert request.encode(version=entry["header"]["version"]) == sent
