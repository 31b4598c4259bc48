"""What the logs of a driver's publications and images were made with (spec log-buffers 2).

Only a log's metadata is read, its last 4096 bytes, with the file opened and closed again.
"""

from __future__ import annotations

import os
import struct
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from aerolog.transport.logbuffer.metadata import LENGTH, decode
from aerolog.transport.memory.regular_file import open_regular

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aerolog.transport.logbuffer.metadata import LogMetadata

PUBLICATIONS: Final = "publications"
IMAGES: Final = "images"


class Logs:
    """Settings of logs by registration id, read once each."""

    def __init__(self, aeron_dir: str) -> None:
        self._aeron_dir = aeron_dir
        self._known: dict[tuple[str, int], LogMetadata] = {}

    def publication(self, registration_id: int) -> LogMetadata | None:
        """Settings of a publication's log, None when it cannot be read (any more)."""
        return self._of(PUBLICATIONS, registration_id)

    def image(self, registration_id: int) -> LogMetadata | None:
        """Settings of an image's log, None when it cannot be read (any more)."""
        return self._of(IMAGES, registration_id)

    def _of(self, folder: str, registration_id: int) -> LogMetadata | None:
        known = self._known.get((folder, registration_id))
        if known is None:
            known = _read(Path(self._aeron_dir, folder, f"{registration_id}.logbuffer"))
            if known is not None:
                self._known[folder, registration_id] = known
        return known


class OpenLog(NamedTuple):
    """A log's file: its descriptor, what the system says of it, and its metadata as they are."""

    fd: int
    status: os.stat_result
    metadata: bytes


@contextmanager
def open_log(path: Path) -> Iterator[OpenLog]:
    """A log's file, for reading.

    Raises:
        OSError: it cannot be read.
        ValueError: it is shorter than the metadata.
    """
    fd = open_regular(path)
    try:
        status = os.fstat(fd)
        start = status.st_size - LENGTH
        section = os.pread(fd, LENGTH, start) if start >= 0 else b""
        if len(section) != LENGTH:
            raise ValueError(f"{path} has {status.st_size} bytes: no log")
        yield OpenLog(fd, status, section)
    finally:
        os.close(fd)


def _read(path: Path) -> LogMetadata | None:
    try:
        with open_log(path) as log:
            return decode(log.metadata)
    except (OSError, ValueError, struct.error):
        return None
