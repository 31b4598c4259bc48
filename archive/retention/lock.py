"""One run at a time in a folder: a file that is locked as long as the run's process lives.

The lock is the operating system's, so that a run that was killed holds up no other. What the file
says is only for people: who holds it.
"""

from __future__ import annotations

import json
import os
import socket
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from aerolog.archive.retention.errors import RetentionLockedError
from aerolog.archive.retention.retention_folder import lock_path, make_folder
from aerolog.transport.memory.error_text import format_time

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from aerolog.transport.memory.filesystem import FileSystem

#: Who only looks whether somebody runs has the lock for a moment: patience for them.
_LOOKERS_S: Final = 0.5
_PAUSE_S: Final = 0.01


@contextmanager
def run_lock(
    archive_dir: str | Path, files: FileSystem, now_ms: int, *, what: str = "retention"
) -> Iterator[None]:
    """Be the only run in a folder.

    Args:
        archive_dir: the archive's folder.
        files: the file system door.
        now_ms: the time, to tell others.
        what: is run, to tell others.

    Raises:
        RetentionLockedError: another one runs; says who.
        OSError: the folder is not writable.
    """
    make_folder(archive_dir, files)
    path = lock_path(archive_dir)
    deadline = time.monotonic() + _LOOKERS_S
    while (lock := files.try_lock(path)) is None and time.monotonic() < deadline:
        time.sleep(_PAUSE_S)
    if lock is None:
        holder = who_holds(archive_dir, files)
        raise RetentionLockedError(
            f"another run is under way in {archive_dir}: {holder}: wait until it has ended, or end"
            " it",
            holder,
        )
    with lock:
        note = {"pid": os.getpid(), "host": socket.gethostname(), "since_ms": now_ms, "what": what}
        with files.open_data_file(path, writable=True) as file:
            file.set_length(0)
            file.write_at(json.dumps(note).encode() + b"\n", 0)
        yield


def who_holds(archive_dir: str | Path, files: FileSystem) -> str:
    """What the last run that had the lock says of itself."""
    try:
        note: Any = json.loads(files.read_bytes(lock_path(archive_dir)))
        since = format_time(int(note["since_ms"]))
        return f"{note['what']} by process {note['pid']} on {note['host']} since {since}"
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return "a process that has not said who it is"


def is_running(archive_dir: str | Path, files: FileSystem) -> bool:
    """Whether a run is under way; makes no file."""
    path = lock_path(archive_dir)
    if not files.exists(path):
        return False
    try:
        lock = files.try_lock(path)
    except OSError:
        return False  # a folder that is not ours to write in: nothing of ours runs here
    if lock is None:
        return True
    lock.close()
    return False
