"""Requests to copy from another archive (spec archive-protocol 15)."""

from typing import Annotated

from aerolog.archive.protocol.enums import NULL_LENGTH, NULL_VALUE
from aerolog.archive.protocol.schema import message
from aerolog.transport.protocol.sbe import Int32, Int64, Message, Since, VarAscii, VarData


@message(50)
class ReplicateRequest(Message):
    """Copies a recording from another archive; the oldest form."""

    control_session_id: Int64
    correlation_id: Int64
    src_recording_id: Int64
    dst_recording_id: Int64
    src_control_stream_id: Int32
    src_control_channel: VarAscii
    live_destination: VarAscii


@message(62)
class TaggedReplicateRequest(Message):
    """As ReplicateRequest, with tags of the channel and subscription that receive the replay."""

    control_session_id: Int64
    correlation_id: Int64
    src_recording_id: Int64
    dst_recording_id: Int64
    channel_tag_id: Int64
    subscription_tag_id: Int64
    src_control_stream_id: Int32
    src_control_channel: VarAscii
    live_destination: VarAscii


@message(66, added_in=6)
class ReplicateRequest2(Message):
    """Copies a recording from another archive; what all 1.51 clients send."""

    control_session_id: Int64
    correlation_id: Int64
    src_recording_id: Int64
    dst_recording_id: Int64
    stop_position: Int64
    channel_tag_id: Int64
    subscription_tag_id: Int64
    src_control_stream_id: Int32
    file_io_max_length: Annotated[Int32, Since(7)] = NULL_LENGTH
    replication_session_id: Annotated[Int32, Since(8)] = NULL_VALUE
    src_control_channel: VarAscii
    live_destination: VarAscii = ""
    replication_channel: VarAscii = ""
    encoded_credentials: Annotated[VarData, Since(8)] = b""
    src_response_channel: Annotated[VarAscii, Since(10)] = ""


@message(51)
class StopReplicationRequest(Message):
    """Ends a replication."""

    control_session_id: Int64
    correlation_id: Int64
    replication_id: Int64
