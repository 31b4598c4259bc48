"""What counters' keys and labels say, checked before it is used (spec counters 3, 4, 7)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from aerolog.archive.protocol.counter_types import ARCHIVE_KEY, POSITION_KEY
from aerolog.transport.counters.counter_types import CHANNEL_KEY, HEARTBEAT_KEY, STREAM_KEY

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
    return StreamKey(*STREAM_KEY.unpack(key))


@lru_cache(_KNOWN_MAX)
def channel_key(key: bytes) -> str:
    """Decode a channel status counter's key; may be cut off at 108 characters."""
    (channel,) = CHANNEL_KEY.unpack(key)
    return str(channel)


@lru_cache(_KNOWN_MAX)
def recording_key(key: bytes) -> RecordingKey:
    """Decode a recording position counter's key; no archive id where the key has no room for it."""
    recording_id, session_id, length = POSITION_KEY.numbers.unpack_from(key)
    *_, source = POSITION_KEY.unpack(key)
    archive_id, tail = None, ARCHIVE_KEY.numbers
    end = POSITION_KEY.numbers.size + length
    if length >= 0 and end + tail.size <= len(key):
        (archive_id,) = tail.unpack_from(key, end)
    return RecordingKey(recording_id, session_id, source, archive_id)


def client_id(key: bytes) -> int:
    """Decode a client heartbeat counter's key."""
    return int(HEARTBEAT_KEY.numbers.unpack_from(key)[0])


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
