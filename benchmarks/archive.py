"""Recording and replaying one stream through an archiving driver in this process."""

from __future__ import annotations

import socket
import statistics
import tempfile
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from aerolog.archive.client import AeronArchive
from aerolog.archive.service import ArchivingMediaDriver
from aerolog.transport.client import Aeron
from aerolog.transport.concurrent.idle import idle_strategy
from aerolog.transport.protocol.frames import DATA_HEADER_LENGTH, FRAME_ALIGNMENT
from benchmarks.folders import archive_folder
from benchmarks.java import PEER_NAME, bandwidths
from benchmarks.native_loops import native
from benchmarks.result import BenchmarkFailedError, PeerUnavailableError, Result

if TYPE_CHECKING:
    from collections.abc import Iterator

CHANNEL = "aeron:ipc"
STREAM_ID = 1033
REPLAY_STREAM_ID = 2033
# Bytes of frames in a round: so many that the first pages of a new log, which either side touches
# once, do not decide.
ROUND_BYTES = 2 * 1024 * 1024 * 1024
FRAGMENT_LIMIT = 10
ROUNDS = 5
WARM_UP_ROUNDS = 1
TIMEOUT_S = 60.0
# How often the peer is started until it has given as many figures as we have; see bandwidths.
PEER_ATTEMPTS = 4
MEGABYTE = 1024 * 1024


@contextmanager
def _archiving() -> Iterator[tuple[Aeron, AeronArchive]]:
    """A client of an archiving driver with the default threads."""
    with (
        tempfile.TemporaryDirectory(prefix="aerolog-bench-", dir="/dev/shm") as memory,
        tempfile.TemporaryDirectory(prefix="aerolog-bench-", dir=archive_folder()) as disk,
        ArchivingMediaDriver(
            f"{memory}/aeron",
            f"{disk}/archive",
            archive_options={"control_channel_enabled": False},
        ) as both,
        Aeron(both.aeron_dir) as aeron,
        AeronArchive(aeron) as archive,
    ):
        yield aeron, archive


def _until(what: str, condition: Any) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not condition():
        if time.monotonic() > deadline:
            raise BenchmarkFailedError(f"{what}: not within {TIMEOUT_S:.0f} s")
        time.sleep(0.0005)


def _frame_length(length: int) -> int:
    return (length + DATA_HEADER_LENGTH + FRAME_ALIGNMENT - 1) // FRAME_ALIGNMENT * FRAME_ALIGNMENT


def _messages(length: int) -> int:
    return ROUND_BYTES // _frame_length(length)


def _rate(length: int, elapsed: float) -> float:
    return _messages(length) * _frame_length(length) / MEGABYTE / elapsed


def _record(aeron: Aeron, archive: AeronArchive, length: int) -> tuple[float, int, int]:
    """Seconds from the first offer until all is recorded, recording id and last position."""
    loops = native("loops")
    with aeron.add_exclusive_publication(CHANNEL, STREAM_ID) as publication:
        subscription_id = archive.start_recording(
            f"{CHANNEL}?session-id={publication.session_id}", STREAM_ID
        )
        publication.wait_connected(10, writable=True)
        recording_id = _recording_of(archive, publication.session_id)
        counter = archive.recording_position_counter(recording_id)
        if counter is None:
            raise BenchmarkFailedError(f"recording {recording_id} has no position counter")
        publisher = loops.Publisher(publication, length, idle_strategy("backoff"))
        start = time.perf_counter()
        publisher.run(_messages(length))
        position = publication.position
        _until("recording", lambda: counter.value >= position)
        elapsed = time.perf_counter() - start
        archive.stop_recording_subscription(subscription_id)
    return elapsed, recording_id, position


def _recording_of(archive: AeronArchive, session_id: int) -> int:
    found: list[int] = []

    def appeared() -> bool:
        found.extend(
            each.recording_id
            for each in archive.recordings(stream_id=STREAM_ID)
            if each.session_id == session_id
        )
        return bool(found)

    _until("the recording's start", appeared)
    return found[-1]


def _replay(archive: AeronArchive, recording_id: int, position: int, length: int) -> float:
    """Seconds of a whole replay, request and connection included; checks count and order."""
    loops = native("loops")
    messages = _messages(length)
    start = time.perf_counter()
    with archive.replay(
        recording_id, 0, position, channel=CHANNEL, stream_id=REPLAY_STREAM_ID
    ) as subscription:
        _until("the replay's start", lambda: subscription.images)
        subscriber = loops.Subscriber(
            subscription.images[0], length, FRAGMENT_LIMIT, idle_strategy("backoff")
        )
        thread = threading.Thread(target=subscriber.run)
        thread.start()
        try:
            _until("replay", lambda: subscriber.count >= messages or subscriber.failed)
            elapsed = time.perf_counter() - start
        finally:
            subscriber.stop()
            thread.join()
    if subscriber.failed or subscriber.count != messages:
        raise BenchmarkFailedError(
            f"replay of recording {recording_id}: {subscriber.count} of {messages} messages,"
            f" order {'broken' if subscriber.failed else 'kept'}"
        )
    return elapsed


def _peer(name: str, length: int) -> tuple[float | None, str]:
    peer_name = PEER_NAME.format(name)
    port = _free_port()
    properties = {
        "aeron.archive.control.channel": f"aeron:udp?endpoint=localhost:{port}",
        "aeron.archive.control.response.channel": "aeron:udp?endpoint=localhost:0",
        "aeron.archive.replication.channel": "aeron:udp?endpoint=localhost:0",
        "aeron.sample.channel": CHANNEL,
        "aeron.sample.messageLength": str(length),
        "aeron.sample.messages": str(_messages(length)),
    }
    figures: list[float] = []
    try:
        for _ in range(PEER_ATTEMPTS):
            found = bandwidths(f"io.aeron.samples.archive.{name}", properties, ROUNDS)
            figures += found[WARM_UP_ROUNDS:]
            if len(figures) >= ROUNDS - WARM_UP_ROUNDS:
                break
    except PeerUnavailableError as reason:
        return None, f"{peer_name}: {reason}"
    if not figures:
        return None, f"{peer_name}: ended in its first round, {PEER_ATTEMPTS} times"
    return statistics.median(figures), peer_name


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def record(length: int) -> list[Result]:
    """MB/s from the first offer until the archive has written everything.

    Each round has a new folder, as the peer truncates its recording after each: what is gone need
    not be written back by the system, so the archive is measured and not the disk.
    """
    rates = []
    for _ in range(ROUNDS):
        with _archiving() as (aeron, archive):
            elapsed, recording_id, position = _record(aeron, archive, length)
            rates.append(_rate(length, elapsed))
            _replay(archive, recording_id, position, length)
    peer, peer_name = _peer("EmbeddedRecordingThroughput", length)
    ours = statistics.median(rates[WARM_UP_ROUNDS:])
    return [Result(f"record-{length}", "MB/s", ours, peer, peer_name)]


def replay(length: int) -> list[Result]:
    """MB/s of a whole replay, with its request and connection, as the peer measures it."""
    with _archiving() as (aeron, archive):
        _, recording_id, position = _record(aeron, archive, length)
        rates = [
            _rate(length, _replay(archive, recording_id, position, length)) for _ in range(ROUNDS)
        ]
    peer, peer_name = _peer("EmbeddedReplayThroughput", length)
    ours = statistics.median(rates[WARM_UP_ROUNDS:])
    return [Result(f"replay-{length}", "MB/s", ours, peer, peer_name)]
