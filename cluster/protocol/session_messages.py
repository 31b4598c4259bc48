"""Messages between a client and the cluster, ingress and egress (spec cluster 7, 8)."""

from typing import Annotated, Final

from aerolog.cluster.protocol.schema import (
    CLIENT_PROTOCOL_VERSION,
    AdminRequestType,
    AdminResponseCode,
    EventCode,
    message,
)
from aerolog.transport.protocol.sbe import (
    HEADER_LENGTH,
    NULL_INT64,
    Int32,
    Int64,
    Message,
    PackedVersion,
    Since,
    VarAscii,
    VarData,
)


@message(1)
class SessionMessageHeader(Message):
    """Stands before each message of an application, in ingress, log and egress.

    In ingress the timestamp means nothing. In the log it is the cluster's time at which the leader
    appended the message, and a negative session id names a service that sent the message.
    """

    leadership_term_id: Int64
    cluster_session_id: Int64
    timestamp: Int64 = 0


#: Bytes before the application's own in each message: the SBE header and SessionMessageHeader.
SESSION_HEADER_LENGTH: Final = HEADER_LENGTH + SessionMessageHeader.LAYOUT.block_length


@message(2)
class SessionEvent(Message):
    """Tells a client about its session, and answers its connect."""

    cluster_session_id: Int64
    correlation_id: Int64
    leadership_term_id: Int64
    leader_member_id: Int32
    code: EventCode
    version: Annotated[PackedVersion, Since(6)] = CLIENT_PROTOCOL_VERSION
    leader_heartbeat_timeout_ns: Annotated[Int64, Since(13)] = NULL_INT64
    detail: VarAscii = ""


@message(3)
class SessionConnectRequest(Message):
    """Opens a session."""

    correlation_id: Int64
    response_stream_id: Int32
    version: Annotated[PackedVersion, Since(2)] = CLIENT_PROTOCOL_VERSION
    response_channel: VarAscii
    encoded_credentials: VarData = b""
    client_info: Annotated[VarAscii, Since(14)] = ""


@message(4)
class SessionCloseRequest(Message):
    """Ends a session; there is no answer."""

    leadership_term_id: Int64
    cluster_session_id: Int64


@message(5)
class SessionKeepAlive(Message):
    """Says that the client is there; there is no answer."""

    leadership_term_id: Int64
    cluster_session_id: Int64


@message(6)
class NewLeaderEvent(Message):
    """Tells a client that another member leads, and where all members listen."""

    leadership_term_id: Int64
    cluster_session_id: Int64
    leader_member_id: Int32
    ingress_endpoints: VarAscii


@message(7)
class Challenge(Message):
    """Asks a client for a proof before its session opens."""

    correlation_id: Int64
    cluster_session_id: Int64
    encoded_challenge: VarData


@message(8)
class ChallengeResponse(Message):
    """The proof that a Challenge asked for."""

    correlation_id: Int64
    cluster_session_id: Int64
    encoded_credentials: VarData


@message(26)
class AdminRequest(Message):
    """Asks for something that only an operator may have done."""

    leadership_term_id: Int64
    cluster_session_id: Int64
    correlation_id: Int64
    request_type: AdminRequestType
    payload: VarData = b""


@message(27)
class AdminResponse(Message):
    """Answers an AdminRequest."""

    cluster_session_id: Int64
    correlation_id: Int64
    request_type: AdminRequestType
    response_code: AdminResponseCode
    message: VarAscii = ""
    payload: VarData = b""
