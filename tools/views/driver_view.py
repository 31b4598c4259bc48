"""A driver as seen from outside: its cnc.dat and loss report, mapped read-only.

Nothing is written, nobody is waited for. The driver may be alive, dead, or die meanwhile: what has
been mapped stays readable, and says by its heartbeat that it is old.
"""

from __future__ import annotations

import errno
import os
import stat
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aerolog.tools.views.counter_scan import scan_counters
from aerolog.tools.views.counters_snapshot import CountersSnapshot
from aerolog.tools.views.errors import Trouble, ViewError
from aerolog.transport.concurrent.clock import Clock, SystemClock
from aerolog.transport.errors import FileFormatError
from aerolog.transport.memory.cnc import CncFile
from aerolog.transport.memory.cnc_header import (
    DEFAULT_DRIVER_TIMEOUT_MS,
    HEADER_LENGTH,
    HEARTBEAT_CLOSED,
    MAJOR,
    VERSION_OFFSET,
    cnc_path,
    version_text,
)
from aerolog.transport.memory.error_log import ErrorObservation, read_error_log
from aerolog.transport.memory.loss_report import FILE_NAME as LOSS_REPORT
from aerolog.transport.memory.loss_report import LossEntry, read_loss_report
from aerolog.transport.memory.mapped_file import MappedFile
from aerolog.transport.resource import Resource

if TYPE_CHECKING:
    from aerolog.tools.views.log_settings import Logs
    from aerolog.transport.memory.cnc_header import CncLengths

__all__ = [
    "DriverView",
    "LossEntry",
    "ObservedError",
    "file_identity",
    "map_readonly",
    "read_error_file",
    "read_losses",
]

ObservedError = ErrorObservation
"""One distinct error: ``count``, ``first_ms``, ``last_ms`` (epoch milliseconds), ``text``."""

_NO_DRIVER: Final = "start a driver there, or name another directory with --aeron-dir"
_NOT_OURS: Final = "check that this is an Aeron directory; a driver that starts there replaces it"


class DriverView(Resource):
    """A driver's files, open for looking. A context manager.

    Attributes:
        aeron_dir: the driver's directory.
        cnc: the mapped file, for what is not told here.
        clock: tells the time of snapshots and the age of heartbeats.
    """

    def __init__(self, aeron_dir: str, cnc: CncFile, clock: Clock | None = None) -> None:
        self.aeron_dir = aeron_dir
        self.cnc = cnc
        self.clock = clock or SystemClock()
        self._identity = file_identity(cnc.path)

    @classmethod
    def open(cls, aeron_dir: str | Path | None = None, clock: Clock | None = None) -> DriverView:
        """Map the files of a driver, alive or not.

        Args:
            aeron_dir: the driver's directory; the default when None.
            clock: tells the time; the machine's by default.

        Raises:
            ViewError: missing, half deleted, not yet written, of another version, damaged or
                unreadable.
        """
        folder = _default_dir() if aeron_dir is None else str(aeron_dir)
        path = cnc_path(folder)
        try:
            mapped = map_readonly(path, HEADER_LENGTH, missing=_NO_DRIVER)
        except ViewError as error:
            raise _told_of_folder(error, folder) from None
        version = mapped.load_i32(VERSION_OFFSET)
        if version == 0:
            raise ViewError(
                Trouble.STARTING,
                path,
                "a driver has created it and not finished starting, or died while it did",
                "look again in a moment, or start the driver anew",
            )
        if version >> 16 != MAJOR:
            raise ViewError(
                Trouble.VERSION,
                path,
                f"cnc.dat of version {version_text(version)} (0x{version & 0xFFFFFFFF:08x}), this "
                f"reads {MAJOR}.x.x",
                "use the tools of the driver's version, or check that this is an Aeron directory",
                version=version,
            )
        try:
            return cls(folder, CncFile(mapped), clock)
        except FileFormatError as error:
            reason = str(error).removeprefix(f"{path} ")
            raise ViewError(Trouble.DAMAGED, path, reason, _NOT_OURS) from None

    @cached_property
    def logs(self) -> Logs:
        """Settings of the logs of its publications and images."""
        from aerolog.tools.views.log_settings import Logs  # here, for a plain look needs none

        return Logs(self.aeron_dir)

    @property
    def pid(self) -> int:
        """Process id that the driver wrote."""
        return self.cnc.header.pid

    @property
    def version(self) -> int:
        """Packed version of the file's layout; ``version_text`` makes it readable."""
        return self.cnc.version

    @property
    def version_text(self) -> str:
        """Version of the file's layout as major.minor.patch."""
        return version_text(self.version)

    @property
    def start_ms(self) -> int:
        """When the driver started, epoch milliseconds."""
        return self.cnc.header.start_timestamp_ms

    @property
    def driver_timeout_ms(self) -> int:
        """How old the heartbeat of a live driver may be by default; the file does not say."""
        return DEFAULT_DRIVER_TIMEOUT_MS

    @property
    def client_liveness_timeout_ns(self) -> int:
        """How long a client may be silent."""
        return self.cnc.header.client_liveness_timeout_ns

    @property
    def file_page_size(self) -> int:
        """The driver's page size for files, bytes."""
        return self.cnc.header.file_page_size

    @property
    def lengths(self) -> CncLengths:
        """Bytes of the file's sections, trailers included."""
        return self.cnc.header.lengths

    def heartbeat_ms(self) -> int:
        """Epoch milliseconds of the driver's last sign of life; -1 after an orderly close."""
        return self.cnc.heartbeat_ms

    def heartbeat_age_ms(self, now_ms: int | None = None) -> int:
        """Milliseconds since the last sign of life; after an orderly close since before 1970."""
        return (self.clock.now_epoch_ms() if now_ms is None else now_ms) - self.heartbeat_ms()

    def is_closed(self) -> bool:
        """Whether the driver said that it stops."""
        return self.heartbeat_ms() == HEARTBEAT_CLOSED

    def is_alive(self, now_ms: int | None = None) -> bool:
        """Whether the driver gave a sign of life within its timeout."""
        return self.heartbeat_age_ms(now_ms) <= self.driver_timeout_ms

    def is_replaced(self) -> bool:
        """Whether the file we see is not the directory's any more: removed, or a new driver's."""
        return self._identity is None or file_identity(self.cnc.path) != self._identity

    def counters(self) -> CountersSnapshot:
        """All counters as they are now."""
        return CountersSnapshot(
            scan_counters(self.cnc.counters),
            taken_ms=self.clock.now_epoch_ms(),
            taken_ns=self.clock.now_ns(),
        )

    def errors(self, since_ms: int = 0) -> list[ObservedError]:
        """Distinct errors of the driver's log, seen since a time (epoch milliseconds)."""
        return self.cnc.errors(since_ms)

    def losses(self) -> list[LossEntry]:
        """What the loss report says; nothing when there is none that can be read."""
        try:
            return read_losses(self.aeron_dir)
        except ViewError:
            return []

    def close(self) -> None:
        """Nothing to wait for: what is mapped goes when nobody looks at it any more."""


def _default_dir() -> str:
    from aerolog.transport.memory.aeron_directory import unconfigured_aeron_dir  # loads a lot

    return unconfigured_aeron_dir()


def file_identity(path: str | Path) -> tuple[int, int] | None:
    """What tells a file from another one of the same name, None when there is none."""
    try:
        found = os.stat(path)  # noqa: PTH116
    except OSError:
        return None
    return found.st_dev, found.st_ino


def read_losses(aeron_dir: str | Path) -> list[LossEntry]:
    """What a driver's loss report says.

    Raises:
        ViewError: there is none, or it cannot be read.
    """
    path = str(Path(aeron_dir) / LOSS_REPORT)
    return read_loss_report(map_readonly(path, 1, missing=_NO_DRIVER))


def read_error_file(path: str | Path, offset: int = 0) -> list[ObservedError]:
    """The distinct errors in any file that holds such a log.

    Args:
        path: the path of the file.
        offset: the offset at which the log begins, a multiple of 8.

    Raises:
        ViewError: there is none, it is shorter, or it cannot be read.
    """
    mapped = map_readonly(str(path), 1, missing="name a file that holds a distinct error log")
    if not 0 <= offset <= mapped.length or offset % 8:
        raise ViewError(
            Trouble.DAMAGED,
            path,
            f"no error log begins at offset {offset} of {mapped.length} bytes",
            "give an offset within the file that is a multiple of 8",
        )
    return read_error_log(mapped, offset)


def map_readonly(path: str, min_length: int, *, missing: str) -> MappedFile:
    """Map a regular file for reading.

    Args:
        path: the path of the file.
        min_length: bytes it must have.
        missing: what to do when there is none.

    Raises:
        ViewError: there is none, it is none, too short, or may not be read.
    """
    try:
        status = os.stat(path)  # noqa: PTH116
        if not stat.S_ISREG(status.st_mode):
            raise ViewError(Trouble.DAMAGED, path, "not a regular file", _NOT_OURS)
        return MappedFile.open(path, writable=False, min_length=min_length)
    except (FileNotFoundError, NotADirectoryError):
        raise ViewError(Trouble.MISSING, path, "no such file", missing) from None
    except FileFormatError as error:
        reason = str(error).removeprefix(f"{path} is ")
        length = status.st_size
        raise ViewError(Trouble.DAMAGED, path, reason, _NOT_OURS, length=length) from None
    except OSError as error:
        remedy = (
            "run this as the user that owns it"
            if error.errno in {errno.EACCES, errno.EPERM}
            else "check the path and the file system"
        )
        reason = error.strerror or str(error)
        raise ViewError(Trouble.UNREADABLE, path, reason, remedy) from None
    except ValueError as error:  # a path with a zero byte
        raise ViewError(Trouble.MISSING, repr(path), str(error), missing) from None


def _told_of_folder(error: ViewError, folder: str) -> ViewError:
    """Says more about a cnc.dat that is not there."""
    if error.trouble is not Trouble.MISSING:
        return error
    try:
        left = os.listdir(folder)  # noqa: PTH208
    except (OSError, ValueError):
        return ViewError(Trouble.MISSING, folder, "no such directory", _NO_DRIVER)
    if not left:
        return ViewError(Trouble.MISSING, folder, "an empty directory", _NO_DRIVER)
    if {LOSS_REPORT, "publications", "images"} & set(left):
        return ViewError(
            Trouble.HALF_DELETED,
            folder,
            "cnc.dat is gone and other files of a driver are left: half deleted",
            "remove the directory, or start a driver there, which clears it",
        )
    return ViewError(Trouble.MISSING, folder, "no cnc.dat: not a driver's directory", _NO_DRIVER)
