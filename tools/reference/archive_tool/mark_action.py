"""``mark-valid`` and ``mark-invalid``: the state of a catalog entry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.archive.protocol.enums import RecordingState
from aerolog.tools.archive_files.catalog_editor import EditableCatalog, Entry, check_state
from aerolog.tools.archive_files.java_error import (
    AERON_ERROR,
    JavaError,
    parse_long,
)
from aerolog.tools.reference.archive_tool.change_plan import (
    TablePlan,
    check_can_ask,
    in_words,
    is_agreed,
    parse_recording_id,
    running_pid,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerolog.tools.reference.tool_terminal import Terminal


def classic_mark_valid(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """Makes a recording valid as the reference does."""
    return _classic(folder, arguments, terminal, RecordingState.VALID)


def classic_mark_invalid(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """Makes a recording invalid as the reference does."""
    return _classic(folder, arguments, terminal, RecordingState.INVALID)


def _classic(
    folder: str, arguments: Sequence[str], terminal: Terminal, state: RecordingState
) -> int:
    recording_id = parse_long(arguments[0])
    with EditableCatalog.open(folder) as catalog:
        entry = catalog.entries_of(recording_id)[0]
        check_state(entry)
        _check_transition(entry, state)
        if entry.state != state:
            catalog.store_state(entry, state)
            terminal.line(f"(recordingId={recording_id}) changed state to {state.name}")
    return 0


def mark_valid(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """Makes a recording valid, after a question."""
    return _mark(folder, arguments, terminal, RecordingState.VALID)


def mark_invalid(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """Makes a recording invalid, after a question."""
    return _mark(folder, arguments, terminal, RecordingState.INVALID)


def _mark(folder: str, arguments: Sequence[str], terminal: Terminal, state: RecordingState) -> int:
    recording_id = parse_recording_id(arguments[0])
    check_can_ask(terminal)
    opened = EditableCatalog.view if terminal.dry_run else EditableCatalog.open
    with in_words(folder), opened(folder) as catalog:
        entry = catalog.entries_of(recording_id)[0]
        check_state(entry)
        _check_transition(entry, state)
        row = {"recording_id": recording_id, "before": entry.state_name, "after": state.name}
        if entry.state == state:
            text = f"recording {recording_id} is {state.name} already"
            terminal.result({**row, "changed": False}, text)
            return 0
        caution = None
        if running_pid(folder) is not None:
            caution = "An archive runs in this folder: it sees the change when it starts again."
        plan = TablePlan(
            f"recording {recording_id}: {entry.state_name} -> {state.name}",
            details=row,
            caution=caution,
        )
        if not is_agreed(plan, terminal):
            return 0
        catalog.store_state(entry, state)
        catalog.sync()
    terminal.result({**row, "changed": True}, f"recording {recording_id} is {state.name} now")
    return 0


def _check_transition(entry: Entry, state: RecordingState) -> None:
    if entry.state == RecordingState.DELETED:
        raise JavaError(
            AERON_ERROR,
            f"ERROR - (recordingId={entry.recording_id}) state transition DELETED -> {state.name}"
            " is not allowed",
        )
