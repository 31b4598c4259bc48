"""From the request for a replay until its first byte, by one client against either archive."""

from __future__ import annotations

import math
import time

from aerolog.archive.client import AeronArchive
from aerolog.transport.client import Aeron
from benchmarks.archive_servers import JAVA, JAVA_NAME, OURS, archiving, until
from benchmarks.result import BenchmarkFailedError, PeerUnavailableError, Result

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
    try:
        peer: list[float] | None = _measure(JAVA)
        name = JAVA_NAME
    except PeerUnavailableError as reason:
        peer, name = None, f"{JAVA_NAME}: {reason}"
    return [
        Result(
            f"replay-start-p{percent}",
            "ms",
            _percentile(ours, percent),
            None if peer is None else _percentile(peer, percent),
            name,
            smaller_is_better=True,
        )
        for percent in (50, 99)
    ]


def _percentile(values: list[float], percent: int) -> float:
    return sorted(values)[math.ceil(len(values) * percent / 100) - 1]


def _measure(kind: str) -> list[float]:
    with (
        archiving(kind) as server,
        Aeron(server.aeron_dir, idle_sleep=CLIENT_SLEEP_S) as aeron,
        AeronArchive(aeron) as archive,
    ):
        recording_id, position = _record(aeron, archive)
        times = [_first_byte(archive, recording_id, position) for _ in range(WARM_UP + ROUNDS)]
    return times[WARM_UP:]


def _record(aeron: Aeron, archive: AeronArchive) -> tuple[int, int]:
    with aeron.add_exclusive_publication(CHANNEL, STREAM_ID) as publication:
        archive.start_recording(f"{CHANNEL}?session-id={publication.session_id}", STREAM_ID)
        publication.wait_connected(PATIENCE_S, writable=True)
        for _ in range(MESSAGES):
            until("room", lambda: publication.offer(bytes(LENGTH)) > 0)
        found = [each.recording_id for each in archive.recordings(stream_id=STREAM_ID)]
        counter = archive.recording_position_counter(found[-1])
        if counter is None:
            raise BenchmarkFailedError(f"recording {found[-1]} has no position counter")
        position = publication.position
        until("recording", lambda: counter.value >= position)
        archive.stop_recording(f"{CHANNEL}?session-id={publication.session_id}", STREAM_ID)
    return found[-1], position


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
