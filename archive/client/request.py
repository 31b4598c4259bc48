"""The archive's operations as values: the message to send and the meaning of its answer.

A request does not depend on time or on streams, so all clients send the same requests.
Positions are bytes in the stream; None stands for a position that does not exist (spec client 22).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from aerolog.archive.format.descriptor import RecordingDescriptor
from aerolog.archive.protocol import (
    NULL_LENGTH,
    NULL_POSITION,
    NULL_VALUE,
    ArchiveIdRequest,
    AttachSegmentsRequest,
    BooleanType,
    BoundedReplayRequest,
    DeleteDetachedSegmentsRequest,
    DetachSegmentsRequest,
    ExtendRecordingRequest,
    ExtendRecordingRequest2,
    FindLastMatchingRecordingRequest,
    ListRecordingRequest,
    ListRecordingsForUriRequest,
    ListRecordingsRequest,
    ListRecordingSubscriptionsRequest,
    MaxRecordedPositionRequest,
    Message,
    MigrateSegmentsRequest,
    PurgeRecordingRequest,
    PurgeSegmentsRequest,
    RecordingPositionRequest,
    RecordingSubscriptionDescriptor,
    ReplayRequest,
    ReplayTokenRequest,
    ReplicateRequest2,
    SourceLocation,
    StartPositionRequest,
    StartRecordingRequest,
    StartRecordingRequest2,
    StopAllReplaysRequest,
    StopPositionRequest,
    StopRecordingByIdentityRequest,
    StopRecordingRequest,
    StopRecordingSubscriptionRequest,
    StopReplayRequest,
    StopReplicationRequest,
    TruncateRecordingRequest,
    UpdateChannelRequest,
)
from aerolog.archive.protocol.extension_query import ExtensionAnswer
from aerolog.transport.errors import ArchiveErrorCode
from aerolog.transport.uri import ChannelUri

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.archive.protocol.extension_query import ExtensionQuery

T = TypeVar("T")
Channel = str | ChannelUri
_ASK: Final = {
    "start position": StartPositionRequest,
    "stop position": StopPositionRequest,
    "recording position": RecordingPositionRequest,
    "max recorded position": MaxRecordedPositionRequest,
}


_DESCRIBED: Final = tuple(
    name
    for name in RecordingDescriptor.__dataclass_fields__
    if name not in {"control_session_id", "correlation_id"}  # of the answer, not of the recording
)
_described: Final = attrgetter(*_DESCRIBED)


@dataclass(frozen=True, slots=True)
class Request(Generic[T]):
    """One request.

    Attributes:
        what: the request's name in error texts.
        message: makes the message from control session id and correlation id.
        result: makes the result from the answer's relevant id, or from a list of descriptors.
        listing: how many descriptors are wanted, None for a request with one answer.
        forgiven: an error code that counts as a result and not as an error.
        forgiven_result: the result that the forgiven error code stands for.
        awaits: what the client waits for, as the text of a timeout names it.
        takes_response: whether ``result`` takes the whole response.
    """

    what: str
    message: Callable[[int, int], Message]
    result: Callable[[Any], T]
    listing: int | None = None
    forgiven: ArchiveErrorCode | None = None
    forgiven_result: T | None = None
    awaits: str = "response"
    takes_response: bool = False


@dataclass(frozen=True, slots=True)
class RecordingSubscription:
    """A subscription through which the archive records.

    Attributes:
        subscription_id: the id that start_recording returned.
        stripped_channel: what the archive subscribed to, with a prefix for spies.
    """

    subscription_id: int
    stream_id: int
    stripped_channel: str


def _none(_: int) -> None:
    return None


def _true(_: int) -> bool:
    return True


def _position(value: int) -> int | None:
    return None if value == NULL_POSITION else value


def _request(
    what: str, message: Callable[..., Message], result: Callable[[int], T], **fields: Any
) -> Request[T]:
    def encoder(control_session_id: int, correlation_id: int) -> Message:
        return message(
            control_session_id=control_session_id, correlation_id=correlation_id, **fields
        )

    return Request(what, encoder, result)


def _truth(value: bool) -> BooleanType:
    return BooleanType.TRUE if value else BooleanType.FALSE


def _or_null(value: int | None, null: int = NULL_VALUE) -> int:
    return null if value is None else value


def archive_id() -> Request[int]:
    """The archive's own id."""
    return _request("archive id", ArchiveIdRequest, int)


def start_recording(
    channel: Channel, stream_id: int, location: SourceLocation, *, auto_stop: bool | None
) -> Request[int]:
    """Start a recording; the result is the subscription id.

    When ``auto_stop`` is None the older message is sent, as the reference does.
    """
    fields = {"stream_id": stream_id, "source_location": location, "channel": str(channel)}
    if auto_stop is None:
        return _request("start recording", StartRecordingRequest, int, **fields)
    return _request(
        "start recording", StartRecordingRequest2, int, auto_stop=_truth(auto_stop), **fields
    )


def extend_recording(
    recording_id: int,
    channel: Channel,
    stream_id: int,
    location: SourceLocation,
    *,
    auto_stop: bool | None,
) -> Request[int]:
    """Extend a recording; the result is the subscription id."""
    fields = {
        "recording_id": recording_id,
        "stream_id": stream_id,
        "source_location": location,
        "channel": str(channel),
    }
    if auto_stop is None:
        return _request("extend recording", ExtendRecordingRequest, int, **fields)
    return _request(
        "extend recording", ExtendRecordingRequest2, int, auto_stop=_truth(auto_stop), **fields
    )


def _stop(message: Callable[..., Message], **fields: Any) -> Request[bool]:
    request = _request("stop recording", message, _true, **fields)
    return replace(request, forgiven=ArchiveErrorCode.UNKNOWN_SUBSCRIPTION, forgiven_result=False)


def try_stop_recording(channel: Channel, stream_id: int) -> Request[bool]:
    """Stop a recording; the result is whether there was such a recording subscription."""
    return _stop(StopRecordingRequest, channel=str(channel), stream_id=stream_id)


def try_stop_recording_subscription(subscription_id: int) -> Request[bool]:
    """Stop a recording; the result is whether there was such a recording subscription."""
    return _stop(StopRecordingSubscriptionRequest, subscription_id=subscription_id)


def strictly(request: Request[T]) -> Request[None]:
    """The same request without a result, in which no error code is forgiven."""
    return Request(request.what, request.message, _none)


def try_stop_recording_by_identity(recording_id: int) -> Request[bool]:
    """Stop one recording; the result is whether it was active."""
    return _request(
        "stop recording", StopRecordingByIdentityRequest, bool, recording_id=recording_id
    )


def start_replay(
    recording_id: int,
    channel: Channel,
    stream_id: int,
    position: int | None,
    length: int,
    *,
    limit_counter_id: int | None = None,
    file_io_max_length: int | None = None,
    replay_token: int = NULL_VALUE,
) -> Request[int]:
    """Start a replay; the result is its id, whose low 32 bits are the image's session id."""
    fields: dict[str, Any] = {
        "recording_id": recording_id,
        "position": _or_null(position, NULL_POSITION),
        "length": length,
        "replay_stream_id": stream_id,
        "file_io_max_length": _or_null(file_io_max_length, NULL_LENGTH),
        "replay_token": replay_token,
        "replay_channel": str(channel),
    }
    if limit_counter_id is None:
        return _request("replay", ReplayRequest, int, **fields)
    return _request(
        "bounded replay", BoundedReplayRequest, int, limit_counter_id=limit_counter_id, **fields
    )


def stop_replay(replay_session_id: int) -> Request[None]:
    """End a replay; an unknown replay is no error."""
    return _request("stop replay", StopReplayRequest, _none, replay_session_id=replay_session_id)


def stop_all_replays(recording_id: int | None) -> Request[None]:
    """End all replays of one recording, or of all recordings."""
    wanted = _or_null(recording_id)
    return _request("stop all replays", StopAllReplaysRequest, _none, recording_id=wanted)


def replay_token(recording_id: int) -> Request[int]:
    """Ask for the token of a replay over a response channel."""
    return _request("replay token", ReplayTokenRequest, int, recording_id=recording_id)


def ask_position(what: str, recording_id: int) -> Request[int | None]:
    """Ask for a position of a recording with the query that ``what`` names."""
    return _request(f"get {what}", _ASK[what], _position, recording_id=recording_id)


def find_last_matching(
    min_recording_id: int, channel_fragment: str, stream_id: int, session_id: int
) -> Request[int | None]:
    """The newest recording that matches, None when there is none."""
    return _request(
        "find last matching recording",
        FindLastMatchingRecordingRequest,
        _position,
        min_recording_id=min_recording_id,
        session_id=session_id,
        stream_id=stream_id,
        channel=channel_fragment,
    )


def extension(query: ExtensionQuery) -> Request[ExtensionAnswer | None]:
    """A query that the reference does not have; None from an archive that does not know it."""
    request = _request(
        f"{query.what} query",
        FindLastMatchingRecordingRequest,
        int,
        min_recording_id=query.recording_id,
        session_id=0,
        stream_id=0,
        channel=query.fragment,
    )
    return Request(request.what, request.message, ExtensionAnswer.of, takes_response=True)


def recording_of(message: Message) -> RecordingDescriptor:
    """Convert a descriptor message into the descriptor that an archive's catalog holds."""
    return RecordingDescriptor(**dict(zip(_DESCRIBED, _described(message), strict=True)))


def _recordings(messages: list[Message]) -> list[RecordingDescriptor]:
    return [recording_of(message) for message in messages]


def _listing(
    what: str,
    message: Callable[..., Message],
    result: Callable[[list[Message]], T],
    count: int,
    *,
    awaits: str = "recording descriptors",
    **fields: Any,
) -> Request[T]:
    if count < 1:
        raise ValueError(f"{what}: count is at least 1, not {count}")
    request = _request(what, message, int, **fields)
    return Request(what, request.message, result, listing=count, awaits=awaits)


def list_recording(recording_id: int) -> Request[RecordingDescriptor | None]:
    """Ask for one descriptor; the result is None for an unknown recording."""
    return _listing(
        "list recording",
        ListRecordingRequest,
        lambda found: recording_of(found[0]) if found else None,
        1,
        recording_id=recording_id,
    )


def list_recordings(from_recording_id: int, count: int) -> Request[list[RecordingDescriptor]]:
    """Ask for up to ``count`` descriptors from an id on."""
    return _listing(
        "list recordings",
        ListRecordingsRequest,
        _recordings,
        count,
        from_recording_id=from_recording_id,
        record_count=count,
    )


def list_recordings_for_uri(
    from_recording_id: int, count: int, channel_fragment: str, stream_id: int
) -> Request[list[RecordingDescriptor]]:
    """As list_recordings, of one stream and of channels that contain a text."""
    return _listing(
        "list recordings",
        ListRecordingsForUriRequest,
        _recordings,
        count,
        from_recording_id=from_recording_id,
        record_count=count,
        stream_id=stream_id,
        channel=channel_fragment,
    )


def _subscriptions(messages: list[Message]) -> list[RecordingSubscription]:
    return [
        RecordingSubscription(found.subscription_id, found.stream_id, found.stripped_channel)
        for found in messages
        if isinstance(found, RecordingSubscriptionDescriptor)
    ]


def list_recording_subscriptions(
    from_index: int, count: int, channel_fragment: str, stream_id: int | None
) -> Request[list[RecordingSubscription]]:
    """List the active recording subscriptions of one stream or of all."""
    return _listing(
        "list recording subscriptions",
        ListRecordingSubscriptionsRequest,
        _subscriptions,
        count,
        awaits="subscription descriptors",
        pseudo_index=from_index,
        subscription_count=count,
        apply_stream_id=_truth(stream_id is not None),
        stream_id=0 if stream_id is None else stream_id,
        channel=channel_fragment,
    )


def truncate_recording(recording_id: int, position: int) -> Request[int]:
    """Truncate a recording; the result is how many segment files will be deleted."""
    return _request(
        "truncate recording",
        TruncateRecordingRequest,
        int,
        recording_id=recording_id,
        position=position,
    )


def purge_recording(recording_id: int) -> Request[int]:
    """Remove a recording; the result is how many segment files will be deleted."""
    return _request("purge recording", PurgeRecordingRequest, int, recording_id=recording_id)


def detach_segments(recording_id: int, new_start_position: int) -> Request[None]:
    """Move the start of a recording forward, leaving files behind."""
    return _request(
        "detach segments",
        DetachSegmentsRequest,
        _none,
        recording_id=recording_id,
        new_start_position=new_start_position,
    )


def delete_detached_segments(recording_id: int) -> Request[int]:
    """Delete detached segment files; the result is how many will be deleted."""
    return _request(
        "delete detached segments", DeleteDetachedSegmentsRequest, int, recording_id=recording_id
    )


def purge_segments(recording_id: int, new_start_position: int) -> Request[int]:
    """Detach segments and delete their files; the result is how many will be deleted."""
    return _request(
        "purge segments",
        PurgeSegmentsRequest,
        int,
        recording_id=recording_id,
        new_start_position=new_start_position,
    )


def attach_segments(recording_id: int) -> Request[int]:
    """Attach segment files; the result is how many were attached."""
    return _request("attach segments", AttachSegmentsRequest, int, recording_id=recording_id)


def migrate_segments(src_recording_id: int, dst_recording_id: int) -> Request[int]:
    """Move segment files to another recording; the result is how many were moved."""
    return _request(
        "migrate segments",
        MigrateSegmentsRequest,
        int,
        src_recording_id=src_recording_id,
        dst_recording_id=dst_recording_id,
    )


def update_channel(recording_id: int, channel: Channel) -> Request[None]:
    """Change the channel that the catalog holds for a recording."""
    return _request(
        "update channel",
        UpdateChannelRequest,
        _none,
        recording_id=recording_id,
        channel=str(channel),
    )


def replicate(
    src_recording_id: int,
    src_control_channel: Channel,
    src_control_stream_id: int,
    *,
    dst_recording_id: int | None = None,
    live_destination: Channel | None = None,
    stop_position: int | None = None,
    channel_tag_id: int | None = None,
    subscription_tag_id: int | None = None,
    replication_channel: Channel | None = None,
    replication_session_id: int | None = None,
    file_io_max_length: int | None = None,
    credentials: bytes = b"",
    src_response_channel: Channel | None = None,
) -> Request[int]:
    """Start a replication; the result is its id, the correlation id of its signals and errors.

    Raises:
        ValueError: a live destination together with a replication session id.
    """
    if live_destination and replication_session_id is not None:
        raise ValueError(
            "a live stream has the session id of its publication: pass either live_destination or"
            f" replication_session_id={replication_session_id}, not both"
        )
    return _request(
        "replicate",
        ReplicateRequest2,
        int,
        src_recording_id=src_recording_id,
        dst_recording_id=_or_null(dst_recording_id),
        stop_position=_or_null(stop_position, NULL_POSITION),
        channel_tag_id=_or_null(channel_tag_id),
        subscription_tag_id=_or_null(subscription_tag_id),
        src_control_stream_id=src_control_stream_id,
        file_io_max_length=_or_null(file_io_max_length, NULL_LENGTH),
        replication_session_id=_or_null(replication_session_id),
        src_control_channel=str(src_control_channel),
        live_destination=str(live_destination or ""),
        replication_channel=str(replication_channel or ""),
        encoded_credentials=credentials,
        src_response_channel=str(src_response_channel or ""),
    )


def try_stop_replication(replication_id: int) -> Request[bool]:
    """Stop a replication; the result is whether there was such a replication."""
    request = _request(
        "stop replication", StopReplicationRequest, _true, replication_id=replication_id
    )
    return replace(request, forgiven=ArchiveErrorCode.UNKNOWN_REPLICATION, forgiven_result=False)
