"""When rows were recorded: from the time index, or from timestamps in the messages."""

from __future__ import annotations

import os
import struct
import warnings
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from aerolog.archive.format.archive_folder import ArchiveFolder
from aerolog.archive.time_index import TimeIndex
from aerolog.catalog import open_recording
from aerolog.catalog.arrow.record_times import LAG_NS_MAX, SettledTimes, index_of, settled_times
from aerolog.catalog.arrow.row_times import carried_times, first_positions, settle, to_microseconds
from aerolog.catalog.times import MissingTimesWarning, TimeSource, epoch_us
from aerolog.testing.recordings import RecordingBuilder, write_time_index
from aerolog.transport.concurrent.clock import ManualClock
from aerolog.transport.errors import ConfigurationError, FileFormatError

START = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
START_NS = 1_700_000_000_000_000_000
STAMPED = "aeron:udp?endpoint=localhost:40456|channel-rcv-ts-offset={}"


def made(folder: Path, *, stopped: bool = True, channel: str = "aeron:ipc", count: int = 40) -> int:
    """A recording of messages that carry their number as a time, in ms; every seventh none."""
    builder = RecordingBuilder(initial_term_id=-1)
    for index in range(count):
        stamp = 0 if index % 7 == 0 else START_NS + index * 1_000_000
        size = 4 if index == 3 else 3000 * (index % 3) + 16
        builder.add(struct.pack("<qq", index, stamp).ljust(size, b"x")[:size], stamp)
    builder.write(folder, stopped=stopped, channel=channel)
    return builder.position


def times(folder: Path, **options: Any) -> list[datetime | None]:
    with open_recording(folder, 0) as recording:
        found: list[datetime | None] = recording.to_arrow(**options)["record_time"].to_pylist()
    return found


def stamped(index: int) -> datetime | None:
    return None if index % 7 == 0 else START + timedelta(milliseconds=index)


def test_rows_have_times_between_the_entries_around_them(tmp_path: Path) -> None:
    end = made(tmp_path)
    write_time_index(tmp_path, 0, [(START_NS, 0), (START_NS + 500_000_000, end)])
    with open_recording(tmp_path, 0) as recording:
        rows = recording.to_arrow(columns=("position", "term_id", "term_offset", "record_time"))
    for row in rows.to_pylist():
        first = (row["term_id"] + 1) * 64 * 1024 + row["term_offset"]
        expected = START + timedelta(microseconds=500_000 * first // end)
        assert abs(row["record_time"] - expected) <= timedelta(microseconds=1)


def test_a_recording_without_an_index_has_rows_without_times(tmp_path: Path) -> None:
    made(tmp_path)
    assert set(times(tmp_path)) == {None}


def test_rows_without_times_are_told_once_for_a_folder_with_the_remedy(tmp_path: Path) -> None:
    made(tmp_path)
    made(tmp_path)
    with pytest.warns(MissingTimesWarning) as told:
        times(tmp_path)
        times(tmp_path, since=START)
        with open_recording(tmp_path, 1) as recording:
            recording.to_arrow()
    text = (
        f"recordings of {tmp_path} have no time index: record_time is null in their rows, and a"
        " range of time takes all of one or nothing; `aerolog recordings times ID --archive-dir"
        f" {tmp_path} --rebuild` makes an index, and the time source says where else times are, or"
        " none"
    )
    assert {str(one.message) for one in told} == {text}


def test_a_damaged_index_is_told(tmp_path: Path) -> None:
    end = made(tmp_path)
    path = Path(write_time_index(tmp_path, 0, [(START_NS, 0), (START_NS + 5, end)]))
    path.write_bytes(b"\xff" * len(path.read_bytes()))
    with pytest.warns(
        MissingTimesWarning,
        match=r"recording 0 of .* has a time index that cannot be used .* times 0 --archive-dir",
    ):
        assert set(times(tmp_path)) == {None}


def test_nothing_is_told_where_no_times_are_asked_for_or_all_are_there(tmp_path: Path) -> None:
    end = made(tmp_path)
    made(tmp_path, count=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", MissingTimesWarning)
        with open_recording(tmp_path, 0) as recording:
            recording.to_arrow(columns=("position", "payload"))
        times(tmp_path, time_source="none")
        times(tmp_path, time_source="reserved")
        with open_recording(tmp_path, 1) as recording:
            assert recording.to_arrow().num_rows == 0
        write_time_index(tmp_path, 0, [(START_NS, 0), (START_NS + 5, end)])
        times(tmp_path)


def test_an_index_of_another_recording_is_none(tmp_path: Path) -> None:
    made(tmp_path)
    end = made(tmp_path)
    path = write_time_index(tmp_path, 1, [(START_NS, 0), (START_NS + 5, end)])
    (tmp_path / "aerolog" / "times" / "0.time").write_bytes(Path(path).read_bytes())
    assert set(times(tmp_path)) == {None}


def test_rows_get_no_times_of_an_index_that_is_cut_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = made(tmp_path)
    path = write_time_index(tmp_path, 0, [(START_NS, 0), (START_NS + 500_000_000, end)])
    fill_times = TimeIndex.fill_times

    def cut_first(index: TimeIndex, *columns: Any) -> None:
        os.truncate(path, 0)
        fill_times(index, *columns)

    monkeypatch.setattr(TimeIndex, "fill_times", cut_first)
    with pytest.raises(FileFormatError, match=rf"{path} became shorter while it was read"):
        times(tmp_path)


@pytest.mark.parametrize("source", ["reserved", "8"])
def test_timestamps_in_messages_are_times(tmp_path: Path, source: str) -> None:
    made(tmp_path)
    expected = [stamped(index) for index in range(40)]
    if source == "8":
        expected[3] = None  # too short for one
    assert times(tmp_path, time_source=source) == expected


@pytest.mark.parametrize("place", ["reserved", "8", "-8"])
def test_the_channel_says_where_its_timestamps_are(tmp_path: Path, place: str) -> None:
    made(tmp_path, channel=STAMPED.format(place))
    expected = [stamped(index) for index in range(40)]
    if place == "8":
        expected[3] = None
    assert times(tmp_path, time_source="channel") == expected


def test_a_channel_without_timestamps_gives_none(tmp_path: Path) -> None:
    made(tmp_path)
    assert set(times(tmp_path, time_source="channel")) == {None}
    assert set(times(tmp_path, time_source="none")) == {None}


def test_where_the_receiver_writes_goes_first() -> None:
    channel = "aeron:udp?endpoint=localhost:1|channel-snd-ts-offset=0|channel-rcv-ts-offset=16"
    descriptor = RecordingBuilder().descriptor(channel=channel)
    assert TimeSource("channel").of(descriptor) == TimeSource("payload", 16)


@pytest.mark.parametrize("text", ["", "clock", "-1", "1.5", "99999999999", "²"])
def test_another_source_of_times_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="source of times"):
        TimeSource.parse(text)


@pytest.mark.parametrize("text", ["index", "channel", "reserved", "none", "24"])
def test_a_source_is_written_as_it_is_read(text: str) -> None:
    assert str(TimeSource.parse(text)) == text


def test_a_range_by_timestamps_looks_at_each_message(tmp_path: Path) -> None:
    made(tmp_path)
    options: dict[str, Any] = {
        "time_source": "reserved",
        "since": START + timedelta(milliseconds=5),
        "until": START + timedelta(milliseconds=10),
    }
    assert times(tmp_path, **options) == [stamped(index) for index in (5, 6, 8, 9)]
    with open_recording(tmp_path, 0) as recording:
        found = recording.to_arrow(columns=("payload",), **options)
    assert found.column_names == ["payload"]
    assert [value[0] for value in found["payload"].to_pylist()] == [5, 6, 8, 9]


def test_a_range_without_an_index_chooses_the_whole_recording(tmp_path: Path) -> None:
    made(tmp_path)
    assert len(times(tmp_path, since=START + timedelta(milliseconds=900))) == 40
    assert times(tmp_path, since=START + timedelta(milliseconds=1001)) == []
    assert times(tmp_path, until=START) == []


def test_a_range_reads_no_segment_outside_of_it(tmp_path: Path) -> None:
    end = made(tmp_path, count=200)
    entries = [(START_NS + at * 1000, at) for at in range(0, end, 4096)]
    write_time_index(tmp_path, 0, [*entries, (START_NS + end * 1000, end)])
    moment = START + timedelta(microseconds=70_000)
    expected = [
        one for one in times(tmp_path) if moment <= one < moment + timedelta(microseconds=9_000)
    ]
    assert expected
    for path in tmp_path.glob("*.rec"):
        if path.name != "0-65536.rec":
            path.unlink()
    found = times(tmp_path, since=moment, until=moment + timedelta(microseconds=9_000))
    assert found == expected


def test_totals_count_the_rows_that_are_given_out(tmp_path: Path) -> None:
    from aerolog.archive.format.archive_folder import ScanTotals
    from aerolog.catalog.arrow.arrow_recording import record_batches

    end = made(tmp_path)
    write_time_index(tmp_path, 0, [(START_NS, 0), (START_NS + end * 1000, end)])
    with ArchiveFolder(tmp_path) as folder:
        totals = ScanTotals(0)
        rows = list(
            record_batches(
                folder.recording(0), since=START + timedelta(microseconds=20_000), totals=totals
            )
        )
    assert 0 < totals.rows == sum(batch.num_rows for batch in rows) < 40
    assert totals.payload_bytes == sum(
        len(one) for batch in rows for one in batch["payload"].to_pylist()
    )


def test_what_was_settled_stays_when_the_index_grows(tmp_path: Path) -> None:
    end = made(tmp_path, stopped=False)
    half = end // 2 // 4096 * 4096
    write_time_index(tmp_path, 0, [(START_NS, 0), (START_NS + 1_000_000, half)])
    with ArchiveFolder(tmp_path) as folder:
        settled = settled_times(folder.recording(0))
    before = times(tmp_path, settled=settled)
    write_time_index(
        tmp_path, 0, [(START_NS, 0), (START_NS + 1_000_000, half), (START_NS + 9_000_000, end)]
    )
    assert times(tmp_path, settled=settled) == before
    assert times(tmp_path) != before
    assert SettledTimes.from_json(settled.to_json()) == settled


def test_behind_an_index_that_nobody_writes_there_are_no_times(tmp_path: Path) -> None:
    end = made(tmp_path, stopped=False)
    half = end // 2 // 4096 * 4096
    write_time_index(tmp_path, 0, [(START_NS, 0), (START_NS + 1_000_000, half)])
    found = times(tmp_path)
    assert found[0] is not None
    assert found[-1] is None
    assert None not in times(tmp_path, since=START)


def test_behind_an_index_that_is_written_times_go_up_to_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = made(tmp_path, stopped=False)
    half = end // 2 // 4096 * 4096
    write_time_index(tmp_path, 0, [(START_NS, 0), (START_NS + 1_000_000, half)])
    now = START_NS + 1_000_000 + LAG_NS_MAX
    clock = ManualClock(epoch_ms=now // 1_000_000)
    monkeypatch.setattr("aerolog.catalog.arrow.record_times.SystemClock", lambda: clock)
    found = times(tmp_path)
    assert found == sorted(one for one in found if one is not None)
    assert START + timedelta(seconds=9) < found[-1] <= START + timedelta(seconds=10, milliseconds=1)  # type: ignore[operator]


def test_behind_an_index_that_was_cut_short_times_go_up_to_the_stop(tmp_path: Path) -> None:
    end = made(tmp_path)
    half = end // 2 // 4096 * 4096
    write_time_index(tmp_path, 0, [(START_NS, 0), (START_NS + 1_000_000, half)])
    found = times(tmp_path)
    assert None not in found
    assert START + timedelta(milliseconds=800) < found[-1] < START + timedelta(milliseconds=1001)  # type: ignore[operator]
    with ArchiveFolder(tmp_path) as folder:
        recording = folder.recording(0)
        assert SettledTimes.of(index_of(recording), recording.descriptor, end).position == half


@pytest.mark.parametrize("given", [START, START.replace(tzinfo=None), 1_700_000_000_000])
def test_times_are_epoch_milliseconds_or_datetimes(given: Any) -> None:
    assert epoch_us(given) == START_NS // 1000


def test_columns_that_are_too_short_are_refused() -> None:
    numbers, long = memoryview(bytearray(16)).cast("i"), memoryview(bytearray(16)).cast("q")
    with pytest.raises(ValueError, match="less room"):
        first_positions(numbers, numbers, long, 0, 65536)
    with pytest.raises(ValueError, match="less room"):
        carried_times(b"", numbers, 0, long)
    with pytest.raises(ValueError, match="less room"):
        carried_times(b"", numbers[:3], -1, long)
    with pytest.raises(ValueError, match="room for"):
        settle(long, long[:1], 0, 0, 0, 0)
    with pytest.raises(ValueError, match="validity"):
        to_microseconds(long, bytearray())
