"""Retention's own files in an archive's folder, and the lock of a run.

One run at a time holds a lock of the operating system for as long as its process lives, so that a
killed run does not block others. The contents of the lock file only tell people who holds it.

Retention is needed most when the disk is full, and its lock and journal need room themselves. A
file reserves it from the archive's start on. It is removed when something cannot be written, and
made again at the end of the run.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from aerolog.archive.format.layout import SIDE_FOLDER
from aerolog.archive.format.side_folder import make_side_folder
from aerolog.archive.retention.errors import NoRoomError, RetentionLockedError
from aerolog.transport.concurrent.clock import SystemClock
from aerolog.transport.memory.error_text import format_time
from aerolog.transport.time_units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from aerolog.transport.concurrent.clock import Clock
    from aerolog.transport.memory.filesystem import FileLock, FileSystem

T = TypeVar("T")

#: How long to wait for a process that holds the lock only to check whether a run is active.
_LOOKERS_S: Final = 0.5
_PAUSE_S: Final = 0.01
#: Bytes for the note in the lock, a file of holds, and the first lines of a journal, until the
#: first segments are gone.
RESERVE_LENGTH: Final = 256 * 1024
_NO_SPACE: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


@contextmanager
def run_lock(
    archive_dir: str | Path,
    files: FileSystem,
    now_ms: int,
    *,
    what: str = "retention",
    clock: Clock | None = None,
) -> Iterator[None]:
    """Hold the lock of the only run in a folder.

    Args:
        archive_dir: the archive's folder.
        files: the file system to use.
        now_ms: the present time, shown to others.
        what: name of the run, shown to others.
        clock: measures how long to wait for another process, the system's by default.

    Raises:
        RetentionLockedError: another run is active; the message describes it.
        NoRoomError: the disk is full, and no room is reserved.
        OSError: the folder is not writable.
    """
    path = lock_path(archive_dir)
    lock = lock_within(_LOOKERS_S, archive_dir, path, files, clock)
    if lock is None:
        holder = who_holds(archive_dir, files)
        raise RetentionLockedError(
            f"another run is under way in {archive_dir}: {holder}: wait until it has ended, or end"
            " it",
            holder,
        )
    with lock:
        note = {"pid": os.getpid(), "host": socket.gethostname(), "since_ms": now_ms, "what": what}

        def write_note() -> None:
            with files.open_data_file(path, writable=True) as file:
                file.set_length(0)
                file.write_at(json.dumps(note).encode() + b"\n", 0)

        with_room(archive_dir, files, write_note)
        reserve_room(archive_dir, files)
        try:
            yield
        finally:
            reserve_room(archive_dir, files)


def reserve_room(archive_dir: str | Path, files: FileSystem) -> OSError | None:
    """Reserve room for retention's own files, as an archive does at its start and a run at its end.

    Returns:
        Why there is no reserve, which is no reason to stop; None when there is one.
    """
    path = reserve_path(archive_dir)
    try:
        make_folder(archive_dir, files)
        with files.open_data_file(path, writable=True, create=True) as file:
            # What is allocated already stays; a copy of the folder, or a crash, may lack it.
            file.allocate_range(0, RESERVE_LENGTH)
    except OSError as error:
        with suppress(OSError):
            if files.size(path) < RESERVE_LENGTH:  # half a reserve is none
                files.remove(path)
        return error
    return None


def with_room(archive_dir: str | Path, files: FileSystem, write: Callable[[], T]) -> T:
    """Write something, if need be in the room that was reserved.

    Args:
        archive_dir: the archive's folder.
        files: the file system to use.
        write: writes; it is called again when the disk was full and there was a reserve.

    Returns:
        What ``write`` returns.

    Raises:
        NoRoomError: the disk is full, and there was no reserve.
    """
    try:
        return write()
    except OSError as error:
        if error.errno not in _NO_SPACE:
            raise
        path = reserve_path(archive_dir)
        if not files.exists(path):
            raise NoRoomError(
                error.errno,
                f"no room for the lock and the journal of retention, without which nothing is"
                f" deleted: free {RESERVE_LENGTH} bytes in {files.store_name(str(archive_dir))} by"
                f" moving a file that is not the archive's, and try again; {path} reserves them"
                " from then on, and from the next start of the archive",
                error.filename or folder_path(archive_dir),
            ) from error
        files.remove(path)
        return write()


def lock_within(
    seconds: float,
    archive_dir: str | Path,
    path: str,
    files: FileSystem,
    clock: Clock | None = None,
) -> FileLock | None:
    """Lock a file of retention that another process may hold for a while.

    Args:
        seconds: how long to wait for the other process.
        archive_dir: the archive's folder.
        path: the file; it and its folder are created where needed.
        files: the file system to use.
        clock: measures the wait, the system's by default.

    Returns:
        The lock, None when the other process does not end in time.

    Raises:
        NoRoomError: the disk is full, and no room is reserved.
        OSError: the folder is not writable.
    """
    clock = clock or SystemClock()

    def lock() -> FileLock | None:
        deadline_ns = clock.now_ns() + int(seconds * NS_PER_S)
        while (held := files.try_lock(path)) is None and clock.now_ns() < deadline_ns:
            time.sleep(_PAUSE_S)
        return held

    with_room(archive_dir, files, lambda: make_folder(archive_dir, files))
    return with_room(archive_dir, files, lock)


def who_holds(archive_dir: str | Path, files: FileSystem) -> str:
    """Return the description of the last run that held the lock."""
    try:
        note: Any = json.loads(files.read_bytes(lock_path(archive_dir)))
        since = format_time(int(note["since_ms"]))
        return f"{note['what']} by process {note['pid']} on {note['host']} since {since}"
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return "a process that has not said who it is"


def is_running(archive_dir: str | Path, files: FileSystem) -> bool:
    """Return whether a run is active; no file is created."""
    path = lock_path(archive_dir)
    if not files.exists(path):
        return False
    try:
        lock = files.try_lock(path)
    except OSError:
        return False  # a run needs a writable folder
    if lock is None:
        return True
    lock.close()
    return False


FOLDER: Final = "retention"
HOLDS_NAME: Final = "holds.json"
JOURNAL_NAME: Final = "journal.jsonl"
LOCK_NAME: Final = "lock"
STEP_LOCK_NAME: Final = "step.lock"
RESERVE_NAME: Final = "reserve"


def folder_path(archive_dir: str | Path) -> str:
    """Return the folder of retention's files."""
    return str(Path(archive_dir) / SIDE_FOLDER / FOLDER)


def holds_path(archive_dir: str | Path) -> str:
    """Return the path of the file of holds."""
    return str(Path(folder_path(archive_dir)) / HOLDS_NAME)


def journal_path(archive_dir: str | Path) -> str:
    """Return the path of the journal."""
    return str(Path(folder_path(archive_dir)) / JOURNAL_NAME)


def lock_path(archive_dir: str | Path) -> str:
    """Return the path of the file that a run locks."""
    return str(Path(folder_path(archive_dir)) / LOCK_NAME)


def step_lock_path(archive_dir: str | Path) -> str:
    """Return the path of the file that a deletion step, or a change of holds, locks."""
    return str(Path(folder_path(archive_dir)) / STEP_LOCK_NAME)


def reserve_path(archive_dir: str | Path) -> str:
    """Return the path of the file that reserves room."""
    return str(Path(folder_path(archive_dir)) / RESERVE_NAME)


def make_folder(archive_dir: str | Path, files: FileSystem) -> None:
    """Create the folder of retention's files durably unless it exists.

    Raises:
        FileNotFoundError: the archive's folder does not exist.
        OSError: the folder cannot be created.
    """
    if not files.is_dir(str(archive_dir)):
        raise FileNotFoundError(f"there is no folder {archive_dir}")
    path = folder_path(archive_dir)
    if files.is_dir(path) and not files.is_link(path):
        return
    make_side_folder(path, files)
    files.sync_dir(str(Path(path).parent))
    files.sync_dir(str(archive_dir))
