"""The commands on ``recording.log``: what it holds, what a node recovers from, and changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.cluster import files as node_files
from aerolog.cluster.files import RecordingLog
from aerolog.cluster.files.layout import RECORDING_LOG_NAME
from aerolog.tools.archive_files.raw_catalog import file_in
from aerolog.tools.cluster.recording_log import log_row, no_snapshot, plan_of, plan_row
from aerolog.tools.command_line.java_error import (
    CLUSTER_ERROR,
    NO_SUCH_FILE,
    JavaError,
    parse_long,
)
from aerolog.tools.reference.cluster_tool.cluster_texts import plan_line, recording_log_line
from aerolog.tools.reference.cluster_tool.live_actions import reference_node
from aerolog.tools.reference.tool import EXIT_INVALID

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerolog.tools.reference.tool_terminal import Terminal


def recording_log(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """The entries, and where the terms stand among them."""
    del arguments
    with reference_log(folder) as log:
        terminal.result([log_row(entry) for entry in log.entries], recording_log_line(log))
    return 0


def recovery_plan(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """What the node would start from."""
    count = parse_long(arguments[0])
    with reference_log(folder) as log:
        archive_dir = arguments[1] if len(arguments) > 1 else None
        plan = plan_of(log, folder, count, archive_dir, reference_node)
    terminal.result(plan_row(plan), plan_line(plan))
    return 0


def sort_recording_log(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """Rewrites the file in order; 255 where it is in order, or is not there."""
    del arguments
    try:
        done = node_files.sort_recording_log(folder)
    except FileNotFoundError:
        done = False
    return _ended(terminal, done=done)


def seed_recording_log_from_snapshot(
    folder: str, arguments: Sequence[str], terminal: Terminal
) -> int:
    """Keeps the newest snapshot; where there is none, the reference would leave no file."""
    del arguments
    reference_log(folder).close()
    done = node_files.seed_recording_log(folder)
    if not done:
        terminal.remark(f"{no_snapshot(folder)}: nothing was changed")
    return _ended(terminal, done=bool(done))


def invalidate_latest_snapshot(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """Makes the newest snapshot invalid."""
    del arguments
    with reference_log(folder, writable=True) as log:
        done = log.invalidate_latest_snapshot()
    if not terminal.as_json:
        terminal.line(f" invalidate latest snapshot: {str(done).lower()}")
    return _ended(terminal, done=done)


def _ended(terminal: Terminal, *, done: bool) -> int:
    """Print as JSON whether a change was made, and give the exit code."""
    if terminal.as_json:
        terminal.document({"changed": done})
    return 0 if done else EXIT_INVALID


def reference_log(folder: str, *, writable: bool = False) -> RecordingLog:
    """The recording log, with the reference's words where there is none."""
    try:
        return RecordingLog(folder, writable=writable)
    except FileNotFoundError as error:
        path = file_in(folder, RECORDING_LOG_NAME)
        raise JavaError(CLUSTER_ERROR, f"{NO_SUCH_FILE}: {path}") from error
