"""Keeping archives out of a folder for a while, by claiming its mark file as an archive would.

A tool that changes the files of a stopped archive marks the folder as owned by a live archive. An
archive that starts at that time, this one or the reference, refuses to. Afterwards the mark file
gets its old contents back.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from aerolog.archive.format.layout import MARK_FILE_NAME
from aerolog.archive.format.mark_file import ArchiveMarkFile, mark_file_dir, owner_is_gone
from aerolog.transport.concurrent.clock import Clock, SystemClock
from aerolog.transport.errors import ActiveArchiveError, FileFormatError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from aerolog.transport.memory.filesystem import FileSystem


@contextmanager
def borrowed_folder(
    archive_dir: str | Path, files: FileSystem, clock: Clock | None = None
) -> Iterator[Callable[[], None]]:
    """Keep archives out of a folder; yields a function to call every few seconds until the end.

    A folder without a mark file, in which no archive has run, needs no protection.

    Args:
        archive_dir: the archive's folder.
        files: the file system to use.
        clock: the clock of the signs of life.

    Raises:
        ActiveArchiveError: an archive runs in the folder or is starting.
    """
    clock = clock or SystemClock()
    path = str(Path(mark_file_dir(archive_dir, files)) / MARK_FILE_NAME)
    if not files.exists(path):
        yield _nothing
        return
    is_gone = owner_is_gone(archive_dir, files)
    try:
        mark = ArchiveMarkFile(files.open_mapped(path), clock)
    except FileFormatError:
        # An ended archive's mark file does not count: an archive that starts writes it anew.
        yield _nothing
        return
    if mark.is_active() and not is_gone:
        raise ActiveArchiveError(
            f"an archive runs in {archive_dir}, process {mark.header.pid}: ask it, or stop it first"
        )
    at, pid_at = mark.offset_of("activity_timestamp"), mark.offset_of("pid")
    started_at = mark.offset_of("start_timestamp")
    before, pid, started = mark.activity_timestamp, mark.header.pid, mark.header.start_timestamp
    now_ms = clock.now_epoch_ms()
    if not mark.mapped.compare_and_set_i64(at, before, now_ms):
        raise ActiveArchiveError(f"an archive starts in {archive_dir}: ask it")
    # The start time is that of the process whose id stands beside it, for whoever compares both.
    mark.mapped.store_i64(pid_at, os.getpid())
    mark.mapped.store_i64(started_at, now_ms)
    mark.hold(files, os.getpid(), now_ms)
    try:
        yield mark.beat
    finally:
        # After ten seconds without a sign of life the folder may be an archive's.
        if mark.is_owned:
            mark.mapped.store_i64(pid_at, pid)
            mark.mapped.store_i64(started_at, started)
            mark.mapped.store_i64(at, before)
            mark.mapped.flush()


def _nothing() -> None:
    """Do nothing: the folder has no mark file to keep alive."""
