"""Recording with the time index beside recording without it."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from typing import Final

from aerolog.archive.client import AeronArchive
from aerolog.archive.service import ArchivingMediaDriver
from aerolog.archive.time_index import TimeIndex
from aerolog.transport.client import Aeron
from aerolog.transport.concurrent.idle import idle_strategy
from aerolog.transport.protocol.frames import DATA_HEADER_LENGTH
from benchmarks.archive_servers import until
from benchmarks.folders import archive_folder
from benchmarks.native_loops import native
from benchmarks.result import BenchmarkFailedError, Result

CHANNEL: Final = "aeron:ipc"
STREAM_ID: Final = 1036
LENGTHS: Final = (1024, 64)
_MEGABYTE: Final = 1024 * 1024
ROUND_BYTES = int(os.environ.get("AEROLOG_BENCH_RECORD_BYTES") or 2 * 1024 * _MEGABYTE)
#: Pairs of rounds, one with and one without; in turn, so that both meet the same machine.
ROUNDS: Final = 7
_PATIENCE_S: Final = 60.0


def indexed() -> list[Result]:
    """MB/s with the index, ours, beside MB/s without it.

    Raises:
        BenchmarkFailedError: not all was recorded, or the index knows nothing of it.
    """
    results = []
    for length in LENGTHS:
        rates: dict[bool, list[float]] = {True: [], False: []}
        for number in range(ROUNDS + 1):
            for with_index in (True, False) if number % 2 else (False, True):
                rate = _round(length, with_index=with_index)
                if number:
                    rates[with_index].append(rate)
        results.append(
            Result(
                f"record-indexed-{length}",
                "MB/s",
                statistics.median(rates[True]),
                statistics.median(rates[False]),
                "without the index",
            )
        )
    return results


def _round(length: int, *, with_index: bool) -> float:
    """MB/s of frames from the first offer until the archive has written the last byte."""
    loops = native("loops")
    messages = ROUND_BYTES // (length + DATA_HEADER_LENGTH)
    with (
        tempfile.TemporaryDirectory(prefix="aerolog-bench-", dir="/dev/shm") as memory,
        tempfile.TemporaryDirectory(prefix="aerolog-bench-", dir=archive_folder()) as folder,
        ArchivingMediaDriver(
            f"{memory}/aeron",
            folder,
            archive_options={"control_channel_enabled": False, "time_index": with_index},
        ) as both,
        Aeron(both.aeron_dir) as aeron,
        AeronArchive(aeron) as archive,
    ):
        with aeron.add_exclusive_publication(CHANNEL, STREAM_ID) as publication:
            archive.start_recording(CHANNEL, STREAM_ID)
            publication.wait_connected(_PATIENCE_S, writable=True)
            until("the recording's start", lambda: list(archive.recordings()))
            counter = archive.recording_position_counter(0)
            if counter is None:
                raise BenchmarkFailedError("recording 0 has no position counter")
            publisher = loops.Publisher(publication, length, idle_strategy("backoff"))
            start = time.perf_counter()
            publisher.run(messages)
            position = publication.position
            until("recording", lambda: counter.value >= position)
            elapsed = time.perf_counter() - start
            archive.stop_recording(CHANNEL, STREAM_ID)
        until("the recording's end", lambda: archive.stop_position(0) == position)
        with TimeIndex.open(folder, 0) as index:
            if with_index != (index.entries > 0) or index.problems:
                raise BenchmarkFailedError(f"{index!r}: {index.problems}")
    return position / _MEGABYTE / elapsed
