"""How retention stands in a folder: runs, what went, what is held, and what is unfinished."""

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
    """What a folder tells of retention; nothing is made or changed to find it out.

    Attributes:
        is_used: whether there ever was a run or a hold.
        running: who runs now, None when nobody does.
        last_run: the latest run, None when there was none.
        runs: how many there were.
        files: segment files that went, in all runs.
        bytes: of these files.
        unfinished: steps that a crash has cut off and no run has looked at yet, as the journal has
            them.
        holds: those that have not ended.
        last_ms: time of the journal's latest line, None without one.
        problems: what cannot be read; while there is one with the holds, nothing is deleted.
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
    """Look at a folder's retention.

    Args:
        archive_dir: the archive's folder.
        now_ms: the time, by which holds end.
        files: the file system door.
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
