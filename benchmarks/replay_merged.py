"""Sixteen recordings merged in time order, beside one plain replay of as many bytes."""

from __future__ import annotations

import os
import statistics
import tempfile
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aerolog.archive.client import AeronArchive, MergedReplay
from aerolog.archive.format.archive_folder import ArchiveFolder
from aerolog.archive.service import ArchivingMediaDriver
from aerolog.transport.client import Aeron
from aerolog.transport.concurrent.idle import idle_strategy
from aerolog.transport.protocol.frames import DATA_HEADER_LENGTH, FRAME_ALIGNMENT
from benchmarks.folders import archive_folder
from benchmarks.native_loops import native
from benchmarks.result import BenchmarkFailedError, Result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

RECORDINGS = 16
CHANNEL = "aeron:ipc?term-length=1m"
STREAM_ID = 1034
REPLAY_STREAM_ID = 2034
#: Bytes of frames of the plain recording, and of the others together.
DATA_BYTES = int(os.environ.get("AEROLOG_BENCH_MERGED_BYTES") or 1024**3)
ROUNDS = 5
WARM_UP_ROUNDS = 1
TIMEOUT_S = 120.0
MEGABYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Made:
    """Two recordings that were made to be merged.

    Attributes:
        plain: id of the recording that has all messages.
        parts: ids of those that have a sixteenth each, recorded at the same time.
        messages: how many either recording has.
        length: bytes of each message.
        frame_bytes: the bytes of all frames of either recording.
    """

    plain: int
    parts: tuple[int, ...]
    messages: int
    length: int
    frame_bytes: int


def merged(length: int) -> list[Result]:
    """MB/s of frames: from a running archive, and from its folder when it is closed.

    Raises:
        BenchmarkFailedError: messages are missing or out of order.
    """
    suffix = "" if length == 1024 else f"-{length}"
    with (
        tempfile.TemporaryDirectory(prefix="aerolog-bench-", dir="/dev/shm") as memory,
        tempfile.TemporaryDirectory(prefix="aerolog-bench-", dir=archive_folder()) as disk,
    ):
        with (
            ArchivingMediaDriver(
                f"{memory}/aeron",
                f"{disk}/archive",
                archive_options={"control_channel_enabled": False},
            ) as both,
            Aeron(both.aeron_dir) as aeron,
            AeronArchive(aeron) as archive,
        ):
            made = _record(archive, length)
            running = _compare(
                made,
                lambda: _replay(archive, made),
                lambda: _merge(MergedReplay(archive, made.parts), made),
            )
        folder = f"{disk}/archive"
        closed = _compare(
            made,
            lambda: _scan(folder, made),
            lambda: _merge(MergedReplay(folder, made.parts), made),
        )
    name = f"replay-merged{suffix}"
    return [
        Result(name, "MB/s", *running, "one plain replay of as many bytes"),
        Result(f"{name}-folder", "MB/s", *closed, "one plain scan of as many bytes"),
    ]


def _compare(
    made: Made, plain: Callable[[], float], merge: Callable[[], float]
) -> tuple[float, float]:
    """Median rates of the merge and of the other, round by round in turns."""
    ours, theirs = [], []
    for _ in range(ROUNDS):
        theirs.append(plain())
        ours.append(merge())
    megabytes = made.frame_bytes / MEGABYTE
    return tuple(  # type: ignore[return-value]  # of two
        megabytes / statistics.median(seconds[WARM_UP_ROUNDS:]) for seconds in (ours, theirs)
    )


def _frame_length(length: int) -> int:
    return -(-(length + DATA_HEADER_LENGTH) // FRAME_ALIGNMENT) * FRAME_ALIGNMENT


def _record(archive: AeronArchive, length: int) -> Made:
    """Record all messages once in one recording, and in sixteen in turns."""
    messages = DATA_BYTES // _frame_length(length) // RECORDINGS * RECORDINGS
    ids = []
    with ExitStack() as opened:
        publications = []
        for number in range(RECORDINGS + 1):
            publication = opened.enter_context(
                archive.add_recorded_exclusive_publication(CHANNEL, STREAM_ID + number)
            )
            publication.wait_connected(10, writable=True)
            publications.append(publication)
        recorded = {one.stream_id: one.recording_id for one in archive.recordings()}
        ids = [recorded[publication.stream_id] for publication in publications]
        plain, *parts = publications
        native("loops").Publisher(plain, length, idle_strategy("backoff")).run(messages)
        data = bytearray(length)
        offers = [part.offer for part in parts]
        for number in range(messages // RECORDINGS):
            data[:8] = number.to_bytes(8, "little")
            for offer in offers:
                while offer(data) < 0:
                    time.sleep(0)
        for recording_id, publication in zip(ids, publications, strict=True):
            _until_recorded(archive, recording_id, publication.position)
    for recording_id in ids:
        _until(lambda one=recording_id: archive.stop_position(one) is not None, "the end")
    return Made(ids[0], tuple(ids[1:]), messages, length, messages * _frame_length(length))


def _until_recorded(archive: AeronArchive, recording_id: int, position: int) -> None:
    _until(lambda: (archive.max_recorded_position(recording_id) or 0) >= position, "the recording")


def _until(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not condition():
        if time.monotonic() > deadline:
            raise BenchmarkFailedError(f"{what}: not within {TIMEOUT_S:.0f} s")
        time.sleep(0.0005)


def _replay(archive: AeronArchive, made: Made) -> float:
    """Seconds of a plain replay, request and connection included; checks count and order."""
    position = archive.stop_position(made.plain)
    begun = time.perf_counter()
    with archive.replay(
        made.plain, 0, position, channel="aeron:ipc", stream_id=REPLAY_STREAM_ID
    ) as subscription:
        _until(lambda: subscription.images, "the replay's start")
        subscriber = native("loops").Subscriber(
            subscription.images[0], made.length, 256, idle_strategy("backoff")
        )
        thread = threading.Thread(target=subscriber.run)
        thread.start()
        try:
            _until(lambda: subscriber.count >= made.messages or subscriber.failed, "the replay")
            seconds = time.perf_counter() - begun
        finally:
            subscriber.stop()
            thread.join()
    if subscriber.failed or subscriber.count != made.messages:
        raise BenchmarkFailedError(f"{subscriber.count} of {made.messages} messages")
    return seconds


def _scan(folder: str | Path, made: Made) -> float:
    """Seconds of a plain scan of position and payload."""
    begun = time.perf_counter()
    with ArchiveFolder(folder) as opened:
        rows = sum(
            batch.rows
            for batch in opened.recording(made.plain).batches(columns=("position", "payload"))
        )
    seconds = time.perf_counter() - begun
    if rows != made.messages:
        raise BenchmarkFailedError(f"{rows} of {made.messages} messages")
    return seconds


def _merge(replay: MergedReplay, made: Made) -> float:
    """Seconds of a merge into one batch that is filled again; checks count and order."""
    latest, rows, payload_bytes = 0, 0, 0
    begun = time.perf_counter()
    with replay:
        for batch in _filled(replay):
            times = batch.column("time_ns")
            if times[0] < latest:
                raise BenchmarkFailedError("messages are out of order")
            latest = times[-1]
            rows += batch.rows
            payload_bytes += batch.payload_length
    seconds = time.perf_counter() - begun
    if (rows, payload_bytes) != (made.messages, made.messages * made.length):
        raise BenchmarkFailedError(f"{rows} of {made.messages} messages")
    return seconds


def _filled(replay: MergedReplay) -> Iterator:
    return (batch for batch in replay.batches(reuse=True) if batch.rows)
