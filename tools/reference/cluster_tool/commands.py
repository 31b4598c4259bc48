"""The commands of the reference's ClusterTool."""

from __future__ import annotations

from typing import Final

from aerolog.tools.reference.cluster_tool import (
    live_actions,
    node_actions,
    recording_log_actions,
    snapshot_action,
)
from aerolog.tools.reference.tool import Command

#: The reference ignores arguments that it does not need.
_ANY: Final = range(100)

COMMANDS: Final[dict[str, Command]] = {
    "describe": Command(
        node_actions.describe, _ANY, "describe", "Who owns the folder: its mark files."
    ),
    "pid": Command(node_actions.pid, _ANY, "pid", "Process id of the consensus module."),
    "errors": Command(
        node_actions.errors, _ANY, "errors", "Errors of module, services, and their driver."
    ),
    "recording-log": Command(
        recording_log_actions.recording_log,
        _ANY,
        "recording-log",
        "Terms and snapshots of the node.",
    ),
    "recovery-plan": Command(
        recording_log_actions.recovery_plan,
        range(1, 100),
        "recovery-plan serviceCount [archiveDir]",
        "What the node would start from.",
    ),
    "sort-recording-log": Command(
        recording_log_actions.sort_recording_log,
        _ANY,
        "sort-recording-log",
        "Rewrite recording.log in the order of terms and positions.",
        changes=True,
    ),
    "seed-recording-log-from-snapshot": Command(
        recording_log_actions.seed_recording_log_from_snapshot,
        _ANY,
        "seed-recording-log-from-snapshot",
        "Keep of recording.log the newest snapshot, as one at the log's start.",
        changes=True,
    ),
    "invalidate-latest-snapshot": Command(
        recording_log_actions.invalidate_latest_snapshot,
        _ANY,
        "invalidate-latest-snapshot",
        "Make the newest snapshot invalid, so that the one before it counts.",
        changes=True,
    ),
    "describe-latest-cm-snapshot": Command(
        snapshot_action.describe_latest_cm_snapshot,
        _ANY,
        "describe-latest-cm-snapshot [archiveDir]",
        "What the newest snapshot of the consensus module holds.",
    ),
    "is-leader": Command(
        live_actions.is_leader, _ANY, "is-leader", "Whether the node leads: exit code 0."
    ),
    "list-members": Command(
        live_actions.list_members,
        _ANY,
        "list-members",
        "Leader and members as the node knows them.",
    ),
    "snapshot": Command(
        live_actions.snapshot, _ANY, "snapshot", "Have the cluster take a snapshot.", changes=True
    ),
    "suspend": Command(
        live_actions.suspend, _ANY, "suspend", "Have the cluster read no messages.", changes=True
    ),
    "resume": Command(
        live_actions.resume, _ANY, "resume", "Have a suspended cluster go on.", changes=True
    ),
    "shutdown": Command(
        live_actions.shutdown, _ANY, "shutdown", "End the cluster with a snapshot.", changes=True
    ),
    "abort": Command(
        live_actions.abort, _ANY, "abort", "End the cluster without a snapshot.", changes=True
    ),
    "validate-recording-log": Command(
        live_actions.validate_recording_log,
        _ANY,
        "validate-recording-log",
        "Have the node compare recording.log with its archive.",
        changes=True,
    ),
    "backup-query": Command(
        live_actions.backup_query,
        _ANY,
        "backup-query [delay]",
        "When a cluster backup asks its cluster next, or with a delay: have it ask then.",
        changes=True,
    ),
}
