"""The commands of the reference's ClusterTool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.tools.reference.tool import Command

if TYPE_CHECKING:
    from aerolog.tools.reference.tool import Action

#: The reference ignores arguments that it does not need.
_ANY: Final = range(100)

COMMANDS: Final[dict[str, Command]] = {
    "describe": Command(_ANY, "describe", "Who owns the folder: its mark files."),
    "pid": Command(_ANY, "pid", "Process id of the consensus module."),
    "errors": Command(_ANY, "errors", "Errors of module, services, and their driver."),
    "recording-log": Command(
        _ANY,
        "recording-log",
        "Terms and snapshots of the node.",
    ),
    "recovery-plan": Command(
        range(1, 100),
        "recovery-plan serviceCount [archiveDir]",
        "What the node would start from.",
    ),
    "sort-recording-log": Command(
        _ANY,
        "sort-recording-log",
        "Rewrite recording.log in the order of terms and positions.",
        changes=True,
    ),
    "seed-recording-log-from-snapshot": Command(
        _ANY,
        "seed-recording-log-from-snapshot",
        "Keep of recording.log the newest snapshot, as one at the log's start.",
        changes=True,
    ),
    "invalidate-latest-snapshot": Command(
        _ANY,
        "invalidate-latest-snapshot",
        "Make the newest snapshot invalid, so that the one before it counts.",
        changes=True,
    ),
    "describe-latest-cm-snapshot": Command(
        _ANY,
        "describe-latest-cm-snapshot [archiveDir]",
        "What the newest snapshot of the consensus module holds.",
    ),
    "is-leader": Command(_ANY, "is-leader", "Whether the node leads: exit code 0."),
    "list-members": Command(
        _ANY,
        "list-members",
        "Leader and members as the node knows them.",
    ),
    "snapshot": Command(_ANY, "snapshot", "Have the cluster take a snapshot.", changes=True),
    "suspend": Command(_ANY, "suspend", "Have the cluster read no messages.", changes=True),
    "resume": Command(_ANY, "resume", "Have a suspended cluster go on.", changes=True),
    "shutdown": Command(_ANY, "shutdown", "End the cluster with a snapshot.", changes=True),
    "abort": Command(_ANY, "abort", "End the cluster without a snapshot.", changes=True),
    "validate-recording-log": Command(
        _ANY,
        "validate-recording-log",
        "Have the node compare recording.log with its archive.",
        changes=True,
    ),
    "backup-query": Command(
        _ANY,
        "backup-query [delay]",
        "When a cluster backup asks its cluster next, or with a delay: have it ask then.",
        changes=True,
    ),
}


def action_of(name: str) -> Action:
    """Give the action of a command in the table; its module is loaded now, for it takes time."""
    if name in {"describe", "pid", "errors"}:
        from aerolog.tools.reference.cluster_tool import node_actions

        return {
            "describe": node_actions.describe,
            "pid": node_actions.pid,
            "errors": node_actions.errors,
        }[name]
    if name == "describe-latest-cm-snapshot":
        from aerolog.tools.reference.cluster_tool import snapshot_action

        return snapshot_action.describe_latest_cm_snapshot
    return _action_of_log(name) or _action_of_node(name)


def _action_of_log(name: str) -> Action | None:
    from aerolog.tools.reference.cluster_tool import recording_log_actions

    return {
        "recording-log": recording_log_actions.recording_log,
        "recovery-plan": recording_log_actions.recovery_plan,
        "sort-recording-log": recording_log_actions.sort_recording_log,
        "seed-recording-log-from-snapshot": recording_log_actions.seed_recording_log_from_snapshot,
        "invalidate-latest-snapshot": recording_log_actions.invalidate_latest_snapshot,
    }.get(name)


def _action_of_node(name: str) -> Action:
    from aerolog.tools.reference.cluster_tool import live_actions

    return {
        "is-leader": live_actions.is_leader,
        "list-members": live_actions.list_members,
        "snapshot": live_actions.snapshot,
        "suspend": live_actions.suspend,
        "resume": live_actions.resume,
        "shutdown": live_actions.shutdown,
        "abort": live_actions.abort,
        "validate-recording-log": live_actions.validate_recording_log,
        "backup-query": live_actions.backup_query,
    }[name]
