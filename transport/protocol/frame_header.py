"""The header of a frame in a log or segment, as a table of fields (spec log-buffers 4).

Offsets, types and flags stand in ``frames.pxd``; this table gives the fields names and formats.
"""

from __future__ import annotations

from aerolog.transport.protocol import frames
from aerolog.transport.protocol.fixed_layout import Field, packer

FRAME_HEADER = (
    Field("frame_length", frames.FRAME_LENGTH_OFFSET, "i"),
    Field("version", frames.VERSION_OFFSET, "B"),
    Field("flags", frames.FLAGS_OFFSET, "B"),
    Field("type", frames.TYPE_OFFSET, "H"),
    Field("term_offset", frames.TERM_OFFSET_OFFSET, "i"),
    Field("session_id", frames.SESSION_ID_OFFSET, "i"),
    Field("stream_id", frames.STREAM_ID_OFFSET, "i"),
    Field("term_id", frames.TERM_ID_OFFSET, "i"),
    Field("reserved_value", frames.RESERVED_VALUE_OFFSET, "q"),
)
#: Packs and unpacks all nine fields in the order of the table.
FRAME_HEADER_STRUCT = packer(FRAME_HEADER, frames.DATA_HEADER_LENGTH)
