"""Recording with the time index beside recording without it."""

from __future__ import annotations

import os
import statistics
from typing import Final

from aerolog.archive.time_index import TimeIndex
from aerolog.transport.protocol.frames import DATA_HEADER_LENGTH
from benchmarks.durations import until
from benchmarks.embedded_archive import MEGABYTE, embedded_archive, record_messages
from benchmarks.folders import archive_folder, temporary_folder
from benchmarks.result import BenchmarkFailedError, Result

CHANNEL: Final = "aeron:ipc"
STREAM_ID: Final = 1036
LENGTHS: Final = (1024, 64)
ROUND_BYTES = int(os.environ.get("AEROLOG_BENCH_RECORD_BYTES") or 2 * 1024 * MEGABYTE)
#: Pairs of rounds, one with and one without; in turn, so that both meet the same machine.
ROUNDS: Final = 7


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
    messages = ROUND_BYTES // (length + DATA_HEADER_LENGTH)
    with (
        temporary_folder(archive_folder()) as folder,
        embedded_archive(folder, time_index=with_index) as archive,
    ):
        elapsed, recording_id, position = record_messages(
            archive, CHANNEL, STREAM_ID, length, messages
        )
        until("the recording's end", lambda: archive.stop_position(recording_id) == position)
        with TimeIndex.open(folder, recording_id) as index:
            if with_index != (index.entries > 0) or index.problems:
                raise BenchmarkFailedError(f"{index!r}: {index.problems}")
    return position / MEGABYTE / elapsed
