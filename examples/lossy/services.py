"""The driver near and the archiving driver far, as processes in their places."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Self

from examples.lossy.wire import interrupts_later

if TYPE_CHECKING:
    from examples.lossy.wire import Place

READY_TIMEOUT_S = 20.0
STOP_TIMEOUT_S = 20.0
PROPERTIES = {
    "aeron.counters.buffer.length": "1m",
    "aeron.publication.linger.timeout": "1s",
    "aeron.socket.so_rcvbuf": "2m",
    "aeron.socket.so_sndbuf": "2m",
    "aeron.rcv.initial.window.length": "1m",
}


class ServiceError(Exception):
    """A driver did not start, or did not end in order."""


class Service:
    """``aerolog driver`` or ``aerolog archiving-driver`` in a place, as a context manager.

    What it keeps in shared memory is removed at the end.
    """

    def __init__(self, kind: str, place: Place, properties: dict[str, str]) -> None:
        self.kind = kind
        self._place = place
        self._properties = properties
        self._home: Path | None = None
        self._process: subprocess.Popen[str] | None = None

    @property
    def aeron_dir(self) -> Path:
        """The driver's directory; there while the service runs."""
        assert self._home is not None
        return self._home / "aeron"

    def _start(self) -> subprocess.Popen[str]:
        shm = Path(os.environ.get("AEROLOG_DEMO_SHM", "/dev/shm"))
        parent = shm if shm.is_dir() else Path(tempfile.gettempdir())
        self._home = Path(tempfile.mkdtemp(prefix=f"aerolog-lossy-{os.getpid()}-", dir=parent))
        settings = PROPERTIES | {"aeron.dir": str(self.aeron_dir)} | self._properties
        self._process = subprocess.Popen(
            self._place.command(
                *(sys.executable, "-m", "aerolog.tools.main", self.kind),
                *(f"-D{name}={value}" for name, value in settings.items()),
            ),
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # an interrupt is for us to pass on
        )
        return self._process

    def __enter__(self) -> Self:
        try:
            with interrupts_later():  # until there is something that can be ended
                out = self._start().stdout
            assert out is not None
            ready, _, _ = select.select([out], [], [], READY_TIMEOUT_S)
            line = out.readline() if ready else ""
            if "ready" not in line:
                raise ServiceError(f"the {self.kind} did not start: {line.strip() or 'silence'}")
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        code = self._end()
        if code != 0 and error is None:
            raise ServiceError(f"the {self.kind} ended with exit code {code}")

    def _end(self) -> int:
        """Stop the process in order, or else at all; remove what it kept in shared memory."""
        process = self._process
        try:
            if process is None:
                return 0
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            try:
                return process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                return process.wait()
        finally:
            if process is not None and process.stdout is not None:
                process.stdout.close()
            if self._home is not None:
                shutil.rmtree(self._home, ignore_errors=True)
