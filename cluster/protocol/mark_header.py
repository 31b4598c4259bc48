"""The head of a mark file: SBE schema 110, version 2 (spec cluster 4)."""

from typing import Annotated, Final

from aerolog.transport.protocol.mark_header import ERROR_BUFFER_LENGTH, MARK_HEADER_LENGTH
from aerolog.transport.protocol.sbe import (
    NULL_INT32,
    At,
    Int8,
    Int32,
    Int64,
    Message,
    Schema,
    Since,
    VarAscii,
    WireEnum,
    message_of,
)

MARK_SCHEMA: Final = Schema(110, 2)


class ClusterComponentType(WireEnum):
    """Whose mark file it is."""

    NULL = NULL_INT32
    UNKNOWN = 0
    CONSENSUS_MODULE = 1
    CONTAINER = 2
    BACKUP = 3
    STANDBY = 4


@message_of(MARK_SCHEMA, 200)
class MarkFileHeader(Message):
    """Who owns a cluster folder or is a service of it; timestamps are epoch milliseconds."""

    version: Int32 = 0
    component_type: ClusterComponentType
    activity_timestamp: Int64 = 0
    start_timestamp: Int64
    pid: Int64
    candidate_term_id: Int64 = -1
    archive_stream_id: Int32
    service_stream_id: Int32
    consensus_module_stream_id: Int32
    ingress_stream_id: Int32
    member_id: Int32
    service_id: Int32
    header_length: Int32 = MARK_HEADER_LENGTH
    error_buffer_length: Int32 = ERROR_BUFFER_LENGTH
    cluster_id: Int32
    reserved: Annotated[Int8, At(127)] = 0
    aeron_directory: VarAscii
    control_channel: VarAscii
    ingress_channel: VarAscii
    service_name: VarAscii
    authenticator: VarAscii
    services_cluster_dir: Annotated[VarAscii, Since(1)]
