"""Archiving drivers as processes of their own, ours and the reference's, configured alike."""

from __future__ import annotations

import shutil
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from aerolog.archive.client import AeronArchive
from aerolog.transport.client import Aeron
from benchmarks.folders import archive_folder, memory_folder, temporary_folder
from benchmarks.java import FAST_OPTIONS, PEER_NAME, java_command
from benchmarks.processes import AEROLOG, memory_bytes, serving

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

OURS = "ours"
JAVA = "java"
JAVA_NAME = PEER_NAME.format("ArchivingMediaDriver")
READY_S = 30.0
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
        return memory_bytes(self.pid, "VmRSS")


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
        temporary_folder(memory_folder()) as memory,
        temporary_folder(archive_folder()) as disk,
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
                [*FAST_OPTIONS, *defines], "io.aeron.archive.ArchivingMediaDriver"
            )
        else:
            command = [*AEROLOG, "archiving-driver", *defines]

        def connect() -> None:
            with Aeron(aeron_dir) as aeron, AeronArchive(aeron):
                pass

        begin = time.perf_counter()
        with serving(command, connect, ready_s=ready_s) as process:
            start_s = time.perf_counter() - begin
            yield ArchiveProcess(aeron_dir, process.pid, start_s, str(archive_dir))
