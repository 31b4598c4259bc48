"""Replay by time from a folder."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from timed_recordings import MS, START_NS, Made, make

from aerolog.archive.client.replay.timed_replay import AsyncTimedReplay, TimedReplay
from aerolog.archive.format.archive_folder import ArchiveFolder
from aerolog.testing.recordings import RecordingBuilder, write_time_index
from aerolog.transport.errors import ArchiveError, ConfigurationError

if TYPE_CHECKING:
    from pathlib import Path


def replayed(made: Made, *args: int | datetime | None, **more: object) -> list[bytes]:
    with TimedReplay(made.folder, made.recording_id, *args, speed=None, **more) as replay:  # type: ignore[arg-type, misc]
        return [message.payload for message in replay]


def test_all_messages_come_with_their_times_and_positions(made: Made) -> None:
    with TimedReplay(made.folder, made.recording_id, speed=None) as replay:
        messages = list(replay)

        assert [message.payload for message in messages] == made.payloads
        assert [message.time_ns for message in messages] == [time for time, _ in made.entries]
        assert {message.recording_id for message in messages} == {made.recording_id}
        assert {(message.session_id, message.stream_id) for message in messages} == {(1001, 10)}
        assert replay.notes == ()
        assert messages[1].time == datetime.fromtimestamp(1_700_000_000.001, UTC)


@pytest.mark.parametrize(("first", "limit"), [(0, 300), (7, 8), (8, 57), (56, 59), (299, 300)])
def test_a_range_of_times_has_the_messages_of_it(made: Made, first: int, limit: int) -> None:
    start, end = START_NS + first * MS, START_NS + limit * MS

    assert replayed(made, start, end) == made.payloads[first:limit]
    assert replayed(made, start - 1, end - 1) == made.payloads[first:limit]
    assert replayed(made, start + 1, end + 1) == made.payloads[first + 1 : limit + 1]


def test_datetimes_are_utc_unless_they_name_a_zone(made: Made) -> None:
    start = datetime.fromtimestamp(1_700_000_000.29, UTC)

    assert replayed(made, start) == made.payloads[290:]
    assert replayed(made, start.replace(tzinfo=None)) == made.payloads[290:]


def test_a_range_before_or_behind_the_recording_is_empty(made: Made) -> None:
    assert replayed(made, START_NS - 5, START_NS) == []
    assert replayed(made, START_NS + 10**12) == []


def test_positions_and_lengths_are_bounds_too(made: Made) -> None:
    begin = made.entries[10][1]

    assert replayed(made, position=begin) == made.payloads[10:]
    assert (
        replayed(made, position=begin, length=made.entries[20][1] - begin) == (made.payloads[10:20])
    )


def test_a_length_counts_from_the_time_too(made: Made) -> None:
    length = made.entries[110][1] - made.entries[100][1]

    assert replayed(made, START_NS + 100 * MS, length=length) == made.payloads[100:110]


@pytest.mark.parametrize("rebuilt", [False, True])
def test_where_times_are_estimates_nothing_is_left_out_and_that_is_said(
    tmp_path: Path, rebuilt: bool
) -> None:
    made = make(tmp_path, index=rebuilt, rebuilt=rebuilt)
    with TimedReplay(
        tmp_path, made.recording_id, START_NS + 1, START_NS + 2 * MS, speed=None
    ) as replay:
        messages = [message.payload for message in replay]

        assert messages == made.payloads if not rebuilt else made.payloads[1] in messages
        assert ("estimates" if rebuilt else "no time index") in replay.notes[0]


def test_without_an_index_the_times_are_spread_over_the_recording(tmp_path: Path) -> None:
    made = make(tmp_path, index=False)
    with TimedReplay(tmp_path, made.recording_id, speed=None) as replay:
        times = [message.time_ns for message in replay]

    assert times == sorted(times)
    assert times[0] == START_NS
    assert times[-1] <= START_NS + 1001 * MS


def test_a_clock_that_went_back_loses_no_message_and_is_told(tmp_path: Path) -> None:
    builder = RecordingBuilder()
    hours = [0, 1, 2, 1, 2, 3]  # back by an hour after the third
    entries, payloads = [], []
    for number, hour in enumerate(hours):
        begin = builder.position
        builder.add(b"%d" % number)
        entries.append((START_NS + hour * MS, begin))
        payloads.append(b"%d" % number)
    recording_id = builder.write(tmp_path)
    write_time_index(tmp_path, recording_id, entries)
    made = Made(tmp_path, recording_id, entries, payloads)

    for hour in range(4):
        start = START_NS + hour * MS
        wanted = [payloads[number] for number, one in enumerate(hours) if one == hour]
        assert replayed(made, start, start + 1) == wanted
    with TimedReplay(tmp_path, recording_id, speed=None) as replay:
        assert [message.payload for message in replay] == payloads
        assert "went back 1 times" in replay.notes[0]


def test_a_folder_that_is_open_stays_open(made: Made) -> None:
    with ArchiveFolder(made.folder) as folder:
        for _ in range(2):
            with TimedReplay(folder, made.recording_id, speed=None) as replay:
                assert len(list(replay)) == len(made.payloads)


def test_what_does_not_go_together_is_refused(made: Made) -> None:
    for wanted in (
        {"start": 5, "position": 0},
        {"end": 5, "length": 64},
        {"start": 5, "end": 5},
        {"length": 0},
        {"speed": 0.0},
        {"speed": -1.0},
        {"speed": float("nan")},
    ):
        with pytest.raises(ConfigurationError):
            TimedReplay(made.folder, made.recording_id, **wanted)


def test_what_is_not_there_is_an_error_of_the_iteration(made: Made) -> None:
    with TimedReplay(made.folder, 9, speed=None) as unknown, pytest.raises(ArchiveError):
        list(unknown)
    with (
        TimedReplay(made.folder, made.recording_id, position=10**9, speed=None) as outside,
        pytest.raises(ConfigurationError, match="outside the recording"),
    ):
        list(outside)


async def test_asyncio_gives_the_same(made: Made) -> None:
    start, end = START_NS + 7 * MS, START_NS + 60 * MS
    async with AsyncTimedReplay(made.folder, made.recording_id, start, end, speed=50.0) as replay:
        assert [message.payload async for message in replay] == made.payloads[7:60]


def test_the_last_part_is_counted_from_the_end(made: Made) -> None:
    end = START_NS + 100 * MS

    assert replayed(made, None, end, last_ns=10 * MS) == made.payloads[90:100]
    # It stopped 1,001 ms after its start.
    assert replayed(made, last_ns=(1001 - 290) * MS) == made.payloads[290:]
    with pytest.raises(ConfigurationError):
        TimedReplay(made.folder, made.recording_id, START_NS, last_ns=5)


def test_what_is_due_together_comes_in_one_list(made: Made) -> None:
    with TimedReplay(made.folder, made.recording_id, speed=None) as replay:
        lists = list(replay.batches())

    assert [message.payload for part in lists for message in part] == made.payloads
    assert len(lists) < len(made.payloads)
