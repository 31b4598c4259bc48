"""Sixteen recordings merged in time order, beside one plain replay of as many bytes."""

from __future__ import annotations

import os
import statistics
import time
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from aerolog.archive.client import MergedReplay
from aerolog.archive.format.archive_folder import ArchiveFolder
from aerolog.transport.concurrent.idle import idle_strategy
from benchmarks.durations import until
from benchmarks.embedded_archive import MEGABYTE, embedded_archive, frame_length, replay_messages
from benchmarks.folders import archive_folder, temporary_folder
from benchmarks.native_loops import native
from benchmarks.result import BenchmarkFailedError, Result

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.archive.client import AeronArchive

RECORDINGS = 16
CHANNEL = "aeron:ipc?term-length=1m"
STREAM_ID = 1034
#: Bytes of frames of the plain recording, and of the others together.
DATA_BYTES = int(os.environ.get("AEROLOG_BENCH_MERGED_BYTES") or 1024**3)
ROUNDS = 5
WARM_UP_ROUNDS = 1
PATIENCE_S = 120.0
FRAGMENT_LIMIT = 256


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
    with temporary_folder(archive_folder()) as folder:
        with embedded_archive(folder) as archive:
            made = _record(archive, length)
            end = archive.stop_position(made.plain) or 0
            running = _compare(
                made,
                lambda: replay_messages(
                    archive, made.plain, end, length, made.messages, FRAGMENT_LIMIT
                ),
                lambda: _merge(MergedReplay(archive, made.parts), made),
            )
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


def _record(archive: AeronArchive, length: int) -> Made:
    """Record all messages once in one recording, and in sixteen in turns."""
    messages = DATA_BYTES // frame_length(length) // RECORDINGS * RECORDINGS
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
            until(
                "the recording",
                partial(_has, archive, recording_id, publication.position),
                PATIENCE_S,
            )
    until(
        "the end",
        lambda: all(archive.stop_position(one) is not None for one in ids),
        PATIENCE_S,
    )
    return Made(ids[0], tuple(ids[1:]), messages, length, messages * frame_length(length))


def _has(archive: AeronArchive, recording_id: int, position: int) -> bool:
    return (archive.max_recorded_position(recording_id) or 0) >= position


def _scan(folder: str, made: Made) -> float:
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
        for batch in replay.batches(reuse=True):
            if not batch.rows:
                continue
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
