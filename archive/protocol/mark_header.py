"""The head of an archive's mark file: SBE schema 100, version 2 (spec archive-files 13)."""

from typing import Annotated, Final

from aerolog.transport.protocol.mark_header import ERROR_BUFFER_LENGTH, MARK_HEADER_LENGTH
from aerolog.transport.protocol.sbe import (
    At,
    Int8,
    Int32,
    Int64,
    Message,
    Schema,
    VarAscii,
    message_of,
)

MARK_SCHEMA: Final = Schema(100, 2)


@message_of(MARK_SCHEMA, 200)
class MarkFileHeader(Message):
    """Who owns an archive's folder; timestamps are epoch milliseconds."""

    version: Int32 = 0
    activity_timestamp: Annotated[Int64, At(8)] = 0
    start_timestamp: Int64
    pid: Int64
    control_stream_id: Int32
    local_control_stream_id: Int32
    events_stream_id: Int32
    header_length: Int32 = MARK_HEADER_LENGTH
    error_buffer_length: Int32 = ERROR_BUFFER_LENGTH
    archive_id: Annotated[Int64, At(56)]
    reserved: Annotated[Int8, At(127)] = 0
    control_channel: VarAscii
    local_control_channel: VarAscii
    events_channel: VarAscii
    aeron_directory: VarAscii
