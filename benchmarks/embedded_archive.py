"""An archiving driver in this process: a stream recorded and replayed as fast as it goes."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from aerolog.archive.client import AeronArchive
from aerolog.archive.service import ArchivingMediaDriver
from aerolog.transport.client import Aeron
from aerolog.transport.concurrent.idle import idle_strategy
from aerolog.transport.protocol.fixed_layout import align
from aerolog.transport.protocol.frames import DATA_HEADER_LENGTH, FRAME_ALIGNMENT
from benchmarks.durations import until
from benchmarks.folders import memory_folder, temporary_folder
from benchmarks.loop_threads import CONNECT_S, running
from benchmarks.native_loops import native
from benchmarks.result import BenchmarkFailedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aerolog.archive.client import RecordingPosition
    from aerolog.transport.client import ExclusivePublication

MEGABYTE = 1024 * 1024
_REPLAY_CHANNEL, _REPLAY_STREAM_ID = "aeron:ipc", 2033
_REPLAY_S = 120.0


def frame_length(length: int) -> int:
    """Bytes of a log that a message takes which fits in one frame."""
    return align(DATA_HEADER_LENGTH + length, FRAME_ALIGNMENT)


@contextmanager
def embedded_archive(archive_dir: str, **archive_options: Any) -> Iterator[AeronArchive]:
    """A client of an archiving driver with the default threads, driver in shared memory."""
    with (
        temporary_folder(memory_folder()) as memory,
        ArchivingMediaDriver(
            f"{memory}/aeron",
            archive_dir,
            archive_options={"control_channel_enabled": False, **archive_options},
        ) as both,
        Aeron(both.aeron_dir) as aeron,
        AeronArchive(aeron) as archive,
    ):
        yield archive


@contextmanager
def recorded_publication(
    archive: AeronArchive, channel: str, stream_id: int
) -> Iterator[tuple[ExclusivePublication, RecordingPosition]]:
    """An exclusive publication and the position of its recording, which ends with the block."""
    with archive.add_recorded_exclusive_publication(channel, stream_id) as publication:
        publication.wait_connected(CONNECT_S, writable=True)
        found: list[int] = []

        def appeared() -> bool:
            found.extend(
                each.recording_id
                for each in archive.recordings(stream_id=stream_id)
                if each.session_id == publication.session_id
            )
            return bool(found)

        until("the recording's start", appeared)
        yield publication, recorded_position(archive, found[-1])
        archive.stop_recording_of(publication)


def recorded_position(archive: AeronArchive, recording_id: int) -> RecordingPosition:
    """The position of an active recording.

    Raises:
        BenchmarkFailedError: it has none.
    """
    counter = archive.recording_position_counter(recording_id)
    if counter is None:
        raise BenchmarkFailedError(f"recording {recording_id} has no position counter")
    return counter


def record_messages(
    archive: AeronArchive, channel: str, stream_id: int, length: int, messages: int
) -> tuple[float, int, int]:
    """Seconds from the first offer until all is recorded, recording id and last position."""
    loops = native("loops")
    with recorded_publication(archive, channel, stream_id) as (publication, recorded):
        publisher = loops.Publisher(publication, length, idle_strategy("backoff"))
        start = time.perf_counter()
        publisher.run(messages)
        position = publication.position
        until("recording", lambda: recorded.value >= position)
        elapsed = time.perf_counter() - start
    return elapsed, recorded.recording_id, position


def replay_messages(
    archive: AeronArchive,
    recording_id: int,
    position: int,
    length: int,
    messages: int,
    fragment_limit: int,
) -> float:
    """Seconds of a whole replay, request and connection included.

    Raises:
        BenchmarkFailedError: messages are missing or out of order.
    """
    loops = native("loops")
    start = time.perf_counter()
    with archive.replay(
        recording_id, 0, position, channel=_REPLAY_CHANNEL, stream_id=_REPLAY_STREAM_ID
    ) as subscription:
        until("the replay's start", lambda: subscription.images)
        subscriber = loops.Subscriber(
            subscription.images[0], length, fragment_limit, idle_strategy("backoff")
        )
        with running(subscriber):
            until("replay", lambda: subscriber.count >= messages or subscriber.failed, _REPLAY_S)
            elapsed = time.perf_counter() - start
    if subscriber.failed or subscriber.count != messages:
        raise BenchmarkFailedError(
            f"replay of recording {recording_id}: {subscriber.count} of {messages} messages,"
            f" order {'broken' if subscriber.failed else 'kept'}"
        )
    return elapsed
