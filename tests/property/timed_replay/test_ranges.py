"""Replay by time against a list of every message's time, whatever the clock did meanwhile."""

from __future__ import annotations

import tempfile

from hypothesis import given, settings
from hypothesis import strategies as st

from aerolog.archive.client import TimedReplay
from aerolog.testing.recordings import RecordingBuilder, write_time_index

START_NS = 1_700_000_000_000_000_000
MS = 1_000_000
#: The clock between two messages: it ticks, stands, leaps, goes back.
STEPS = st.one_of(st.integers(0, 5), st.sampled_from([3_600_000, -3_600_000, -7, 100]))
SIZES = st.sampled_from([0, 1, 31, 32, 1000, 5000])


@settings(deadline=None, max_examples=40)
@given(
    messages=st.lists(st.tuples(STEPS, SIZES), min_size=1, max_size=40),
    bounds=st.lists(st.tuples(st.integers(0, 40), st.integers(-1, 1)), min_size=2, max_size=2),
)
def test_a_range_has_each_message_of_it_and_no_other(
    messages: list[tuple[int, int]], bounds: list[tuple[int, int]]
) -> None:
    builder = RecordingBuilder(initial_term_id=2**31 - 1)
    time_ns, entries, made = START_NS, [], []
    for number, (step, size) in enumerate(messages):
        time_ns += step * MS
        payload = number.to_bytes(4, "little") + bytes(size)
        if size + 4 > builder.term_length - builder.position % builder.term_length - 1024:
            builder.pad()
        entries.append((time_ns, builder.position))
        builder.add(payload)
        made.append((time_ns, payload))
    start, end = sorted(made[min(index, len(made) - 1)][0] + off for index, off in bounds)
    with tempfile.TemporaryDirectory() as folder:
        recording_id = builder.write(folder)
        write_time_index(folder, recording_id, entries)
        with TimedReplay(folder, recording_id, start, end + 1, speed=None) as replay:
            found = [(message.time_ns, message.payload) for message in replay]

    assert found == [one for one in made if start <= one[0] <= end]
