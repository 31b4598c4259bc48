"""The schema of the cluster's messages: its enumerations, versions, and the decorators.

Facts: spec cluster 6, spec cluster 24.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar, dataclass_transform

from aerolog.transport.protocol.sbe import (
    NULL_INT32,
    GroupEntry,
    Message,
    Schema,
    WireEnum,
    semantic_version,
)

if TYPE_CHECKING:
    from collections.abc import Callable

SCHEMA_ID: Final = 111
SCHEMA_VERSION: Final = 16
SCHEMA: Final = Schema(SCHEMA_ID, SCHEMA_VERSION)

NULL_VALUE: Final = -1
NULL_POSITION: Final = -1
#: What clients send, and what a consensus module compares the major number with.
CLIENT_PROTOCOL_VERSION: Final = semantic_version(0, 3, 0)
#: What members send each other.
CONSENSUS_PROTOCOL_VERSION: Final = semantic_version(1, 0, 0)
#: Type ids of the snapshot of a consensus module, and of a service.
MODULE_SNAPSHOT_TYPE_ID: Final = 1
SERVICE_SNAPSHOT_TYPE_ID: Final = 2
#: Flags of AppendPosition.
APPEND_POSITION_FLAG_NONE: Final = 0
APPEND_POSITION_FLAG_CATCHUP: Final = 1
#: Flags of ClusterActionRequest.
CLUSTER_ACTION_FLAGS_DEFAULT: Final = 0
CLUSTER_ACTION_FLAGS_STANDBY_SNAPSHOT: Final = 1

M = TypeVar("M", bound=Message)
E = TypeVar("E", bound=GroupEntry)


@dataclass_transform(kw_only_default=True)
def message(template_id: int) -> Callable[[type[M]], type[M]]:
    """Class decorator: makes a message class of the annotations, with its template id."""
    return SCHEMA.add_message(template_id)


@dataclass_transform(kw_only_default=True)
def group_entry(entry_class: type[E]) -> type[E]:
    """Class decorator: makes the class of a group's entries of the annotations."""
    return SCHEMA.add_entry(entry_class)


class EventCode(WireEnum):
    """What a SessionEvent tells a client."""

    NULL = NULL_INT32
    OK = 0
    ERROR = 1
    REDIRECT = 2
    AUTHENTICATION_REJECTED = 3
    CLOSED = 4


class CloseReason(WireEnum):
    """Why a session was closed."""

    NULL = NULL_INT32
    CLIENT_ACTION = 0
    SERVICE_ACTION = 1
    TIMEOUT = 2


class ClusterAction(WireEnum):
    """What all members do when they reach a ClusterActionRequest in the log."""

    NULL = NULL_INT32
    SUSPEND = 0
    RESUME = 1
    SNAPSHOT = 2


class SnapshotMark(WireEnum):
    """Which part of a snapshot a SnapshotMarker begins or ends."""

    NULL = NULL_INT32
    BEGIN = 0
    SECTION = 1
    END = 2


class ChangeType(WireEnum):
    """How the members changed; 1.51.0 has static members and writes neither."""

    NULL = NULL_INT32
    JOIN = 0
    QUIT = 1


class ClusterTimeUnit(WireEnum):
    """The unit of timestamps and deadlines in a log."""

    NULL = NULL_INT32
    MILLIS = 0
    MICROS = 1
    NANOS = 2


class AdminRequestType(WireEnum):
    """What an AdminRequest asks for."""

    NULL = NULL_INT32
    SNAPSHOT = 0


class AdminResponseCode(WireEnum):
    """How an AdminRequest ended."""

    NULL = NULL_INT32
    OK = 0
    ERROR = 1
    UNAUTHORISED_ACCESS = 2
