"""How far from their time messages come in a replay at the recorded pace of 100,000 a second.

Messages are recorded by an archive of ours, with its time index, one every ten microseconds, and
then replayed at 1x: by the archive, and from its folder. The figure is the distance between when a
message was due and when the program had it in hand. There is no peer: the aim stands in its place.
"""

from __future__ import annotations

import os
import time
from array import array
from pathlib import Path
from typing import Final

from aerolog.archive.client import AeronArchive
from aerolog.archive.client.replay.pacer import Pacer
from aerolog.archive.client.replay.timed_replay import TimedReplay
from aerolog.transport.client import Aeron
from benchmarks.archive_servers import OURS, archiving
from benchmarks.durations import percentile, until
from benchmarks.embedded_archive import recorded_publication
from benchmarks.folders import archive_folder, temporary_folder
from benchmarks.result import BenchmarkFailedError, Result

CHANNEL: Final = "aeron:ipc?term-length=16m"
STREAM_ID: Final = 1035
RATE: Final = 100_000
SECONDS = float(os.environ.get("AEROLOG_BENCH_PACED_SECONDS") or 10)
LENGTH: Final = 64
#: What the issue of the feature asks for.
AIM_US: Final = 200.0
_NS_PER_S: Final = 1_000_000_000
_PERCENTS: Final = (50, 99)


def paced() -> list[Result]:
    """Median and 99th percentile, of a replay by an archive and of one from its folder.

    Raises:
        BenchmarkFailedError: messages were lost, or out of order.
    """
    results = []
    with (
        temporary_folder(archive_folder()) as folder,
        archiving(OURS, {"aeron.archive.dir": folder}) as server,
        Aeron(server.aeron_dir) as aeron,
        AeronArchive(aeron) as archive,
    ):
        recording_id = _record(archive)
        sources: tuple[tuple[str, AeronArchive | Path], ...] = (
            ("archive", archive),
            ("folder", Path(folder)),
        )
        for name, source in sources:
            distances = _replay(source, recording_id)
            results += [_result(name, distances, percent) for percent in _PERCENTS]
    return results


def _result(name: str, distances: array[int], percent: int) -> Result:
    found = percentile(distances, percent) / 1000
    return Result(
        f"replay-paced-p{percent} ({name})", "us", found, AIM_US, "the aim", smaller_is_better=True
    )


def _record(archive: AeronArchive) -> int:
    """Id of a recording of the messages, which carry their numbers."""
    with recorded_publication(archive, CHANNEL, STREAM_ID) as (publication, recorded):
        pacer = Pacer(1.0)
        step_ns = _NS_PER_S // RATE
        for number in range(round(RATE * SECONDS)):
            message = number.to_bytes(8, "little").ljust(LENGTH, b"\0")
            while not pacer.wait(number * step_ns):
                pass
            while publication.offer(message) <= 0:
                time.sleep(0)
        until("recording", lambda: recorded.value >= publication.position)
    recording_id = recorded.recording_id
    until("its end", lambda: archive.stop_position(recording_id) is not None)
    return recording_id


def _replay(source: AeronArchive | Path, recording_id: int) -> array[int]:
    """How far from when it was due each message came, nanoseconds."""
    count = round(RATE * SECONDS)
    distances = array("q", bytes(8 * count))
    now = time.monotonic_ns
    number = 0
    with TimedReplay(source, recording_id, speed=1.0) as replay:
        pacer = replay.pacer
        for message in replay:
            distances[number] = abs(now() - pacer.due_ns)
            if int.from_bytes(message.payload[:8], "little") != number:
                raise BenchmarkFailedError(f"message {number} did not come in its place")
            number += 1
    if number != count:
        raise BenchmarkFailedError(f"{number} of {count} messages came")
    return distances
