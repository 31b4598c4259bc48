"""``mark-valid`` and ``mark-invalid``: the state of a catalog entry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.archive.protocol.enums import RecordingState
from aerolog.tools.archive_files.catalog_editor import EditableCatalog, check_transition
from aerolog.tools.command_line.java_error import parse_long

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerolog.tools.reference.tool_terminal import Terminal


def mark_valid(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """Make a recording valid."""
    return _mark(folder, arguments, terminal, RecordingState.VALID)


def mark_invalid(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """Make a recording invalid."""
    return _mark(folder, arguments, terminal, RecordingState.INVALID)


def _mark(folder: str, arguments: Sequence[str], terminal: Terminal, state: RecordingState) -> int:
    recording_id = parse_long(arguments[0])
    with EditableCatalog.open(folder) as catalog:
        entry = catalog.entries_of(recording_id)[0]
        check_transition(entry, state)
        changes = entry.state != state
        if changes:
            catalog.store_state(entry, state)
    if terminal.as_json:
        states = {"before": entry.state_name, "after": state.name}
        terminal.document({"recording_id": recording_id, **states, "changed": changes})
    elif changes:
        terminal.line(f"(recordingId={recording_id}) changed state to {state.name}")
    return 0
