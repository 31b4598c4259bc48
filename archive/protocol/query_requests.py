"""Requests for descriptors and positions (spec archive-protocol 13)."""

from aerolog.archive.protocol.schema import message
from aerolog.transport.protocol.sbe import BooleanType, Int32, Int64, Message, VarAscii


@message(8)
class ListRecordingsRequest(Message):
    """Asks for the descriptors of recordings from an id on."""

    control_session_id: Int64
    correlation_id: Int64
    from_recording_id: Int64
    record_count: Int32


@message(9)
class ListRecordingsForUriRequest(Message):
    """As ListRecordingsRequest, for one stream id and a part of the channel."""

    control_session_id: Int64
    correlation_id: Int64
    from_recording_id: Int64
    record_count: Int32
    stream_id: Int32
    channel: VarAscii


@message(10)
class ListRecordingRequest(Message):
    """Asks for the descriptor of one recording."""

    control_session_id: Int64
    correlation_id: Int64
    recording_id: Int64


@message(17)
class ListRecordingSubscriptionsRequest(Message):
    """Asks for the subscriptions through which the archive records."""

    control_session_id: Int64
    correlation_id: Int64
    pseudo_index: Int32
    subscription_count: Int32
    apply_stream_id: BooleanType
    stream_id: Int32
    channel: VarAscii


@message(16)
class FindLastMatchingRecordingRequest(Message):
    """Asks for the newest recording that matches a session, a stream and a part of the channel."""

    control_session_id: Int64
    correlation_id: Int64
    min_recording_id: Int64
    session_id: Int32
    stream_id: Int32
    channel: VarAscii


@message(52)
class StartPositionRequest(Message):
    """Asks for the position at which a recording starts."""

    control_session_id: Int64
    correlation_id: Int64
    recording_id: Int64


@message(15)
class StopPositionRequest(Message):
    """Asks for the position at which a recording stopped."""

    control_session_id: Int64
    correlation_id: Int64
    recording_id: Int64


@message(12)
class RecordingPositionRequest(Message):
    """Asks for the position up to which a live recording has been written."""

    control_session_id: Int64
    correlation_id: Int64
    recording_id: Int64


@message(67, added_in=9)
class MaxRecordedPositionRequest(Message):
    """Asks for the position up to which a live or stopped recording is written."""

    control_session_id: Int64
    correlation_id: Int64
    recording_id: Int64
