"""The messages of which ``node-state.dat`` consists: SBE schema 112, version 10 (spec cluster 5).

Their header also says how long the message is.
"""

from typing import Final

from aerolog.transport.protocol.sbe import Int32, Int64, Message, Schema, VarAscii, message_of

NODE_STATE_SCHEMA: Final = Schema(112, 10, has_frame_length=True)


@message_of(NODE_STATE_SCHEMA, 300)
class NodeStateHeader(Message):
    """Head of the file; stored without a message header."""

    version: Int32
    padding: Int32 = 0


@message_of(NODE_STATE_SCHEMA, 301)
class CandidateTerm(Message):
    """The highest term in which a member stood or voted."""

    candidate_term_id: Int64 = -1
    timestamp: Int64 = -1
    log_position: Int64 = -1


@message_of(NODE_STATE_SCHEMA, 303)
class ClusterMembers(Message):
    """The members of a cluster; 1.51.0 does not write it."""

    leadership_term_id: Int64
    member_id: Int32
    high_member_id: Int32
    cluster_members: VarAscii


@message_of(NODE_STATE_SCHEMA, 304)
class NodeStateFooter(Message):
    """What stands behind the last message."""
