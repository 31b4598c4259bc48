"""An index against a plain list of when each frame was recorded."""

from __future__ import annotations

from array import array
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from aerolog.archive.time_index import TimeIndex
from aerolog.archive.time_index.blocks import TimeBlocks, encode_blocks
from aerolog.archive.time_index.index_file import blocks_of
from aerolog.archive.time_index.layout import BLOCK_LENGTH, IndexHeader
from aerolog.archive.time_index.notes import TimeNotes
from aerolog.testing import FakeFileSystem
from aerolog.transport.concurrent.clock import ManualClock

MS = 1_000_000
START_MS = 1_700_000_000_000
QUIET_MS = 10

#: Milliseconds and microseconds since the block before, bytes of the block, a step of the clock.
BLOCKS = st.lists(
    st.tuples(
        st.one_of(st.integers(0, 3), st.integers(0, 40), st.integers(1000, 100_000)),
        st.integers(0, 999),
        st.sampled_from([32, 64, 1024, 4096, 40_000]),
        st.one_of(st.just(0), st.just(0), st.just(0), st.integers(-100_000, 100_000)),
    ),
    min_size=1,
    max_size=60,
)


def recorded(blocks: list[tuple[int, int, int, int]]) -> tuple[TimeIndex, list[tuple[int, int]]]:
    """What the notes of a recording make of blocks; and when each block was recorded, and where.

    A clock that is set is set at a block that is noted, so that the list knows what holds.
    """
    clock = ManualClock(START_MS, 1)
    disk = FakeFileSystem()
    header = IndexHeader(
        recording_id=3, start_timestamp=1, start_position=0, initial_term_id=5, term_length=65536
    )
    file = disk.open_data_file("/index", writable=True, create=True)
    file.write_at(header.encode_block(), 0)
    notes = TimeNotes(file, blocks_of(file, header), 0)
    truth, position = [], 0
    for wait_ms, wait_us, length, step_ms in blocks:
        clock.advance_ns(wait_ms * MS + wait_us * 1000)
        if step_ms and wait_ms >= QUIET_MS:
            clock.step_epoch_ms(step_ms)
        begin, now = clock.now_ns(), clock.now_epoch_ns()
        truth.append((now, position))
        clock.advance_ns(1000)
        notes.note(clock, begin, clock.now_ns(), position)
        notes.write_out()
        position += length
    notes.finish(position)
    image = disk.read_bytes("/index")
    words = []
    for at in range(BLOCK_LENGTH, len(image), BLOCK_LENGTH):
        count = int.from_bytes(image[at + 4032 : at + 4036], "little")
        words += memoryview(image[at : at + 16 * count]).cast("q").tolist()
    index = TimeIndex.from_entries(
        words[::2], words[1::2], start_position=0, end_position=position, start_time_ns=0
    )
    return index, truth


@settings(max_examples=60, deadline=None)
@given(blocks=BLOCKS, data=st.data())
def test_nothing_is_skipped_and_little_is_given_twice(blocks, data) -> None:
    index, truth = recorded(blocks)
    times = [time_ns for time_ns, _ in truth]
    low, high = min(times) - MS, max(times) + MS
    wanted = data.draw(st.one_of(st.sampled_from(times), st.integers(low, high)))
    start, end = index.position_at(wanted), index.end_position_at(wanted)
    assert all(time_ns < wanted for time_ns, position in truth if position < start)
    assert all(time_ns >= wanted for time_ns, position in truth if position >= end)
    assert 0 <= start <= index.end_position
    if index.clock_steps_back == 0:
        assert start <= end


@settings(max_examples=60, deadline=None)
@given(blocks=BLOCKS)
def test_times_of_positions_are_right_to_the_distance_of_notes(blocks) -> None:
    index, truth = recorded(blocks)
    found = array("q", bytes(8 * len(truth)))
    index.fill_times(array("q", (position for _, position in truth)), found)
    for (time_ns, position), one in zip(truth, found, strict=True):
        assert abs(one - time_ns) <= QUIET_MS * MS
        assert index.time_at(position) == one


ENTRIES = st.lists(
    st.tuples(st.integers(-50, 500), st.sampled_from([0, 32, 64])), min_size=1, max_size=600
)


def listed(steps: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    times, positions = [10_000], [0]
    for time_step, position_step in steps:
        times.append(times[-1] + time_step)
        positions.append(positions[-1] + position_step)
    return times, positions


@settings(max_examples=60, deadline=None)
@given(steps=ENTRIES, data=st.data())
def test_entries_are_searched_as_a_list_would_be(steps, data) -> None:
    times, positions = listed(steps)
    end = positions[-1] + 32
    index = TimeIndex.from_entries(times, positions, end_position=end, start_time_ns=0)
    wanted = data.draw(st.one_of(st.sampled_from(times), st.integers(0, max(times) + 10)))
    first = next((i for i, time_ns in enumerate(times) if time_ns >= wanted), None)
    if first is None:
        expected = positions[-1]
    elif times[first] == wanted:
        expected = positions[first]
    else:
        expected = positions[max(first - 1, 0)]
    assert index.position_at(wanted) == expected
    last = next((i for i in reversed(range(len(times))) if times[i] < wanted), None)
    if last is None:
        expected = 0 if wanted <= 0 else positions[0]
    else:
        expected = positions[last + 1] if last + 1 < len(positions) else end
    assert index.end_position_at(wanted) == expected


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    harm=st.sets(st.integers(0, 5), max_size=4),
    wanted=st.integers(9_000, 60_000),
)
def test_damaged_blocks_cost_precision_and_never_the_truth(seed, harm, wanted) -> None:
    random = Random(seed)
    count = random.randrange(300, 1500)
    steps = [(random.randrange(1, 50), random.choice((32, 64))) for _ in range(count)]
    times, positions = listed(steps)
    image = bytearray(BLOCK_LENGTH) + encode_blocks(array("q", times), array("q", positions), 7, 1)
    harmed = {block for block in harm if (block + 2) * BLOCK_LENGTH <= len(image)}
    for block in harmed:
        image[(block + 1) * BLOCK_LENGTH + random.randrange(BLOCK_LENGTH)] ^= 0x41
    end = positions[-1]
    index = TimeIndex(
        TimeBlocks(bytes(image), 7, 1),
        recording_id=7,
        source="clock",
        start_position=0,
        end_position=end,
        head_time_ns=times[0],
        tail_time_ns=times[-1],
    )
    start, stop = index.position_at(wanted), index.end_position_at(wanted)
    for time_ns, position in zip(times[:-1], positions[:-1], strict=True):
        assert time_ns < wanted or position >= start
        assert time_ns >= wanted or position < stop
    found = [index.estimate_at(position) for position in positions]
    assert found == sorted(found)
    (told,) = index.check() or ("",)
    assert {int(word) for word in told.replace(",", "").split() if word.isdigit()} == harmed


@settings(max_examples=100, deadline=None)
@given(
    steps=ENTRIES,
    head=st.tuples(st.integers(-60, 60), st.sampled_from([0, 32, 640])),
    tail=st.tuples(st.one_of(st.none(), st.integers(-60, 60)), st.sampled_from([0, 32, 640])),
    data=st.data(),
)
def test_what_is_found_by_a_time_has_no_such_time_outside(steps, head, tail, data) -> None:
    times, positions = listed(steps)
    start, end = -head[1], positions[-1] + tail[1]
    index = TimeIndex.from_entries(
        times,
        positions,
        start_position=start,
        end_position=end,
        start_time_ns=times[0] + head[0],
        end_time_ns=None if tail[0] is None else times[-1] + tail[0],
    )
    wanted = data.draw(st.sampled_from([*times, times[0] + head[0]])) + data.draw(
        st.integers(-2, 2)
    )
    told = [(index.estimate_at(position), position) for position in range(start, end, 32)]
    first, behind = index.position_at(wanted), index.end_position_at(wanted)
    assert [position for time_ns, position in told if position < first and time_ns >= wanted] == []
    assert [position for time_ns, position in told if position >= behind and time_ns < wanted] == []
