"""Duty cycles counted by their lengths."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerolog.transport.concurrent.histogram_tracker import HistogramTracker
from aerolog.transport.memory.mapped_file import MappedFile

BUCKETS = 64
OFFSET = 16


def counts_of(mapped: MappedFile) -> list[int]:
    return [mapped.load_i64(OFFSET + 8 * n) for n in range(BUCKETS)]


@given(st.lists(st.integers(0, 2**40), max_size=50))
def test_every_cycle_is_counted_by_its_power_of_two(cycles):
    mapped = MappedFile.anonymous(4096)
    tracker = HistogramTracker(1_000, mapped, OFFSET)
    for now_ns in itertools.accumulate(cycles):
        tracker.measure(now_ns)
    wanted = [0] * BUCKETS
    for cycle in cycles:
        wanted[max(cycle.bit_length() - 1, 0)] += 1
    assert counts_of(mapped) == wanted
    assert tracker.max_cycle_time_ns == max(cycles, default=0)
    assert tracker.threshold_exceeded_count == sum(cycle > 1_000 for cycle in cycles)


def test_a_clock_that_goes_back_is_no_cycle():
    mapped = MappedFile.anonymous(4096)
    tracker = HistogramTracker(1_000, mapped, OFFSET)
    tracker.measure(100)
    tracker.measure(90)
    assert sum(counts_of(mapped)) == 1


def test_words_outside_of_the_file_are_refused(tmp_path):
    mapped = MappedFile.anonymous(4096)
    for offset in (-8, 4, 4096 - 8 * BUCKETS + 8, 2**62):
        with pytest.raises(ValueError, match="offset="):
            HistogramTracker(1_000, mapped, offset)
    path = tmp_path / "file"
    path.write_bytes(bytes(4096))
    with pytest.raises(ValueError, match="not mapped for writing"):
        HistogramTracker(1_000, MappedFile.open(str(path), writable=False), 0)
