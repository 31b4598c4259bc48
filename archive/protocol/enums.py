"""Enumerations and version numbers of the archive's control protocol (spec archive-protocol 2)."""

from __future__ import annotations

from typing import Final

from aerolog.transport.protocol.sbe import NULL_INT32, WireEnum, semantic_version

NULL_VALUE: Final = -1
NULL_POSITION: Final = -1
NULL_LENGTH: Final = -1
REPLAY_ALL_AND_FOLLOW: Final = -1
REPLAY_ALL_AND_STOP: Final = -2


class ControlResponseCode(WireEnum):
    """What a ControlResponse says; see spec archive-protocol 2.2 for its relevant id."""

    NULL = NULL_INT32
    OK = 0
    ERROR = 1
    RECORDING_UNKNOWN = 2
    SUBSCRIPTION_UNKNOWN = 3


class SourceLocation(WireEnum):
    """Where the stream to record comes from, seen from the archive's driver."""

    NULL = NULL_INT32
    LOCAL = 0
    REMOTE = 1


class RecordingSignal(WireEnum):
    """What happened to a recording."""

    NULL = NULL_INT32
    START = 0
    STOP = 1
    EXTEND = 2
    REPLICATE = 3
    MERGE = 4
    SYNC = 5
    DELETE = 6
    REPLICATE_END = 7


class RecordingState(WireEnum):
    """State of a catalog entry. Only the archive's tools look at entries that are not VALID."""

    NULL = NULL_INT32
    INVALID = 0
    VALID = 1
    DELETED = 2


PROTOCOL_VERSION: Final = semantic_version(1, 12, 0)
ARCHIVE_ID_PROTOCOL_VERSION: Final = semantic_version(1, 11, 0)
