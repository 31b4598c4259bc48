"""``archive-tool verify -a -checksum CRC-32C``: beside plain reads, and beside the reference's.

Reads are those of one thread, in pieces as they are fastest; against them the verification is
measured in this process, with the files on the disk and with the files in the page cache. Against
the reference's tool it is the command that people type, start and all, with the files in the cache.
"""

from __future__ import annotations

import io
import os
import statistics
import subprocess
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aerolog.archive.format.segment import segment_file_name
from aerolog.tools.reference.archive_tool.archive_tool import run as run_tool
from aerolog.tools.reference.tool_terminal import Terminal
from benchmarks.durations import seconds
from benchmarks.folders import chosen_folder, temporary_folder
from benchmarks.java import PEER_NAME, java_command
from benchmarks.processes import AEROLOG
from benchmarks.result import BenchmarkFailedError, PeerUnavailableError, Result
from benchmarks.scan import SEGMENT_LENGTH, make_recording

if TYPE_CHECKING:
    from collections.abc import Callable

DATA_BYTES = int(os.environ.get("AEROLOG_BENCH_VERIFY_BYTES") or 2 * 1024**3)
ROUNDS = 5
PAYLOAD_LENGTH: Final = 992  # frames of 1 KiB
_PIECES: Final = (256 * 1024, 1024 * 1024)
READER: Final = "the same files read by one thread"
_COMMAND: Final = ("verify", "-a", "-checksum", "CRC-32C")
_ARCHIVE_TOOL: Final = "io.aeron.archive.ArchiveTool"
_OPENED: Final = "--add-opens=java.base/java.util.zip=ALL-UNNAMED"  # where CRC-32C is
_PATIENCE_S: Final = 300.0


def verify() -> list[Result]:
    """Rate of a verification, bytes of the segments.

    Raises:
        BenchmarkFailedError: something was found, or was not where it is.
    """
    with temporary_folder(chosen_folder()) as name:
        folder = Path(name)
        length = make_recording(folder, PAYLOAD_LENGTH, DATA_BYTES).length
        if length % SEGMENT_LENGTH == 0:  # a recorder has the next one as soon as one is full
            following = folder / segment_file_name(0, length)
            following.touch()
            os.truncate(following, SEGMENT_LENGTH)
        run_here(folder, "checksum", "CRC-32C", "-a")
        return [
            _beside_reads(folder, length, "verify (disk)", partial(_evict, folder)),
            _beside_reads(folder, length, "verify (cache)", None),
            _beside_reference(folder, length),
        ]


def _beside_reads(
    folder: Path, length: int, name: str, prepare: Callable[[], None] | None
) -> Result:
    (ours,), theirs = rates_beside_reads(
        folder, length, [lambda: run_here(folder, *_COMMAND)], prepare
    )
    return Result(name, "MB/s", ours, theirs, READER)


def rates_beside_reads(
    folder: Path,
    length: int,
    verifications: list[Callable[[], None]],
    prepare: Callable[[], None] | None = None,
) -> tuple[list[float], float]:
    """MB/s of each verification, and of plain reads of the segments in the faster pieces.

    Args:
        folder: the archive's folder.
        length: bytes of the stream.
        verifications: run in turns with the reads; the first round warms all up.
        prepare: is called before each of them.
    """
    reads = [partial(_read_files, folder, piece) for piece in _PIECES]
    runs: list[Callable[[], None]] = [*reads, *verifications]
    times: list[list[float]] = [[] for _ in runs]
    for _ in range(ROUNDS + 1):
        for run, taken in zip(runs, times, strict=True):
            if prepare is not None:
                prepare()
            taken.append(seconds(run))
    rates = [length / statistics.median(taken[1:]) / 1e6 for taken in times]
    return rates[len(reads) :], max(rates[: len(reads)])


def _evict(folder: Path) -> None:
    """Have the page cache forget the files."""
    for path in folder.glob("*.rec"):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


def _beside_reference(folder: Path, length: int) -> Result:
    ours = [*AEROLOG, "archive-tool"]
    try:
        theirs = java_command([_OPENED], _ARCHIVE_TOOL)
    except PeerUnavailableError as reason:
        taken = seconds(lambda: _run_process(ours, folder))
        return Result("verify", "MB/s", length / taken / 1e6, None, str(reason))
    mine, peers = [], []
    for _ in range(ROUNDS):
        peers.append(seconds(lambda: _run_process(theirs, folder)))
        mine.append(seconds(lambda: _run_process(ours, folder)))
    rate, peer = (length / statistics.median(times) / 1e6 for times in (mine, peers))
    return Result("verify", "MB/s", rate, peer, PEER_NAME.format("ArchiveTool"))


def _read_files(folder: Path, piece: int) -> None:
    """Read all segments of a folder, in pieces of so many bytes."""
    buffer = bytearray(piece)
    for path in folder.glob("*.rec"):
        if path.stat().st_blocks == 0:
            continue
        descriptor = os.open(path, os.O_RDONLY)
        try:
            for _ in range(0, path.stat().st_size, piece):
                os.readv(descriptor, [buffer])
        finally:
            os.close(descriptor)


def run_here(folder: Path, *command: str) -> None:
    """Run a command of the archive tool in this process.

    Raises:
        BenchmarkFailedError: it fails, or finds something.
    """
    out, err = io.StringIO(), io.StringIO()
    code = run_tool([str(folder), *command], Terminal(out=out, err=err))
    if code != 0 or "ERR" in out.getvalue():
        raise BenchmarkFailedError(f"{command[0]} ended with {code}: {out.getvalue()[-500:]}")


def _run_process(tool: list[str], folder: Path) -> None:
    done = subprocess.run(
        [*tool, str(folder), *_COMMAND],
        capture_output=True,
        text=True,
        timeout=_PATIENCE_S,
        check=False,
    )
    if done.returncode != 0 or done.stdout != "(recordingId=0) OK\n":
        raise BenchmarkFailedError(f"{tool[0]} ended with {done.returncode}: {done.stdout[-500:]}")
