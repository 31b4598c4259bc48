"""A driver as a child process, with an archive or without, and what waits for it."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

T = TypeVar("T")

READY_TIMEOUT_S = 20.0
STOP_TIMEOUT_S = 20.0


class ServiceError(Exception):
    """A driver did not start, or did not end in order."""


def shared_memory_dir() -> Path:
    """``/dev/shm``, or the folder for temporary files where there is none."""
    shm = Path(os.environ.get("AEROLOG_DEMO_SHM", "/dev/shm"))
    return shm if shm.is_dir() else Path(tempfile.gettempdir())


@contextmanager
def interrupts_later() -> Iterator[None]:
    """Let an interrupt wait until what is made in the block is known, and so can be removed."""
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt


class DriverProcess:
    """``aerolog driver`` or ``aerolog archiving-driver``, as a context manager.

    Its directory is in shared memory and is removed at the end.

    Args:
        kind: the command.
        properties: of the driver and the archive; ``aeron.dir`` is set here.
        prefix: how the name of its folder in shared memory begins.
        run_in: words before the command, ``ip netns exec`` for example.
    """

    def __init__(
        self, kind: str, properties: dict[str, str], prefix: str, run_in: Sequence[str] = ()
    ) -> None:
        self._kind = kind
        self._properties = properties
        self._prefix = prefix
        self._run_in = run_in
        self._home: Path | None = None
        self._process: subprocess.Popen[str] | None = None

    @property
    def aeron_dir(self) -> Path:
        """The driver's directory; there while the process runs."""
        assert self._home is not None
        return self._home / "aeron"

    def _start(self) -> subprocess.Popen[str]:
        self._home = Path(tempfile.mkdtemp(prefix=self._prefix, dir=shared_memory_dir()))
        settings = self._properties | {"aeron.dir": str(self.aeron_dir)}
        self._process = subprocess.Popen(
            [
                *self._run_in,
                *(sys.executable, "-m", "aerolog.tools.main", self._kind),
                *(f"-D{name}={value}" for name, value in settings.items()),
            ],
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
                said = line.strip() or "it said nothing"
                raise ServiceError(f"the {self._kind} did not start: {said}")
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        code = self._end()
        if code != 0 and error is None:
            raise ServiceError(f"the {self._kind} ended with exit code {code}")

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


def wait_for(what: str, ask: Callable[[], T | None], timeout_s: float) -> T:
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
