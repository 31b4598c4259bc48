"""What counters' keys and labels say, checked before it is used (spec counters 3, 4, 7)."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

PUBLISHER_LIMIT: Final = 1
SENDER_POSITION: Final = 2
RECEIVER_HWM: Final = 3
SUBSCRIBER_POSITION: Final = 4
RECEIVER_POSITION: Final = 5
SEND_CHANNEL_STATUS: Final = 6
RECEIVE_CHANNEL_STATUS: Final = 7
SENDER_LIMIT: Final = 9
PER_IMAGE: Final = 10
HEARTBEAT: Final = 11
PUBLISHER_POSITION: Final = 12
SENDER_BPE: Final = 13
FLOW_CONTROL_RECEIVERS: Final = 17
NAKS_RECEIVED: Final = 19
NAKS_SENT: Final = 20
RECORDING_POSITION: Final = 100

_STREAM: Final = struct.Struct("<qiii")
_CHANNEL: Final = struct.Struct("<i")
_RECORDING: Final = struct.Struct("<qii")
_KNOWN_MAX: Final = 16_384


@dataclass(frozen=True, slots=True)
class StreamKey:
    """The key of a stream's counter; ``channel`` may be cut off at 92 characters."""

    registration_id: int
    session_id: int
    stream_id: int
    channel: str


@dataclass(frozen=True, slots=True)
class RecordingKey:
    """The key of a recording's position counter."""

    recording_id: int
    session_id: int
    source_identity: str
    archive_id: int | None


@lru_cache(_KNOWN_MAX)
def stream_key(key: bytes) -> StreamKey:
    """Decode a stream counter's key; a channel's length out of bounds is cut to what is there."""
    registration_id, session_id, stream_id, length = _STREAM.unpack_from(key)
    length = max(0, min(length, len(key) - _STREAM.size))
    channel = key[_STREAM.size : _STREAM.size + length].decode("ascii", "replace")
    return StreamKey(registration_id, session_id, stream_id, channel)


@lru_cache(_KNOWN_MAX)
def channel_key(key: bytes) -> str:
    """Decode a channel status counter's key; may be cut off at 108 characters."""
    length = max(0, min(_CHANNEL.unpack_from(key)[0], len(key) - _CHANNEL.size))
    return key[_CHANNEL.size : _CHANNEL.size + length].decode("ascii", "replace")


@lru_cache(_KNOWN_MAX)
def recording_key(key: bytes) -> RecordingKey:
    """Decode a recording position counter's key; no archive id where the key has no room for it."""
    recording_id, session_id, length = _RECORDING.unpack_from(key)
    end = _RECORDING.size + max(0, min(length, len(key) - _RECORDING.size))
    source = key[_RECORDING.size : end].decode("ascii", "replace")
    archive_id = None
    if length >= 0 and end + 8 <= len(key):
        archive_id = int.from_bytes(key[end : end + 8], "little", signed=True)
    return RecordingKey(recording_id, session_id, source, archive_id)


def client_id(key: bytes) -> int:
    """Decode a client heartbeat counter's key."""
    return int.from_bytes(key[:8], "little", signed=True)


def client_name(label: str) -> str:
    """The name in a client heartbeat counter's label, empty without one."""
    return label.partition(" name=")[2].partition(" version=")[0]


def label_name(label: str) -> str:
    """What stands before the first colon of a stream counter's label, all of it without one."""
    return label.partition(":")[0]


def label_channel(label: str) -> str | None:
    """The channel in a stream counter's label, which is longer than a key's; None without one.

    A subscriber's label has `` @<join position>`` behind it.
    """
    start = label.find("aeron:")
    if start < 0:
        return None
    end = label.rfind(" @")
    return label[start : end if end > start else None]
