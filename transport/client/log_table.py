"""The logs that a client has mapped: one mapping per log, however many objects use it.

Nothing is ever unmapped by hand: a publication, an image or a memoryview that still refers to a
log keeps it mapped, and dropping the last reference unmaps it (decision 0001). The count here is
of registered resources, and only decides how long a new resource finds the mapping to share.
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from aerolog.transport.errors import LogGoneError
from aerolog.transport.logbuffer.descriptor import LogBuffers

if TYPE_CHECKING:
    from aerolog.transport.memory.filesystem import FileSystem


class LogTable:
    """Mapped logs by id: of the first publication, or of the image (spec client 12)."""

    def __init__(self, file_system: FileSystem, *, pre_touch: bool) -> None:
        self._file_system = file_system
        self._pre_touch = pre_touch
        self._logs: dict[int, tuple[LogBuffers, int]] = {}

    def acquire(self, log_id: int, path: str) -> LogBuffers:
        """Return the mapping of a log, new or shared; ``release`` gives it back.

        Raises:
            LogGoneError: the driver has removed the log already.
            FileFormatError: the file is not a log.
        """
        entry = self._logs.get(log_id)
        if entry is None:
            try:
                mapped = self._file_system.open_mapped(path, writable=True)
            except FileNotFoundError as error:
                raise LogGoneError(
                    errno.ENOENT, "no log: driver or stream has ended: add the stream anew", path
                ) from error
            logs = LogBuffers.open(mapped)
            if self._pre_touch:
                logs.pre_touch()
            entry = (logs, 0)
        self._logs[log_id] = (entry[0], entry[1] + 1)
        return entry[0]

    def release(self, log_id: int) -> None:
        """Count one user less; the log is unmapped with the last reference to it."""
        entry = self._logs.get(log_id)
        if entry is None:
            return
        if entry[1] <= 1:
            del self._logs[log_id]
        else:
            self._logs[log_id] = (entry[0], entry[1] - 1)

    def clear(self) -> None:
        """Forget all logs; the client calls this when it ends."""
        self._logs.clear()

    def __len__(self) -> int:
        return len(self._logs)
