"""What the leader writes into the log beside SessionMessageHeader (spec cluster 7, 10)."""

from typing import Annotated

from aerolog.cluster.protocol.schema import (
    CLUSTER_ACTION_FLAGS_DEFAULT,
    ChangeType,
    CloseReason,
    ClusterAction,
    ClusterTimeUnit,
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


@message(20)
class TimerEvent(Message):
    """A timer that a service scheduled has expired."""

    leadership_term_id: Int64
    correlation_id: Int64
    timestamp: Int64


@message(21)
class SessionOpenEvent(Message):
    """A client's session is open."""

    leadership_term_id: Int64
    correlation_id: Int64
    cluster_session_id: Int64
    timestamp: Int64
    response_stream_id: Int32
    response_channel: VarAscii
    encoded_principal: VarData


@message(22)
class SessionCloseEvent(Message):
    """A session is closed."""

    leadership_term_id: Int64
    cluster_session_id: Int64
    timestamp: Int64
    close_reason: CloseReason


@message(23)
class ClusterActionRequest(Message):
    """All members do something at this position, which is the one after the message."""

    leadership_term_id: Int64
    log_position: Int64
    timestamp: Int64
    action: ClusterAction
    flags: Annotated[Int32, Since(11)] = CLUSTER_ACTION_FLAGS_DEFAULT


@message(24)
class NewLeadershipTermEvent(Message):
    """A leader's term begins; ``log_position`` is the one after the message."""

    leadership_term_id: Int64
    log_position: Int64
    timestamp: Int64
    term_base_log_position: Int64
    leader_member_id: Int32
    log_session_id: Int32
    time_unit: Annotated[ClusterTimeUnit, Since(4)]
    app_version: Annotated[PackedVersion, Since(4)]


@message(25)
class MembershipChangeEvent(Message):
    """The members change; 1.51.0 has static members and does not write it."""

    leadership_term_id: Int64
    log_position: Int64
    timestamp: Int64
    leader_member_id: Int32
    cluster_size: Int32
    change_type: ChangeType
    member_id: Int32
    cluster_members: VarAscii
