"""Layouts of the files in a cluster folder, as tables of each field's offset, size and type.

Formats: spec cluster 3 (recording.log). Mark files and node-state.dat consist of messages, whose
tables are those of ``cluster.protocol``.
"""

from __future__ import annotations

from typing import Final

from aerolog.cluster.protocol.node_state_messages import NodeStateHeader
from aerolog.transport.protocol.fixed_layout import Field, packer
from aerolog.transport.protocol.sbe import semantic_version

RECORDING_LOG_NAME: Final = "recording.log"
NODE_STATE_NAME: Final = "node-state.dat"
CLUSTER_MARK_NAME: Final = "cluster-mark.dat"
MARK_VERSION: Final = semantic_version(0, 3, 0)

ENTRY_FIELDS: Final = (
    Field("recording_id", 0, "q"),
    Field("leadership_term_id", 8, "q"),
    Field("term_base_log_position", 16, "q"),
    Field("log_position", 24, "q"),
    Field("timestamp", 32, "q"),
    Field("service_id", 40, "i"),
    Field("type", 44, "i"),
)
#: Where an entry's text starts: its length as int32, then ASCII.
ENDPOINT_OFFSET: Final = 48
ENTRY_ALIGNMENT: Final = 64
ENTRY_LENGTH_MAX: Final = 4096
ENDPOINT_LENGTH_MAX: Final = ENTRY_LENGTH_MAX - ENDPOINT_OFFSET - 4
ENTRY: Final = packer(ENTRY_FIELDS, ENDPOINT_OFFSET)
INVALID_FLAG: Final = 1 << 31
REMOVED: Final = -1

NODE_STATE_LENGTH: Final = 1024 * 1024
NODE_STATE_VERSION: Final = semantic_version(0, 3, 0)
FRAME_ALIGNMENT: Final = 8
FIRST_FRAME_OFFSET: Final = NodeStateHeader.LAYOUT.block_length
