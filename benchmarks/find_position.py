"""Finding places by time in an index of ten million entries."""

from __future__ import annotations

import os
import statistics
import time
from array import array
from random import Random
from typing import TYPE_CHECKING, Final

from aerolog.archive.format.archive_folder import ArchiveFolder
from aerolog.archive.time_index import TimeIndex
from aerolog.archive.time_index.index_file import write_index
from aerolog.archive.time_index.layout import IndexHeader
from aerolog.testing.recordings import RecordingBuilder
from aerolog.transport.memory.filesystem import RealFileSystem
from benchmarks.folders import archive_folder, temporary_folder
from benchmarks.result import BenchmarkFailedError, Result

if TYPE_CHECKING:
    from collections.abc import Callable

ENTRIES = int(os.environ.get("AEROLOG_BENCH_TIME_ENTRIES") or 10_000_000)
LOOKUPS: Final = 2_000
STEP_NS: Final = 1_000_000
STEP_BYTES: Final = 4096
T0: Final = 1_700_000_000_000_000_000
#: A clock that is an hour behind from the middle on.
BACK_NS: Final = 3_600_000_000_000
#: What the issue of the feature asks for.
AIM_MS: Final = 1.0
_NS_PER_MS: Final = 1_000_000


def find() -> list[Result]:
    """Milliseconds of one search, the median; and of one with the opening of the index.

    Raises:
        BenchmarkFailedError: a wrong position.
    """
    results = []
    for name, back_ns in (("", 0), (" (clock stepped back)", BACK_NS)):
        with temporary_folder(archive_folder()) as folder:
            _write(folder, back_ns)
            with TimeIndex.open(folder, 0) as index:
                index.end_position = ENTRIES * STEP_BYTES
                index.refresh(ENTRIES * STEP_BYTES)
                for what, search in (
                    ("position_at", index.position_at),
                    ("end_position_at", index.end_position_at),
                ):
                    results.append(
                        _result(f"find-position-{what}{name}", _searches(search, back_ns))
                    )
            results.append(_result(f"find-position-opened{name}", _openings(folder)))
    return results


def _write(folder: str, back_ns: int) -> None:
    builder = RecordingBuilder()
    builder.add(b"one")
    builder.write(folder)
    times = array("q", range(T0, T0 + ENTRIES * STEP_NS, STEP_NS))
    if back_ns:
        half = ENTRIES // 2
        times = times[:half] + array(
            "q", range(T0 + half * STEP_NS - back_ns, T0 + ENTRIES * STEP_NS - back_ns, STEP_NS)
        )
    positions = array("q", range(0, ENTRIES * STEP_BYTES, STEP_BYTES))
    with ArchiveFolder(folder) as opened:
        header = IndexHeader.of(opened.recording(0).descriptor)
    write_index(folder, header, times, positions, RealFileSystem())


def _searches(search: Callable[[int], int], back_ns: int) -> list[int]:
    random, took = Random(1), []
    search(T0)
    for _ in range(LOOKUPS):
        number = random.randrange(ENTRIES)
        begin = time.perf_counter_ns()
        position = search(T0 + number * STEP_NS)
        took.append(time.perf_counter_ns() - begin)
        if not back_ns and position != number * STEP_BYTES:
            raise BenchmarkFailedError(f"entry {number} was found at {position}")
    return took


def _openings(folder: str) -> list[int]:
    random, took = Random(2), []
    with ArchiveFolder(folder) as opened:
        recording = opened.recording(0)
        for _ in range(LOOKUPS // 10):
            begin = time.perf_counter_ns()
            with TimeIndex.of(recording) as index:
                index.position_at(T0 + random.randrange(ENTRIES) * STEP_NS)
            took.append(time.perf_counter_ns() - begin)
    return took


def _result(name: str, took: list[int]) -> Result:
    median = statistics.median(took) / _NS_PER_MS
    return Result(name, "ms", median, AIM_MS, "the aim", smaller_is_better=True)
