"""What an archive sends to the response stream of a control session (spec archive-protocol 3)."""

from typing import Annotated

from aerolog.archive.protocol.enums import PROTOCOL_VERSION, ControlResponseCode, RecordingSignal
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


@message(1)
class ControlResponse(Message):
    """The answer to a request: a code, and an id or text that the code gives a meaning."""

    control_session_id: Int64
    correlation_id: Int64
    relevant_id: Int64
    code: ControlResponseCode
    version: Annotated[PackedVersion, Since(4)] = PROTOCOL_VERSION
    error_message: VarAscii = ""


@message(23)
class RecordingSubscriptionDescriptor(Message):
    """One subscription through which the archive records."""

    control_session_id: Int64
    correlation_id: Int64
    subscription_id: Int64
    stream_id: Int32
    stripped_channel: VarAscii


@message(24)
class RecordingSignalEvent(Message):
    """Tells a session of a change to a recording that one of its requests caused."""

    control_session_id: Int64
    correlation_id: Int64
    recording_id: Int64
    subscription_id: Int64
    position: Int64
    signal: RecordingSignal


@message(59)
class Challenge(Message):
    """Asks a connecting client for proof."""

    control_session_id: Int64
    correlation_id: Int64
    version: PackedVersion = PROTOCOL_VERSION
    encoded_challenge: VarData


@message(106, added_in=11)
class Ping(Message):
    """Lets the archive notice clients that do not read; clients ignore the message."""

    control_session_id: Int64
