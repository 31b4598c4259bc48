"""Types and keys of a cluster's counters, and the values of states (spec cluster 19, 23).

Tools read them without the module and its messages, which take long to import.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import Final

CLIENT_HEARTBEAT: Final = 11  # the driver's, of each transport client
MODULE_STATE: Final = 200
NODE_ROLE: Final = 201
CONTROL_TOGGLE: Final = 202
COMMIT_POSITION: Final = 203
RECOVERY_STATE: Final = 204
SNAPSHOT_COUNT: Final = 205
ELECTION_STATE: Final = 207
BACKUP_STATE: Final = 208
BACKUP_LOG_POSITION: Final = 209
BACKUP_QUERY_DEADLINE: Final = 210
BACKUP_ERRORS: Final = 211
MODULE_ERRORS: Final = 212
TIMED_OUT_CLIENTS: Final = 213
INVALID_REQUESTS: Final = 214
SERVICE_ERRORS: Final = 215
MODULE_MAX_CYCLE: Final = 216
MODULE_CYCLES_EXCEEDED: Final = 217
SERVICE_MAX_CYCLE: Final = 218
SERVICE_CYCLES_EXCEEDED: Final = 219
STANDBY_STATE: Final = 220
STANDBY_ERRORS: Final = 221
STANDBY_HEARTBEAT_RESPONSES: Final = 222
STANDBY_TOGGLE: Final = 223
TRANSITION_STATE: Final = 224
TRANSITION_ERRORS: Final = 226
STANDBY_MAX_CYCLE: Final = 227
STANDBY_CYCLES_EXCEEDED: Final = 228
TRANSITION_MAX_CYCLE: Final = 229
TRANSITION_CYCLES_EXCEEDED: Final = 230
STANDBY_SOURCE_MEMBER: Final = 231
STANDBY_SNAPSHOTS: Final = 232
NODE_TOGGLE: Final = 233
MODULE_MAX_SNAPSHOT: Final = 234
MODULE_SNAPSHOTS_EXCEEDED: Final = 235
SERVICE_MAX_SNAPSHOT: Final = 236
SERVICE_SNAPSHOTS_EXCEEDED: Final = 237
ELECTION_COUNT: Final = 238
LEADERSHIP_TERM: Final = 239
BACKUP_SNAPSHOTS_RETRIEVED: Final = 240
SESSION: Final = 241
# Counters that the reference does not have.
SERVICE_MISSED: Final = 1201
SERVICE_EGRESS_WAIT: Final = 1202

#: The keys: cluster id; cluster id and service id; cluster id and session id.
CLUSTER_KEY: Final = struct.Struct("<i")
SERVICE_KEY: Final = struct.Struct("<ii")
SESSION_KEY: Final = struct.Struct("<iq")
#: Of the recovery state: term id, log position, timestamp, cluster id, number of services; a
#: recording id for each service follows.
RECOVERY_KEY: Final = struct.Struct("<qqqii")

#: Types whose key begins with the cluster's id, and those of services, whose id follows.
OF_CLUSTERS: Final = frozenset(
    (
        *(200, 201, 202, 203, 205, 207, *range(212, 220), *range(232, 240), SESSION),
        *(SERVICE_MISSED, SERVICE_EGRESS_WAIT),
    )
)
OF_SERVICES: Final = frozenset(
    (
        SERVICE_ERRORS,
        SERVICE_MAX_CYCLE,
        SERVICE_CYCLES_EXCEEDED,
        SERVICE_MAX_SNAPSHOT,
        SERVICE_SNAPSHOTS_EXCEEDED,
        SERVICE_MISSED,
        SERVICE_EGRESS_WAIT,
    )
)
#: Types of a backup of a cluster, of a standby, and of what makes a module of a standby. The keys
#: of the last two are known from 227 on (spec counters 8).
OF_BACKUPS: Final = frozenset((*range(208, 212), BACKUP_SNAPSHOTS_RETRIEVED))
OF_STANDBYS: Final = frozenset((220, 221, 222, 223, 227, 228, 231))
OF_TRANSITIONS: Final = frozenset((224, 226, 229, 230))
#: All types whose key begins with the cluster's id.
WITH_CLUSTER_ID: Final = OF_CLUSTERS | OF_BACKUPS | frozenset(range(227, 232))


class ModuleState(IntEnum):
    """What the module does, the value of its state counter (spec cluster 19)."""

    INIT = 0
    ACTIVE = 1
    SUSPENDED = 2
    SNAPSHOT = 3
    QUITTING = 4
    TERMINATING = 5
    CLOSED = 6


class Role(IntEnum):
    """What the node is in its cluster, the value of the role counter."""

    FOLLOWER = 0
    CANDIDATE = 1
    LEADER = 2


class Toggle(IntEnum):
    """What an operator asks of the cluster, the value of the control toggle."""

    INACTIVE = 0
    NEUTRAL = 1
    SUSPEND = 2
    RESUME = 3
    SNAPSHOT = 4
    SHUTDOWN = 5
    ABORT = 6
    STANDBY_SNAPSHOT = 7


class ElectionState(IntEnum):
    """Where an election is, the value of its counter."""

    INIT = 0
    CANVASS = 1
    NOMINATE = 2
    CANDIDATE_BALLOT = 3
    FOLLOWER_BALLOT = 4
    LEADER_LOG_REPLICATION = 5
    LEADER_REPLAY = 6
    LEADER_INIT = 7
    LEADER_READY = 8
    FOLLOWER_LOG_REPLICATION = 9
    FOLLOWER_REPLAY = 10
    FOLLOWER_CATCHUP_INIT = 11
    FOLLOWER_CATCHUP_AWAIT = 12
    FOLLOWER_CATCHUP = 13
    FOLLOWER_LOG_INIT = 14
    FOLLOWER_LOG_AWAIT = 15
    FOLLOWER_READY = 16
    CLOSED = 17


class BackupState(IntEnum):
    """What a cluster backup does."""

    BACKUP_QUERY = 0
    SNAPSHOT_RETRIEVE = 1
    LIVE_LOG_RECORD = 2
    LIVE_LOG_REPLAY = 3
    UPDATE_RECORDING_LOG = 4
    BACKING_UP = 5
    RESET_BACKUP = 6
    CLOSED = 7


class NodeToggle(IntEnum):
    """What an operator asks of one node."""

    INACTIVE = 0
    NEUTRAL = 1
    REPLICATE_STANDBY_SNAPSHOT = 2
    VALIDATE_RECORDING_LOG = 3
