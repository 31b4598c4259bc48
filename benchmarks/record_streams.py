"""Many recordings at a time against one: terms and segments of 1 MiB, the limit raised."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

from aerolog.archive.client import AeronArchive
from aerolog.transport.client import Aeron
from aerolog.transport.concurrent.idle import idle_strategy
from benchmarks.archive_servers import JAVA, JAVA_NAME, OURS, archiving
from benchmarks.durations import until
from benchmarks.embedded_archive import MEGABYTE, recorded_position
from benchmarks.loop_threads import running
from benchmarks.native_loops import native
from benchmarks.result import BenchmarkFailedError, PeerUnavailableError, Result

if TYPE_CHECKING:
    from collections.abc import Callable

CHANNEL = "aeron:ipc"
STREAM_ID = 1100
STREAMS = 64
LENGTH = 1024
BURST = 32
WARM_UP_BYTES = 512 * MEGABYTE
MEASURED_BYTES = 1536 * MEGABYTE
PATIENCE_S = 60.0
POLL_S = 0.001
PROPERTIES = {
    "aeron.ipc.term.buffer.length": "1m",
    "aeron.archive.segment.file.length": "1m",
    "aeron.archive.max.concurrent.recordings": "100",
}


def streams() -> list[Result]:
    """MB/s of one recording and of 64 together, and the second in percent of the first."""
    one, many = _rate(OURS, 1), _rate(OURS, STREAMS)
    peer_one: float | None = None
    peer_many: float | None = None
    name = JAVA_NAME
    try:
        peer_one, peer_many = _rate(JAVA, 1), _rate(JAVA, STREAMS)
    except (PeerUnavailableError, BenchmarkFailedError) as reason:
        name = f"{JAVA_NAME}: {reason}"
    share = None if peer_one is None or peer_many is None else 100 * peer_many / peer_one
    return [
        Result("record-streams-1", "MB/s", one, peer_one, name),
        Result(f"record-streams-{STREAMS}", "MB/s", many, peer_many, name),
        Result("record-streams-share", "% of one", 100 * many / one, share, name),
    ]


def _rate(kind: str, count: int) -> float:
    """MB/s that an archive records of so many streams, whose publishers take turns."""
    with ExitStack() as stack:
        server = stack.enter_context(archiving(kind, PROPERTIES))
        aeron = stack.enter_context(Aeron(server.aeron_dir))
        archive = stack.enter_context(AeronArchive(aeron))
        publications = []
        for index in range(count):
            archive.start_recording(CHANNEL, STREAM_ID + index)
            publication = aeron.add_exclusive_publication(CHANNEL, STREAM_ID + index)
            publications.append(stack.enter_context(publication))
        for publication in publications:
            publication.wait_connected(PATIENCE_S, writable=True)
        until(
            "all recordings",
            lambda: len(list(archive.recordings(from_recording_id=0))) == count,
        )
        counters = [recorded_position(archive, recording_id) for recording_id in range(count)]

        def recorded() -> int:
            return sum(counter.value for counter in counters)

        publisher = native("many").ManyPublisher(
            publications, LENGTH, BURST, idle_strategy("yield")
        )
        with running(publisher):
            begin, first = _when(recorded, WARM_UP_BYTES)
            end, last = _when(recorded, WARM_UP_BYTES + MEASURED_BYTES)
        until(
            "everything recorded",
            lambda: recorded() == sum(publication.position for publication in publications),
        )
    return (last - first) / MEGABYTE / (end - begin)


def _when(recorded: Callable[[], int], wanted: int) -> tuple[float, int]:
    """The time at which so much was recorded, and how much it was then."""
    deadline = time.perf_counter() + PATIENCE_S
    while (now := recorded()) < wanted:
        if time.perf_counter() > deadline:
            raise BenchmarkFailedError(f"{now} of {wanted} bytes within {PATIENCE_S:.0f} s")
        time.sleep(POLL_S)
    return time.perf_counter(), now
