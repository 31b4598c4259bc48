"""Steps that a crash has cut off: looked up in the journal, and brought to an end.

The catalog is changed before files are removed, so it tells how far a step had come: before its
change nothing has happened, and the next plan decides anew; after it the files that are left belong
to no recording, and go.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from aerolog.archive.format.catalog_map import CatalogReader
from aerolog.archive.format.descriptor import RecordingState
from aerolog.archive.retention.holds import step_lock
from aerolog.archive.retention.journal import DONE, NOT_DONE, STEP_END
from aerolog.archive.retention.own_files import base_of, names_of
from aerolog.archive.retention.plan import RECORDING
from aerolog.transport.errors import FileFormatError

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.archive.retention.journal import Journal
    from aerolog.transport.memory.filesystem import FileSystem


def settle(
    archive_dir: str | Path,
    journal: Journal,
    now_ms: Callable[[], int],
    files: FileSystem,
) -> list[str]:
    """Bring the journal's unfinished steps to an end; the caller is the only run.

    Args:
        archive_dir: the archive's folder.
        journal: of it.
        now_ms: the time.
        files: the file system door.

    Returns:
        What was found and done, a line for each step.

    Raises:
        JournalDamagedError: the journal cannot be written.
        OSError: a file cannot be removed.
    """
    told = []
    for number, step in sorted(journal.state.unfinished.items()):
        with step_lock(archive_dir, files):
            limit = _limit(archive_dir, step, files)
            recording_id = int(step["recording_id"])
            if limit is None:
                removed, outcome = 0, NOT_DONE
                text = "it had not begun, and is planned anew"
            else:
                removed = _remove_below(archive_dir, recording_id, step, limit, files)
                outcome = DONE
                text = f"its change was made; {removed} files were left and are removed"
            done = outcome == DONE
            journal.append(
                STEP_END,
                now_ms(),
                step=number,
                outcome=outcome,
                files=int(step["files"]) if done else 0,
                bytes=int(step["bytes"]) if done else 0,
                text="cut off by a crash, " + text,
            )
        told.append(f"a step of recording {recording_id} was cut off by a crash: {text}")
    return told


def _limit(archive_dir: str | Path, step: dict[str, Any], files: FileSystem) -> int | None:
    """Below which position files are no recording's any more; None when the step has not begun.

    -1 stands for all files of the recording.
    """
    recording_id, new_start = int(step["recording_id"]), int(step["new_start_position"])
    whole = step["kind"] == RECORDING
    with CatalogReader.open(archive_dir, files) as catalog:
        if recording_id not in catalog:
            return -1 if whole and _is_deleted(catalog, recording_id) else None
        try:
            found = catalog.checked_entry(recording_id).descriptor
        except FileFormatError:
            return None
    same = found.start_timestamp == step["start_ms"] and found.stream_id == step["stream_id"]
    return new_start if same and not whole and found.start_position >= new_start else None


def _is_deleted(catalog: CatalogReader, recording_id: int) -> bool:
    """Whether the catalog says so: what a tool has put aside (INVALID) is not."""
    return any(
        entry.state == RecordingState.DELETED
        for entry in catalog.entries()
        if entry.descriptor.recording_id == recording_id
    )


def _remove_below(
    archive_dir: str | Path,
    recording_id: int,
    step: dict[str, Any],
    limit: int,
    files: FileSystem,
) -> int:
    """Remove what the step has left; what lay before it (detached) stays, but of a whole one."""
    first = int(step["first_base"])
    removed = 0
    for name in names_of(files, archive_dir, recording_id):
        if limit < 0 or first <= base_of(name) < limit:
            try:
                files.remove(str(Path(archive_dir) / name))
            except FileNotFoundError:
                continue  # an archive that runs has gone on with it
            removed += 1
    if removed:
        files.sync_dir(str(archive_dir))
    return removed
