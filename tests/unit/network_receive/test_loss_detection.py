"""Gaps: found, timed, filled, accounted (spec wire-protocol 9.3, 9.4; spec log-buffers 15)."""

from __future__ import annotations

import struct

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aerolog.transport.driver.receive.loss_detector import (
    Gap,
    LossDetector,
    LossRanges,
    StaticDelay,
    fill,
)

TERM = 65536
FIRST = 801263729
SESSION, STREAM = -1364374152, 1001
US = 1000


def detector(first_ns: int = 0, retry_ns: int = 0) -> LossDetector:
    return LossDetector(StaticDelay(first_ns, retry_ns))


def test_what_is_whole_is_walked_to_the_high_water_mark(image):
    for position in range(0, 1024, 128):
        image.put(position, 100)
    assert detector().scan_log(image.logs, 0, 1024, 0) == (1024, False, False, None)


def test_nothing_is_looked_at_when_the_rebuild_has_caught_up(image):
    assert detector().scan_log(image.logs, 512, 512, 0) == (512, False, False, None)
    assert detector().scan_log(image.logs, 544, 513, 0) == (544, False, False, None)


def test_the_first_of_several_gaps_is_found_with_its_whole_length(image):
    image.put(0, 128)
    image.put(512, 128)
    image.put(1024, 128)
    found = detector().scan_log(image.logs, 0, 1152, 0)
    assert found == (128, True, True, Gap(FIRST, 128, 384))


def test_lost_tail_reaches_to_the_high_water_mark(image):
    image.put(0, 64)
    assert detector().scan_log(image.logs, 0, 640, 0).gap == Gap(FIRST, 64, 576)


def test_a_gap_ends_with_its_term(image):
    start = 2 * TERM - 256
    image.put(start, 64)
    found = detector().scan_log(image.logs, start, 2 * TERM + 4096, 0)
    assert found == (start + 64, True, True, Gap(FIRST + 1, TERM - 192, 192))


def test_a_scan_ends_with_its_term_and_goes_on_in_the_next(image):
    image.put(TERM - 64, 64)
    scan = detector()
    assert scan.scan_log(image.logs, TERM - 64, TERM + 64, 0).rebuild_position == TERM
    assert scan.scan_log(image.logs, TERM, TERM + 64, 0).gap == Gap(FIRST + 1, 0, 64)


def test_padding_carries_the_rebuild_beyond_the_high_water_mark(image):
    """The reference was seen at a mark of 193568 and a position of 196608."""
    image.put(193536, 3072, kind=0)
    assert detector().scan_log(image.logs, 193536, 193568, 0).rebuild_position == 196608


def test_a_high_water_mark_off_the_frame_grid_is_no_gap(image):
    image.put(480, 33)
    assert detector().scan_log(image.logs, 480, 513, 0) == (544, False, False, None)


def test_gaps_are_reported_after_the_delay_and_again_after_the_retry_delay(image):
    image.put(128, 128)
    scan = detector(1 * US, 100 * US)
    reports = [
        now for now in range(0, 250 * US, 500) if scan.scan_log(image.logs, 0, 256, now).report
    ]
    assert reports == [1 * US, 101 * US, 201 * US]


def test_loss_is_found_once_a_gap(image):
    image.put(128, 128)
    scan = detector(1 * US, 100 * US)
    found = [scan.scan_log(image.logs, 0, 256, now).loss_found for now in (0, 10, 2000, 200_000)]
    assert found == [True, False, False, False]


def test_a_gap_that_grows_or_shrinks_starts_its_delay_again(image):
    scan = detector(10, 1000)
    assert scan.scan_log(image.logs, 0, 256, 0).loss_found
    grown = scan.scan_log(image.logs, 0, 512, 9)
    assert grown == (0, True, False, Gap(FIRST, 0, 512))
    assert scan.deadline_ns == 19
    image.put(0, 128)
    shrunk = scan.scan_log(image.logs, 0, 512, 18)
    assert shrunk == (128, True, False, Gap(FIRST, 128, 384))
    assert not scan.scan_log(image.logs, 128, 512, 27).report
    assert scan.scan_log(image.logs, 128, 512, 28).report


def test_deadlines_survive_a_clock_that_wraps(image):
    scan = detector(100, 100)
    now = 2**63 - 50
    assert not scan.scan_log(image.logs, 0, 256, now).report
    assert scan.deadline_ns == -(2**63) + 50
    assert not scan.scan_log(image.logs, 0, 256, 2**63 - 1).report
    assert scan.scan_log(image.logs, 0, 256, -(2**63) + 50).report


@pytest.mark.parametrize("length", [-1, -(2**31)])
def test_a_frame_length_below_zero_is_missing(image, length):
    image.write(0, struct.pack("<i", length))
    image.put(32, 64)
    assert detector().scan_log(image.logs, 0, 96, 0).gap == Gap(FIRST, 0, 32)


@pytest.mark.parametrize("length", [TERM, TERM + 1, 2**31 - 1, 2**31 - 32])
def test_a_frame_length_beyond_the_term_ends_with_it(image, length):
    image.write(64, struct.pack("<i", length))
    assert detector().scan_log(image.logs, 64, 2 * TERM, 0) == (TERM, False, False, None)


@pytest.mark.parametrize("rebuild", [-1, -(2**63), 2**63 - 1])
def test_a_position_out_of_every_range_finds_nothing(image, rebuild):
    found = detector().scan_log(image.logs, rebuild, 2**63 - 1, 0)
    assert found == (rebuild, False, False, None)


def test_a_rebuild_off_the_frame_grid_never_goes_back(image):
    image.write(TERM - 32, b"\0" * 32)
    found = detector().scan_log(image.logs, TERM - 1, 2 * TERM, 0)
    assert found == (TERM - 1, True, True, Gap(FIRST, TERM - 32, 32))


def test_a_gap_is_filled_with_one_padding_frame(image):
    image.put(TERM, 64)
    image.put(TERM + 256, 64)
    assert fill(image.logs, Gap(FIRST + 1, 64, 192))
    assert image.header(TERM + 64)[:8] == (192, 0, 0xC0, 0, 64, SESSION, STREAM, FIRST + 1)
    assert image.read(TERM + 96, 160) == bytes(160)
    assert detector().scan_log(image.logs, TERM, TERM + 320, 0).rebuild_position == TERM + 320


@pytest.mark.parametrize("arrived", [64, 96, 128, 224])
def test_a_gap_into_which_something_came_is_left_alone(image, arrived):
    image.put(arrived, 32)
    before = image.read(0, 512)
    assert not fill(image.logs, Gap(FIRST, 64, 192))
    assert image.read(0, 512) == before


@pytest.mark.parametrize(
    ("offset", "length"),
    [(-32, 64), (0, 0), (0, -32), (1, 32), (0, 33), (TERM, 32), (TERM - 32, 64), (32, 2**31 - 32),
     (2**31 - 32, 2**31 - 32), (-(2**31), 32)],
)  # fmt: skip
def test_what_is_no_gap_of_a_term_is_not_filled(image, offset, length):
    assert not fill(image.logs, Gap(FIRST, offset, length))
    assert image.read(0, TERM) == bytes(TERM)


def test_a_gap_is_accounted_once_however_often_it_is_reported():
    ranges = LossRanges()
    assert [ranges.add(Gap(FIRST, 0, 12288)) for _ in range(300)] == [12288] + [0] * 299


def test_only_the_growth_of_a_gap_is_accounted():
    ranges = LossRanges()
    assert ranges.add(Gap(FIRST, 64, 128)) == 128
    assert ranges.add(Gap(FIRST, 64, 192)) == 64
    assert ranges.add(Gap(FIRST, 128, 128)) == 0
    assert ranges.add(Gap(FIRST, 128, 160)) == 32
    assert ranges.add(Gap(FIRST, 0, 32)) == 0


def test_a_later_range_and_another_term_are_losses_of_their_own():
    ranges = LossRanges()
    assert ranges.add(Gap(FIRST, 64, 64)) == 64
    assert ranges.add(Gap(FIRST, 256, 64)) == 64
    assert ranges.add(Gap(FIRST + 1, 0, 96)) == 96
    assert ranges.add(Gap(0, 0, 0)) == 0


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(1, 20), st.booleans()), min_size=1, max_size=40))
def test_filling_every_gap_rebuilds_the_whole_stream(image, runs):
    """Frames of n slots, some of them lost: each run of losses is one gap, exactly."""
    image.write(0, bytes(TERM))
    position, expected = 0, []
    for slots, lost in runs:
        length = slots * 32
        if not lost:
            image.put(position, length)
        elif expected and sum(expected[-1]) == position:
            expected[-1] = (expected[-1][0], expected[-1][1] + length)
        else:
            expected.append((position, length))
        position += length
    scan, rebuild, gaps = detector(), 0, []
    while rebuild < position:
        found = scan.scan_log(image.logs, rebuild, position, 0)
        rebuild = found.rebuild_position
        if found.gap is not None:
            assert found.loss_found
            assert fill(image.logs, found.gap)
            gaps.append((found.gap.term_offset, found.gap.length))
    assert gaps == expected
    assert rebuild == position


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(st.integers(0, TERM // 32 - 1), st.integers(-(2**31), 2**31 - 1), max_size=30),
    st.integers(0, 4 * TERM),
    st.integers(0, 4 * TERM),
)
def test_a_scan_of_hostile_lengths_stays_in_its_term_and_moves_forward(image, words, start, ahead):
    for index in range(3):
        image.write(index * TERM, bytes(TERM))
        for slot, word in words.items():
            image.write(index * TERM + slot * 32, struct.pack("<i", word))
    found = detector().scan_log(image.logs, start, start + ahead, 0)
    term_end = (start // TERM + 1) * TERM
    assert start <= found.rebuild_position <= term_end
    if found.gap is not None:
        offset, length = found.gap.term_offset, found.gap.length
        assert offset % 32 == length % 32 == 0 < length
        assert offset + length <= TERM
        assert found.gap.term_id == FIRST + start // TERM
