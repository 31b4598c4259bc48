"""Messages between an archive and its clients: SBE schema 101, version 13.

A message is a slotted dataclass with ``encode()``; ``decode(buffer)`` gives one back.
"""

from aerolog.archive.protocol.catalog_records import CatalogHeader, RecordingDescriptorHeader
from aerolog.archive.protocol.enums import (
    ARCHIVE_ID_PROTOCOL_VERSION,
    NULL_LENGTH,
    NULL_POSITION,
    NULL_VALUE,
    PROTOCOL_VERSION,
    REPLAY_ALL_AND_FOLLOW,
    REPLAY_ALL_AND_STOP,
    ControlResponseCode,
    RecordingSignal,
    RecordingState,
    SourceLocation,
)
from aerolog.archive.protocol.events import RecordingProgress, RecordingStarted, RecordingStopped
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
from aerolog.archive.protocol.schema import SCHEMA, SCHEMA_ID, SCHEMA_VERSION
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
from aerolog.transport.protocol.sbe import (
    HEADER_LENGTH,
    BooleanType,
    Message,
    MessageHeader,
    semantic_version,
    semantic_version_major,
    semantic_version_text,
)

#: All message classes by template id; those of the catalog's entries are among them.
MESSAGES = SCHEMA.messages
decode = SCHEMA.decode

__all__ = [
    "ARCHIVE_ID_PROTOCOL_VERSION",
    "HEADER_LENGTH",
    "MESSAGES",
    "NULL_LENGTH",
    "NULL_POSITION",
    "NULL_VALUE",
    "PROTOCOL_VERSION",
    "REPLAY_ALL_AND_FOLLOW",
    "REPLAY_ALL_AND_STOP",
    "SCHEMA",
    "SCHEMA_ID",
    "SCHEMA_VERSION",
    "ArchiveIdRequest",
    "AttachSegmentsRequest",
    "AuthConnectRequest",
    "BooleanType",
    "BoundedReplayRequest",
    "CatalogHeader",
    "Challenge",
    "ChallengeResponse",
    "CloseSessionRequest",
    "ConnectRequest",
    "ControlResponse",
    "ControlResponseCode",
    "DeleteDetachedSegmentsRequest",
    "DetachSegmentsRequest",
    "ExtendRecordingRequest",
    "ExtendRecordingRequest2",
    "FindLastMatchingRecordingRequest",
    "KeepAliveRequest",
    "ListRecordingRequest",
    "ListRecordingSubscriptionsRequest",
    "ListRecordingsForUriRequest",
    "ListRecordingsRequest",
    "MaxRecordedPositionRequest",
    "Message",
    "MessageHeader",
    "MigrateSegmentsRequest",
    "Ping",
    "PurgeRecordingRequest",
    "PurgeSegmentsRequest",
    "RecordingDescriptor",
    "RecordingDescriptorHeader",
    "RecordingPositionRequest",
    "RecordingProgress",
    "RecordingSignal",
    "RecordingSignalEvent",
    "RecordingStarted",
    "RecordingState",
    "RecordingStopped",
    "RecordingSubscriptionDescriptor",
    "ReplayRequest",
    "ReplayTokenRequest",
    "ReplicateRequest",
    "ReplicateRequest2",
    "SourceLocation",
    "StartPositionRequest",
    "StartRecordingRequest",
    "StartRecordingRequest2",
    "StopAllReplaysRequest",
    "StopPositionRequest",
    "StopRecordingByIdentityRequest",
    "StopRecordingRequest",
    "StopRecordingSubscriptionRequest",
    "StopReplayRequest",
    "StopReplicationRequest",
    "TaggedReplicateRequest",
    "TruncateRecordingRequest",
    "UpdateChannelRequest",
    "decode",
    "semantic_version",
    "semantic_version_major",
    "semantic_version_text",
]
