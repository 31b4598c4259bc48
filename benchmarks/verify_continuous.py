"""Verification with fingerprints as fast as it goes, beside plain reads of the same files.

Every frame and checksum is checked and each segment gets its fingerprint: by the threads that
``aerolog verify`` has, and by the one of the archive's agent, turned without a bound on its rate.
Against them the same files are read by one thread, in pieces as they are fastest; all from the page
cache.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from aerolog.archive.service.reporter import ArchiveReporter
from aerolog.archive.service.verifier.verifier import Verifier, VerifierOptions
from aerolog.archive.verification import Health, verify_recording
from aerolog.transport.concurrent.clock import SystemClock
from aerolog.transport.memory.filesystem import RealFileSystem
from benchmarks.folders import chosen_folder, temporary_folder
from benchmarks.result import BenchmarkFailedError, Result
from benchmarks.scan import make_recording
from benchmarks.verify_folder import (
    DATA_BYTES,
    PAYLOAD_LENGTH,
    READER,
    rates_beside_reads,
    run_here,
)

if TYPE_CHECKING:
    from aerolog.transport.client.client_counters import Counter
    from aerolog.transport.memory.error_log import DistinctErrorLog

_PATIENCE_S: Final = 300.0
_HOUR_NS: Final = 3600 * 10**9


class _Count:
    """A counter that no driver has."""

    def __init__(self) -> None:
        self.closed = False
        self.value = 0

    def add(self, delta: int) -> None:
        self.value += delta


class _Errors:
    """An error log that ends the benchmark."""

    def record_exception(self, error: BaseException) -> bool:
        raise BenchmarkFailedError(f"found in a sound recording: {error}")


def verify_continuous() -> list[Result]:
    """Rate of the verifier, bytes of the segments.

    Raises:
        BenchmarkFailedError: something was found, or was not where it is.
    """
    with temporary_folder(chosen_folder()) as name:
        folder = Path(name)
        length = make_recording(folder, PAYLOAD_LENGTH, DATA_BYTES).length
        run_here(folder, "checksum", "CRC-32C", "-a")
        (ours, agent), theirs = rates_beside_reads(
            folder, length, [lambda: _verify(folder), lambda: _turn(folder, length)]
        )
        if Health.open(folder, 0).state != "sound":
            raise BenchmarkFailedError("a sound recording was not found to be so")
    return [
        Result("verify-continuous", "MB/s", ours, theirs, READER),
        Result("verify (agent)", "MB/s", agent, theirs, READER),
    ]


def _verify(folder: Path) -> None:
    """A verification by all threads that it has."""
    found = verify_recording(folder, 0, fingerprints=True)
    if found:
        raise BenchmarkFailedError(f"found in a sound recording: {found[0].text}")


def _turn(folder: Path, length: int) -> None:
    """One round of the agent over all segments."""
    counts = tuple(_Count() for _ in range(4))
    verifier = Verifier(
        VerifierOptions(rate=1 << 62, interval_ms=0, look_interval_ns=_HOUR_NS),
        folder=str(folder),
        files=RealFileSystem(),
        clock=SystemClock(),
        positions=dict,
        reporter=ArchiveReporter(cast("DistinctErrorLog", _Errors())),
        counters=cast("tuple[Counter, Counter, Counter, Counter]", counts),
    )
    begun = time.perf_counter()
    while counts[0].value < length:
        verifier.control()
        if time.perf_counter() - begun > _PATIENCE_S:
            raise BenchmarkFailedError(f"a round reads no more than {counts[0].value} bytes")
