"""Files of a cluster's folder: its owner, its log and snapshots, and the last vote."""

from aerolog.cluster.files.folder_sums import (
    SUMS_OF_MODULE,
    FolderSums,
    MessageSum,
    SnapshotCheck,
    files_of_sums,
    owner_of_service,
    remove_sums,
)
from aerolog.cluster.files.layout import CLUSTER_MARK_NAME
from aerolog.cluster.files.mark_file import ClusterMarkFile, service_mark_name
from aerolog.cluster.files.node_state import CandidateTerm, NodeStateFile
from aerolog.cluster.files.recording_log import (
    EntryType,
    LogEntry,
    RecordingLog,
    read_recording_log,
    seed_recording_log,
    sort_recording_log,
    walk_recording_log,
)
from aerolog.cluster.files.recovery_plan import RecoveryLog, RecoveryPlan, plan_recovery

__all__ = [
    "CLUSTER_MARK_NAME",
    "SUMS_OF_MODULE",
    "CandidateTerm",
    "ClusterMarkFile",
    "EntryType",
    "FolderSums",
    "LogEntry",
    "MessageSum",
    "NodeStateFile",
    "RecordingLog",
    "RecoveryLog",
    "RecoveryPlan",
    "SnapshotCheck",
    "files_of_sums",
    "owner_of_service",
    "plan_recovery",
    "read_recording_log",
    "remove_sums",
    "seed_recording_log",
    "service_mark_name",
    "sort_recording_log",
    "walk_recording_log",
]
