"""Replay by time by a running archive, with the index that it keeps."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import pytest
from live_archive import CHANNEL, STREAM_ID, archiving, until
from shared_memory import memory_folder

from aerolog.archive.client import AeronArchive, AsyncAeronArchive
from aerolog.archive.client.replay.channel_replay import ChannelReplay
from aerolog.archive.client.replay.timed_replay import AsyncTimedReplay, TimedReplay
from aerolog.transport.client import Aeron
from aerolog.transport.errors import ArchiveError, ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from aerolog.transport.client.message import Message

REPLAY_STREAM_ID = 78
COUNT = 40
PATIENCE_S = 30.0
SECOND = 1_000_000_000


class Live:
    """A running archive with one recording, a message every few milliseconds.

    Attributes:
        aeron: client of the driver.
        archive: client of the archive.
        recording_id: of the recording.
        payloads: of its messages.
        offered: before and after when each was sent, epoch nanoseconds.
    """

    def __init__(self, aeron: Aeron, archive: AeronArchive) -> None:
        self.aeron = aeron
        self.archive = archive
        self.payloads: list[bytes] = []
        self.offered: list[tuple[int, int]] = []
        self.publication = aeron.add_exclusive_publication(CHANNEL, STREAM_ID)
        archive.start_recording(CHANNEL, STREAM_ID)
        self.publication.wait_connected(PATIENCE_S, writable=True)
        found: list[int] = []

        def is_known() -> bool:
            found[:] = [one.recording_id for one in archive.recordings(stream_id=STREAM_ID)]
            return bool(found)

        until(is_known)
        self.recording_id = found[0]

    def send(self, count: int = COUNT, pause_s: float = 0.003) -> None:
        """Send messages and wait until they are recorded."""
        for _ in range(count):
            payload = b"%06d" % len(self.payloads) * 20
            before = time.time_ns()
            until(partial(self.is_offered, payload))
            until(self.is_recorded)
            self.offered.append((before, time.time_ns()))
            self.payloads.append(payload)
            time.sleep(pause_s)  # the recording's own pace: nothing is waited for

    def is_offered(self, payload: bytes) -> bool:
        return self.publication.offer(payload) > 0

    def is_recorded(self) -> bool:
        return self.archive.max_recorded_position(self.recording_id) == self.publication.position

    def stop(self) -> None:
        """End the recording, and wait until its index is there."""
        self.archive.stop_recording(CHANNEL, STREAM_ID)
        until(lambda: self.archive.stop_position(self.recording_id) is not None)
        until(lambda: self.archive.time_index(self.recording_id).entries > 1)


@contextmanager
def running(tmp_path: Path) -> Iterator[Live]:
    with (
        memory_folder() as home,
        archiving(home / "aeron", tmp_path / "archive"),
        Aeron(home / "aeron") as aeron,
        AeronArchive(aeron) as archive,
    ):
        yield Live(aeron, archive)


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A stopped recording in a running archive."""
    with running(tmp_path_factory.mktemp("archive")) as live:
        live.send()
        live.stop()
        yield live


def test_messages_have_the_time_at_which_they_were_recorded(live: Live) -> None:
    with TimedReplay(live.archive, live.recording_id, speed=None) as replay:
        messages = list(replay)

        assert [message.payload for message in messages] == live.payloads
        assert replay.has_index
        assert replay.notes == ()
    times = [message.time_ns for message in messages]
    assert times == sorted(times)
    assert live.offered[0][0] - SECOND <= times[0]
    assert times[-1] <= live.offered[-1][1] + SECOND


def test_a_range_of_times_has_the_messages_with_times_of_it(live: Live) -> None:
    with TimedReplay(live.archive, live.recording_id, speed=None) as replay:
        times = [message.time_ns for message in replay]
    start, end = times[10], times[30]
    with TimedReplay(live.archive, live.recording_id, start, end, speed=None) as replay:
        found = [message.time_ns for message in replay]

    assert found == [time_ns for time_ns in times if start <= time_ns < end]
    assert found


def test_a_range_of_times_after_the_last_message_is_empty(live: Live) -> None:
    with TimedReplay(live.archive, live.recording_id, speed=None) as replay:
        last = max(message.time_ns for message in replay)

    for start, end in [(last + 3600 * SECOND, None), (last + 3600 * SECOND, last + 7200 * SECOND)]:
        with TimedReplay(live.archive, live.recording_id, start, end, speed=None) as replay:
            assert list(replay) == []


def test_the_pace_is_that_of_the_times(live: Live) -> None:
    due, times = [], []
    with TimedReplay(live.archive, live.recording_id, speed=20.0) as replay:
        for message in replay:
            due.append(replay.pacer.due_ns)
            times.append(message.time_ns)

    for one, time_ns in zip(due, times, strict=True):
        assert one - due[0] == pytest.approx((time_ns - times[0]) / 20, abs=2)


def test_a_replay_may_be_stopped_by_another_thread(live: Live) -> None:
    with TimedReplay(live.archive, live.recording_id, speed=1e-6) as replay:
        iterator = iter(replay)
        next(iterator)
        stopper = threading.Timer(0.01, replay.stop)
        stopper.start()
        assert list(iterator) == []
        stopper.join(PATIENCE_S)


def test_after_a_replay_that_was_left_the_archive_goes_on(live: Live) -> None:
    for _ in range(3):
        with TimedReplay(live.archive, live.recording_id, speed=None) as replay:
            next(iter(replay))
    assert list(live.archive.read(live.recording_id))


def test_an_unknown_recording_is_an_error_of_the_archive(live: Live) -> None:
    with (
        TimedReplay(live.archive, 99, 1, 2, speed=None) as replay,
        pytest.raises(ArchiveError, match="99"),
    ):
        list(replay)


async def test_asyncio_gives_the_same(live: Live) -> None:
    async with (
        await AsyncAeronArchive.connect(live.aeron) as archive,
        AsyncTimedReplay(archive, live.recording_id, speed=1000.0) as replay,
    ):
        assert [message.payload async for message in replay] == live.payloads


def received(live: Live, replay: ChannelReplay, control: list[float | None]) -> list[bytes]:
    """What a subscriber gets while a replay runs at one speed after the other."""
    found: list[Message] = []
    with live.aeron.add_subscription("aeron:ipc", REPLAY_STREAM_ID) as subscription:
        end = replay.begin().end_position
        assert end is not None

        def look() -> bool:
            # Replays of other tests may still be there.
            new = subscription.poll_messages(100)
            found.extend(one for one in new if one.session_id == replay.session_id)
            if found and control:
                replay.speed = control.pop(0)
            return False

        assert replay.run(look)
        until(lambda: look() or (found and found[-1].position >= end))
    return [message.data for message in found]


def test_onto_a_channel_the_archive_replays_what_lies_in_the_range(live: Live) -> None:
    with TimedReplay(live.archive, live.recording_id, speed=None) as replay:
        times = [message.time_ns for message in replay]
    with ChannelReplay(
        live.archive, live.recording_id, "aeron:ipc", REPLAY_STREAM_ID, times[10], times[30], 2.0
    ) as paced:
        found = received(live, paced, [])
        first, last = live.payloads.index(found[0]), live.payloads.index(found[-1])

        # The ends are entries of the index: a little more may come, nothing is missing.
        assert found == live.payloads[first : last + 1]
        assert first <= 10
        assert last >= 29


def test_onto_a_channel_nothing_comes_before_it_is_due(live: Live) -> None:
    with ChannelReplay(
        live.archive, live.recording_id, "aeron:ipc", REPLAY_STREAM_ID, speed=1e-6
    ) as paced:
        assert paced.begin().end_position is not None
        looks = 0

        def look() -> bool:
            nonlocal looks
            looks += 1
            return looks > 3

        assert not paced.run(look)
        assert paced.range is not None
        assert paced.released_position < live.publication.position


def test_onto_a_channel_the_speed_may_change_and_all_comes(live: Live) -> None:
    with ChannelReplay(
        live.archive, live.recording_id, "aeron:ipc", REPLAY_STREAM_ID, speed=1e-6
    ) as paced:
        assert received(live, paced, [1.0, None]) == live.payloads


def test_a_recording_that_goes_on_is_followed(tmp_path: Path) -> None:
    with running(tmp_path) as live:
        live.send(10)
        found = []
        with TimedReplay(live.archive, live.recording_id, speed=None, follow=True) as replay:
            for message in replay:
                found.append(message.payload)
                if len(found) == 10:
                    live.send(10)
                elif len(found) == 20:
                    live.archive.stop_recording(CHANNEL, STREAM_ID)

        assert found == live.payloads
        assert len(found) == 20


def test_a_silent_recording_is_followed_no_longer_than_asked_for(tmp_path: Path) -> None:
    with running(tmp_path) as live:
        live.send(3)
        end = live.offered[-1][1] + SECOND // 2
        with TimedReplay(
            live.archive, live.recording_id, end=end, speed=None, follow=True
        ) as replay:
            assert [message.payload for message in replay] == live.payloads


def test_without_an_index_it_is_said_and_a_channel_is_refused(tmp_path: Path) -> None:
    with (
        memory_folder() as home,
        archiving(home / "aeron", tmp_path / "archive", "aerolog.archive.time.index=false"),
        Aeron(home / "aeron") as aeron,
        AeronArchive(aeron) as archive,
    ):
        live = Live(aeron, archive)
        live.send(5)
        archive.stop_recording(CHANNEL, STREAM_ID)
        until(lambda: archive.stop_position(live.recording_id) is not None)

        with TimedReplay(archive, live.recording_id, live.offered[2][0], speed=None) as replay:
            assert [message.payload for message in replay] == live.payloads
            assert "no time index" in replay.notes[0]
            assert not replay.has_index
        with (
            ChannelReplay(archive, live.recording_id, "aeron:ipc", REPLAY_STREAM_ID) as refused,
            pytest.raises(ConfigurationError, match="no time index"),
        ):
            refused.begin()
