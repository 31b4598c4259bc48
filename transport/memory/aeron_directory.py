"""The Aeron directory, as a starting driver takes it over (spec cnc-and-commands 1.1, 1.2).

A driver refuses the directory of a live driver, and a folder that was never a driver's. It saves
the errors of a dead driver and removes its files.
"""

from __future__ import annotations

import getpass
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from aerolog.transport.concurrent.clock import Clock, SystemClock
from aerolog.transport.errors import (
    ActiveDriverError,
    ConfigurationError,
    DriverTimeoutError,
    FileFormatError,
)
from aerolog.transport.memory.cnc import (
    DEFAULT_DRIVER_TIMEOUT_MS,
    HEADER_LENGTH,
    CncFile,
    Sleep,
    check_major,
    cnc_path,
)
from aerolog.transport.memory.cnc_header import FILE_NAME as CNC_FILE
from aerolog.transport.memory.cycle_histograms import FILE_NAME as CYCLES_FILE
from aerolog.transport.memory.error_text import format_error_log, saved_errors_path
from aerolog.transport.memory.filesystem import FileSystem, RealFileSystem
from aerolog.transport.memory.loss_report import FILE_NAME as LOSS_REPORT
from aerolog.transport.time_units import NS_PER_MS

_POLL_MS = 1
# What a driver makes there. One that was killed while it removed a directory may leave some of it.
_DRIVER_NAMES = frozenset({CNC_FILE, LOSS_REPORT, CYCLES_FILE, "publications", "images"})
_NAMES_SHOWN = 3


@dataclass(slots=True)
class AeronDirectory:
    """A driver's directory, and what is needed to inspect it.

    Attributes:
        timeout_ms: greatest age of a live driver's heartbeat (``aeron.driver.timeout``).
        sleep: called with the seconds to wait before the directory is read again.
    """

    path: str
    timeout_ms: int = DEFAULT_DRIVER_TIMEOUT_MS
    file_system: FileSystem = field(default_factory=RealFileSystem)
    clock: Clock = field(default_factory=SystemClock)
    sleep: Sleep = time.sleep

    def claim(
        self,
        *,
        delete_on_start: bool = False,
        warn_if_exists: bool = False,
        log: TextIO | None = None,
    ) -> None:
        """Create the directory, or empty it, for a driver that starts.

        Args:
            delete_on_start: remove the files of a dead driver without saving its errors.
            warn_if_exists: note in ``log`` that the directory exists.
            log: receives the notes; None discards them. Notes that errors were saved, and that
                another driver's start is waited for, are always written.

        Raises:
            ActiveDriverError: if a live driver owns the directory; nothing was changed.
            ConfigurationError: if the folder has files and none of them is a driver's; nothing was
                changed.
            DriverTimeoutError: if another driver began to start there but did not finish in time.
            FileFormatError: if the cnc.dat there has another major version.
        """
        files = self.file_system
        if files.is_dir(self.path):
            if warn_if_exists:
                _note(log, f"WARNING: {self.path} exists")
            self._check_driver_folder()
            notes = log if warn_if_exists and not delete_on_start else None
            if self.is_driver_active(notes, log):
                raise ActiveDriverError(
                    f"Active media driver detected: {cnc_path(self.path)}: stop it, or use "
                    "another aeron.dir"
                )
            if not delete_on_start:
                saved = self.save_errors()
                if saved:
                    _note(log, f"WARNING: Existing errors saved to: {saved}")
            files.remove_tree(self.path)
        files.make_dirs(self.path)

    def _check_driver_folder(self) -> None:
        """Check that what is removed was made by a driver."""
        names = sorted(self.file_system.list_dir(self.path))
        if CNC_FILE in names:
            return
        foreign = [name for name in names if name not in _DRIVER_NAMES]
        if foreign:
            shown = ", ".join(foreign[:_NAMES_SHOWN]) + (", ..." if foreign[_NAMES_SHOWN:] else "")
            raise ConfigurationError(
                f"aeron.dir={self.path} is not the directory of a driver, which would be emptied:"
                f" it has no {CNC_FILE}, and holds {shown}; use another aeron.dir, or remove the"
                " files"
            )

    def is_driver_active(self, log: TextIO | None = None, waits: TextIO | None = None) -> bool:
        """Whether a live driver owns the directory.

        Args:
            log: receives what the reference notes here.
            waits: receives a line when another driver's start is waited for.

        As in the reference, a driver is live while its heartbeat is fresh. It counts as dead at
        once if the kernel says that no process writes to its loss report, which drivers alone map,
        or to its cnc.dat. (Its process may be in another container, where its id is not seen.)
        """
        path = cnc_path(self.path)
        if not self.file_system.exists(path) or self.file_system.size(path) <= HEADER_LENGTH:
            return False
        _note(log, f"INFO: Aeron CnC file exists: {path}")
        if self.file_system.is_unused(path):
            return False
        if self.file_system.is_unused(str(Path(self.path, LOSS_REPORT))):
            return False
        cnc = self._await_version(path, waits)
        if cnc is None:
            return False
        age_ms = self.clock.now_epoch_ms() - cnc.heartbeat_ms
        _note(log, f"INFO: Aeron toDriver consumer heartbeat age is (ms): {age_ms}")
        return age_ms <= self.timeout_ms

    def save_errors(self) -> str | None:
        """Write the distinct errors in the directory's cnc.dat to a file beside the directory.

        Returns:
            The path of that file, or None if there are no errors or no readable cnc.dat.
        """
        try:
            observations = CncFile.open(self.file_system, self.path).errors()
        except (FileNotFoundError, FileFormatError):
            return None
        if not observations:
            return None
        target = saved_errors_path(self.path.rstrip("/"), self.clock.now_epoch_ms())
        self.file_system.write_bytes(target, format_error_log(observations).encode())
        return target

    def _await_version(self, path: str, waits: TextIO | None) -> CncFile | None:
        """Wait until the file has a version; None if it is no usable cnc.dat."""
        deadline_ns = self.clock.now_ns() + self.timeout_ms * NS_PER_MS
        mapped = self.file_system.open_mapped(path, writable=False, min_length=HEADER_LENGTH)
        if mapped.load_i32(0) == 0:
            seconds = self.timeout_ms / 1000
            _note(waits, f"INFO: waiting up to {seconds:g} s for the driver that starts in {path}")
        while (version := mapped.load_i32(0)) == 0:
            if self.clock.now_ns() >= deadline_ns:
                raise DriverTimeoutError(f"CnC file is created but not initialised: {path}")
            self.sleep(_POLL_MS / 1000)
        check_major(version)
        try:
            return CncFile(mapped)
        except FileFormatError:
            return None


def _note(log: TextIO | None, text: str) -> None:
    if log is not None:
        log.write(text + "\n")


def unconfigured_aeron_dir() -> str:
    """Return the directory that drivers and clients use by default (spec cnc-and-commands 1)."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = "default"
    shm = Path("/dev/shm")  # noqa: S108 -- the reference's place
    parent = shm if shm.is_dir() else Path(tempfile.gettempdir())
    return str(parent / f"aeron-{user}")
