"""Requests about the control session itself (spec archive-protocol 6)."""

from typing import Annotated

from aerolog.archive.protocol.enums import PROTOCOL_VERSION
from aerolog.archive.protocol.schema import message
from aerolog.transport.protocol.sbe import (
    Int32,
    Int64,
    Message,
    PackedVersion,
    Since,
    VarAscii,
    VarData,
)


@message(2)
class ConnectRequest(Message):
    """Opens a control session, without credentials; what clients before version 1.28 sent."""

    correlation_id: Int64
    response_stream_id: Int32
    version: Annotated[PackedVersion, Since(2)] = PROTOCOL_VERSION
    response_channel: VarAscii


@message(58)
class AuthConnectRequest(Message):
    """Opens a control session; what all 1.51 clients send."""

    correlation_id: Int64
    response_stream_id: Int32
    version: PackedVersion = PROTOCOL_VERSION
    response_channel: VarAscii
    encoded_credentials: VarData = b""
    client_info: Annotated[VarAscii, Since(12)] = ""


@message(60)
class ChallengeResponse(Message):
    """The proof that a Challenge asked for."""

    control_session_id: Int64
    correlation_id: Int64
    encoded_credentials: VarData


@message(3)
class CloseSessionRequest(Message):
    """Ends a control session; there is no answer."""

    control_session_id: Int64


@message(61)
class KeepAliveRequest(Message):
    """Says that the client is there; there is no answer."""

    control_session_id: Int64
    correlation_id: Int64


@message(68, added_in=9)
class ArchiveIdRequest(Message):
    """Asks for the id of the archive."""

    control_session_id: Int64
    correlation_id: Int64
