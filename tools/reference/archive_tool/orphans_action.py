"""``delete-orphaned-segments``: segment files outside of their recording's start and stop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.tools.archive_files.catalog_editor import EditableCatalog
from aerolog.tools.archive_files.orphans import orphans
from aerolog.tools.archive_files.raw_catalog import file_in
from aerolog.tools.archive_files.segment_names import remove_segment, segments_by_id
from aerolog.tools.command_line.java_error import JavaError, java_error_of, parse_long

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerolog.tools.reference.tool_terminal import Terminal


def delete_orphaned_segments(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """Delete orphaned segments, after the reference's question."""
    recording_id = parse_long(arguments[0]) if arguments else None
    owned = "" if recording_id is None else f" owned by the RecordingId[{recording_id}]"
    if not terminal.agrees(f"All orphaned segment files{owned} will be deleted."):
        return 0
    deleted: list[str] = []
    problems: list[str] = []
    with EditableCatalog.view(folder) as catalog:
        names = segments_by_id(folder)
        for entry in catalog.entries_of(recording_id):
            for name in orphans(entry, names.get(entry.recording_id, [])):
                try:
                    remove_segment(file_in(folder, name))
                    deleted.append(name)
                except (JavaError, OSError) as error:
                    problems.append(str(java_error_of(error)))
                    if not terminal.as_json:
                        terminal.line(problems[-1])
    if terminal.as_json:
        terminal.document({"deleted": deleted, "problems": problems})
    return 0
