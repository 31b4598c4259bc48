"""An archiving driver as a child process, small enough for a 64 MiB ``/dev/shm``."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

READY_TIMEOUT_S = 20.0
STOP_TIMEOUT_S = 20.0

# Everything but the counters' share of cnc.dat at its smallest: 10 MiB in all.
PROPERTIES = {
    "aeron.counters.buffer.length": "1m",
    "aeron.error.buffer.length": "4m",
    "aeron.archive.segment.file.length": "16m",
    "aeron.archive.control.channel.enabled": "false",
    "aeron.archive.recording.events.enabled": "false",
    "aeron.archive.replication.channel": "aeron:ipc",
}


class ServiceError(Exception):
    """The archiving driver did not start, or did not end in order."""


def shared_memory_dir() -> Path:
    """``/dev/shm``, or the folder for temporary files where there is none."""
    shm = Path(os.environ.get("AEROLOG_DEMO_SHM", "/dev/shm"))
    return shm if shm.is_dir() else Path(tempfile.gettempdir())


class ArchivingDriver:
    """``aerolog archiving-driver`` with a directory of its own, as a context manager.

    Attributes:
        aeron_dir: the driver's directory, removed at the end.
        archive_dir: the archive's folder, which stays.
    """

    def __init__(self, archive_dir: Path) -> None:
        self.archive_dir = archive_dir
        self._home = Path(tempfile.mkdtemp(prefix="aerolog-flights-", dir=shared_memory_dir()))
        self.aeron_dir = self._home / "aeron"
        settings = PROPERTIES | {
            "aeron.dir": str(self.aeron_dir),
            "aeron.archive.dir": str(archive_dir),
        }
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-m", "aerolog.tools.main", "archiving-driver"),
                *(f"-D{name}={value}" for name, value in settings.items()),
            ],
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # an interrupt is for us to pass on
        )

    def __enter__(self) -> Self:
        try:
            self._await_ready()
        except BaseException:
            self._end()
            raise
        return self

    def _await_ready(self) -> None:
        out = self._process.stdout
        assert out is not None
        ready, _, _ = select.select([out], [], [], READY_TIMEOUT_S)
        line = out.readline() if ready else ""
        if "ready" not in line:
            raise ServiceError(
                f"the archiving driver did not start: {line.strip() or 'it said nothing'}"
            )

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        code = self._end()
        if code != 0 and error is None:
            raise ServiceError(f"the archiving driver ended with exit code {code}")

    def _end(self) -> int:
        """Stop the process in order, or else at all; remove what it kept in shared memory."""
        try:
            if self._process.poll() is None:
                self._process.send_signal(signal.SIGTERM)
            return self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()
        finally:
            if self._process.stdout is not None:
                self._process.stdout.close()
            shutil.rmtree(self._home, ignore_errors=True)


def wait_for(what: str, ask: Callable[[], T | None], timeout_s: float = 20.0) -> T:
    """Ask until there is an answer, and return it.

    Raises:
        TimeoutError: there was none in time.
    """
    deadline = time.monotonic() + timeout_s
    while (answer := ask()) is None:
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {timeout_s:g} s in vain until {what}")
        time.sleep(0.001)
    return answer
