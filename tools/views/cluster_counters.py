"""What the counters of clusters say: whose they are, and names for their values (spec cluster 23).

The names are those of ``cluster.module``, which would take long to import; a test compares both.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aerolog.tools.views.counters_snapshot import Counter

MODULE_STATE: Final = 200
NODE_ROLE: Final = 201
CONTROL_TOGGLE: Final = 202
COMMIT_POSITION: Final = 203
RECOVERY_STATE: Final = 204
SNAPSHOT_COUNT: Final = 205
ELECTION_STATE: Final = 207
BACKUP_STATE: Final = 208
MODULE_ERRORS: Final = 212
TIMED_OUT_CLIENTS: Final = 213
INVALID_REQUESTS: Final = 214
SERVICE_ERRORS: Final = 215
MODULE_MAX_CYCLE: Final = 216
MODULE_CYCLES_EXCEEDED: Final = 217
SERVICE_MAX_CYCLE: Final = 218
SERVICE_CYCLES_EXCEEDED: Final = 219
NODE_TOGGLE: Final = 233
MODULE_MAX_SNAPSHOT: Final = 234
MODULE_SNAPSHOTS_EXCEEDED: Final = 235
SERVICE_MAX_SNAPSHOT: Final = 236
SERVICE_SNAPSHOTS_EXCEEDED: Final = 237
ELECTION_COUNT: Final = 238
LEADERSHIP_TERM: Final = 239
SESSION: Final = 241

MODULE_STATES: Final = (
    "INIT",
    "ACTIVE",
    "SUSPENDED",
    "SNAPSHOT",
    "QUITTING",
    "TERMINATING",
    "CLOSED",
)
ROLES: Final = ("FOLLOWER", "CANDIDATE", "LEADER")
TOGGLES: Final = (
    "INACTIVE",
    "NEUTRAL",
    "SUSPEND",
    "RESUME",
    "SNAPSHOT",
    "SHUTDOWN",
    "ABORT",
    "STANDBY_SNAPSHOT",
)
ELECTION_STATES: Final = (
    "INIT",
    "CANVASS",
    "NOMINATE",
    "CANDIDATE_BALLOT",
    "FOLLOWER_BALLOT",
    "LEADER_LOG_REPLICATION",
    "LEADER_REPLAY",
    "LEADER_INIT",
    "LEADER_READY",
    "FOLLOWER_LOG_REPLICATION",
    "FOLLOWER_REPLAY",
    "FOLLOWER_CATCHUP_INIT",
    "FOLLOWER_CATCHUP_AWAIT",
    "FOLLOWER_CATCHUP",
    "FOLLOWER_LOG_INIT",
    "FOLLOWER_LOG_AWAIT",
    "FOLLOWER_READY",
    "CLOSED",
)
BACKUP_STATES: Final = (
    "BACKUP_QUERY",
    "SNAPSHOT_RETRIEVE",
    "LIVE_LOG_RECORD",
    "LIVE_LOG_REPLAY",
    "UPDATE_RECORDING_LOG",
    "BACKING_UP",
    "RESET_BACKUP",
    "CLOSED",
)
NODE_TOGGLES: Final = (
    "INACTIVE",
    "NEUTRAL",
    "REPLICATE_STANDBY_SNAPSHOT",
    "VALIDATE_RECORDING_LOG",
)

#: Type of a counter -> the names of its values, from 0 on.
VALUE_NAMES: Final[Mapping[int, tuple[str, ...]]] = {
    MODULE_STATE: MODULE_STATES,
    NODE_ROLE: ROLES,
    CONTROL_TOGGLE: TOGGLES,
    ELECTION_STATE: ELECTION_STATES,
    BACKUP_STATE: BACKUP_STATES,
    NODE_TOGGLE: NODE_TOGGLES,
}

#: Types whose key begins with the cluster's id, and those of services, whose id follows.
OF_CLUSTERS: Final = frozenset(
    (200, 201, 202, 203, 205, 207, *range(212, 220), *range(233, 240), SESSION)
)
OF_SERVICES: Final = frozenset(
    (
        SERVICE_ERRORS,
        SERVICE_MAX_CYCLE,
        SERVICE_CYCLES_EXCEEDED,
        SERVICE_MAX_SNAPSHOT,
        SERVICE_SNAPSHOTS_EXCEEDED,
    )
)
_IDS: Final = struct.Struct("<ii")
_RECOVERY: Final = struct.Struct("<qqqii")


def value_name(type_id: int, value: int) -> str:
    """The name of a state, a role or a toggle; "" for other counters and unknown values."""
    names = VALUE_NAMES.get(type_id, ())
    return names[value] if 0 <= value < len(names) else ""


def cluster_id_of(type_id: int, key: bytes) -> int | None:
    """The id of the cluster that a counter is of; None when it is of none."""
    if type_id == RECOVERY_STATE:
        return int(_RECOVERY.unpack_from(key)[3])
    return int(_IDS.unpack_from(key)[0]) if type_id in OF_CLUSTERS else None


def service_id_of(type_id: int, key: bytes) -> int | None:
    """The service that a counter is of; None when it is of none."""
    return int(_IDS.unpack_from(key)[1]) if type_id in OF_SERVICES else None


def services_awaited(counter: Counter) -> int:
    """How many services a recovering module waits for, by its recovery-state counter."""
    return int(_RECOVERY.unpack_from(counter.key)[4])


def component_of(type_id: int, key: bytes) -> str:
    """The component that a counter is of, in words."""
    service_id = service_id_of(type_id, key)
    return "consensus module" if service_id is None else f"service {service_id}"


def component_name(counter: Counter) -> str:
    """The same of a counter as a whole."""
    return component_of(counter.type_id, counter.key)


def cluster_id(counter: Counter) -> int:
    """The id of the cluster that a counter is of, -1 when it is of none."""
    found = cluster_id_of(counter.type_id, counter.key)
    return -1 if found is None else found
