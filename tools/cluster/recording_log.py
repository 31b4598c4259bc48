"""``recording.log``: what it holds, what a node recovers from, and changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from aerolog.archive.format.catalog_map import CatalogReader
from aerolog.cluster import files as node_files
from aerolog.cluster.files import ClusterMarkFile, RecordingLog, plan_recovery
from aerolog.cluster.files.layout import RECORDING_LOG_NAME
from aerolog.tools.archive_files.raw_catalog import file_in
from aerolog.tools.cluster.node_requests import archive_of, node_of
from aerolog.tools.connection.archive_folder import check_folder
from aerolog.tools.terminal.console import print_fields, print_table
from aerolog.tools.terminal.table_plan import TablePlan, check_can_ask, is_agreed
from aerolog.transport.errors import AerologError, FileFormatError

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.cluster.files import LogEntry, RecoveryPlan
    from aerolog.tools.cluster.node_requests import Nodes
    from aerolog.tools.terminal.command_terminal import ChangeTerminal, CommandTerminal

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


def show_recording_log(folder: str, terminal: CommandTerminal) -> None:
    """The entries in the order of terms and positions."""
    with opened(folder) as log:
        rows = [log_row(entry) for entry in log.entries]
    if terminal.as_json:
        terminal.document(rows)
    else:
        terminal.out.flush()
        print_table(_COLUMNS, [list(row.values()) for row in map(_readable, rows)], right=_RIGHT)


def show_recovery_plan(
    folder: str, count: int, archive_dir: str | None, terminal: CommandTerminal
) -> None:
    """Print what the node would start from."""
    with opened(folder) as log:
        plan = plan_of(log, folder, count, archive_dir, node_of)
    row = plan_row(plan)
    if terminal.as_json:
        terminal.document(row)
        return
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


def sort_recording_log(folder: str, terminal: ChangeTerminal) -> None:
    """Rewrites the file in the order of terms and positions, after a question."""
    with opened(folder) as log:
        moved = [e for index, e in enumerate(log.entries) if e.index != index]
    what = f"sort {log.path}: {len(moved)} entries move"
    nothing = f"{log.path} is in order: nothing to sort" if not moved else None
    _change(folder, terminal, what, moved, nothing, lambda: node_files.sort_recording_log(folder))


def seed_recording_log_from_snapshot(folder: str, terminal: ChangeTerminal) -> None:
    """Keeps the newest snapshot as one at the log's start, after a question."""
    with opened(folder) as log:
        kept = log.latest_snapshot()
    what = (
        f"keep of {log.path} its newest snapshot, at position 0, and the old file as"
        f" {RECORDING_LOG_NAME}.bak"
    )
    nothing = None if kept else no_snapshot(folder)
    _change(folder, terminal, what, kept, nothing, lambda: node_files.seed_recording_log(folder))


def invalidate_latest_snapshot(folder: str, terminal: ChangeTerminal) -> None:
    """Makes the newest snapshot invalid, after a question."""
    with opened(folder) as log:
        newest = log.latest_of_any_kind()

    def invalidate() -> None:
        with opened(folder, writable=True) as log:
            log.invalidate_latest_snapshot()

    what = f"make the newest snapshot of {log.path} invalid"
    nothing = None if newest else no_snapshot(folder)
    _change(folder, terminal, what, newest, nothing, invalidate)


def _change(
    folder: str,
    terminal: ChangeTerminal,
    what: str,
    entries: list[LogEntry],
    nothing: str | None,
    change: Callable[[], object],
) -> None:
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
        return
    check_can_ask(terminal)
    _refuse_running(folder)
    rows = [log_row(entry) for entry in entries]
    plan = TablePlan(
        what,
        details={"entries": rows},
        columns=_COLUMNS,
        rows=[list(row.values()) for row in map(_readable, rows)],
        right=_RIGHT,
    )
    if not is_agreed(plan, terminal):
        return
    _refuse_running(folder)
    change()
    terminal.result({"changed": True, "entries": rows}, "done")


def accept(folder: str, terminal: ChangeTerminal) -> None:
    """Removes the checksums of a node's files, after a question."""
    found = node_files.files_of_sums(folder)
    if not found:
        nothing = f"{folder} has no checksums: a node there starts from what it finds"
        terminal.result({"changed": False, "why": nothing}, nothing)
        return
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
        return
    _refuse_running(folder)
    node_files.remove_sums(folder)
    terminal.result({"changed": True, "files": found}, "done")


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


def plan_of(
    log: RecordingLog, folder: str, service_count: int, archive_dir: str | None, nodes: Nodes
) -> RecoveryPlan:
    """What a node starts from, by the archive's folder where one is given, else by its archive."""
    if archive_dir is None:
        with archive_of(folder, nodes) as client:
            return plan_recovery(log, client.list_recording, service_count)
    check_folder(archive_dir)
    with CatalogReader.open(archive_dir) as catalog:

        def describe(recording_id: int) -> RecordingDescriptor | None:
            return catalog.descriptor(recording_id) if recording_id in catalog else None

        return plan_recovery(log, describe, service_count)


def log_row(entry: LogEntry) -> dict[str, Any]:
    """An entry of the recording log as JSON."""
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


def plan_row(plan: RecoveryPlan) -> dict[str, Any]:
    """A recovery plan as JSON."""
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
        "snapshots": [log_row(entry) for entry in plan.snapshots],
        "log": log,
    }
