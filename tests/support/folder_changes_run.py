"""The commands that change an archive's folder, run in this process without the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.archive.protocol.enums import RecordingState
from aerolog.tools.archive_files.checksum_stamps import StampChoice
from aerolog.tools.recordings import folder_changes
from aerolog.tools.recordings.folder_upgrade import upgrade

if TYPE_CHECKING:
    from pathlib import Path

    from aerolog.tools.terminal.command_terminal import ChangeTerminal


def change(folder: Path, command: str, terminal: ChangeTerminal) -> int:
    """Run a command, such as ``checksum CRC-32C --all``; the exit code."""
    name, *rest = command.split()
    at = str(folder)
    one = int(rest[-1]) if rest and rest[-1].isdigit() else None
    match name:
        case "mark-valid" | "mark-invalid":
            assert one is not None
            state = RecordingState[name.partition("-")[2].upper()]
            folder_changes.mark(at, one, state, terminal)
        case "delete-orphaned":
            folder_changes.delete_orphaned(at, one, terminal)
        case "compact":
            folder_changes.compact(at, terminal)
        case "upgrade":
            upgrade(at, terminal)
        case _:
            choice = StampChoice(rest[0], one, "--all" in rest)
            return 0 if folder_changes.store_checksums(at, choice, terminal) else 1
    return 0
