"""What snapshots hold (spec cluster 7, 16)."""

from typing import Annotated

from aerolog.cluster.protocol.schema import (
    NULL_VALUE,
    CloseReason,
    ClusterTimeUnit,
    SnapshotMark,
    message,
)
from aerolog.transport.protocol.sbe import (
    Int32,
    Int64,
    Message,
    PackedVersion,
    Since,
    VarAscii,
    VarData,
)


@message(100)
class SnapshotMarker(Message):
    """Begins and ends a snapshot."""

    type_id: Int64
    log_position: Int64
    leadership_term_id: Int64
    index: Int32 = 0
    mark: SnapshotMark
    time_unit: Annotated[ClusterTimeUnit, Since(4)]
    app_version: Annotated[PackedVersion, Since(4)]


@message(102)
class ClientSession(Message):
    """An open session, in a service's snapshot."""

    cluster_session_id: Int64
    response_stream_id: Int32
    response_channel: VarAscii
    encoded_principal: VarData = b""


@message(103)
class ClusterSession(Message):
    """An open session, in the consensus module's snapshot."""

    cluster_session_id: Int64
    correlation_id: Int64
    opened_log_position: Int64
    time_of_last_activity: Int64
    close_reason: CloseReason = CloseReason.NULL
    response_stream_id: Int32
    response_channel: VarAscii


@message(104)
class Timer(Message):
    """A timer that has not expired."""

    correlation_id: Int64
    deadline: Int64


@message(105)
class ConsensusModule(Message):
    """The consensus module's own numbers."""

    next_session_id: Int64
    next_service_session_id: Annotated[Int64, Since(3)]
    log_service_session_id: Annotated[Int64, Since(3)]
    pending_message_capacity: Annotated[PackedVersion, Since(3)] = 0


@message(106)
class ClusterMembers(Message):
    """The members, in snapshots of older versions."""

    member_id: Int32 = NULL_VALUE
    high_member_id: Int32
    cluster_members: VarAscii


@message(107)
class PendingMessageTracker(Message):
    """A service's own messages that are not in the log yet; they follow this message."""

    next_service_session_id: Int64
    log_service_session_id: Int64
    pending_message_capacity: PackedVersion = 0
    service_id: Int32
