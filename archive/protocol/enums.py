"""Enumerations and version numbers of the archive's control protocol (spec archive-protocol 2)."""

from __future__ import annotations

from enum import IntEnum
from typing import Final, Self

SCHEMA_ID: Final = 101
SCHEMA_VERSION: Final = 13

NULL_INT32: Final = -(2**31)
NULL_INT64: Final = -(2**63)

NULL_VALUE: Final = -1
NULL_POSITION: Final = -1
NULL_LENGTH: Final = -1
REPLAY_ALL_AND_FOLLOW: Final = -1
REPLAY_ALL_AND_STOP: Final = -2


class WireEnum(IntEnum):
    """An enumeration of four bytes; a number that it does not list becomes a nameless member."""

    @classmethod
    def _missing_(cls, value: object) -> Self:
        member = int.__new__(cls, value)  # type: ignore[call-overload]
        member._name_ = f"UNKNOWN_{value}"
        member._value_ = value
        return member  # type: ignore[no-any-return]

    @property
    def is_listed(self) -> bool:
        """Whether the schema has the value."""
        return self._value_ in type(self)._value2member_map_


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


class BooleanType(WireEnum):
    """A boolean field of four bytes."""

    NULL = NULL_INT32
    FALSE = 0
    TRUE = 1


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


def semantic_version(major: int, minor: int, patch: int) -> int:
    """Pack a version as the protocol carries it.

    Args:
        major: 0 to 255, as the other two; not all three may be 0.
        minor: second number.
        patch: third number.

    Raises:
        ValueError: a number out of range.
    """
    numbers = (major, minor, patch)
    if not all(0 <= number <= 255 for number in numbers) or not any(numbers):
        raise ValueError(f"not a semantic version: {major}.{minor}.{patch}, each is 0 to 255")
    return major << 16 | minor << 8 | patch


def semantic_version_text(version: int) -> str:
    """``major.minor.patch`` of a packed version."""
    return f"{version >> 16 & 0xFF}.{version >> 8 & 0xFF}.{version & 0xFF}"


def semantic_version_major(version: int) -> int:
    """Major number of a packed version, the only one that an archive compares."""
    return version >> 16 & 0xFF


PROTOCOL_VERSION: Final = semantic_version(1, 12, 0)
ARCHIVE_ID_PROTOCOL_VERSION: Final = semantic_version(1, 11, 0)
