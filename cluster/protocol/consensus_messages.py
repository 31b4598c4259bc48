"""Messages between the members of a cluster (spec cluster 7, 13, 14)."""

from typing import Annotated

from aerolog.cluster.protocol.schema import (
    APPEND_POSITION_FLAG_NONE,
    CONSENSUS_PROTOCOL_VERSION,
    NULL_POSITION,
    group_entry,
    message,
)
from aerolog.transport.protocol.sbe import (
    BooleanType,
    Group,
    GroupEntry,
    Int32,
    Int64,
    Message,
    PackedVersion,
    Since,
    UInt8,
    VarAscii,
)


@message(50)
class CanvassPosition(Message):
    """A member tells how far its log goes, and so asks who leads."""

    log_leadership_term_id: Int64
    log_position: Int64
    leadership_term_id: Int64
    follower_member_id: Int32
    protocol_version: Annotated[PackedVersion, Since(9)] = CONSENSUS_PROTOCOL_VERSION


@message(51)
class RequestVote(Message):
    """A candidate asks for a vote."""

    log_leadership_term_id: Int64
    log_position: Int64
    candidate_term_id: Int64
    candidate_member_id: Int32
    protocol_version: Annotated[PackedVersion, Since(9)] = CONSENSUS_PROTOCOL_VERSION


@message(52)
class Vote(Message):
    """Answers a RequestVote."""

    candidate_term_id: Int64
    log_leadership_term_id: Int64
    log_position: Int64
    candidate_member_id: Int32
    follower_member_id: Int32
    vote: BooleanType


@message(53)
class NewLeadershipTerm(Message):
    """A leader tells a follower of its term, and of the term that follows the follower's last."""

    log_leadership_term_id: Int64
    next_leadership_term_id: Int64
    next_term_base_log_position: Int64
    next_log_position: Int64
    leadership_term_id: Int64
    term_base_log_position: Int64
    log_position: Int64
    leader_recording_id: Int64
    timestamp: Int64
    leader_member_id: Int32
    log_session_id: Int32
    app_version: PackedVersion
    is_startup: BooleanType
    commit_position: Annotated[Int64, Since(15)] = NULL_POSITION


@message(54)
class AppendPosition(Message):
    """A follower tells how far it has recorded the log."""

    leadership_term_id: Int64
    log_position: Int64
    follower_member_id: Int32
    flags: Annotated[UInt8, Since(8)] = APPEND_POSITION_FLAG_NONE


@message(55)
class CommitPosition(Message):
    """The leader tells how far the log is committed."""

    leadership_term_id: Int64
    log_position: Int64
    leader_member_id: Int32


@message(56)
class CatchupPosition(Message):
    """A follower asks for a replay of the leader's log from a position."""

    leadership_term_id: Int64
    log_position: Int64
    follower_member_id: Int32
    catchup_endpoint: VarAscii


@message(57)
class StopCatchup(Message):
    """The leader tells a follower that it reads the live log now."""

    leadership_term_id: Int64
    follower_member_id: Int32


@message(70)
class AddPassiveMember(Message):
    """Adds a member; 1.51.0 has static members and ignores it."""

    correlation_id: Int64
    member_endpoints: VarAscii


@message(71)
class ClusterMembersChange(Message):
    """Answers an AddPassiveMember; 1.51.0 does not send it."""

    correlation_id: Int64
    leader_member_id: Int32
    active_members: VarAscii
    passive_members: VarAscii


@message(72)
class SnapshotRecordingQuery(Message):
    """Asks for the recordings of the latest snapshot; 1.51.0 does not send it."""

    correlation_id: Int64
    request_member_id: Int32


@group_entry
class SnapshotEntry(GroupEntry):
    """One recording of a snapshot, the module's or a service's."""

    recording_id: Int64
    leadership_term_id: Int64
    term_base_log_position: Int64
    log_position: Int64
    timestamp: Int64
    service_id: Int32


@message(73)
class SnapshotRecordings(Message):
    """Answers a SnapshotRecordingQuery."""

    correlation_id: Int64
    snapshots: Annotated[tuple[SnapshotEntry, ...], Group(SnapshotEntry)]
    member_endpoints: VarAscii


@message(74)
class JoinCluster(Message):
    """Joins a member; 1.51.0 has static members and ignores it."""

    leadership_term_id: Int64
    member_id: Int32


@message(75)
class TerminationPosition(Message):
    """The leader tells followers at which position they end."""

    leadership_term_id: Int64
    log_position: Int64


@message(76)
class TerminationAck(Message):
    """A follower has reached the position at which it ends."""

    leadership_term_id: Int64
    log_position: Int64
    member_id: Int32
