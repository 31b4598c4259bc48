"""The header of each message between a session and its cluster, for native code (spec cluster 8).

The message classes have the whole tables; a test compares these numbers with them.
"""

from libc.stdint cimport int64_t, uint8_t

from aerolog.archive.protocol.offsets cimport (
    BLOCK_LENGTH_OFFSET,
    SCHEMA_ID_OFFSET,
    SCHEMA_VERSION_OFFSET,
    TEMPLATE_ID_OFFSET,
)
from aerolog.transport.concurrent.atomic cimport put_i64, put_u16

cdef enum:
    TERM_ID_OFFSET = 8
    SESSION_ID_OFFSET = 16
    TIMESTAMP_OFFSET = 24
    SESSION_HEADER_LENGTH = 32

    SCHEMA_ID = 111
    SCHEMA_VERSION = 16
    SESSION_MESSAGE = 1        # the template's id
    SESSION_MESSAGE_BLOCK = 24
    KEEP_ALIVE = 5             # SessionKeepAlive, with the same two fields first
    KEEP_ALIVE_BLOCK = 16


cdef inline void put_session_header(
    uint8_t* header, int64_t leadership_term_id, int64_t session_id, int64_t timestamp
) noexcept nogil:
    put_u16(header + BLOCK_LENGTH_OFFSET, SESSION_MESSAGE_BLOCK)
    put_u16(header + TEMPLATE_ID_OFFSET, SESSION_MESSAGE)
    put_u16(header + SCHEMA_ID_OFFSET, SCHEMA_ID)
    put_u16(header + SCHEMA_VERSION_OFFSET, SCHEMA_VERSION)
    put_i64(header + TERM_ID_OFFSET, leadership_term_id)
    put_i64(header + SESSION_ID_OFFSET, session_id)
    put_i64(header + TIMESTAMP_OFFSET, timestamp)
