"""Messages of which the catalog file consists (spec archive-files 3)."""

from typing import Annotated

from aerolog.archive.protocol.enums import RecordingState
from aerolog.archive.protocol.schema import message
from aerolog.transport.protocol.sbe import At, Int8, Int32, Int64, Message, VarAscii


@message(20)
class CatalogHeader(Message):
    """Head of the catalog file, stored without a message header; nobody sends it."""

    version: Int32
    length: Int32
    next_recording_id: Int64
    alignment: Int32
    reserved: Annotated[Int8, At(31)] = 0


@message(21)
class RecordingDescriptorHeader(Message):
    """Head of a catalog entry, stored without a message header; nobody sends it."""

    length: Int32
    state: RecordingState
    checksum: Int32 = 0
    reserved: Annotated[Int8, At(31)] = 0


@message(22)
class RecordingDescriptor(Message):
    """The descriptor of a recording, which is also the body of its catalog entry."""

    control_session_id: Int64
    correlation_id: Int64
    recording_id: Int64
    start_timestamp: Int64
    stop_timestamp: Int64
    start_position: Int64
    stop_position: Int64
    initial_term_id: Int32
    segment_file_length: Int32
    term_buffer_length: Int32
    mtu_length: Int32
    session_id: Int32
    stream_id: Int32
    stripped_channel: VarAscii
    original_channel: VarAscii
    source_identity: VarAscii
