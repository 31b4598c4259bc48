"""The commands on ``recording.log``: what it holds, what a node recovers from, and changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import typer

from aerolog.archive.format.catalog_map import CatalogReader
from aerolog.cluster import files as node_files
from aerolog.cluster.files import ClusterMarkFile, RecordingLog, plan_recovery
from aerolog.cluster.files.layout import RECORDING_LOG_NAME
from aerolog.tools.archive_files.java_error import JavaError, parse_long
from aerolog.tools.archive_files.raw_catalog import file_in
from aerolog.tools.connection.archive_folder import check_folder
from aerolog.tools.reference.archive_tool.actions import EXIT_INVALID
from aerolog.tools.reference.archive_tool.change_plan import TablePlan, check_can_ask, is_agreed
from aerolog.tools.reference.cluster_tool.cluster_texts import plan_line, recording_log_line
from aerolog.tools.reference.cluster_tool.raw_cluster_mark import CLUSTER_ERROR
from aerolog.tools.terminal.console import print_fields, print_json, print_table
from aerolog.transport.config.values import whole_number
from aerolog.transport.errors import AerologError, FileFormatError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.cluster.files import LogEntry, RecoveryPlan
    from aerolog.tools.reference.tool_terminal import Terminal

_COLUMNS: Final = (
    "entry",
    "type",
    "valid",
    "recording",
    "term",
    "base",
    "position",
    "service",
    "timestamp",
    "archive",
)
_RIGHT: Final = ("entry", "recording", "term", "base", "position", "service", "timestamp")


# -- the reference's lines -------------------------------------------------------------------------


def classic_recording_log(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """The entries, and where the terms stand among them."""
    del arguments
    with classic_log(folder) as log:
        terminal.line(recording_log_line(log))
    return 0


def classic_recovery_plan(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """What the node would start from."""
    count = parse_long(arguments[0])
    with classic_log(folder) as log:
        terminal.line(plan_line(_plan(log, folder, count, arguments[1:], classic=True)))
    return 0


def classic_sort_recording_log(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """Rewrites the file in order; 255 where it is in order, or is not there."""
    del arguments, terminal
    try:
        return 0 if node_files.sort_recording_log(folder) else EXIT_INVALID
    except FileNotFoundError:
        return EXIT_INVALID


def classic_seed_recording_log_from_snapshot(
    folder: str, arguments: Sequence[str], terminal: Terminal
) -> int:
    """Keeps the newest snapshot; where there is none, the reference would leave no file."""
    del arguments
    classic_log(folder).close()
    if node_files.seed_recording_log(folder):
        return 0
    terminal.remark(f"{no_snapshot(folder)}: nothing was changed")
    return EXIT_INVALID


def classic_invalidate_latest_snapshot(
    folder: str, arguments: Sequence[str], terminal: Terminal
) -> int:
    """Makes the newest snapshot invalid."""
    del arguments
    with classic_log(folder, writable=True) as log:
        done = log.invalidate_latest_snapshot()
    terminal.line(f" invalidate latest snapshot: {str(done).lower()}")
    return 0 if done else EXIT_INVALID


def classic_log(folder: str, *, writable: bool = False) -> RecordingLog:
    """The recording log, with the reference's words where there is none."""
    try:
        return RecordingLog(folder, writable=writable)
    except FileNotFoundError as error:
        path = file_in(folder, RECORDING_LOG_NAME)
        raise JavaError(CLUSTER_ERROR, f"java.nio.file.NoSuchFileException: {path}") from error


# -- tables and JSON -------------------------------------------------------------------------------


def recording_log(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """The entries in the order of terms and positions."""
    del arguments
    with opened(folder) as log:
        rows = [_row(entry) for entry in log.entries]
    if terminal.as_json:
        print_json(rows)
    else:
        terminal.out.flush()
        print_table(_COLUMNS, [list(row.values()) for row in map(_readable, rows)], right=_RIGHT)
    return 0


def recovery_plan(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """What the node would start from."""
    count = whole_number(arguments[0])
    if count is None:
        raise typer.BadParameter(f"the number of services is a number, not {arguments[0]!r}")
    with opened(folder) as log:
        plan = _plan(log, folder, count, arguments[1:], classic=False)
    row = _plan_row(plan)
    if terminal.as_json:
        print_json(row)
        return 0
    snapshots = row.pop("snapshots")
    log_row = row.pop("log") or {}
    terminal.out.flush()
    print_fields({**row, **{f"log_{name}": value for name, value in log_row.items()}})
    if snapshots:
        terminal.line()
        terminal.out.flush()
        print_table(
            _COLUMNS, [list(each.values()) for each in map(_readable, snapshots)], right=_RIGHT
        )
    return 0


def sort_recording_log(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """Rewrites the file in the order of terms and positions, after a question."""
    del arguments
    with opened(folder) as log:
        moved = [e for index, e in enumerate(log.entries) if e.index != index]
    what = f"sort {log.path}: {len(moved)} entries move"
    nothing = f"{log.path} is in order: nothing to sort" if not moved else None
    return _change(
        folder, terminal, what, moved, nothing, lambda: node_files.sort_recording_log(folder)
    )


def seed_recording_log_from_snapshot(
    folder: str, arguments: Sequence[str], terminal: Terminal
) -> int:
    """Keeps the newest snapshot as one at the log's start, after a question."""
    del arguments
    with opened(folder) as log:
        kept = log.latest_snapshot()
    what = (
        f"keep of {log.path} its newest snapshot, at position 0, and the old file as"
        f" {RECORDING_LOG_NAME}.bak"
    )
    nothing = None if kept else no_snapshot(folder)
    return _change(
        folder, terminal, what, kept, nothing, lambda: node_files.seed_recording_log(folder)
    )


def invalidate_latest_snapshot(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """Makes the newest snapshot invalid, after a question."""
    del arguments
    with opened(folder) as log:
        newest = log.latest_of_any_kind()

    def invalidate() -> None:
        with opened(folder, writable=True) as log:
            log.invalidate_latest_snapshot()

    what = f"make the newest snapshot of {log.path} invalid"
    nothing = None if newest else no_snapshot(folder)
    return _change(folder, terminal, what, newest, nothing, invalidate)


def _change(
    folder: str,
    terminal: Terminal,
    what: str,
    entries: list[LogEntry],
    nothing: str | None,
    change: Callable[[], object],
) -> int:
    """Shows what would change, asks, and does it.

    Args:
        folder: the cluster's folder.
        terminal: where to show it and ask.
        what: what is done, in words.
        entries: the entries that are concerned.
        nothing: why there is nothing to do, None where there is.
        change: does it.

    Raises:
        AerologError: a node runs in the folder.
    """
    if nothing is not None:
        terminal.result({"changed": False, "why": nothing}, nothing)
        return 0
    check_can_ask(terminal)
    _refuse_running(folder)
    rows = [_row(entry) for entry in entries]
    plan = TablePlan(
        what,
        details={"entries": rows},
        columns=_COLUMNS,
        rows=[list(row.values()) for row in map(_readable, rows)],
        right=_RIGHT,
    )
    if not is_agreed(plan, terminal):
        return 0
    _refuse_running(folder)
    change()
    terminal.result({"changed": True, "entries": rows}, "done")
    return 0


def accept(folder: str, terminal: Terminal) -> int:
    """Removes the checksums of a node's files, after a question."""
    found = node_files.files_of_sums(folder)
    if not found:
        nothing = f"{folder} has no checksums: a node there starts from what it finds"
        terminal.result({"changed": False, "why": nothing}, nothing)
        return 0
    check_can_ask(terminal)
    _refuse_running(folder)
    with opened(folder) as log:
        try:
            changed = node_files.FolderSums(folder, node_files.SUMS_OF_MODULE).check_log(log)
        except FileFormatError as error:
            changed = str(error)
    plan = TablePlan(
        f"start from recording.log and the snapshots of {folder} as they are now",
        details={"files": found, "recording_log": changed},
        columns=("checksums to remove",),
        rows=[[path] for path in found],
        caution=changed or None,
    )
    if not is_agreed(plan, terminal):
        return 0
    _refuse_running(folder)
    node_files.remove_sums(folder)
    terminal.result({"changed": True, "files": found}, "done")
    return 0


def _refuse_running(folder: str) -> None:
    try:
        mark = ClusterMarkFile.open(folder)
    except (FileNotFoundError, FileFormatError):
        return
    if mark.is_active():
        raise AerologError(
            f"{folder}: a node runs there, process {mark.header.pid}, which would not see the"
            " change and might undo it: stop it first, then do this again, ten seconds later at"
            " most"
        )


def no_snapshot(folder: str) -> str:
    """What to say of a node that has no snapshot."""
    return f"{file_in(folder, RECORDING_LOG_NAME)} has no valid snapshot"


def opened(folder: str, *, writable: bool = False) -> RecordingLog:
    """The recording log, with words of ours for what is wrong with it."""
    try:
        return RecordingLog(folder, writable=writable)
    except FileNotFoundError as error:
        raise AerologError(
            f"{folder} has no {RECORDING_LOG_NAME}: give the folder of a cluster's node"
            " (aeron.cluster.dir), or mount the file system that it is on"
        ) from error


def _plan(
    log: RecordingLog, folder: str, service_count: int, given: Sequence[str], *, classic: bool
) -> RecoveryPlan:
    """What a node starts from, by the archive's folder where one is given, else by its archive."""
    if not given:
        # Takes long to import, and most commands need no client.
        from aerolog.tools.reference.cluster_tool.live_actions import archive_of

        with archive_of(folder, classic=classic) as client:
            return plan_recovery(log, client.list_recording, service_count)
    archive_dir = given[0]
    check_folder(archive_dir)
    with CatalogReader.open(archive_dir) as catalog:

        def describe(recording_id: int) -> RecordingDescriptor | None:
            return catalog.descriptor(recording_id) if recording_id in catalog else None

        return plan_recovery(log, describe, service_count)


def _row(entry: LogEntry) -> dict[str, Any]:
    return {
        "entry": entry.index,
        "type": entry.type.name.lower().replace("_", " "),
        "valid": entry.is_valid,
        "recording_id": entry.recording_id,
        "leadership_term_id": entry.leadership_term_id,
        "term_base_log_position": entry.term_base_log_position,
        "log_position": None if entry.log_position < 0 else entry.log_position,
        "service_id": None if entry.service_id < 0 else entry.service_id,
        "timestamp": entry.timestamp,
        "archive_endpoint": entry.archive_endpoint,
    }


def _readable(row: dict[str, Any]) -> dict[str, Any]:
    is_term = row["type"] == "term"
    position, service_id = row["log_position"], row["service_id"]
    return {
        **row,
        "valid": "yes" if row["valid"] else "no",
        "log_position": "open" if position is None else position,
        "service_id": ("" if is_term else "module") if service_id is None else service_id,
    }


def _plan_row(plan: RecoveryPlan) -> dict[str, Any]:
    log = None
    if plan.log is not None:
        seen = plan.log.descriptor
        log = {
            "recording_id": seen.recording_id,
            "start_position": plan.log.start_position,
            "stop_position": None if seen.is_active else seen.stop_position,
            "initial_term_id": seen.initial_term_id,
            "term_buffer_length": seen.term_buffer_length,
            "mtu_length": seen.mtu_length,
            "session_id": seen.session_id,
        }
    return {
        "last_leadership_term_id": plan.last_leadership_term_id,
        "last_term_base_log_position": plan.last_term_base_log_position,
        "appended_log_position": plan.appended_log_position,
        "committed_log_position": plan.committed_log_position,
        "snapshots": [_row(entry) for entry in plan.snapshots],
        "log": log,
    }
