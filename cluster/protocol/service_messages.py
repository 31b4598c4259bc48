"""Messages between the consensus module and the services of its node (spec cluster 7, 11)."""

from typing import Annotated

from aerolog.cluster.protocol.schema import NULL_VALUE, group_entry, message
from aerolog.transport.protocol.sbe import (
    BooleanType,
    Group,
    GroupEntry,
    Int32,
    Int64,
    Message,
    Since,
    VarAscii,
)


@message(30)
class CloseSession(Message):
    """A service asks for a session's end."""

    cluster_session_id: Int64


@message(31)
class ScheduleTimer(Message):
    """A service schedules a timer, or moves the one that it has by this id."""

    correlation_id: Int64
    deadline: Int64


@message(32)
class CancelTimer(Message):
    """A service takes a timer back."""

    correlation_id: Int64


@message(33)
class ServiceAck(Message):
    """A service has reached a position; acknowledgements are numbered from 0."""

    log_position: Int64
    timestamp: Int64
    ack_id: Int64
    relevant_id: Int64 = NULL_VALUE
    service_id: Int32


@message(34)
class ClusterMembersQuery(Message):
    """A service or a tool asks for the members."""

    correlation_id: Int64
    extended: Annotated[BooleanType, Since(5)]


@message(35)
class RemoveMember(Message):
    """Removes a member; 1.51.0 has static members and ignores it."""

    member_id: Int32
    is_passive: BooleanType


@message(40)
class JoinLog(Message):
    """Tells services which log to read, and from where to where."""

    log_position: Int64
    max_log_position: Int64
    member_id: Int32
    log_session_id: Int32
    log_stream_id: Int32
    is_startup: BooleanType
    role: Int32
    is_standby: Annotated[BooleanType, Since(16)] = BooleanType.FALSE
    log_channel: VarAscii


@message(41)
class ClusterMembersResponse(Message):
    """Answers a ClusterMembersQuery that is not extended."""

    correlation_id: Int64
    leader_member_id: Int32
    active_members: VarAscii
    passive_followers: VarAscii = ""


@message(42)
class ServiceTerminationPosition(Message):
    """Tells services at which position they end."""

    log_position: Int64


@group_entry
class MemberEntry(GroupEntry):
    """What a member knows of one of the members."""

    leadership_term_id: Int64
    log_position: Int64
    time_of_last_append_ns: Int64
    member_id: Int32
    ingress_endpoint: VarAscii
    consensus_endpoint: VarAscii
    log_endpoint: VarAscii
    catchup_endpoint: VarAscii
    archive_endpoint: VarAscii


@message(43)
class ClusterMembersExtendedResponse(Message):
    """Answers an extended ClusterMembersQuery."""

    correlation_id: Int64
    current_time_ns: Int64
    leader_member_id: Int32
    member_id: Int32
    active_members: Annotated[tuple[MemberEntry, ...], Group(MemberEntry)]
    passive_members: Annotated[tuple[MemberEntry, ...], Group(MemberEntry)] = ()


@message(108)
class RequestServiceAck(Message):
    """Asks services to acknowledge a position."""

    log_position: Int64
