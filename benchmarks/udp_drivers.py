"""Media drivers as processes of their own, ours and the reference's, started alike."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aerolog.transport.client import Aeron
from benchmarks.folders import memory_folder, temporary_folder
from benchmarks.java import FAST_OPTIONS, PEER_NAME, java_command
from benchmarks.processes import memory_bytes, processor_seconds, serving
from benchmarks.reference import harness
from benchmarks.result import PeerUnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator

OURS = "ours"
JAVA = "java"
C = "c"
PEERS = (JAVA, C)
# Of the reference, whose driver and clients in C are measured.
C_VERSION = os.environ.get("AEROLOG_BENCH_C", "1.51.0")
C_NAME = f"Aeron {C_VERSION} (C) {{}}"
MODES = ("DEDICATED", "SHARED_NETWORK", "SHARED")
READY_S = 15.0
# The same buffers and windows for both sides of a comparison.
COMMON = {
    "aeron.socket.so_sndbuf": "2m",
    "aeron.socket.so_rcvbuf": "2m",
    "aeron.rcv.initial.window.length": "2m",
    "aeron.term.buffer.length": "16m",
    "aeron.dir.delete.on.start": "true",
}


@dataclass(frozen=True, slots=True)
class DriverProcess:
    """A media driver that runs in a process of its own.

    Attributes:
        aeron_dir: the directory in which clients find the driver.
    """

    aeron_dir: str
    pid: int

    @property
    def cpu_seconds(self) -> float:
        """User and system time so far."""
        return processor_seconds(self.pid)

    @property
    def anonymous_bytes(self) -> int:
        """Resident memory that is not mapped from files."""
        return memory_bytes(self.pid, "RssAnon")


def peer_name(kind: str, mode: str) -> str:
    """The name that results give to one of the reference's drivers."""
    return C_NAME.format(f"driver {mode}") if kind == C else PEER_NAME.format(f"MediaDriver {mode}")


def c_programs() -> Any:
    """The reference's client and driver in C, built when they are not in the cache.

    Raises:
        PeerUnavailableError: they cannot be built here.
    """
    build = harness("c_build")
    try:
        return build.c_programs(C_VERSION)
    except (harness("artifact").PeerUnavailable, build.CratesUnavailable) as reason:
        raise PeerUnavailableError(str(reason)) from None


@contextmanager
def driver(
    kind: str, mode: str, properties: dict[str, str] | None = None
) -> Iterator[DriverProcess]:
    """A driver of a kind, ready for clients; ended by its id when the block ends.

    Raises:
        PeerUnavailableError: the reference cannot be had.
        BenchmarkFailedError: it did not become ready.
    """
    with temporary_folder(memory_folder()) as memory:
        aeron_dir = f"{memory}/aeron"
        wanted = {
            "aeron.dir": aeron_dir,
            "aeron.threading.mode": mode,
            **COMMON,
            **(properties or {}),
        }
        defines = [f"-D{name}={value}" for name, value in wanted.items()]
        settings = {}
        if kind == JAVA:
            command = java_command([*FAST_OPTIONS, *defines], "io.aeron.driver.MediaDriver")
        elif kind == C:
            command = [str(c_programs().driver)]
            settings = {name.upper().replace(".", "_"): each for name, each in wanted.items()}
        else:
            command = [sys.executable, "-m", "aerolog.transport.driver", *defines]

        def connect() -> None:
            Aeron(aeron_dir).close()

        with serving(
            command,
            connect,
            ready_s=READY_S,
            environment=settings,
            ends_with_input=kind == C,
        ) as process:
            yield DriverProcess(aeron_dir, process.pid)
