"""Types and keys of a cluster's counters, and the values of states (spec cluster 19, 23).

Tools read them without the module and its messages, which take long to import.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from aerolog.transport.counters.counter_kind import CounterKind, KeyLayout

CLUSTER_KEY: Final = KeyLayout("i32 cluster id")
SERVICE_KEY: Final = KeyLayout("i32 cluster id", "i32 service id")
SESSION_KEY: Final = KeyLayout("i32 cluster id", "i64 cluster session id")
#: A recording id for each service follows.
RECOVERY_KEY: Final = KeyLayout(
    "i64 leadership term id",
    "i64 log position",
    "i64 timestamp",
    "i32 cluster id",
    "i32 number of services",
)
#: Of counters of add-ons that the reference does not have (spec counters 8).
UNKNOWN_KEY: Final = KeyLayout()


class ClusterCounterType(CounterKind):
    """Types of the counters of clusters. The labels of add-ons are not known, and empty here."""

    MODULE_STATE = 200, "Consensus Module state", CLUSTER_KEY, "What the module does"
    NODE_ROLE = (
        201,
        "Cluster node role",
        CLUSTER_KEY,
        "What the node is in its cluster: 0 follower, 1 candidate, 2 leader",
    )
    CONTROL_TOGGLE = (
        202,
        "Cluster control toggle",
        CLUSTER_KEY,
        "What an operator asks of the cluster",
    )
    COMMIT_POSITION = (
        203,
        "Cluster commit-pos:",
        CLUSTER_KEY,
        "Position up to which services may read the log",
    )
    RECOVERY_STATE = (
        204,
        "Cluster recovery",
        RECOVERY_KEY,
        "Not used; the key says what services recover from",
    )
    SNAPSHOT_COUNT = 205, "Cluster snapshot count", CLUSTER_KEY, "Snapshots taken"
    ELECTION_STATE = 207, "Cluster election state", CLUSTER_KEY, "Where an election is"
    BACKUP_STATE = 208, "ClusterBackup State", CLUSTER_KEY, "What a backup of the cluster does"
    BACKUP_LOG_POSITION = (
        209,
        "ClusterBackup live log position",
        CLUSTER_KEY,
        "Position up to which the backup has the log",
    )
    BACKUP_QUERY_DEADLINE = (
        210,
        "ClusterBackup next query deadline in ms",
        CLUSTER_KEY,
        "Time of the backup's next query, epoch milliseconds",
    )
    BACKUP_ERRORS = 211, "ClusterBackup Errors", CLUSTER_KEY, "Errors of the backup"
    MODULE_ERRORS = 212, "Cluster Errors", CLUSTER_KEY, "Errors of the module"
    TIMED_OUT_CLIENTS = (
        213,
        "Cluster timed out client count",
        CLUSTER_KEY,
        "Clients that were silent for too long",
    )
    INVALID_REQUESTS = (
        214,
        "Cluster invalid request count",
        CLUSTER_KEY,
        "Messages in a session that another client sent; the reference does not count them",
    )
    SERVICE_ERRORS = (
        215,
        "Cluster Container Errors",
        SERVICE_KEY,
        "Errors of the container and its service",
    )
    MODULE_MAX_CYCLE = (
        216,
        "Cluster max cycle time in ns",
        CLUSTER_KEY,
        "Longest duty cycle of the module, nanoseconds",
    )
    MODULE_CYCLES_EXCEEDED = (
        217,
        "Cluster work cycle time exceeded count: threshold={threshold}",
        CLUSTER_KEY,
        "Duty cycles of the module that took longer than the threshold",
    )
    SERVICE_MAX_CYCLE = (
        218,
        "Cluster container max cycle time in ns",
        SERVICE_KEY,
        "Longest duty cycle of the container, nanoseconds",
    )
    SERVICE_CYCLES_EXCEEDED = (
        219,
        "Cluster container work cycle time exceeded count: threshold={threshold}",
        SERVICE_KEY,
        "Duty cycles of the container that took longer than the threshold",
    )
    STANDBY_STATE = 220, "", UNKNOWN_KEY, "What a standby does"
    STANDBY_ERRORS = 221, "", UNKNOWN_KEY, "Errors of a standby"
    STANDBY_HEARTBEAT_RESPONSES = 222, "", UNKNOWN_KEY, "Heartbeats of a standby that were answered"
    STANDBY_TOGGLE = 223, "", UNKNOWN_KEY, "What an operator asks of a standby"
    TRANSITION_STATE = 224, "", UNKNOWN_KEY, "What makes a module of a standby does"
    TRANSITION_ERRORS = 226, "", UNKNOWN_KEY, "Errors of what makes a module of a standby"
    STANDBY_MAX_CYCLE = 227, "", CLUSTER_KEY, "Longest duty cycle of a standby, nanoseconds"
    STANDBY_CYCLES_EXCEEDED = (
        228,
        "",
        CLUSTER_KEY,
        "Duty cycles of a standby that took longer than the threshold",
    )
    TRANSITION_MAX_CYCLE = (
        229,
        "",
        CLUSTER_KEY,
        "Longest duty cycle of what makes a module of a standby, nanoseconds",
    )
    TRANSITION_CYCLES_EXCEEDED = (
        230,
        "",
        CLUSTER_KEY,
        "Duty cycles of what makes a module of a standby that took longer than the threshold",
    )
    STANDBY_SOURCE_MEMBER = 231, "", CLUSTER_KEY, "Member from which a standby takes the log"
    STANDBY_SNAPSHOTS = 232, "", CLUSTER_KEY, "Snapshots of standbys that the cluster took over"
    NODE_TOGGLE = 233, "Node control toggle", CLUSTER_KEY, "What an operator asks of one node"
    MODULE_MAX_SNAPSHOT = (
        234,
        "Total max snapshot duration in ns",
        CLUSTER_KEY,
        "Longest snapshot of the cluster, nanoseconds",
    )
    MODULE_SNAPSHOTS_EXCEEDED = (
        235,
        "Total max snapshot duration exceeded count: threshold={threshold}",
        CLUSTER_KEY,
        "Snapshots of the cluster that took longer than the threshold",
    )
    SERVICE_MAX_SNAPSHOT = (
        236,
        "Clustered service max snapshot duration in ns",
        SERVICE_KEY,
        "Longest snapshot of the service, nanoseconds",
    )
    SERVICE_SNAPSHOTS_EXCEEDED = (
        237,
        "Clustered service max snapshot duration exceeded count: threshold={threshold}",
        SERVICE_KEY,
        "Snapshots of the service that took longer than the threshold",
    )
    ELECTION_COUNT = 238, "Cluster election count", CLUSTER_KEY, "Elections"
    LEADERSHIP_TERM = 239, "Cluster leadership term id", CLUSTER_KEY, "Id of the leadership term"
    BACKUP_SNAPSHOTS_RETRIEVED = (
        240,
        "ClusterBackup snapshots retrieved",
        CLUSTER_KEY,
        "Snapshots that the backup has fetched",
    )
    SESSION = 241, "cluster-session", SESSION_KEY, "Id of the session"
    SERVICE_MISSED = (
        1201,
        "Clustered service messages missed by clients",
        SERVICE_KEY,
        "Messages that clients of the service missed",
    )
    SERVICE_EGRESS_WAIT = (
        1202,
        "Clustered service waits for clients in ns",
        SERVICE_KEY,
        "Time that the service waited for clients, nanoseconds",
    )


def _named(component: str) -> frozenset[ClusterCounterType]:
    return frozenset(each for each in ClusterCounterType if each.name.startswith(component))


#: Types whose key names a service as well.
OF_SERVICES: Final = frozenset(each for each in ClusterCounterType if each.key is SERVICE_KEY)
#: Types of a backup of a cluster, of a standby, and of what makes a module of a standby.
OF_BACKUPS: Final = _named("BACKUP_")
OF_STANDBYS: Final = _named("STANDBY_") - {ClusterCounterType.STANDBY_SNAPSHOTS}
OF_TRANSITIONS: Final = _named("TRANSITION_")
#: All types whose key begins with the cluster's id, and those of them that the cluster itself has.
WITH_CLUSTER_ID: Final = frozenset(
    each for each in ClusterCounterType if each.key in {CLUSTER_KEY, SERVICE_KEY, SESSION_KEY}
)
OF_CLUSTERS: Final = WITH_CLUSTER_ID - OF_BACKUPS - OF_STANDBYS - OF_TRANSITIONS


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
