"""One look at a driver with 10,000 counters, by ours and by the reference's AeronStat."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from typing import TYPE_CHECKING

from aerolog.transport.concurrent.clock import SystemClock
from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.memory.cnc import CncFile
from aerolog.transport.memory.cnc_header import CncHeader, CncLengths
from aerolog.transport.memory.counters import VALUE_LENGTH
from aerolog.transport.memory.filesystem import RealFileSystem
from benchmarks.folders import archive_folder, temporary_folder
from benchmarks.java import PEER_NAME, java_command
from benchmarks.processes import AEROLOG
from benchmarks.result import BenchmarkFailedError, PeerUnavailableError, Result

if TYPE_CHECKING:
    from collections.abc import Sequence

COUNTERS = int(os.environ.get("AEROLOG_BENCH_COUNTERS", "10000"))
WARM_UP = 2
ROUNDS = 11
_KIB_PER_MIB = 1024
_LAUNCHER = """
import os, sys, time
nowhere = os.open(os.devnull, os.O_WRONLY)
begin = time.perf_counter()
pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ,
                      file_actions=[(os.POSIX_SPAWN_DUP2, nowhere, 1)])
_, status, used = os.wait4(pid, 0)
print((time.perf_counter() - begin) * 1000, used.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""
_NAMES = ("pub-pos (exclusive)", "pub-lmt", "snd-pos", "snd-lmt", "snd-bpe")
_TYPES = (
    CounterType.PUBLISHER_POSITION,
    CounterType.PUBLISHER_LIMIT,
    CounterType.SENDER_POSITION,
    CounterType.SENDER_LIMIT,
    CounterType.SENDER_BPE,
)


def once() -> list[Result]:
    """Wall time in milliseconds and peak memory in MiB of whole processes, output discarded."""
    with temporary_folder(archive_folder()) as folder:
        _make_driver(folder)
        _check(folder)
        ours = _measure(_our_command(folder))
        try:
            command = java_command([f"-Daeron.dir={folder}"], "io.aeron.samples.AeronStat")
            peer = _measure([*command, "watch=false"])
            name = PEER_NAME.format("AeronStat watch=false")
        except PeerUnavailableError as reason:
            peer, name = (None, None), f"AeronStat: {reason}"
    return [
        Result("stat-wall", "ms", ours[0], peer[0], name, smaller_is_better=True),
        Result("stat-memory", "MiB", ours[1], peer[1], name, smaller_is_better=True),
    ]


def _our_command(folder: str) -> list[str]:
    return [*AEROLOG, "stat", "--aeron-dir", folder]


def _make_driver(folder: str) -> None:
    """The files of a driver with streams, alive when it was made."""
    room = 1 << (COUNTERS * VALUE_LENGTH).bit_length()
    clock = SystemClock()
    header = CncHeader(
        CncLengths.of(counter_values=room), 10_000_000_000, clock.now_epoch_ms(), os.getpid()
    )
    cnc = CncFile.create(RealFileSystem(), folder, header)
    cnc.to_driver.consumer_heartbeat_ms = clock.now_epoch_ms()
    cnc.publish()
    counters = cnc.counters_manager(clock)
    for number in range(COUNTERS):
        which = number % len(_TYPES)
        registration = number // len(_TYPES)
        channel = f"aeron:udp?endpoint=localhost:{20000 + registration % 1000}|term-length=64k"
        key = registration.to_bytes(8, "little") + (registration + 5).to_bytes(4, "little")
        key += (1001).to_bytes(4, "little") + len(channel).to_bytes(4, "little") + channel.encode()
        label = f"{_NAMES[which]}: {registration} {registration + 5} 1001 {channel}"
        counters.allocate(_TYPES[which], label, key, registration, 1, value=number * 1_000_003)


def _check(folder: str) -> None:
    out = subprocess.run(_our_command(folder), capture_output=True, text=True, check=True).stdout
    shown = len(out.splitlines()) - 2
    if shown != COUNTERS:
        raise BenchmarkFailedError(f"{shown} of {COUNTERS} counters are shown")


def _measure(command: Sequence[str]) -> tuple[float, float]:
    """Median wall time in milliseconds, and the largest peak memory in MiB."""
    runs = [_run(command) for _ in range(WARM_UP + ROUNDS)][WARM_UP:]
    return statistics.median(wall for wall, _ in runs), max(memory for _, memory in runs)


def _run(command: Sequence[str]) -> tuple[float, float]:
    """A child counts the memory of whom it was forked from: so a small process starts it."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _LAUNCHER, *command],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise BenchmarkFailedError(f"{command[0]} failed: {done.stderr[-500:]}")
    wall_ms, memory_kib = map(float, done.stdout.split())
    return wall_ms, memory_kib / _KIB_PER_MIB
