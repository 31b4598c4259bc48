"""Requests about replays (spec archive-protocol 11)."""

from typing import Annotated

from aerolog.archive.protocol.enums import NULL_LENGTH, NULL_VALUE
from aerolog.archive.protocol.schema import message
from aerolog.transport.protocol.sbe import Int32, Int64, Message, Since, VarAscii


@message(6)
class ReplayRequest(Message):
    """Replays a recording onto a new publication."""

    control_session_id: Int64
    correlation_id: Int64
    recording_id: Int64
    position: Int64
    length: Int64
    replay_stream_id: Int32
    file_io_max_length: Annotated[Int32, Since(7)] = NULL_LENGTH
    replay_token: Annotated[Int64, Since(10)] = NULL_VALUE
    replay_channel: VarAscii


@message(18)
class BoundedReplayRequest(Message):
    """Replays a recording up to what a counter says."""

    control_session_id: Int64
    correlation_id: Int64
    recording_id: Int64
    position: Int64
    length: Int64
    limit_counter_id: Int32
    replay_stream_id: Int32
    file_io_max_length: Annotated[Int32, Since(7)] = NULL_LENGTH
    replay_token: Annotated[Int64, Since(10)] = NULL_VALUE
    replay_channel: VarAscii


@message(7)
class StopReplayRequest(Message):
    """Ends one replay."""

    control_session_id: Int64
    correlation_id: Int64
    replay_session_id: Int64


@message(19)
class StopAllReplaysRequest(Message):
    """Ends all replays of a recording, of all recordings with -1."""

    control_session_id: Int64
    correlation_id: Int64
    recording_id: Int64


@message(105, added_in=10)
class ReplayTokenRequest(Message):
    """Asks for a token with which a replay can be requested on another connection."""

    control_session_id: Int64
    correlation_id: Int64
    recording_id: Int64
