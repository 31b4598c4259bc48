"""Keeping archives out of a folder for a while, through the mark file that they would claim.

Whoever changes the files of an archive that does not run shows himself in its mark file as a live
archive does: one that starts meanwhile, ours or the reference's, refuses. Afterwards the mark file
says what it said before.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from aerolog.archive.format.layout import MARK_FILE_NAME
from aerolog.archive.format.mark_file import MarkFile, mark_file_dir
from aerolog.transport.concurrent.clock import Clock, SystemClock
from aerolog.transport.errors import ActiveArchiveError, FileFormatError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from aerolog.transport.memory.filesystem import FileSystem


@contextmanager
def borrowed_folder(
    archive_dir: str | Path, files: FileSystem, clock: Clock | None = None
) -> Iterator[Callable[[], None]]:
    """Keep archives out of a folder; gives what is to be called every few seconds meanwhile.

    A folder without a mark file, which no archive has run in, has nobody to keep out.

    Args:
        archive_dir: the archive's folder.
        files: the file system door.
        clock: the clock door.

    Raises:
        ActiveArchiveError: an archive runs there, or starts.
    """
    clock = clock or SystemClock()
    path = str(Path(mark_file_dir(archive_dir, files)) / MARK_FILE_NAME)
    if not files.exists(path):
        yield _nothing
        return
    try:
        mark = MarkFile(files.open_mapped(path), clock)
    except FileFormatError:
        # Not one that an archive has finished: who starts writes it anew.
        yield _nothing
        return
    if mark.is_active():
        raise ActiveArchiveError(
            f"an archive runs in {archive_dir}, process {mark.header.pid}: ask it, or stop it first"
        )
    at, pid_at = mark.offset_of("activity_timestamp"), mark.offset_of("pid")
    before, pid = mark.activity_timestamp, mark.header.pid
    if not mark.mapped.compare_and_set_i64(at, before, clock.now_epoch_ms()):
        raise ActiveArchiveError(f"an archive starts in {archive_dir}: ask it")
    mark.mapped.store_i64(pid_at, os.getpid())
    try:
        yield mark.beat
    finally:
        mark.mapped.store_i64(pid_at, pid)
        mark.mapped.store_i64(at, before)
        mark.mapped.flush()


def _nothing() -> None:
    """Nobody looks."""
