"""Formats an archive's event records as lines of text.

Requests, responses and signals are recorded as they are sent, with their header; other events in
the form that `event_log` writes. Of a truncated record the fields that are complete are shown.
"""

from __future__ import annotations

import re
from enum import Enum, IntEnum
from typing import TYPE_CHECKING, Any, Final

from aerolog.archive import protocol as ap
from aerolog.transport.errors import MessageFormatError
from aerolog.transport.events.event_fields import Fields, name_and_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.archive.protocol import Message


class ArchiveEventCode(IntEnum):
    """The events of an archive; names and numbers are the reference's."""

    CMD_IN_CONNECT = 1
    CMD_IN_CLOSE_SESSION = 2
    CMD_IN_START_RECORDING = 3
    CMD_IN_STOP_RECORDING = 4
    CMD_IN_REPLAY = 5
    CMD_IN_STOP_REPLAY = 6
    CMD_IN_LIST_RECORDINGS = 7
    CMD_IN_LIST_RECORDINGS_FOR_URI = 8
    CMD_IN_LIST_RECORDING = 9
    CMD_IN_EXTEND_RECORDING = 10
    CMD_IN_RECORDING_POSITION = 11
    CMD_IN_TRUNCATE_RECORDING = 12
    CMD_IN_STOP_RECORDING_SUBSCRIPTION = 13
    CMD_IN_STOP_POSITION = 14
    CMD_IN_FIND_LAST_MATCHING_RECORD = 15
    CMD_IN_LIST_RECORDING_SUBSCRIPTIONS = 16
    CMD_IN_START_BOUNDED_REPLAY = 17
    CMD_IN_STOP_ALL_REPLAYS = 18
    CMD_IN_REPLICATE = 19
    CMD_IN_STOP_REPLICATION = 20
    CMD_IN_START_POSITION = 21
    CMD_IN_DETACH_SEGMENTS = 22
    CMD_IN_DELETE_DETACHED_SEGMENTS = 23
    CMD_IN_PURGE_SEGMENTS = 24
    CMD_IN_ATTACH_SEGMENTS = 25
    CMD_IN_MIGRATE_SEGMENTS = 26
    CMD_IN_AUTH_CONNECT = 27
    CMD_IN_KEEP_ALIVE = 28
    CMD_IN_TAGGED_REPLICATE = 29
    CMD_OUT_RESPONSE = 30
    CMD_IN_START_RECORDING2 = 31
    CMD_IN_EXTEND_RECORDING2 = 32
    CMD_IN_STOP_RECORDING_BY_IDENTITY = 33
    REPLICATION_SESSION_STATE_CHANGE = 34
    CONTROL_SESSION_STATE_CHANGE = 35
    REPLAY_SESSION_ERROR = 36
    CATALOG_RESIZE = 37
    CMD_IN_PURGE_RECORDING = 38
    CMD_IN_REPLICATE2 = 39
    RECORDING_SIGNAL = 40
    REPLICATION_SESSION_DONE = 41
    CMD_IN_REQUEST_REPLAY_TOKEN = 42
    REPLAY_SESSION_STATE_CHANGE = 43
    RECORDING_SESSION_STATE_CHANGE = 44
    CMD_IN_MAX_RECORDED_POSITION = 45


E = ArchiveEventCode

# Events whose names do not follow from the names of their messages.
_OTHER_NAMES: Final[dict[str, ArchiveEventCode]] = {
    "BoundedReplayRequest": E.CMD_IN_START_BOUNDED_REPLAY,
    "ControlResponse": E.CMD_OUT_RESPONSE,
    "FindLastMatchingRecordingRequest": E.CMD_IN_FIND_LAST_MATCHING_RECORD,
    "RecordingSignalEvent": E.RECORDING_SIGNAL,
    "ReplayTokenRequest": E.CMD_IN_REQUEST_REPLAY_TOKEN,
}


def _event_of(message: type[Message]) -> ArchiveEventCode | None:
    """Return the event as which a message is logged, None when the reference does not log it."""
    name = message.LAYOUT.name
    words = re.sub(r"(?<=.)(?=[A-Z])", "_", name.replace("Request", "")).upper()
    return _OTHER_NAMES.get(name) or ArchiveEventCode.__members__.get(f"CMD_IN_{words}")


#: Event of each logged message, by template id.
MESSAGE_EVENTS: Final = {
    template_id: event
    for template_id, message in ap.MESSAGES.items()
    if (event := _event_of(message)) is not None
}

# Fields that the reference leaves out of its lines.
_LEFT_OUT: Final = frozenset(
    {
        "file_io_max_length",
        "replay_token",
        "replication_session_id",
        "src_response_channel",
        "client_info",
    }
)
_LEFT_OUT_OF: Final[dict[ArchiveEventCode, frozenset[str]]] = {
    E.CMD_IN_DETACH_SEGMENTS: frozenset({"new_start_position"}),
    E.CMD_IN_REPLICATE2: frozenset({"encoded_credentials"}),
}
# Field order of lines in which it differs from the order in the message.
_FIRST: Final[dict[ArchiveEventCode, tuple[str, ...]]] = {
    E.CMD_IN_LIST_RECORDING_SUBSCRIPTIONS: (
        "control_session_id",
        "correlation_id",
        "pseudo_index",
        "apply_stream_id",
    ),
}


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


def _shown(name: str, value: Any) -> str:
    if isinstance(value, bytes):
        return f"{_camel(name)}Length={len(value)}"
    if isinstance(value, Enum):
        return f"{_camel(name)}={value.name}"
    return f"{_camel(name)}={value}"


def message_text(event: ArchiveEventCode, data: bytes) -> str:
    """Format the fields of a message as the reference's lines do.

    Raises:
        MessageFormatError: the bytes are not a complete message.
    """
    message = ap.decode(data)
    if message is None:
        raise MessageFormatError("no message of the schema")
    layout = message.LAYOUT
    left_out = _LEFT_OUT | _LEFT_OUT_OF.get(event, frozenset())
    names = [field.name for field in layout.fixed if field.name not in left_out]
    names += [field.name for field in layout.var if field.name not in left_out]
    first = _FIRST.get(event, ())
    ordered = [*first, *(name for name in names if name not in first)]
    return " ".join(_shown(name, getattr(message, name)) for name in ordered)


def _control(fields: Fields) -> str:
    return f"controlSessionId={fields.take('q')} {fields.change()}"


def _recording(fields: Fields) -> str:
    return f"recordingId={fields.take('q')} position={fields.take('q')} {fields.change()}"


def _replay(fields: Fields) -> str:
    replay_session_id = fields.take("q")
    session_id = (replay_session_id & 0xFFFFFFFF) - (replay_session_id << 1 & 1 << 32)
    return (
        f"replaySessionId={replay_session_id} replayId={replay_session_id >> 32} "
        f"sessionId={session_id} {_recording(fields)}"
    )


def _replay_error(fields: Fields) -> str:
    return (
        f"sessionId={fields.take('q')} recordingId={fields.take('q')} errorMessage={fields.text()}"
    )


def _replication(fields: Fields) -> str:
    return (
        f"replicationId={fields.take('q')} srcRecordingId={fields.take('q')} "
        f"dstRecordingId={fields.take('q')} position={fields.take('q')} {fields.change()}"
    )


_DONE: Final = (
    "controlSessionId",
    "replicationId",
    "srcRecordingId",
    "replayPosition",
    "srcStopPosition",
    "dstRecordingId",
    "dstStopPosition",
    "position",
)
_DONE_FLAGS: Final = ("isClosed", "isEndOfStream", "isSynced")


def _replication_done(fields: Fields) -> str:
    numbers = [f"{name}={fields.take('q')}" for name in _DONE]
    flags = [f"{name}={'true' if fields.take('b') else 'false'}" for name in _DONE_FLAGS]
    return " ".join((*numbers, *flags))


def _resize(fields: Fields) -> str:
    return f"{fields.take('q')} bytes => {fields.take('q')} bytes"


_OTHERS: Final[dict[ArchiveEventCode, Callable[[Fields], str]]] = {
    E.CONTROL_SESSION_STATE_CHANGE: _control,
    E.RECORDING_SESSION_STATE_CHANGE: _recording,
    E.REPLAY_SESSION_STATE_CHANGE: _replay,
    E.REPLAY_SESSION_ERROR: _replay_error,
    E.REPLICATION_SESSION_STATE_CHANGE: _replication,
    E.REPLICATION_SESSION_DONE: _replication_done,
    E.CATALOG_RESIZE: _resize,
}


def dissect(event: int, data: bytes) -> tuple[str, str]:
    """Return name and text of an event.

    Args:
        event: the event's number; an unknown one is shown as a number.
        data: the recorded bytes, which may be truncated.
    """
    return name_and_text(ArchiveEventCode, event, data, _text)


def _text(event: ArchiveEventCode, data: bytes) -> str:
    return _OTHERS[event](Fields(data)) if event in _OTHERS else message_text(event, data)
