"""The commands of the cluster tool, as a table; ``archive_tool.actions`` says what stands in it."""

from __future__ import annotations

from typing import Final

from aerolog.tools.archive_tool.actions import Command, Tool

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
        "recovery-plan serviceCount archiveDir",
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
}
#: Commands of the reference that ask a running node; see the tool's page.
LIVE: Final = (
    "abort",
    "backup-query",
    "describe-latest-cm-snapshot",
    "is-leader",
    "list-members",
    "resume",
    "shutdown",
    "snapshot",
    "suspend",
    "validate-recording-log",
)

CLUSTER_TOOL: Final = Tool("aerolog.tools.cluster_tool.", COMMANDS, "cluster")
