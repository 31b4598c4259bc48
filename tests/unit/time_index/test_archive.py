"""The index of a running archive: kept, asked for, cut, and let go of with its recording."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import pytest
from live_archive import CHANNEL, STREAM_ID, archiving, until
from shared_memory import memory_folder

from aerolog.archive.client import AeronArchive
from aerolog.archive.client.aeron_archive import AsyncAeronArchive
from aerolog.archive.time_index import TimeIndex
from aerolog.transport.client import Aeron
from aerolog.transport.errors import ArchiveError, ArchiveErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CLIENT = {
    "request_channel": "aeron:ipc?term-length=64k",
    "response_channel": "aeron:ipc?term-length=64k",
}
S = 1_000_000_000
# Longer than what passes for a pause with the recorder, 10 ms.
PAUSE_NS = 30_000_000


def pass_time() -> None:
    """Long enough for a pause."""
    after = time.time_ns() + PAUSE_NS
    until(lambda: time.time_ns() > after, "a pause to be long enough")


class Running:
    """An archive in this process, with a client."""

    def __init__(self, home: Path, archive_dir: Path, *more: str) -> None:
        self.archive_dir = archive_dir
        self.driver = archiving(home, archive_dir, *more)
        self.aeron = Aeron(str(home))
        self.archive = AeronArchive(self.aeron, **CLIENT)

    def record(self, channel: str, *groups: int) -> tuple[list[int], list[int]]:
        """Record groups of messages; the times before and between them, and their positions."""
        times, positions = [time.time_ns()], []
        with self.aeron.add_exclusive_publication(channel, STREAM_ID) as publication:
            until(lambda: publication.is_connected, "the archive to record")
            for count in groups:
                positions.append(publication.position)
                for _ in range(count):
                    until(lambda: publication.offer(bytes(96)) > 0, "room for a message")
                until(
                    lambda: self.recorded() == publication.position, "the messages to be recorded"
                )
                pass_time()
                times.append(time.time_ns())
            positions.append(publication.position)
            self.archive.stop_recording(CHANNEL, STREAM_ID)
        until(lambda: self.archive.stop_position(0) == positions[-1], "the recording to end")
        return times, positions

    def recorded(self) -> int | None:
        """Position of recording 0, None while there is none."""
        if self.archive.list_recording(0) is None:
            return None
        return self.archive.recording_position(0)

    def close(self) -> None:
        """End all of it."""
        self.archive.close()
        self.aeron.close()
        self.driver.close()


@pytest.fixture
def home() -> Iterator[Path]:
    with memory_folder() as found:
        yield found / "driver"


@pytest.fixture
def running(home: Path, tmp_path: Path) -> Iterator[Running]:
    found = Running(home, tmp_path / "archive")
    yield found
    found.close()


def check_found(running: Running, times: list[int], positions: list[int]) -> None:
    """Each time between groups finds the place between them."""
    find, find_end = running.archive.find_position, running.archive.find_end_position
    for time_ns, position in zip(times, positions, strict=True):
        assert find(0, time_ns) <= position <= find_end(0, time_ns)
    for position, before, after in zip(positions[:-1], times[:-1], times[1:], strict=True):
        assert before <= running.archive.find_time(0, position) <= after


def test_a_recording_is_found_by_time_while_it_runs_and_after(running) -> None:
    running.archive.start_recording(CHANNEL, STREAM_ID)
    times, positions = running.record(CHANNEL, 5, 3, 400)
    check_found(running, times, positions)
    # Pauses are noted at both ends: the places are exact.
    for time_ns, position in zip(times[1:-1], positions[1:-1], strict=True):
        assert running.archive.find_position(0, time_ns) == position
        assert running.archive.find_end_position(0, time_ns) == position
    sent = running.archive.time_index(0)
    with TimeIndex.open(running.archive_dir, 0) as index:
        assert (index.source, index.problems, index.check()) == ("clock", (), ())
        assert index.last_position == index.end_position == positions[-1]
        assert (sent.entries, sent.end_position) == (index.entries, positions[-1])
        for time_ns in times:
            assert sent.position_at(time_ns) == index.position_at(time_ns)
    part = running.archive.time_index(0, positions[1], positions[2])
    assert part.position_at(times[1]) == positions[1]


def test_the_same_is_awaited(running, home) -> None:
    running.archive.start_recording(CHANNEL, STREAM_ID)
    times, positions = running.record(CHANNEL, 5, 3)

    async def ask() -> tuple[int, int, int, int]:
        async with await AsyncAeronArchive.connect(running.aeron, **CLIENT) as archive:
            index = await archive.time_index(0)
            return (
                await archive.find_position(0, times[1]),
                await archive.find_end_position(0, times[1]),
                await archive.find_time(0, positions[1]),
                index.time_at(positions[1]),
            )

    start, end, found, of_index = asyncio.run(ask())
    assert start == end == positions[1]
    assert found == of_index
    assert times[1] <= found <= times[2]


def test_an_unknown_recording_is_refused(running) -> None:
    with pytest.raises(ArchiveError) as caught:
        running.archive.find_position(7, 1)
    assert caught.value.code == ArchiveErrorCode.UNKNOWN_RECORDING


def test_an_index_goes_on_with_its_recording_and_goes_away_with_it(running) -> None:
    running.archive.start_recording(CHANNEL, STREAM_ID)
    first_times, first = running.record(CHANNEL, 5)
    stop = first[-1]
    descriptor = running.archive.list_recording(0)
    channel = (
        f"aeron:ipc?term-length=64k|init-term-id={descriptor.initial_term_id}|term-offset={stop}"
        f"|term-id={descriptor.initial_term_id}"
    )
    running.archive.extend_recording(0, CHANNEL, STREAM_ID)
    times, positions = running.record(channel, 4, 2)
    assert positions[0] == stop
    check_found(running, times, positions)
    check_found(running, first_times, [0, stop])
    with TimeIndex.open(running.archive_dir, 0) as index:
        assert (index.source, index.problems) == ("clock", ())
    running.archive.truncate_recording(0, stop)
    assert running.archive.find_position(0, times[-1]) == stop
    running.archive.purge_recording(0)
    assert not running.driver.is_closed
    until(
        lambda: not (running.archive_dir / "aerolog" / "times" / "0.time").exists(),
        "the index to be removed",
    )


def test_without_the_property_there_is_no_index(home, tmp_path) -> None:
    running = Running(home, tmp_path / "archive", "aerolog.archive.time.index=false")
    try:
        running.archive.start_recording(CHANNEL, STREAM_ID)
        times, positions = running.record(CHANNEL, 3, 2)
        assert running.archive.time_index(0).source == "descriptor"
        assert running.archive.find_position(0, times[1]) == 0
        assert running.archive.find_position(0, times[-1] + S) == positions[-1]
    finally:
        running.close()
    assert not (tmp_path / "archive" / "aerolog" / "times").exists()


def test_what_belongs_to_no_recording_is_removed_at_the_start(home, tmp_path) -> None:
    path = tmp_path / "archive" / "aerolog" / "times" / "12.time"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"left")
    Running(home, tmp_path / "archive").close()
    assert not path.exists()


def test_a_file_in_the_way_costs_the_index_and_not_the_recording(home, tmp_path) -> None:
    folder = tmp_path / "archive"
    folder.mkdir()
    folder.joinpath("aerolog").write_bytes(b"in the way")
    running = Running(home, folder)
    try:
        running.archive.start_recording(CHANNEL, STREAM_ID)
        times, positions = running.record(CHANNEL, 3)
        assert running.archive.time_index(0).source == "descriptor"
        assert running.archive.find_position(0, times[0]) == 0
        assert running.archive.stop_position(0) == positions[-1]
    finally:
        running.close()
    assert folder.joinpath("aerolog").read_bytes() == b"in the way"
