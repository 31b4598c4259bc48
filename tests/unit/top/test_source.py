"""Looks at real files: drivers that live, close, come back, or never were, and an archive."""

from __future__ import annotations

import shutil
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from live_archive import CHANNEL, STREAM_ID, archiving, until
from shared_memory import memory_folder

from aerolog.archive.client import AeronArchive
from aerolog.archive.retention.holds import Holds
from aerolog.archive.verification import verify_recording
from aerolog.testing.recordings import RecordingBuilder, write_time_index
from aerolog.tools.top.live_source import LiveSource
from aerolog.tools.top.measurement import DriverState, Reading
from aerolog.tools.top.top_model import Model
from aerolog.transport.client import Aeron
from aerolog.transport.concurrent.clock import ManualClock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

MESSAGE = bytes(968)


@pytest.fixture
def aeron_dir() -> Iterator[Path]:
    with memory_folder() as home:
        yield home / "aeron"


def look_until(source: LiveSource, done: Callable[[Reading], object], what: str) -> Reading:
    """Looks again and again; the reading that has what it is waited for."""
    readings: list[Reading] = []

    def seen() -> object:
        readings.append(source.look())
        return done(readings[-1])

    until(seen, what)
    return readings[-1]


def is_live(reading: Reading) -> bool:
    return reading.driver.state is DriverState.LIVE


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_streams_recordings_and_replays_are_seen_while_they_run(
    aeron_dir: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "archive"
    with (
        archiving(aeron_dir, folder),
        Aeron(aeron_dir) as aeron,
        AeronArchive(aeron) as archive,
        closing(LiveSource(aeron_dir, folder)) as source,
    ):
        archive.start_recording(CHANNEL, STREAM_ID)
        with aeron.add_exclusive_publication(CHANNEL, STREAM_ID) as publication:
            publication.wait_connected(30, writable=True)
            for _ in range(50):
                publication.send(MESSAGE, timeout=30)
            position = publication.position
            found = look_until(
                source,
                lambda reading: (
                    reading.recordings
                    and reading.recordings[0].position == position
                    and reading.recordings[0].start_position == 0
                    # Counters are written one after the other, and the publisher's is a sample.
                    and reading.archive
                    and reading.archive.recorded_bytes == position
                    and position in {s.publisher.position for s in reading.streams if s.publisher}
                    and all(sum(one.counts) > 0 for one in reading.cycles)
                ),
                "the recording with what its catalog says",
            )
            assert [one.recording_id for one in found.recordings] == [0]
            assert found.recordings[0].stream_id == STREAM_ID
            assert found.driver.state is DriverState.LIVE
            assert [one.agent for one in found.cycles] == ["Conductor", "Sender", "Receiver"]
            assert all(sum(one.counts) > 0 for one in found.cycles)
            published = [one for one in found.streams if one.stream_id == STREAM_ID]
            assert [one.publisher.position for one in published if one.publisher] == [position]
            assert [one.recording_id for one in published[0].recordings] == [0]
            assert found.archive is not None
            assert (found.archive.state, found.archive.trouble) == ("archive live", "")
            assert found.archive.recorded_bytes == position
            assert 0 < found.archive.disk_free < found.archive.disk_size
        until(lambda: archive.stop_position(0) is not None, "the recording's end")
        with aeron.add_subscription("aeron:ipc?term-length=64k", STREAM_ID + 1):
            archive.start_replay(0, "aeron:ipc", STREAM_ID + 1)
            found = look_until(
                source,
                lambda reading: (
                    not reading.recordings and [one.limit for one in reading.replays] == [position]
                ),
                "the replay with the end of its recording",
            )
            until(lambda: source.look().stopped, "the recording among those that have stopped")
            [stopped] = source.look().stopped
            assert (stopped.recording_id, stopped.position) == (0, position)
            assert (stopped.start_position, stopped.channel) == (0, CHANNEL.partition("?")[0])
        (replay,) = found.replays
        assert (replay.recording_id, replay.start_position, replay.live) == (0, 0, False)
        assert 0 <= replay.position <= position


def test_a_driver_that_closes_is_told_and_the_next_one_followed(
    aeron_dir: Path, tmp_path: Path
) -> None:
    model = Model()
    with closing(LiveSource(aeron_dir)) as source:
        absent = source.look()
        assert absent.driver.state is DriverState.ABSENT
        assert "no such directory" in absent.driver.trouble
        with archiving(aeron_dir, tmp_path / "one", "aeron.dir.delete.on.shutdown=false"):
            first = look_until(source, is_live, "the first driver")
            model.update(first)
        closed = source.look()
        model.update(closed)
        assert closed.driver.state is DriverState.CLOSED
        assert closed.driver.incarnation == first.driver.incarnation
        assert model.notice.endswith("has closed")
        with archiving(aeron_dir, tmp_path / "two"):
            second = look_until(source, is_live, "the second driver")
            model.update(second)
            assert second.driver.start_ms > first.driver.start_ms
            assert model.notice.startswith("another driver")
        shutil.rmtree(aeron_dir, ignore_errors=True)
        assert source.look().driver.state is DriverState.ABSENT


def test_an_old_heartbeat_is_silence(aeron_dir: Path, tmp_path: Path) -> None:
    left_behind = tmp_path / "left-behind"
    left_behind.mkdir()
    with archiving(aeron_dir, tmp_path / "archive"):
        shutil.copyfile(aeron_dir / "cnc.dat", left_behind / "cnc.dat")
    clock = ManualClock()
    with closing(LiveSource(left_behind, clock=clock)) as source:
        began_ms = source.look().driver.start_ms
        clock.step_epoch_ms(began_ms + 60_000 - clock.now_epoch_ms())
        found = source.look().driver
    assert found.state is DriverState.SILENT
    assert 0 < found.heartbeat_age_ms <= 60_000


@pytest.mark.parametrize("content", [None, b"", bytes(99), b"\xff" * 9_999])
def test_a_driver_without_histograms_is_seen_all_the_same(
    aeron_dir: Path, tmp_path: Path, content: bytes | None
) -> None:
    with archiving(aeron_dir, tmp_path / "archive"):
        (aeron_dir / "aerolog-cycles.dat").unlink()
        if content is not None:
            (aeron_dir / "aerolog-cycles.dat").write_bytes(content)
        with closing(LiveSource(aeron_dir)) as source:
            assert look_until(source, is_live, "the driver").cycles == []


@pytest.mark.parametrize("content", [b"", b"\0" * 4096, b"\xff" * 4096, b"garbage" * 999])
def test_garbage_in_place_of_a_driver_is_told(aeron_dir: Path, content: bytes) -> None:
    aeron_dir.mkdir()
    (aeron_dir / "cnc.dat").write_bytes(content)
    with closing(LiveSource(aeron_dir)) as source:
        for _ in range(2):
            found = source.look().driver
            assert found.state is DriverState.ABSENT
            assert "cnc.dat" in found.trouble
            assert "\n" not in found.trouble


def test_an_archive_folder_that_goes_is_told_beside_the_driver(
    aeron_dir: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "archive"
    with archiving(aeron_dir, folder), closing(LiveSource(aeron_dir, tmp_path / "no")) as source:
        found = look_until(
            source, lambda reading: reading.archive and reading.archive.trouble, "the trouble"
        )
        assert found.driver.state is DriverState.LIVE
        assert found.archive is not None
        assert str(tmp_path / "no") in found.archive.trouble


def test_what_lies_beside_recordings_is_told(aeron_dir: Path, tmp_path: Path) -> None:
    folder = tmp_path / "archive"
    with archiving(aeron_dir, folder, "aeron.dir.delete.on.shutdown=false"):
        pass
    builder = RecordingBuilder()
    builder.add(bytes(1000))
    recording_id = builder.write(folder)
    write_time_index(folder, recording_id, [(1_700_000_000_000_000_000, 0)])
    assert verify_recording(folder, recording_id, note=True) == []
    Holds.open(folder).add(recording_id, "audit")
    with closing(LiveSource(aeron_dir, folder)) as source:
        found = look_until(
            source, lambda reading: reading.archive and reading.archive.index, "the folder"
        ).archive

    assert found is not None
    assert (found.index, found.health, found.is_sound) == ("1/1", "1 sound", True)
    assert (found.retention, found.has_failed) == ("never ran, 1 held", False)


def test_looking_changes_nothing(aeron_dir: Path, tmp_path: Path) -> None:
    folder = tmp_path / "archive"
    with archiving(aeron_dir, folder, "aeron.dir.delete.on.shutdown=false"):
        pass
    before = files_of(aeron_dir), files_of(folder)
    with closing(LiveSource(aeron_dir, folder)) as source:
        look_until(
            source,
            lambda reading: reading.archive and reading.archive.state == "archive not running",
            "the archive's state",
        )
    assert (files_of(aeron_dir), files_of(folder)) == before
