"""All messages of the schema by template id, and how an unknown one is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.archive.protocol.catalog_records import CatalogHeader, RecordingDescriptorHeader
from aerolog.archive.protocol.enums import SCHEMA_ID
from aerolog.archive.protocol.events import RecordingProgress, RecordingStarted, RecordingStopped
from aerolog.archive.protocol.layout import HEADER, HEADER_LENGTH, Message, MessageHeader
from aerolog.archive.protocol.query_requests import (
    FindLastMatchingRecordingRequest,
    ListRecordingRequest,
    ListRecordingsForUriRequest,
    ListRecordingsRequest,
    ListRecordingSubscriptionsRequest,
    MaxRecordedPositionRequest,
    RecordingPositionRequest,
    StartPositionRequest,
    StopPositionRequest,
)
from aerolog.archive.protocol.recording_requests import (
    ExtendRecordingRequest,
    ExtendRecordingRequest2,
    StartRecordingRequest,
    StartRecordingRequest2,
    StopRecordingByIdentityRequest,
    StopRecordingRequest,
    StopRecordingSubscriptionRequest,
)
from aerolog.archive.protocol.replay_requests import (
    BoundedReplayRequest,
    ReplayRequest,
    ReplayTokenRequest,
    StopAllReplaysRequest,
    StopReplayRequest,
)
from aerolog.archive.protocol.replication_requests import (
    ReplicateRequest,
    ReplicateRequest2,
    StopReplicationRequest,
    TaggedReplicateRequest,
)
from aerolog.archive.protocol.responses import (
    Challenge,
    ControlResponse,
    Ping,
    RecordingDescriptor,
    RecordingSignalEvent,
    RecordingSubscriptionDescriptor,
)
from aerolog.archive.protocol.session_requests import (
    ArchiveIdRequest,
    AuthConnectRequest,
    ChallengeResponse,
    CloseSessionRequest,
    ConnectRequest,
    KeepAliveRequest,
)
from aerolog.archive.protocol.storage_requests import (
    AttachSegmentsRequest,
    DeleteDetachedSegmentsRequest,
    DetachSegmentsRequest,
    MigrateSegmentsRequest,
    PurgeRecordingRequest,
    PurgeSegmentsRequest,
    TruncateRecordingRequest,
    UpdateChannelRequest,
)
from aerolog.transport.errors import MessageFormatError

if TYPE_CHECKING:
    from aerolog.archive.protocol.layout import Buffer

_ALL: Final[tuple[type[Message], ...]] = (
    ControlResponse,
    RecordingDescriptor,
    RecordingSubscriptionDescriptor,
    RecordingSignalEvent,
    Challenge,
    Ping,
    RecordingStarted,
    RecordingProgress,
    RecordingStopped,
    CatalogHeader,
    RecordingDescriptorHeader,
    ConnectRequest,
    AuthConnectRequest,
    ChallengeResponse,
    CloseSessionRequest,
    KeepAliveRequest,
    ArchiveIdRequest,
    StartRecordingRequest,
    StartRecordingRequest2,
    ExtendRecordingRequest,
    ExtendRecordingRequest2,
    StopRecordingRequest,
    StopRecordingSubscriptionRequest,
    StopRecordingByIdentityRequest,
    ReplayRequest,
    BoundedReplayRequest,
    StopReplayRequest,
    StopAllReplaysRequest,
    ReplayTokenRequest,
    ListRecordingsRequest,
    ListRecordingsForUriRequest,
    ListRecordingRequest,
    ListRecordingSubscriptionsRequest,
    FindLastMatchingRecordingRequest,
    StartPositionRequest,
    StopPositionRequest,
    RecordingPositionRequest,
    MaxRecordedPositionRequest,
    TruncateRecordingRequest,
    PurgeRecordingRequest,
    DetachSegmentsRequest,
    DeleteDetachedSegmentsRequest,
    PurgeSegmentsRequest,
    AttachSegmentsRequest,
    MigrateSegmentsRequest,
    UpdateChannelRequest,
    ReplicateRequest,
    TaggedReplicateRequest,
    ReplicateRequest2,
    StopReplicationRequest,
)

MESSAGES: Final[dict[int, type[Message]]] = {m.LAYOUT.template_id: m for m in _ALL}


def decode(buffer: Buffer) -> Message | None:
    """The message at the start of a buffer, None when its template id is not of this schema.

    Both sides of the protocol ignore template ids that they do not know.

    Raises:
        MessageFormatError: another schema, or bytes that do not hold together.
    """
    if len(buffer) < HEADER_LENGTH:
        MessageHeader.read(buffer)  # says what is wrong
    block_length, template_id, schema_id, version = HEADER.unpack_from(buffer)
    if schema_id != SCHEMA_ID:
        raise MessageFormatError(f"expected schemaId={SCHEMA_ID}, actual={schema_id}")
    message_class = MESSAGES.get(template_id)
    return None if message_class is None else message_class.from_body(buffer, block_length, version)
