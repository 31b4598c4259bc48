"""Processes that are measured: how they start and end, and what they take."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from aerolog.transport.errors import AerologError
from benchmarks.durations import median_ms
from benchmarks.native_loops import CHECKOUT
from benchmarks.result import BenchmarkFailedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

AEROLOG = (sys.executable, "-m", "aerolog.tools.main")
_WARM_UP_ROUNDS = 2
_CONNECT_AGAIN_S = 0.05
_END_S = 20.0


@contextmanager
def serving(
    command: Sequence[str],
    connect: Callable[[], None],
    *,
    ready_s: float,
    environment: dict[str, str] | None = None,
    ends_with_input: bool = False,
) -> Iterator[subprocess.Popen[bytes]]:
    """A server that clients can reach; ended by its id when the block ends.

    Args:
        command: what starts it.
        connect: connects a client and closes it; raises AerologError while there is no server.
        ready_s: seconds that it may take to answer a client.
        environment: variables beside those of this process.
        ends_with_input: it ends when its standard input does, others by SIGTERM.

    Raises:
        BenchmarkFailedError: it did not become ready.
    """
    process = subprocess.Popen(
        command,
        cwd=CHECKOUT,
        env={**os.environ, **(environment or {})},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    try:
        _await_ready(process, connect, ready_s)
        yield process
    finally:
        if process.stdin:
            process.stdin.close()
        if not ends_with_input:
            process.terminate()
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _await_ready(
    process: subprocess.Popen[bytes], connect: Callable[[], None], ready_s: float
) -> None:
    deadline = time.monotonic() + ready_s
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise BenchmarkFailedError(f"{process.args!r} ended with {process.returncode}")
        try:
            connect()
        except AerologError:
            time.sleep(_CONNECT_AGAIN_S)
        else:
            return
    raise BenchmarkFailedError(f"{process.args!r} was not ready within {ready_s:.0f} s")


def processor_seconds(pid: int) -> float:
    """Processor time of a process since its start, in the kernel as well, seconds."""
    text = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2]
    user, system = text.split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def processor_share(pid: int, seconds: float) -> float:
    """Percent of a processor that a process takes over a time."""
    before, began = processor_seconds(pid), time.monotonic()
    time.sleep(seconds)
    return 100 * (processor_seconds(pid) - before) / (time.monotonic() - began)


def memory_bytes(pid: int, field: str) -> int:
    """Memory of a process by a field of ``/proc/PID/status``, VmRSS for example."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    raise BenchmarkFailedError(f"the kernel tells no {field} of process {pid}")


def wall_ms(command: Sequence[str], rounds: int) -> float:
    """The median wall time of some runs after the first two, output discarded."""

    def run() -> None:
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)

    return median_ms(run, rounds, _WARM_UP_ROUNDS)
