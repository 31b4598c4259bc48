"""Files of a cluster's folder: which recordings are its log and snapshots, and the last vote."""

from aerolog.cluster.files.node_state import CandidateTerm, NodeStateFile
from aerolog.cluster.files.recording_log import (
    EntryType,
    LogEntry,
    RecordingLog,
    read_recording_log,
    seed_recording_log,
    sort_recording_log,
)

__all__ = [
    "CandidateTerm",
    "EntryType",
    "LogEntry",
    "NodeStateFile",
    "RecordingLog",
    "read_recording_log",
    "seed_recording_log",
    "sort_recording_log",
]
