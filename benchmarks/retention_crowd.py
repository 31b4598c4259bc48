"""Retention of very many segments: how long the archive's longest duty cycle gets meanwhile."""

from __future__ import annotations

import os
import time
from pathlib import Path

from aerolog.archive.client import AeronArchive
from aerolog.archive.format.catalog_file import CatalogFile
from aerolog.archive.format.descriptor import RecordingDescriptor
from aerolog.archive.format.segment import segment_file_name
from aerolog.archive.protocol.counter_types import ArchiveCounterType
from aerolog.archive.retention.archive_access import RunningArchive
from aerolog.archive.retention.clock import read_clock
from aerolog.archive.retention.policy_file import parse_policies
from aerolog.archive.retention.run import Retention
from aerolog.transport.client import Aeron
from aerolog.transport.memory.filesystem import RealFileSystem
from benchmarks.archive_servers import OURS, archiving
from benchmarks.folders import temporary_folder
from benchmarks.result import BenchmarkFailedError, Result

SEGMENTS = int(os.environ.get("AEROLOG_BENCH_SEGMENTS", "100000"))
RECORDINGS = 20
SEGMENT = 64 * 1024
KEPT = 4
LIMIT_MS = 100.0
MAX_CYCLE_TYPE_ID = ArchiveCounterType.MAX_CYCLE_TIME
DAY_MS = 86_400_000
POLICIES = f"""
[[policy]]
name = "whole recordings"
stream = 0
max_age = "1d"
[[policy]]
name = "segments"
stream = 1
max_size = {KEPT * SEGMENT}
"""


def crowd() -> list[Result]:
    """Milliseconds of the conductor's longest duty cycle, and segments a second."""
    with temporary_folder() as made:
        make_catalog(Path(made), RECORDINGS, SEGMENTS // RECORDINGS)
        files = [Path(made) / "archive.catalog"]
        with archiving(OURS, archive_files=files) as server:
            folder = Path(server.archive_dir)
            make_segments(folder, RECORDINGS, SEGMENTS // RECORDINGS)
            with Aeron(server.aeron_dir) as aeron, AeronArchive(aeron) as archive:
                gone, seconds = _let_go(folder, archive)
                longest_ms = _longest_cycle_ms(aeron)
            left = sum(1 for _ in folder.glob("*.rec"))
    if left != RECORDINGS // 2 * KEPT or gone != SEGMENTS - left:
        raise BenchmarkFailedError(f"{gone} segments went and {left} are left, of {SEGMENTS}")
    return [
        Result(
            "retention-100k-cycle",
            "ms",
            longest_ms,
            LIMIT_MS,
            f"the limit of {LIMIT_MS:g} ms",
            smaller_is_better=True,
        ),
        Result("retention-100k-rate", "segments/s", gone / seconds, None, "none"),
    ]


def make_catalog(folder: Path, recordings: int, segments: int) -> None:
    """Recordings of two streams that ended a week ago."""
    now_ms = time.time_ns() // 1_000_000
    with CatalogFile.open(folder) as catalog:
        for number in range(recordings):
            catalog.add_recording(
                RecordingDescriptor(
                    recording_id=number,
                    start_timestamp=now_ms - 8 * DAY_MS,
                    stop_timestamp=now_ms - 7 * DAY_MS,
                    start_position=0,
                    stop_position=segments * SEGMENT - 1024,
                    initial_term_id=0,
                    segment_file_length=SEGMENT,
                    term_buffer_length=SEGMENT,
                    mtu_length=1408,
                    session_id=number,
                    stream_id=number % 2,
                    stripped_channel="aeron:ipc",
                    original_channel="aeron:ipc",
                    source_identity="aeron:ipc",
                )
            )


def make_segments(folder: Path, recordings: int, segments: int) -> None:
    """Segment files of these recordings, without frames: nobody reads them."""
    for number in range(recordings):
        for segment in range(segments):
            path = folder / segment_file_name(number, segment * SEGMENT)
            with path.open("wb") as file:
                file.truncate(SEGMENT)


def _let_go(folder: Path, archive: AeronArchive) -> tuple[int, float]:
    retention = Retention(
        archive_dir=folder,
        policies=parse_policies(POLICIES),
        files=RealFileSystem(),
        read_clock=read_clock,
    )
    begin = time.perf_counter()
    planned, applied = retention.run(RunningArchive(archive))
    if applied is None or applied.kept or planned.held_back is not None:
        raise BenchmarkFailedError(f"not all went: {planned.held_back or applied}")
    return applied.files, time.perf_counter() - begin


def _longest_cycle_ms(aeron: Aeron) -> float:
    found = [
        counter.value
        for counter in aeron.counters.infos()
        if counter.type_id == MAX_CYCLE_TYPE_ID and "conductor" in counter.label
    ]
    if not found:
        raise BenchmarkFailedError("the archive counts no duty cycles")
    return max(found) / 1e6
