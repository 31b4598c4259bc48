"""``delete-orphaned-segments``: segment files outside of their recording's start and stop."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from aerolog.tools.archive_files.catalog_editor import EditableCatalog, Entry
from aerolog.tools.archive_files.java_error import JavaError, java_error_of, parse_long
from aerolog.tools.archive_files.raw_catalog import file_in
from aerolog.tools.archive_files.segment_names import base_of, remove_segment, segments_by_id
from aerolog.tools.reference.archive_tool.change_plan import (
    TablePlan,
    check_can_ask,
    in_words,
    is_agreed,
    parse_recording_id,
)
from aerolog.transport.memory.filesystem import RealFileSystem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerolog.tools.reference.tool_terminal import Terminal


def classic_delete_orphaned_segments(
    folder: str, arguments: Sequence[str], terminal: Terminal
) -> int:
    """Deletes orphaned segments as the reference does, after its question."""
    recording_id = parse_long(arguments[0]) if arguments else None
    owned = "" if recording_id is None else f" owned by the RecordingId[{recording_id}]"
    if not terminal.agrees(f"All orphaned segment files{owned} will be deleted."):
        return 0
    with EditableCatalog.view(folder) as catalog:
        names = segments_by_id(folder)
        for entry in catalog.entries_of(recording_id):
            for name in orphans(entry, names.get(entry.recording_id, [])):
                try:
                    remove_segment(file_in(folder, name))
                except (JavaError, OSError) as error:
                    terminal.line(str(java_error_of(error)))
    return 0


def delete_orphaned_segments(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """Deletes orphaned segments, after a question."""
    if len(arguments) > 1:
        raise typer.BadParameter("one recording's id, or none for all")
    recording_id = parse_recording_id(arguments[0]) if arguments else None
    check_can_ask(terminal)
    with in_words(folder), EditableCatalog.view(folder) as catalog:
        names = segments_by_id(folder)
        found = [
            (entry, name)
            for entry in catalog.entries_of(recording_id)
            for name in sorted(orphans(entry, names.get(entry.recording_id, [])))
        ]
        plan = _plan(folder, found)
        if not is_agreed(plan, terminal):
            return 0
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
    return 0


def _plan(folder: str, found: Sequence[tuple[Entry, str]]) -> TablePlan:
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


def orphans(entry: Entry, names: Sequence[str]) -> list[str]:
    """Those of a recording's segment files that lie outside of it."""
    first = entry.start_position & -entry.term_length
    start = _segment_base(entry, first, entry.start_position)
    stop = None if entry.is_active else _segment_base(entry, first, entry.stop_position)
    return [name for name in names if _is_outside(name, start, stop)]


def _segment_base(entry: Entry, first: int, position: int) -> int:
    """The reference's arithmetic: masks, whatever the lengths are."""
    return first + ((position - first) & -entry.segment_length)


def _is_outside(name: str, start: int, stop: int | None) -> bool:
    try:
        base = base_of(name)
    except JavaError:
        return True
    return base < start or (stop is not None and base > stop)
