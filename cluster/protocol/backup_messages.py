"""Messages of backups and standby nodes (spec cluster 7, 22)."""

from typing import Annotated

from aerolog.cluster.protocol.consensus_messages import SnapshotEntry
from aerolog.cluster.protocol.schema import (
    CONSENSUS_PROTOCOL_VERSION,
    NULL_POSITION,
    group_entry,
    message,
)
from aerolog.transport.protocol.sbe import (
    Group,
    GroupEntry,
    Int32,
    Int64,
    Message,
    PackedVersion,
    Since,
    VarAscii,
    VarData,
)


@message(77)
class BackupQuery(Message):
    """A backup asks a member what there is to copy."""

    correlation_id: Int64
    response_stream_id: Int32
    version: Annotated[PackedVersion, Since(2)] = CONSENSUS_PROTOCOL_VERSION
    log_position: Annotated[Int64, Since(16)] = NULL_POSITION
    response_channel: VarAscii
    encoded_credentials: VarData = b""


@message(78)
class BackupResponse(Message):
    """Answers a BackupQuery."""

    correlation_id: Int64
    log_recording_id: Int64
    log_leadership_term_id: Int64
    log_term_base_log_position: Int64
    last_leadership_term_id: Int64
    last_term_base_log_position: Int64
    commit_position_counter_id: Int32
    leader_member_id: Int32
    member_id: Annotated[Int32, Since(10)]
    snapshots: Annotated[tuple[SnapshotEntry, ...], Group(SnapshotEntry)] = ()
    cluster_members: VarAscii


@message(79)
class HeartbeatRequest(Message):
    """A standby node asks whether a member lives."""

    correlation_id: Int64
    response_stream_id: Int32
    response_channel: VarAscii
    encoded_credentials: VarData = b""


@message(80)
class HeartbeatResponse(Message):
    """Answers a HeartbeatRequest."""

    correlation_id: Int64


@group_entry
class StandbySnapshotEntry(GroupEntry):
    """One recording of a snapshot that a standby node took, and the archive that has it."""

    recording_id: Int64
    leadership_term_id: Int64
    term_base_log_position: Int64
    log_position: Int64
    timestamp: Int64
    service_id: Int32
    archive_endpoint: VarAscii


@message(81)
class StandbySnapshot(Message):
    """A standby node tells of a snapshot that it took."""

    correlation_id: Int64
    version: Int32
    response_stream_id: Int32
    snapshots: Annotated[tuple[StandbySnapshotEntry, ...], Group(StandbySnapshotEntry)] = ()
    response_channel: VarAscii
    encoded_credentials: VarData = b""
