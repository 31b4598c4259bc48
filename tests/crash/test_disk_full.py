"""A disk that fills up while recording: one recording ends with an error, nothing else does."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import prerequisites
import pytest
from peer.balance import PaddedLog
from peer.servers import ServerSpec, start_ours
from peer.tools import archive_tool
from prerequisites import needs_mounts

from aerolog.archive.client import AeronArchive
from aerolog.archive.format.archive_folder import ArchiveFolder
from aerolog.archive.format.mark_file import ArchiveMarkFile
from aerolog.archive.protocol import RecordingSignal
from aerolog.archive.protocol.counter_types import ArchiveCounterType
from aerolog.transport.client import Aeron, CountersReader
from aerolog.transport.errors import ArchiveErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TERM_LENGTH, MTU = 64 * 1024, 1408
CHANNEL = f"aeron:ipc?term-length={TERM_LENGTH}|mtu={MTU}"
EARLIER, IDLE, GREEDY = 2001, 2002, 2003
ERRORS_COUNTER_TYPE = ArchiveCounterType.ERRORS
SIZE = 4 * 1024 * 1024

pytestmark = [needs_mounts, pytest.mark.error_log(""), pytest.mark.processes_end]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a file system of four megabytes."""
    with prerequisites.small_disk(tmp_path / "disk", SIZE) as mount:
        yield mount


def error_count(aeron_dir: str) -> int:
    (counter,) = [c for c in CountersReader(aeron_dir).infos() if c.type_id == ERRORS_COUNTER_TYPE]
    return counter.value


def free_bytes(folder: Path) -> int:
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


@pytest.mark.parametrize("mode", ["DEDICATED", "SHARED"])
def test_a_full_disk_ends_the_recording_that_needs_space(
    aeron_dir: Path, small_disk: Path, streams, mode: str
) -> None:
    driver = start_ours(ServerSpec("driver", aeron_dir))
    properties = {
        "aeron.archive.threading.mode": mode,
        "aeron.archive.low.storage.space.threshold": "0",
    }
    server = start_ours(ServerSpec("archive", aeron_dir, small_disk / "archive", properties))
    errors: list[BaseException] = []
    try:
        with (
            Aeron(str(aeron_dir)) as aeron,
            AeronArchive(aeron, on_error=errors.append) as archive,
        ):
            whole = record_earlier(aeron, archive, streams)
            archive.start_recording(CHANNEL, IDLE)
            archive.start_recording(CHANNEL, GREEDY)
            idle = aeron.add_exclusive_publication(CHANNEL, IDLE)
            streams.wait(lambda: archive.list_recording(1), "the idle recording to begin")
            greedy = aeron.add_exclusive_publication(CHANNEL, GREEDY)
            streams.wait(lambda: archive.list_recording(2), "the greedy recording to begin")
            idle.send(b"before")
            streams.wait(lambda: archive.recording_position(1) == 64, "the idle recording")
            counted = error_count(str(aeron_dir))
            filler = small_disk / "filler"
            filler.write_bytes(bytes(free_bytes(small_disk) - 400_000))
            # What it may fill: the pages that are left, and those that its file has already. Of
            # the padding at the end of a term only the header is written.
            room = free_bytes(small_disk)
            for path in (small_disk / "archive").glob("2-*.rec"):
                room += path.stat().st_blocks * 512
            publisher = streams.publish(greedy, 3)
            streams.wait(lambda: archive.stop_position(2) is not None, "the greedy recording's end")
            publisher.stop()
            stop = archive.stop_position(2)
            assert stop is not None
            assert 0 < stop - padding_before(stop, 3, streams) <= room
            check_answers(archive, errors, stop, streams)
            streams.wait(lambda: error_count(str(aeron_dir)) == counted + 1, "the error to count")
            # The others: a replay of what is there, a recording that goes on when there is room.
            assert replay_of(archive, 0, len(whole), streams) == whole
            filler.unlink()
            end = idle.send(b"after")
            streams.wait(lambda: archive.recording_position(1) == end, "the idle recording")
            archive.stop_recording(CHANNEL, IDLE)
            archive.start_recording(CHANNEL, GREEDY + 1)
            late = aeron.add_exclusive_publication(CHANNEL, GREEDY + 1)
            streams.wait(lambda: archive.list_recording(3), "the late recording to begin")
            end = [late.send(streams.message(4, index)) for index in range(60)][-1]
            streams.wait(lambda: archive.recording_position(3) == end, "the late recording")
            for publication in (idle, greedy, late):
                publication.close()
    finally:
        codes = [server.process.stop(), driver.process.stop()]
    assert codes == [0, 0]
    check_folder(small_disk / "archive", whole, stop, publisher.positions, streams)
    output = archive_tool(small_disk / "archive", "verify", "-a")
    assert output.count(") OK") == 4, output


def padding_before(position: int, seed: int, streams) -> int:
    """Bytes of padding in a log of seeded messages, up to a position."""
    log = PaddedLog(TERM_LENGTH, MTU)
    index = 0
    while log.position < position:
        log.append(len(streams.message(seed, index)))
        index += 1
    return log.padding


def record_earlier(aeron, archive, streams) -> list[bytes]:
    """A recording that is complete before the disk fills."""
    whole = [streams.message(1, index) for index in range(50)]
    archive.start_recording(CHANNEL, EARLIER)
    with aeron.add_exclusive_publication(CHANNEL, EARLIER) as publication:
        streams.wait(lambda: archive.list_recording(0), "the first recording to begin")
        end = [publication.send(message) for message in whole][-1]
        streams.wait(lambda: archive.recording_position(0) == end, "the first recording")
        archive.stop_recording(CHANNEL, EARLIER)
    streams.wait(lambda: archive.stop_position(0) == end, "the first recording's end")
    return whole


def check_answers(archive, errors, stop: int, streams) -> None:
    """The client hears the reference's error, then the signal."""
    signals = []
    streams.wait(
        lambda: (
            signals.extend(archive.poll_signals())
            or any(s.signal == RecordingSignal.STOP and s.recording_id == 2 for s in signals)
        ),
        "the signal",
    )
    (stopped,) = [s for s in signals if s.signal == RecordingSignal.STOP and s.recording_id == 2]
    assert stopped.position == stop
    (error,) = errors
    assert error.code == ArchiveErrorCode.STORAGE_SPACE
    assert error.message == "java.io.IOException - No space left on device"


def replay_of(archive, recording_id: int, count: int, streams) -> list[bytes]:
    payloads: list[bytes] = []
    with archive.replay(recording_id, channel="aeron:ipc", stream_id=99) as subscription:
        streams.wait(
            lambda: (
                payloads.extend(m.data for m in subscription.poll_messages(100))
                or len(payloads) >= count
            ),
            f"{count} replayed messages",
        )
    return payloads


def check_folder(
    folder_path: Path, whole: list[bytes], stop: int, positions: list[int], streams
) -> None:
    """Everything up to the stop positions is there, and the error log says what happened."""
    with ArchiveFolder(folder_path) as folder:
        assert [m.payload for m in folder.recording(0).messages()] == whole
        assert [m.payload for m in folder.recording(1).messages()] == [b"before", b"after"]
        greedy = list(folder.recording(2).messages())
    published = [position for position in positions if position <= stop]
    assert [m.position for m in greedy] == published
    assert [m.payload for m in greedy] == [streams.message(3, i) for i in range(len(greedy))]
    logged = [error.text for error in ArchiveMarkFile.open(folder_path).errors()]
    assert any("No space left on device" in text for text in logged)
