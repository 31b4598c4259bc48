"""What an archive sends to its recording events stream (spec archive-protocol 17)."""

from aerolog.archive.protocol.schema import message
from aerolog.transport.protocol.sbe import Int32, Int64, Message, VarAscii


@message(101)
class RecordingStarted(Message):
    """A recording begins to be written."""

    recording_id: Int64
    start_position: Int64
    session_id: Int32
    stream_id: Int32
    channel: VarAscii
    source_identity: VarAscii


@message(102)
class RecordingProgress(Message):
    """A recording has been written further."""

    recording_id: Int64
    start_position: Int64
    position: Int64


@message(103)
class RecordingStopped(Message):
    """A recording has stopped."""

    recording_id: Int64
    start_position: Int64
    stop_position: Int64
