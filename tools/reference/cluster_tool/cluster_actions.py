"""The commands of the cluster tool, as a table; ``archive_tool.actions`` says what stands in it."""

from __future__ import annotations

from typing import Final

from aerolog.tools.reference.archive_tool.actions import Command, Tool

#: The reference ignores arguments that it does not need.
_ANY: Final = range(100)

COMMANDS: Final[dict[str, Command]] = {
    "describe": Command("node_actions", _ANY, "describe", "Who owns the folder: its mark files."),
    "pid": Command("node_actions", _ANY, "pid", "Process id of the consensus module."),
    "errors": Command(
        "node_actions", _ANY, "errors", "Errors of module, services, and their driver."
    ),
    "recording-log": Command(
        "recording_log_actions", _ANY, "recording-log", "Terms and snapshots of the node."
    ),
    "recovery-plan": Command(
        "recording_log_actions",
        range(1, 100),
        "recovery-plan serviceCount [archiveDir]",
        "What the node would start from.",
    ),
    "sort-recording-log": Command(
        "recording_log_actions",
        _ANY,
        "sort-recording-log",
        "Rewrite recording.log in the order of terms and positions.",
        changes=True,
    ),
    "seed-recording-log-from-snapshot": Command(
        "recording_log_actions",
        _ANY,
        "seed-recording-log-from-snapshot",
        "Keep of recording.log the newest snapshot, as one at the log's start.",
        changes=True,
    ),
    "invalidate-latest-snapshot": Command(
        "recording_log_actions",
        _ANY,
        "invalidate-latest-snapshot",
        "Make the newest snapshot invalid, so that the one before it counts.",
        changes=True,
    ),
    "describe-latest-cm-snapshot": Command(
        "snapshot_action",
        _ANY,
        "describe-latest-cm-snapshot [archiveDir]",
        "What the newest snapshot of the consensus module holds.",
    ),
    "is-leader": Command("live_actions", _ANY, "is-leader", "Whether the node leads: exit code 0."),
    "list-members": Command(
        "live_actions", _ANY, "list-members", "Leader and members as the node knows them."
    ),
    "snapshot": Command(
        "live_actions", _ANY, "snapshot", "Have the cluster take a snapshot.", changes=True
    ),
    "suspend": Command(
        "live_actions", _ANY, "suspend", "Have the cluster read no messages.", changes=True
    ),
    "resume": Command(
        "live_actions", _ANY, "resume", "Have a suspended cluster go on.", changes=True
    ),
    "shutdown": Command(
        "live_actions", _ANY, "shutdown", "End the cluster with a snapshot.", changes=True
    ),
    "abort": Command(
        "live_actions", _ANY, "abort", "End the cluster without a snapshot.", changes=True
    ),
    "validate-recording-log": Command(
        "live_actions",
        _ANY,
        "validate-recording-log",
        "Have the node compare recording.log with its archive.",
        changes=True,
    ),
    "backup-query": Command(
        "live_actions",
        _ANY,
        "backup-query [delay]",
        "When a cluster backup asks its cluster next, or with a delay: have it ask then.",
        changes=True,
    ),
}
CLUSTER_TOOL: Final = Tool("aerolog.tools.reference.cluster_tool.", COMMANDS, "cluster")
