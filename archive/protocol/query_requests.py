"""Requests for descriptors and positions (spec archive-protocol 13)."""

from aerolog.archive.protocol.enums import BooleanType
from aerolog.archive.protocol.fields import Int32, Int64, VarAscii
from aerolog.archive.protocol.layout import Message, message


@message(8)
class ListRecordingsRequest(Message):
    """Descriptors of recordings from an id on."""

    control_session_id: Int64
    correlation_id: Int64
    from_recording_id: Int64
    record_count: Int32


@message(9)
class ListRecordingsForUriRequest(Message):
    """As ListRecordingsRequest, of one stream id and a part of the channel."""

    control_session_id: Int64
    correlation_id: Int64
    from_recording_id: Int64
    record_count: Int32
    stream_id: Int32
    channel: VarAscii


@message(10)
class ListRecordingRequest(Message):
    """Descriptor of one recording."""

    control_session_id: Int64
    correlation_id: Int64
    recording_id: Int64


@message(17)
class ListRecordingSubscriptionsRequest(Message):
    """The subscriptions through which the archive records."""

    control_session_id: Int64
    correlation_id: Int64
    pseudo_index: Int32
    subscription_count: Int32
    apply_stream_id: BooleanType
    stream_id: Int32
    channel: VarAscii


@message(16)
class FindLastMatchingRecordingRequest(Message):
    """The newest recording of a session, a stream and a part of the channel."""

    control_session_id: Int64
    correlation_id: Int64
    min_recording_id: Int64
    session_id: Int32
    stream_id: Int32
    channel: VarAscii


@message(52)
class StartPositionRequest(Message):
    """Position at which a recording starts."""

    control_session_id: Int64
    correlation_id: Int64
    recording_id: Int64


@message(15)
class StopPositionRequest(Message):
    """Position at which a recording stopped."""

    control_session_id: Int64
    correlation_id: Int64
    recording_id: Int64


@message(12)
class RecordingPositionRequest(Message):
    """Position up to which a live recording has been written."""

    control_session_id: Int64
    correlation_id: Int64
    recording_id: Int64


@message(67, added_in=9)
class MaxRecordedPositionRequest(Message):
    """Position up to which a recording is written, live or stopped."""

    control_session_id: Int64
    correlation_id: Int64
    recording_id: Int64
