"""Changes of the folder of an archive that has stopped: shown, asked about, made."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from aerolog.archive.format.mark_claim import borrowed_folder
from aerolog.tools.archive_files.catalog_editor import EditableCatalog, Entry, check_transition
from aerolog.tools.archive_files.checked_files import (
    in_words,
    open_catalog,
    refuse_running,
    running_pid,
)
from aerolog.tools.archive_files.checksum_names import checksum_of_class
from aerolog.tools.archive_files.checksum_stamps import stamp_entry, stamp_segments
from aerolog.tools.archive_files.compaction import (
    COMPACT_NAME,
    Compaction,
    compact_catalog,
    plan_compaction,
)
from aerolog.tools.archive_files.orphans import orphans
from aerolog.tools.archive_files.raw_catalog import file_in
from aerolog.tools.archive_files.segment_names import number_of, remove_segment, segments_by_id
from aerolog.tools.archive_files.segment_walkers import Walkers
from aerolog.tools.command_line.java_error import JavaError
from aerolog.tools.terminal.table_plan import TablePlan, check_can_ask, is_agreed
from aerolog.transport.errors import AerologError
from aerolog.transport.memory.filesystem import RealFileSystem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerolog.archive.protocol.enums import RecordingState
    from aerolog.tools.archive_files.checksum_stamps import StampChoice
    from aerolog.tools.terminal.command_terminal import ChangeTerminal


def mark(folder: str, recording_id: int, state: RecordingState, terminal: ChangeTerminal) -> None:
    """Give a recording another state."""
    check_can_ask(terminal)
    opened = EditableCatalog.view if terminal.dry_run else EditableCatalog.open
    with in_words(folder), opened(folder) as catalog:
        entry = catalog.entries_of(recording_id)[0]
        check_transition(entry, state)
        row = {"recording_id": recording_id, "before": entry.state_name, "after": state.name}
        if entry.state == state:
            text = f"recording {recording_id} is {state.name} already"
            terminal.result({**row, "changed": False}, text)
            return
        caution = None
        if running_pid(folder) is not None:
            caution = "An archive runs in this folder: it sees the change when it starts again."
        plan = TablePlan(
            f"recording {recording_id}: {entry.state_name} -> {state.name}",
            details=row,
            caution=caution,
        )
        if not is_agreed(plan, terminal):
            return
        catalog.store_state(entry, state)
        catalog.sync()
    terminal.result({**row, "changed": True}, f"recording {recording_id} is {state.name} now")


def set_capacity(folder: str, wanted: int, terminal: ChangeTerminal) -> None:
    """Show the length of the catalog file, or make the file at least as long as wanted."""
    with open_catalog(folder) as catalog:
        path, present = catalog.path, catalog.capacity
    result = max(present, wanted)
    if result > present and not terminal.dry_run:
        with RealFileSystem().open_data_file(path, writable=True) as file:
            # Another process may have made it longer meanwhile: never shorter.
            if Path(path).stat().st_size < result:
                file.set_length(result)
    text = f"{present} -> {result}" if result > present else str(present)
    terminal.result({"path": path, "before": present, "capacity": result}, text)


def delete_orphaned(folder: str, recording_id: int | None, terminal: ChangeTerminal) -> None:
    """Delete the segment files outside of their recordings, of one recording or of all."""
    check_can_ask(terminal)
    with in_words(folder), EditableCatalog.view(folder) as catalog:
        names = segments_by_id(folder)
        found = [
            (entry, name)
            for entry in catalog.entries_of(recording_id)
            for name in sorted(orphans(entry, names.get(entry.recording_id, [])))
        ]
        plan = _orphans_plan(folder, found)
        if not is_agreed(plan, terminal):
            return
    # An archive may run, and have attached a segment while the question was open.
    with in_words(folder), EditableCatalog.view(folder) as catalog:
        agreed = {name for _, name in found}
        now = segments_by_id(folder)
        gone = [
            name
            for entry in catalog.entries_of(recording_id)
            for name in orphans(entry, now.get(entry.recording_id, []))
            if name in agreed
        ]
        for name in gone:
            remove_segment(file_in(folder, name))
        RealFileSystem().sync_dir(folder)
    details = {"dry_run": False, **plan.details, "deleted": gone}
    kept = len(found) - len(gone)
    note = f"; {kept} belong to their recordings by now and stay" if kept else ""
    terminal.result(details, f"deleted {len(gone)} segment files{note}")


def _orphans_plan(folder: str, found: Sequence[tuple[Entry, str]]) -> TablePlan:
    rows: list[dict[str, Any]] = [
        {
            "recording_id": entry.recording_id,
            "file": name,
            "bytes": Path(folder, name).stat().st_size,
            "start_position": entry.start_position,
            "stop_position": None if entry.is_active else entry.stop_position,
        }
        for entry, name in found
    ]
    total = sum(row["bytes"] for row in rows)
    return TablePlan(
        f"delete {len(rows)} segment files outside of their recordings, {total} bytes",
        ("recording", "file", "bytes", "start", "stop"),
        [list(row.values()) for row in rows],
        details={"files": rows, "bytes": total},
        right=("recording", "bytes", "start", "stop"),
    )


def compact(folder: str, terminal: ChangeTerminal) -> None:
    """Remove recordings that are not valid from the catalog, with their segments."""
    check_can_ask(terminal)
    if not terminal.dry_run:
        refuse_running(folder, "it would go on in a catalog that nobody finds any more")
    with in_words(folder), EditableCatalog.view(folder) as catalog:
        planned = plan_compaction(folder, catalog)
        plan = _compaction_plan(planned, folder)
        if not is_agreed(plan, terminal):
            return
        # An archive may have been started, and have gone again, while the question was open.
        with (
            borrowed_folder(folder, RealFileSystem()),
            EditableCatalog.view(folder) as present,
        ):
            now = plan_compaction(folder, present)
            if (now.content, now.names) != (planned.content, planned.names):
                raise AerologError(f"{folder}: its catalog has changed since the plan: look again")
            # A run that was cut short may have left one.
            Path(file_in(folder, COMPACT_NAME)).unlink(missing_ok=True)
            done = compact_catalog(folder, present)
    terminal.result(
        {"dry_run": False, **plan.details},
        f"removed {len(done.removed)} recordings and {len(done.names)} segment files;"
        f" the catalog is {len(done.content)} bytes",
    )


def _compaction_plan(planned: Compaction, folder: str) -> TablePlan:
    names = segments_by_id(folder)
    rows = [
        {
            "recording_id": entry.recording_id,
            "state": entry.state_name,
            "segment_files": len(names.get(entry.recording_id, [])),
            "segment_bytes": sum(
                Path(folder, name).stat().st_size for name in names.get(entry.recording_id, [])
            ),
        }
        for entry in planned.removed
    ]
    return TablePlan(
        f"remove {len(rows)} recordings that are not valid, with {len(planned.names)} segment"
        " files, for good",
        ("recording", "state", "files", "bytes"),
        [list(row.values()) for row in rows],
        details={
            "removed": rows,
            "reclaimed_catalog_bytes": planned.reclaimed,
            "catalog_bytes": len(planned.content),
        },
        right=("recording", "files", "bytes"),
        caution="What is removed cannot be brought back.",
    )


def store_checksums(folder: str, choice: StampChoice, terminal: ChangeTerminal) -> bool:
    """Store checksums in catalog entries and frames; False when a segment has a problem."""
    check_can_ask(terminal)
    if not terminal.dry_run:
        refuse_running(folder, "its recorder and this would write to the same frames")
    opened = EditableCatalog.view if terminal.dry_run else EditableCatalog.open
    with in_words(folder), opened(folder) as catalog:
        names = segments_by_id(folder)
        entries = catalog.entries_of(choice.recording_id)
        chosen = {e.offset: _chosen(e, names, choice) for e in entries}
        plan = _checksum_plan(folder, entries, chosen, choice)
        if not is_agreed(plan, terminal):
            return True
        problems = _stamp_all(folder, catalog, entries, chosen, choice.checksum)
        catalog.sync()
    if terminal.as_json:
        terminal.document({"dry_run": False, **plan.details, "problems": problems})
        return not problems
    for problem in problems:
        terminal.remark(problem)
    terminal.line(f"{choice.checksum} of {len(entries)} recordings stored")
    return not problems


def _chosen(entry: Entry, names: dict[int, list[str]], choice: StampChoice) -> list[str]:
    own = sorted(names.get(entry.recording_id, []), key=number_of)
    return own if choice.all_segments else own[-1:]


def _checksum_plan(
    folder: str, entries: Sequence[Entry], chosen: dict[int, list[str]], choice: StampChoice
) -> TablePlan:
    rows = [
        {
            "recording_id": entry.recording_id,
            "segment_files": len(chosen[entry.offset]),
            "segment_bytes": sum(Path(folder, n).stat().st_size for n in chosen[entry.offset]),
        }
        for entry in entries
    ]
    return TablePlan(
        f"store {choice.checksum} checksums of {len(rows)} recordings in the catalog and in"
        f" {sum(map(len, chosen.values()))} segment files",
        ("recording", "files", "bytes"),
        [list(row.values()) for row in rows],
        details={"checksum": choice.checksum, "recordings": rows},
        right=("recording", "files", "bytes"),
        caution="A frame's checksum takes the place of its session id, which is lost.",
    )


def _stamp_all(
    folder: str,
    catalog: EditableCatalog,
    entries: Sequence[Entry],
    chosen: dict[int, list[str]],
    checksum: str,
) -> list[str]:
    """Stamp recordings; gives what is wrong with their segments."""
    found = checksum_of_class(checksum)
    problems = []
    with Walkers(found) as walkers:
        for entry in entries:
            stamp_entry(catalog, entry, found)
            for path, failure, problem in stamp_segments(
                folder, entry, chosen[entry.offset], walkers
            ):
                text = failure.message if isinstance(failure, JavaError) else failure
                problems.append(f"recording {entry.recording_id}, {path}: {text or problem}")
    return problems
