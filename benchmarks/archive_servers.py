"""Archiving drivers as processes of their own, ours and the reference's, configured alike."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from aerolog.archive.client import AeronArchive
from aerolog.transport.client import Aeron
from aerolog.transport.errors import AerologError
from benchmarks.folders import archive_folder
from benchmarks.java import PEER_NAME, java_command
from benchmarks.native_loops import CHECKOUT
from benchmarks.result import BenchmarkFailedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

OURS = "ours"
JAVA = "java"
MEMORY = "/dev/shm"
# As in the comparison of drivers.
_JAVA_OPTIONS = ("-XX:+UseParallelGC", "-Dagrona.disable.bounds.checks=true")
JAVA_NAME = PEER_NAME.format("ArchivingMediaDriver")
READY_S = 30.0
PATIENCE_S = 20.0
COMMON = {
    "aeron.dir.delete.on.start": "true",
    "aeron.archive.control.channel.enabled": "false",
    "aeron.archive.control.response.channel": "aeron:ipc",
    "aeron.archive.replication.channel": "aeron:udp?endpoint=localhost:0",
}


@dataclass(frozen=True, slots=True)
class ArchiveProcess:
    """A running archiving driver.

    Attributes:
        aeron_dir: the directory in which clients find the driver.
        start_s: seconds from its start until it answered a client.
        archive_dir: the archive's folder.
    """

    aeron_dir: str
    pid: int
    start_s: float
    archive_dir: str

    @property
    def resident_bytes(self) -> int:
        """Memory of the process, what it has mapped of files included."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise BenchmarkFailedError(f"the kernel tells no VmRSS of process {self.pid}")


@contextmanager
def archiving(
    kind: str,
    properties: dict[str, str] | None = None,
    *,
    archive_files: Sequence[Path] = (),
    ready_s: float = READY_S,
) -> Iterator[ArchiveProcess]:
    """An archiving driver of either kind that is ready for clients.

    Args:
        kind: OURS or JAVA.
        properties: more of them.
        archive_files: what the archive's folder has when it starts.
        ready_s: seconds that it may take to answer a client.

    Raises:
        PeerUnavailableError: the reference cannot be had.
        BenchmarkFailedError: it did not become ready.
    """
    with (
        tempfile.TemporaryDirectory(prefix="aerolog-bench-", dir=MEMORY) as memory,
        tempfile.TemporaryDirectory(prefix="aerolog-bench-", dir=archive_folder()) as disk,
    ):
        aeron_dir = f"{memory}/aeron"
        archive_dir = Path(disk) / "archive"
        archive_dir.mkdir()
        for file in archive_files:
            shutil.copy(file, archive_dir)
        places = {"aeron.dir": aeron_dir, "aeron.archive.dir": str(archive_dir)}
        wanted = {**places, **COMMON, **(properties or {})}
        defines = [f"-D{name}={value}" for name, value in wanted.items()]
        if kind == JAVA:
            command = java_command(
                [*_JAVA_OPTIONS, *defines], "io.aeron.archive.ArchivingMediaDriver"
            )
        else:
            command = [sys.executable, "-m", "aerolog.tools.main", "archiving-driver", *defines]
        begin = time.perf_counter()
        process = subprocess.Popen(command, cwd=CHECKOUT, stdout=subprocess.DEVNULL)
        try:
            _until_ready(process, aeron_dir, ready_s)
            start_s = time.perf_counter() - begin
            yield ArchiveProcess(aeron_dir, process.pid, start_s, str(archive_dir))
        finally:
            process.terminate()
            try:
                process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _until_ready(process: subprocess.Popen[bytes], aeron_dir: str, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise BenchmarkFailedError(f"{process.args!r} ended with {process.returncode}")
        try:
            with Aeron(aeron_dir) as aeron, AeronArchive(aeron):
                return
        except AerologError:
            time.sleep(0.05)
    raise BenchmarkFailedError(f"{process.args!r} was not ready within {seconds:.0f} s")


def until(what: str, condition: Callable[[], object], seconds: float = 60.0) -> None:
    """Wait for a condition.

    Raises:
        BenchmarkFailedError: not in time.
    """
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise BenchmarkFailedError(f"{what}: not within {seconds:.0f} s")
        time.sleep(0.0005)
