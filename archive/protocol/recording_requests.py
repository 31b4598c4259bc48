"""Requests that start, extend and stop recordings (spec archive-protocol 9)."""

from aerolog.archive.protocol.enums import SourceLocation
from aerolog.archive.protocol.schema import message
from aerolog.transport.protocol.sbe import BooleanType, Int32, Int64, Message, VarAscii


@message(4)
class StartRecordingRequest(Message):
    """Records each stream that appears on a channel, until stopped."""

    control_session_id: Int64
    correlation_id: Int64
    stream_id: Int32
    source_location: SourceLocation
    channel: VarAscii


@message(63)
class StartRecordingRequest2(Message):
    """As StartRecordingRequest, and may end with its first recording."""

    control_session_id: Int64
    correlation_id: Int64
    stream_id: Int32
    source_location: SourceLocation
    auto_stop: BooleanType
    channel: VarAscii


@message(11)
class ExtendRecordingRequest(Message):
    """Continues a stopped recording with the next image of a channel."""

    control_session_id: Int64
    correlation_id: Int64
    recording_id: Int64
    stream_id: Int32
    source_location: SourceLocation
    channel: VarAscii


@message(64)
class ExtendRecordingRequest2(Message):
    """As ExtendRecordingRequest, and may end with its first recording."""

    control_session_id: Int64
    correlation_id: Int64
    recording_id: Int64
    stream_id: Int32
    source_location: SourceLocation
    auto_stop: BooleanType
    channel: VarAscii


@message(5)
class StopRecordingRequest(Message):
    """Stops what a channel and a stream id started."""

    control_session_id: Int64
    correlation_id: Int64
    stream_id: Int32
    channel: VarAscii


@message(14)
class StopRecordingSubscriptionRequest(Message):
    """Stops a recording subscription by its id."""

    control_session_id: Int64
    correlation_id: Int64
    subscription_id: Int64


@message(65)
class StopRecordingByIdentityRequest(Message):
    """Stops a recording by its id."""

    control_session_id: Int64
    correlation_id: Int64
    recording_id: Int64
