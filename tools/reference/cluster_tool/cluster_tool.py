"""ClusterTool: the folder, a command and its arguments, as the reference takes them.

0 done, 255 wrong usage or nothing to do, 1 where the reference ends with an exception; its first
line goes to stderr, its stack trace does not.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from aerolog.tools.reference.cluster_tool.cluster_tool_table import COMMANDS, action_of
from aerolog.tools.reference.tool import EXIT_INVALID, run_action

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerolog.tools.reference.tool_terminal import Terminal

_USAGE: Final = {
    "validate-recording-log": (
        "triggers the cluster node to validate its recording log against the archive."
    ),
    "abort": "stops the cluster without a snapshot.",
    "shutdown": "initiates an orderly stop of the cluster with a snapshot.",
    "resume": "resumes appending to the log.",
    "sort-recording-log": "reorders entries in the recording log to match the order in memory.",
    "recording-log": "prints recording log of cluster component.",
    "pid": "prints PID of cluster component.",
    "describe": "prints out all descriptors in the mark file.",
    "seed-recording-log-from-snapshot": (
        "creates a new recording log based on the latest valid snapshot."
    ),
    "list-members": "prints leader memberId and active members.",
    "is-leader": "returns zero if the cluster node is leader, non-zero if not.",
    "recovery-plan": "[service count] prints recovery plan of cluster component.",
    "describe-latest-cm-snapshot": (
        "prints the contents of the latest valid consensus module snapshot."
    ),
    "snapshot": "triggers a snapshot on the leader.",
    "invalidate-latest-snapshot": (
        "marks the latest snapshot as a invalid so the previous is loaded."
    ),
    "suspend": "suspends appending to the log.",
    "backup-query": "[delay] get, or set, time of next backup query.",
    "errors": "prints Aeron and cluster component error logs.",
}


def run(arguments: Sequence[str], terminal: Terminal) -> int:
    """Run the tool with the reference's arguments: folder, command, its arguments."""
    if len(arguments) < 2:
        return _wrong_usage(terminal)
    folder, name, *rest = arguments
    if not Path(folder).exists():
        code = _wrong_usage(terminal)
        terminal.remark(f"ERR: cluster directory not found: {Path(folder).absolute()}")
        return code
    command = COMMANDS.get(name)
    if command is None:
        (terminal.remark if terminal.as_json else terminal.line)(f"Unknown command: {name}")
        return _wrong_usage(terminal)
    if len(rest) not in command.counts:
        return _wrong_usage(terminal)
    return run_action(action_of(name), folder, rest, terminal)


def _wrong_usage(terminal: Terminal) -> int:
    if terminal.as_json:
        return EXIT_INVALID
    terminal.line("Usage: <cluster-dir> <command> [options]")
    for name, meaning in _USAGE.items():
        terminal.line(f"{name:>33}: {meaning}")
    terminal.out.flush()
    return EXIT_INVALID
