"""Recordings of folders merge in time order, whatever they look like and whatever is wrong."""

from __future__ import annotations

import itertools
import random
import shutil
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from merge_folders import Row, every, merged, row_of, write_recording

from aerolog.archive.client import AsyncMergedReplay, MergedReplay
from aerolog.archive.client.replay.paced_replay import paced
from aerolog.archive.format.archive_folder import ArchiveFolder
from aerolog.archive.format.catalog_file import CatalogFile
from aerolog.archive.format.checksum import CRC32C_NAME, checksum_for
from aerolog.archive.format.segment import segment_file_name
from aerolog.archive.protocol.enums import RecordingState
from aerolog.testing.recordings import RecordingBuilder
from aerolog.transport.errors import (
    ArchiveError,
    ArchiveErrorCode,
    ConfigurationError,
    RecordingChangedError,
    RecordingDamagedError,
    ResourceClosedError,
)

SECOND = 1_000_000_000
T0 = 1_700_000_000 * SECOND


def rows(folder: Path, ids, *times, **options) -> list[Row]:
    with MergedReplay(folder, ids, *times, **options) as replay:
        return [row_of(message) for message in replay]


def long_ones(rng: random.Random, count: int) -> list[tuple[int, bytes]]:
    """Messages of all lengths, many of them fragmented, at times that seldom go back."""
    time_ns = T0
    found = []
    for _ in range(count):
        time_ns += rng.choice((0, 0, 1, 700, -40, 3000))
        found.append((time_ns, rng.randbytes(rng.choice((0, 1, 31, 300, 1376, 1377, 5000, 8000)))))
    return found


def test_messages_come_by_time_and_name_their_recording(tmp_path):
    one = write_recording(tmp_path, every(T0, 30, 40, "a"))
    two = write_recording(tmp_path, every(T0 + 7, 20, 50, "b"))
    found = rows(tmp_path, [0, 1])
    assert found == merged([one, two])
    assert [row.time_ns for row in found] == sorted(row.time_ns for row in found)
    assert {row.recording_id for row in found} == {0, 1}


def test_of_equal_times_the_recording_that_was_named_first_comes_first(tmp_path):
    same = [(T0, b"x"), (T0, b"y"), (T0 + 1, b"z")]
    one, two, three = (write_recording(tmp_path, same) for _ in range(3))
    assert rows(tmp_path, [0, 1, 2]) == merged([one, two, three])
    assert rows(tmp_path, [2, 0, 1]) == merged([three, one, two])
    assert [row.recording_id for row in rows(tmp_path, [2, 0, 1])] == [2, 2, 0, 0, 1, 1, 2, 0, 1]


def test_a_clock_that_steps_back_changes_no_recording_s_own_order(tmp_path):
    one = write_recording(tmp_path, [(T0 + at, b"a") for at in (0, 100, 20, 50, 130)])
    two = write_recording(tmp_path, [(T0 + at, b"b") for at in (10, 60, 110, 120)])
    found = rows(tmp_path, [0, 1])
    assert found == merged([one, two])
    assert [row.time_ns - T0 for row in found] == [0, 10, 60, 100, 20, 50, 110, 120, 130]


def test_fragmented_messages_are_whole_and_have_the_time_of_their_first_frame(tmp_path):
    rng = random.Random(20)
    made = [write_recording(tmp_path, long_ones(rng, 150)) for _ in range(4)]
    assert rows(tmp_path, range(4)) == merged(made)


def test_recordings_of_many_segments_and_of_other_terms_merge(tmp_path):
    rng = random.Random(21)
    made = [
        write_recording(tmp_path, long_ones(rng, 120), segment_length=length, mtu_length=mtu)
        for length, mtu in ((64 * 1024, 1408), (256 * 1024, 4096), (128 * 1024, 512))
    ]
    made.append(write_recording(tmp_path, long_ones(rng, 90), start_position=64 * 1024 * 5 + 96))
    made.append(write_recording(tmp_path, long_ones(rng, 90), checksum=checksum_for(CRC32C_NAME)))
    assert rows(tmp_path, range(5)) == merged(made)


def test_more_recordings_than_are_open_at_once_merge(tmp_path):
    made = [
        write_recording(tmp_path, every(T0 + 3 * number, 50 + number, 6, f"{number}."))
        for number in range(70)
    ]
    assert rows(tmp_path, range(70)) == merged(made)


def test_one_recording_alone_and_empty_ones_are_no_special_case(tmp_path):
    one = write_recording(tmp_path, every(T0, 5, 10, "a"))
    write_recording(tmp_path, [])
    assert rows(tmp_path, [0]) == one
    assert rows(tmp_path, [1]) == []
    assert rows(tmp_path, [1, 0]) == one


def test_times_bound_what_is_merged(tmp_path):
    made = [
        write_recording(tmp_path, every(T0, SECOND, 60, "a")),
        write_recording(tmp_path, every(T0 + SECOND // 2, SECOND, 60, "b")),
    ]
    start, end = T0 + 10 * SECOND, T0 + 20 * SECOND
    wanted = [row for row in merged(made) if start <= row.time_ns < end]
    assert rows(tmp_path, [0, 1], start, end) == wanted
    moments = (datetime.fromtimestamp(at // SECOND, UTC) for at in (start, end))
    assert rows(tmp_path, [0, 1], *moments) == wanted
    assert rows(tmp_path, [0, 1], T0 + 3600 * SECOND) == []


def test_a_recording_without_an_index_is_merged_by_what_its_descriptor_says(tmp_path):
    indexed = write_recording(tmp_path, every(T0 + SECOND // 2, 10, 5, "a"))
    bare = write_recording(tmp_path, every(0, 0, 8, "b"), indexed=False)
    with MergedReplay(tmp_path, [0, 1]) as replay:
        assert replay.notes == ()
        found = [row_of(message) for message in replay]
        assert any("recording 1 has no time index" in note for note in replay.notes)
        assert not any("recording 0" in note for note in replay.notes)
    assert [row for row in found if row.recording_id == 0] == indexed
    payloads = [row.payload for row in found if row.recording_id == 1]
    assert payloads == [row.payload for row in bare]
    assert [row.time_ns for row in found] == sorted(row.time_ns for row in found)
    # A range of times leaves out nothing of which the time is no more than an estimate.
    within = rows(tmp_path, [1], T0 + SECOND // 4, T0 + SECOND // 2)
    assert [row.payload for row in within] == [row.payload for row in bare]


def test_a_recording_that_a_crash_left_without_an_end_is_merged_to_its_last_frame(tmp_path):
    builder = RecordingBuilder()
    for number in range(5):
        builder.add(b"%d" % number)
    builder.write(tmp_path, stopped=False)
    whole = write_recording(tmp_path, every(T0, 5, 3, "b"))
    found = rows(tmp_path, [0, 1])
    assert [row.payload for row in found if row.recording_id == 0] == [b"0", b"1", b"2", b"3", b"4"]
    assert [row for row in found if row.recording_id == 1] == whole


def test_recordings_of_several_folders_merge(tmp_path):
    folders = [tmp_path / "one", tmp_path / "two"]
    made = []
    for place, folder in enumerate(folders):
        folder.mkdir()
        made.append(write_recording(folder, every(T0 + place, 4, 20, f"{place}.")))
    with ArchiveFolder(folders[0]) as opened:
        found = rows(opened, [0, (str(folders[1]), 0)])
    assert found == merged(made)


def test_batches_have_columns_that_can_be_kept(tmp_path):
    rng = random.Random(22)
    made = [write_recording(tmp_path, long_ones(rng, 60)) for _ in range(3)]
    wanted = merged(made)
    with MergedReplay(tmp_path, [2, 0, 1]) as replay:
        batches = list(replay.batches(rows_max=7, payload_capacity=20_000))
    assert all(1 <= batch.rows <= 7 for batch in batches)
    wanted = merged([made[2], made[0], made[1]])
    found = []
    for batch in batches:
        at = batch.column("payload_offset")
        payload = batch.column("payload")
        assert len(at) == batch.rows + 1
        columns = (batch.column(name) for name in ("recording_id", "position", "time_ns"))
        for number, fields in enumerate(zip(*columns, strict=True)):
            found.append(Row(*fields, bytes(payload[at[number] : at[number + 1]])))
        places = [(2, 0, 1).index(one) for one in batch.column("recording_id")]
        assert list(batch.column("source")) == places
    assert found == wanted


def test_numpy_and_arrow_take_batches_as_they_are(tmp_path):
    made = [write_recording(tmp_path, every(T0 + at, 10, 8, str(at))) for at in (0, 3)]
    wanted = merged(made)
    with MergedReplay(tmp_path, [0, 1]) as replay:
        [batch] = replay.batches()
    times = np.asarray(batch.column("time_ns"))
    assert times.dtype == np.int64
    assert times.tolist() == [row.time_ns for row in wanted]
    buffers = [None, *(pa.py_buffer(batch.column(one)) for one in ("payload_offset", "payload"))]
    payloads = pa.Array.from_buffers(pa.binary(), batch.rows, buffers)
    payloads.validate(full=True)
    assert payloads.to_pylist() == [row.payload for row in wanted]


def test_a_batch_that_is_filled_again_shows_what_came_last(tmp_path):
    write_recording(tmp_path, every(T0, 5, 20, "a"))
    with MergedReplay(tmp_path, [0]) as replay:
        batches = replay.batches(rows_max=10, reuse=True)
        first = next(batches)
        messages = first.messages()
        assert next(batches) is first
        assert first.messages()[0].payload == b"a10"
        assert messages[0].payload == b"a0"


def test_a_message_longer_than_a_batch_comes_alone(tmp_path):
    one = write_recording(tmp_path, [(T0, b"s"), (T0 + 1, bytes(9000)), (T0 + 2, b"t")])
    with MergedReplay(tmp_path, [0]) as replay:
        lengths = [
            [len(message) for message in batch.messages()]
            for batch in replay.batches(payload_capacity=100)
        ]
    assert lengths == [[1], [9000], [1]]
    assert [length for [length] in lengths] == [len(row.payload) for row in one]


def test_messages_have_the_fields_of_their_first_frame(tmp_path):
    write_recording(tmp_path, [(T0, b"s"), (T0 + 1, bytes(3000))], session_id=5, stream_id=6)
    with MergedReplay(tmp_path, [0]) as replay:
        found = list(replay)
    assert [message.reserved_value for message in found] == [0, 1]
    assert [message.term_offset for message in found] == [0, 64]
    assert {(one.session_id, one.stream_id, one.term_id, one.flags) for one in found} == {
        (5, 6, 7, 0xC0)
    }


def test_a_pace_can_be_given_to_a_merge(tmp_path):
    made = [write_recording(tmp_path, every(T0 + at, 1000, 5, str(at))) for at in (0, 300)]
    with MergedReplay(tmp_path, [0, 1]) as replay:
        assert [row_of(message) for message in paced(replay, 1000.0)] == merged(made)


async def test_an_event_loop_merges_too(tmp_path):
    rng = random.Random(23)
    made = [write_recording(tmp_path, long_ones(rng, 60)) for _ in range(3)]
    async with AsyncMergedReplay(tmp_path, range(3)) as replay:
        assert [row_of(message) async for message in replay] == merged(made)
    async with AsyncMergedReplay(tmp_path, range(3)) as replay:
        assert sum([batch.rows async for batch in replay.batches()]) == 180


# -- what is wrong --------------------------------------------------------------------------------


@pytest.fixture
def three(tmp_path) -> list[list[Row]]:
    """Three recordings of two segments each; nothing is wrong with them yet."""
    messages = [(T0 + at * 10, bytes(500)) for at in range(200)]
    return [
        write_recording(tmp_path, [(at + place, data) for at, data in messages])
        for place in range(3)
    ]


def until_damage(three, damaged: int, position: int) -> list[Row]:
    """What comes before the merge has to know what the damaged recording goes on with."""
    wanted = merged(three)
    bad = next(
        index
        for index, row in enumerate(wanted)
        if row.recording_id == damaged and row.position > position
    )
    last = max(index for index in range(bad) if wanted[index].recording_id == damaged)
    return wanted[: last + 1]


def read_all(replay: MergedReplay) -> tuple[list[Row], Exception | None]:
    found = []
    try:
        for message in replay:
            found.append(row_of(message))  # noqa: PERF401 - what came before an error counts
    except Exception as error:
        return found, error
    return found, None


def change(path: Path, offset: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


@pytest.mark.parametrize(
    ("offset", "data", "problem"),
    [
        (0, (-5).to_bytes(4, "little", signed=True), "unexpected end of recording"),
        (0, bytes(4), "unexpected end of recording"),
        (0, (31).to_bytes(4, "little"), "impossible frame length"),
        (0, (1 << 30).to_bytes(4, "little"), "impossible frame length"),
        (6, b"\x07\x00", "unexpected frame type"),
        (8, b"\x01\x00\x00\x00", "wrong term offset"),
        (16, b"\x01\x00\x00\x00", "wrong stream id"),
        (20, b"\x01\x00\x00\x00", "wrong term id"),
    ],
)
def test_damage_is_named_after_all_that_comes_before_it(tmp_path, three, offset, data, problem):
    position = three[1][40].position
    change(tmp_path / segment_file_name(1, 0), position + offset, data)
    with MergedReplay(tmp_path, range(3)) as replay:
        found, error = read_all(replay)
    assert isinstance(error, RecordingDamagedError)
    assert (error.recording_id, error.position) == (1, position)
    assert problem in str(error)
    assert found == until_damage(three, 1, position)


def test_the_others_go_on_when_that_is_wanted(tmp_path, three):
    position = three[1][40].position
    change(tmp_path / segment_file_name(1, 0), position + 6, b"\x07\x00")
    told = []
    with MergedReplay(
        tmp_path, [2, 1, 0], on_error=lambda place, error: told.append((place, error))
    ) as replay:
        found = [row_of(message) for message in replay]
    [(place, error)] = told
    assert place == 1
    assert isinstance(error, RecordingDamagedError)
    assert found == merged([three[2], three[1][:41], three[0]])


def test_a_segment_that_is_gone_or_cut_short_is_damage(tmp_path, three):
    name = tmp_path / segment_file_name(2, 64 * 1024)
    kept = name.with_suffix(".kept")
    shutil.copy(name, kept)
    for spoil in (name.unlink, lambda: name.write_bytes(kept.read_bytes()[:1000])):
        spoil()
        with MergedReplay(tmp_path, range(3)) as replay:
            found, error = read_all(replay)
        assert isinstance(error, RecordingDamagedError)
        assert error.recording_id == 2
        assert 64 * 1024 <= error.position < 64 * 1024 + 1000
        assert str(name) in str(error)
        assert found == until_damage(three, 2, error.position)
        shutil.copy(kept, name)
    assert rows(tmp_path, range(3)) == merged(three)


def test_a_recording_that_is_purged_while_it_is_merged_says_so(tmp_path, three):
    with MergedReplay(tmp_path, [0, 1]) as replay:
        batches = replay.batches(rows_max=3)
        found = [row_of(message) for message in next(batches).messages()]
        with CatalogFile.open(tmp_path) as catalog:
            catalog.change_state(0, RecordingState.INVALID)
        (tmp_path / segment_file_name(0, 64 * 1024)).unlink()
        with pytest.raises(RecordingChangedError) as raised:
            for batch in batches:
                found += [row_of(message) for message in batch.messages()]
    assert raised.value.recording_id == 0
    assert found == merged(three[:2])[: len(found)]


def test_an_unknown_recording_is_refused(tmp_path, three):
    with MergedReplay(tmp_path, [0, 7]) as replay, pytest.raises(ArchiveError) as raised:
        next(iter(replay))
    assert raised.value.code == ArchiveErrorCode.UNKNOWN_RECORDING


@pytest.mark.parametrize(
    ("ids", "times", "options", "why"),
    [
        ([], (), {}, "no recording"),
        ([1, 1], (), {}, "named twice"),
        ([0], (T0, T0), {}, "nothing lies between"),
        ([0], (None, T0), {"follow": True}, "no end in time"),
        ([0], (), {"lateness": -1.0}, "lateness"),
        ([(object(), 0)], (), {}, "not of"),
    ],
)
def test_what_does_not_go_together_is_refused(tmp_path, three, ids, times, options, why):
    with pytest.raises(ConfigurationError, match=why):
        MergedReplay(tmp_path, ids, *times, **options)


def test_a_folder_is_not_followed(tmp_path, three):
    with (
        MergedReplay(tmp_path, [0], follow=True) as replay,
        pytest.raises(ConfigurationError, match="running archive"),
    ):
        next(iter(replay))


def test_nothing_comes_of_a_merge_that_is_closed(tmp_path, three):
    replay = MergedReplay(tmp_path, range(3))
    messages = replay.messages()
    first = [row_of(one) for one in itertools.islice(messages, 5)]
    assert first == merged(three)[:5]
    replay.close()
    replay.close()
    with pytest.raises(ResourceClosedError):
        next(replay.messages())


def test_files_are_closed_with_the_merge(tmp_path, three):
    def opened() -> set[str]:
        names = set()
        for descriptor in Path("/proc/self/fd").iterdir():
            try:
                names.add(str(descriptor.readlink()))
            except FileNotFoundError:
                continue  # of the listing itself
        return {name for name in names if name.startswith(str(tmp_path))}

    with MergedReplay(tmp_path, range(3)) as replay:
        next(replay.batches(rows_max=3))
        assert any(name.endswith(".rec") for name in opened())
    assert opened() == set()
