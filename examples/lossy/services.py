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

    Attributes:
        aeron_dir: the driver's directory, removed at the end.
    """

    def __init__(self, kind: str, place: Place, properties: dict[str, str]) -> None:
        self.kind = kind
        shm = Path(os.environ.get("AEROLOG_DEMO_SHM", "/dev/shm"))
        parent = shm if shm.is_dir() else Path(tempfile.gettempdir())
        self._home = Path(tempfile.mkdtemp(prefix=f"aerolog-lossy-{os.getpid()}-", dir=parent))
        self.aeron_dir = self._home / "aeron"
        settings = PROPERTIES | {"aeron.dir": str(self.aeron_dir)} | properties
        self._process = subprocess.Popen(
            place.command(
                *(sys.executable, "-m", "aerolog.tools.main", kind),
                *(f"-D{name}={value}" for name, value in settings.items()),
            ),
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # an interrupt is for us to pass on
        )

    def __enter__(self) -> Self:
        out = self._process.stdout
        assert out is not None
        try:
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
