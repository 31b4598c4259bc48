"""``mark-valid`` and ``mark-invalid``: the state of a catalog entry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.archive.files.descriptor import RecordingState
from aerolog.tools.archive_tool.editing import EditableCatalog, Entry, check_state
from aerolog.tools.archive_tool.uncaught import (
    AERON_ERROR,
    UncaughtError,
    parse_long,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerolog.tools.archive_tool.terminal import Terminal


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


def _check_transition(entry: Entry, state: RecordingState) -> None:
    if entry.state == RecordingState.DELETED:
        raise UncaughtError(
            AERON_ERROR,
            f"ERROR - (recordingId={entry.recording_id}) state transition DELETED -> {state.name}"
            " is not allowed",
        )
