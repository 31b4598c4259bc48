"""A merge of any recordings is the sorted list of their messages, whatever its windows are."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from merge_folders import merged, row_of, write_recording

from aerolog.archive.client import MergedReplay

T0 = 1_700_000_000_000_000_000

messages = st.lists(
    st.tuples(st.integers(-60, 200), st.sampled_from((0, 1, 40, 800, 1376, 1400, 4200))),
    max_size=30,
)
recordings = st.lists(messages, min_size=1, max_size=9)


def written(folder: Path, steps: list[tuple[int, int]], place: int, start: int):
    time_ns = T0
    made = []
    for number, (step, length) in enumerate(steps):
        time_ns += step
        made.append((time_ns, f"{place}.{number}|".encode() + bytes(length)))
    return write_recording(folder, made, start_position=start)


@settings(max_examples=50, deadline=None)
@given(
    recordings=recordings,
    starts=st.lists(st.integers(0, 4096), min_size=9, max_size=9),
    rows_max=st.sampled_from((1, 2, 7, 1000)),
    capacity=st.sampled_from((0, 900, 100_000)),
    bounds=st.none() | st.tuples(st.integers(-100, 2000), st.integers(1, 3000)),
)
def test_a_merge_is_the_sorted_list_of_all_messages(recordings, starts, rows_max, capacity, bounds):
    with tempfile.TemporaryDirectory(prefix="aerolog-test-") as name:
        folder = Path(name)
        made = [
            written(folder, steps, place, starts[place] * 32)
            for place, steps in enumerate(recordings)
        ]
        times = (None, None)
        if bounds is not None:
            times = start, end = T0 + bounds[0], T0 + bounds[0] + bounds[1]
            made = [[row for row in rows if start <= row.time_ns < end] for rows in made]
        with MergedReplay(folder, range(len(made)), *times) as replay:
            found = [
                row_of(message)
                for batch in replay.batches(rows_max, capacity, reuse=True)
                for message in batch.messages()
            ]
        assert found == merged(made)
