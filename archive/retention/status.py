"""The status of retention in a folder: runs, deletions, holds and unfinished steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aerolog.archive.retention.errors import RetentionError
from aerolog.archive.retention.holds import Hold, Holds
from aerolog.archive.retention.journal import Journal, Run
from aerolog.archive.retention.retention_folder import is_running, who_holds
from aerolog.transport.memory.filesystem import FileSystem, RealFileSystem

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionStatus:
    """The status of retention in a folder; nothing is created or changed to find it.

    Attributes:
        is_used: whether there ever was a run or a hold.
        running: description of the active run, None when there is none.
        last_run: the latest run, None when there was none.
        runs: number of runs.
        files: number of segment files deleted in all runs.
        bytes: length of these files.
        unfinished: steps in the journal that a crash interrupted and no run has completed yet.
        holds: holds that have not expired.
        last_ms: time of the journal's latest line, None without one.
        problems: descriptions of what cannot be read; while the holds are among it, nothing is
            deleted.
    """

    is_used: bool
    running: str | None
    last_run: Run | None
    runs: int
    files: int
    bytes: int
    unfinished: tuple[dict[str, Any], ...]
    holds: tuple[Hold, ...]
    last_ms: int | None
    problems: tuple[str, ...]


def retention_status(
    archive_dir: str | Path, now_ms: int, files: FileSystem | None = None
) -> RetentionStatus:
    """Return the status of retention in a folder.

    Args:
        archive_dir: the archive's folder.
        now_ms: the time at which holds are evaluated, epoch milliseconds.
        files: the file system to read from.
    """
    files = files or RealFileSystem()
    problems: list[str] = []
    holds: tuple[Hold, ...] = ()
    journal = None
    try:
        journal = Journal.open(archive_dir, files)
        problems += journal.state.problems
        holds = tuple(h for h in Holds.open(archive_dir, files) if not h.is_over(now_ms))
    except (RetentionError, OSError) as error:
        problems.append(str(error))
    running = is_running(archive_dir, files)
    state = None if journal is None else journal.state
    return RetentionStatus(
        is_used=bool(holds or problems or (state is not None and state.last_ms is not None)),
        running=who_holds(archive_dir, files) if running else None,
        last_run=None if state is None else state.last_run,
        runs=0 if state is None else state.runs,
        files=0 if state is None else state.files,
        bytes=0 if state is None else state.bytes,
        unfinished=() if state is None or running else tuple(state.unfinished.values()),
        holds=holds,
        last_ms=None if state is None else state.last_ms,
        problems=tuple(problems),
    )
