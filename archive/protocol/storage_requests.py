"""Requests that change what is stored (spec archive-protocol 14)."""

from aerolog.archive.protocol.schema import message
from aerolog.transport.protocol.sbe import Int64, Message, VarAscii


@message(13)
class TruncateRecordingRequest(Message):
    """Cuts the end of a stopped recording off."""

    control_session_id: Int64
    correlation_id: Int64
    recording_id: Int64
    position: Int64


@message(104, added_in=5)
class PurgeRecordingRequest(Message):
    """Removes a recording."""

    control_session_id: Int64
    correlation_id: Int64
    recording_id: Int64


@message(53)
class DetachSegmentsRequest(Message):
    """Moves the start of a recording forward and keeps the files before it."""

    control_session_id: Int64
    correlation_id: Int64
    recording_id: Int64
    new_start_position: Int64


@message(54)
class DeleteDetachedSegmentsRequest(Message):
    """Removes the files before the start of a recording."""

    control_session_id: Int64
    correlation_id: Int64
    recording_id: Int64


@message(55)
class PurgeSegmentsRequest(Message):
    """Detaches segments and deletes their files in one request."""

    control_session_id: Int64
    correlation_id: Int64
    recording_id: Int64
    new_start_position: Int64


@message(56)
class AttachSegmentsRequest(Message):
    """Moves the start of a recording back over detached segment files."""

    control_session_id: Int64
    correlation_id: Int64
    recording_id: Int64


@message(57)
class MigrateSegmentsRequest(Message):
    """Moves the files of one recording to the front or end of another."""

    control_session_id: Int64
    correlation_id: Int64
    src_recording_id: Int64
    dst_recording_id: Int64


@message(107, added_in=13)
class UpdateChannelRequest(Message):
    """Changes the channel that the catalog holds for a recording."""

    control_session_id: Int64
    correlation_id: Int64
    recording_id: Int64
    channel: VarAscii
