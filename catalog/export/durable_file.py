"""A file that another thread brings to disk and checks while it is still being written.

If all bytes went to disk at the end of a long file, its writer would have to wait for the disk.
They go there in steps while the writer works.
"""

from __future__ import annotations

import os
import threading
from queue import SimpleQueue
from typing import Final

from aerolog.catalog.export.checksum import RunningChecksum

#: A shorter file is not worth a thread; a longer one goes to disk in steps of this many bytes.
STEP_LENGTH: Final = 32 * 1024 * 1024
# Stays in the processor's cache between reading and checking.
_CHUNK_LENGTH: Final = 256 * 1024


class DurableFile:
    """Brings a file's bytes to disk and checks them, on a thread of its own, while it is written.

    Attributes:
        checksum: of the bytes that were read back so far; of all bytes after ``finish``.
    """

    def __init__(self, fd: int) -> None:
        """Begin, without a thread yet.

        Args:
            fd: of the file, open for reading and writing until ``finish`` or ``stop`` returns.
        """
        self.checksum = RunningChecksum()
        self._fd = fd
        self._told = 0
        self._done = 0
        self._lengths: SimpleQueue[int | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    def grown(self, length: int) -> None:
        """Take note that the file has ``length`` bytes, which do not change any more."""
        if length - self._told < STEP_LENGTH:
            return
        self._told = length
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._follow, name="aerolog-export-settle", daemon=True
            )
            self._thread.start()
        self._lengths.put(length)

    def finish(self, length: int) -> None:
        """Read back and check what is left of ``length`` bytes.

        Raises:
            OSError: the file cannot be read back, or the disk has not taken it.
        """
        self.stop()
        if self._error is not None:
            raise self._error
        self._check(length)

    def stop(self) -> None:
        """End the thread; a second call does nothing."""
        if self._thread is not None:
            self._lengths.put(None)
            self._thread.join()
            self._thread = None

    def _follow(self) -> None:
        try:
            while (length := self._lengths.get()) is not None:
                self._check(length)
                os.fdatasync(self._fd)
        except BaseException as error:  # noqa: BLE001 - `finish` raises it
            self._error = error

    def _check(self, length: int) -> None:
        chunk = memoryview(bytearray(min(_CHUNK_LENGTH, length - self._done)))
        while self._done < length:
            read = os.preadv(self._fd, [chunk[: length - self._done]], self._done)
            if not read:
                raise OSError(f"the file ends at {self._done}, {length} bytes were written to it")
            self.checksum.consume(chunk[:read])
            self._done += read
