"""From the request for a replay until its first byte, by one client against either archive."""

from __future__ import annotations

import time

from aerolog.archive.client import AeronArchive
from aerolog.transport.client import Aeron
from benchmarks.archive_servers import JAVA, JAVA_NAME, OURS, archiving
from benchmarks.durations import percentile, until
from benchmarks.embedded_archive import recorded_publication
from benchmarks.result import BenchmarkFailedError, Result, from_peer

CHANNEL = "aeron:ipc"
STREAM_ID = 1033
REPLAY_STREAM_ID = 2033
MESSAGES = 1000
LENGTH = 1024
WARM_UP = 200
ROUNDS = 500
PATIENCE_S = 10.0
# The client's own rest between two looks at what the driver says is not the archive's.
CLIENT_SLEEP_S = 0.0001
# Ended replays are gone before the next begins, so that none pays for the one before.
PAUSE_S = 0.005


def start() -> list[Result]:
    """Median and 99th percentile of the time to the first byte, in milliseconds."""
    ours = _measure(OURS)
    peer, name = from_peer(JAVA_NAME, lambda: _measure(JAVA))
    return [
        Result(
            f"replay-start-p{percent}",
            "ms",
            percentile(ours, percent),
            None if peer is None else percentile(peer, percent),
            name,
            smaller_is_better=True,
        )
        for percent in (50, 99)
    ]


def _measure(kind: str) -> list[float]:
    with (
        archiving(kind) as server,
        Aeron(server.aeron_dir, idle_sleep=CLIENT_SLEEP_S) as aeron,
        AeronArchive(aeron) as archive,
    ):
        recording_id, position = _record(archive)
        times = [_first_byte(archive, recording_id, position) for _ in range(WARM_UP + ROUNDS)]
    return times[WARM_UP:]


def _record(archive: AeronArchive) -> tuple[int, int]:
    """Id and last position of a recording."""
    with recorded_publication(archive, CHANNEL, STREAM_ID) as (publication, recorded):
        for _ in range(MESSAGES):
            until("room", lambda: publication.offer(bytes(LENGTH)) > 0)
        position = publication.position
        until("recording", lambda: recorded.value >= position)
    return recorded.recording_id, position


def _first_byte(archive: AeronArchive, recording_id: int, position: int) -> float:
    """Milliseconds; the last message is waited for too, so that replays end as they should."""
    begin = time.perf_counter()
    with archive.replay(
        recording_id, 0, position, channel=CHANNEL, stream_id=REPLAY_STREAM_ID
    ) as subscription:
        deadline = begin + PATIENCE_S
        received = 0
        elapsed = 0.0
        while received < MESSAGES:
            received += len(subscription.poll_messages(MESSAGES))
            now = time.perf_counter()
            if received and not elapsed:
                elapsed = (now - begin) * 1000
            if now > deadline:
                raise BenchmarkFailedError(
                    f"replay of recording {recording_id}: {received} of {MESSAGES} messages"
                )
            time.sleep(0)
    time.sleep(PAUSE_S)
    return elapsed
