"""Congestion control (spec wire-protocol 10): windows, forced status messages, round trips."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerolog.transport.driver.congestion_control.congestion_control import (
    RTT_MAX_NS,
    Cubic,
    PythonCongestionControl,
    StaticWindow,
    max_window_for,
)
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.memory.mapped_file import MappedFile

KIB = 1024
MTU = 1408
US, MS, S = 1000, 1_000_000, 1_000_000_000
START = 5 * S


def cubic(window: int = 128 * KIB, term: int = 64 * KIB, mtu: int = MTU, **options) -> Cubic:
    return Cubic(window, term, mtu, START, **options)


@pytest.mark.parametrize(
    ("receiver_window", "term_length", "window"),
    [
        (128 * KIB, 64 * KIB, 32768),
        (16 * KIB, 64 * KIB, 16384),
        (128 * KIB, 16 * KIB * KIB, 128 * KIB),
    ],
)
def test_a_static_window_is_the_receiver_s_up_to_half_a_term(receiver_window, term_length, window):
    control = StaticWindow(receiver_window, term_length)
    assert (control.initial_window, control.max_window) == (window, window)
    assert control.rebuilt(START, loss_found=True, consumption_position=64) == (window, False)
    assert control.rebuilt(START + 9 * S) == (window, False)
    assert not control.should_measure_rtt(START + 9 * S)
    assert control.counter_names == ()


def test_cubic_opens_as_the_reference_does():
    """Seen with 64 KiB terms: 14080, then 26752, and after a loss 21120."""
    control = cubic()
    assert (control.initial_window, control.max_window) == (14080, 32768)
    assert control.rebuilt(START + 100 * US) == (14080, False)
    assert control.rebuilt(START + 100 * US + 1) == (26752, False)
    assert control.rebuilt(START + 1 * MS, loss_found=True) == (21120, True)
    assert control.initial_window == 14080


def test_cubic_waits_for_its_interval_between_two_steps():
    control = cubic(initial_rtt_ns=300 * MS)
    assert control.rebuilt(START + 301 * MS)[0] == 21 * MTU
    # 22 segments by the curve, one interval after the step before
    assert control.rebuilt(START + 601 * MS)[0] == 21 * MTU
    assert control.rebuilt(START + 601 * MS + 1)[0] == 22 * MTU


def test_cubic_comes_back_to_where_the_loss_was_and_then_to_the_most():
    control = cubic()
    control.rebuilt(START + 1 * MS)
    loss = START + 10 * MS
    assert control.rebuilt(loss, loss_found=True)[0] == 15 * MTU
    # k = cbrt(19 * 0.2 / 0.4) = 2.118 s
    assert control.rebuilt(loss + 1 * MS)[0] == 16 * MTU
    assert control.rebuilt(loss + int(2.118 * S))[0] == 19 * MTU
    assert control.rebuilt(loss + int(3.5 * S))[0] == 20 * MTU
    assert control.rebuilt(loss + 60 * S)[0] == 23 * MTU


def test_losses_one_after_another_end_at_one_segment():
    control = cubic()
    windows = [control.rebuilt(START + n, loss_found=True) for n in range(1, 12)]
    segments = [window // MTU for window, _ in windows]
    assert segments == [8, 6, 4, 3, 2, 1, 1, 1, 1, 1, 1]
    assert all(force for _, force in windows)


def test_at_one_segment_whatever_is_consumed_forces_a_status_message():
    control = cubic()
    for n in range(1, 9):
        control.rebuilt(START + n, loss_found=True)
    at = START + 9
    moved = control.rebuilt(at, consumption_position=96, status_position=64)
    still = control.rebuilt(at, consumption_position=64, status_position=64)
    assert (moved, still) == ((MTU, True), (MTU, False))


@pytest.mark.parametrize(("segments", "tcp_mode"), [([19, 15, 16], False), ([21, 16, 20], True)])
def test_tcp_mode_grows_with_the_round_trips(segments, tcp_mode):
    """A third of a segment a round trip: int(23 * 0.8 + 10 / 3), and int(21 * 0.8 + 10 / 3)."""
    control = cubic(tcp_mode=tcp_mode)
    opened = control.rebuilt(START + 1 * MS)[0]
    lost = control.rebuilt(START + 2 * MS, loss_found=True)[0]
    grown = control.rebuilt(START + 3 * MS)[0]
    assert [opened, lost, grown] == [each * MTU for each in segments]


def test_tcp_mode_stays_below_the_largest_window():
    control = cubic(tcp_mode=True)
    assert control.rebuilt(START + 1 * S // 10)[0] == 23 * MTU


def test_a_window_smaller_than_the_mtu_is_one_segment():
    control = cubic(window=1000)
    assert control.initial_window == control.max_window == 1000
    assert control.rebuilt(START + 1, loss_found=True) == (1000, True)


def test_round_trips_are_measured_only_when_asked_for():
    assert not cubic().should_measure_rtt(START + 9 * S)


def test_an_unanswered_request_is_repeated_after_four_round_trips():
    control = cubic(measure_rtt=True)
    assert control.should_measure_rtt(START + 1)
    control.rtt_requested(START + 1)
    assert not control.should_measure_rtt(START + 1 + 400 * US)
    assert control.should_measure_rtt(START + 2 + 400 * US)


def test_a_reply_sets_the_round_trip_and_the_timeout():
    control = cubic(measure_rtt=True)
    control.rtt_requested(START)
    control.rtt_measured(START + 5 * MS, 5 * MS)
    assert control.rtt_ns == 5 * MS
    assert not control.should_measure_rtt(START + 25 * MS)
    assert control.should_measure_rtt(START + 25 * MS + 1)
    control.rtt_measured(START + 26 * MS, 10 * US)
    assert control.rtt_ns == 10 * US
    assert not control.should_measure_rtt(START + 26 * MS + 400 * US)


@pytest.mark.parametrize("rtt_ns", [0, -1, -(2**63), RTT_MAX_NS + 1, 2**63 - 1])
def test_an_impossible_round_trip_is_ignored(rtt_ns):
    control = cubic(measure_rtt=True)
    control.rtt_measured(START, rtt_ns)
    assert control.rtt_ns == 100 * US


def test_cubic_shows_its_numbers_in_counters():
    values = MappedFile.anonymous(4096)
    control = cubic()
    assert control.counter_names == ("rcv-cc-cubic-rtt", "rcv-cc-cubic-wnd")
    control.bind_counters(values, 128, 256)
    assert (values.load_i64(128), values.load_i64(256)) == (0, 14080)  # not measured yet
    control.rebuilt(START + 1 * MS)
    control.rtt_measured(START + 1 * MS, 7 * US)
    assert (values.load_i64(128), values.load_i64(256)) == (7 * US, 26752)
    control.rebuilt(START + 1 * MS, loss_found=True)
    assert values.load_i64(256) == 21120


@pytest.mark.parametrize("offsets", [(0, 8, 16), (-8,), (4,), (4096,), (4092,)])
def test_counters_outside_their_file_are_refused(offsets):
    with pytest.raises(ConfigurationError, match="counter"):
        cubic().bind_counters(MappedFile.anonymous(4096), *offsets)


@pytest.mark.parametrize(
    "make",
    [
        lambda: StaticWindow(0, 64 * KIB),
        lambda: StaticWindow(128 * KIB, 0),
        lambda: max_window_for(2**31, 64 * KIB),
        lambda: cubic(mtu=0),
        lambda: cubic(initial_rtt_ns=0),
        lambda: PythonCongestionControl(-1, 10),
        lambda: PythonCongestionControl(11, 10),
        lambda: PythonCongestionControl(0, 2**31),
    ],
)
def test_impossible_numbers_are_refused(make):
    with pytest.raises(ConfigurationError, match="use"):
        make()


@given(
    st.integers(1, 2**20),
    st.sampled_from([64 * KIB, 1024 * KIB, 2**30]),
    st.integers(1, 65504),
    st.booleans(),
    st.lists(
        st.tuples(st.integers(0, 2**50), st.booleans(), st.integers(-(2**63), 2**63 - 1)),
        max_size=40,
    ),
)
def test_no_history_takes_a_window_out_of_its_bounds(window, term, mtu, tcp_mode, steps):
    control = cubic(window, term, mtu, tcp_mode=tcp_mode, measure_rtt=True)
    now = START
    for wait, loss_found, rtt_ns in steps:
        now += wait
        control.rtt_measured(now, rtt_ns)
        got, force = control.rebuilt(now, loss_found=loss_found)
        assert min(mtu, control.max_window) <= got <= control.max_window
        assert force >= loss_found


class Halving(PythonCongestionControl):
    """Halves its window at every loss."""

    def __init__(self) -> None:
        super().__init__(1000, 4000)
        self.window, self.seen, self.rtts = 4000, [], []

    def track_rebuild(self, now_ns, loss_found, *positions):
        self.seen.append((now_ns, loss_found, positions))
        if loss_found:
            self.window //= 2
        return self.window, loss_found

    def measures_rtt(self, now_ns):
        return now_ns > 10

    def on_rtt_requested(self, now_ns):
        self.rtts.append(now_ns)

    def on_rtt_measured(self, now_ns, rtt_ns):
        self.rtts.append((now_ns, rtt_ns))


def test_a_strategy_may_be_written_in_python():
    control = Halving()
    assert (control.initial_window, control.max_window) == (1000, 4000)
    step = {"consumption_position": 1, "status_position": 2, "hwm_position": 3}
    assert control.rebuilt(7, rebuild_start=4, rebuild_end=5, **step) == (4000, False)
    assert control.rebuilt(8, loss_found=True) == (2000, True)
    assert control.seen[0] == (7, False, (1, 2, 3, 4, 5))
    assert (control.should_measure_rtt(10), control.should_measure_rtt(11)) == (False, True)
    control.rtt_requested(12)
    control.rtt_measured(13, 1)
    assert control.rtts == [12, (13, 1)]
    assert control.error is None


@pytest.mark.parametrize(("window", "cut"), [(-5, 0), (4001, 4000), (2**70, 4000)])
def test_a_python_window_is_cut_to_its_bounds(window, cut):
    control = Halving()
    control.window = window
    assert control.rebuilt(1) == (cut, False)


def test_a_python_strategy_that_fails_keeps_its_window_and_says_why():
    control = Halving()
    control.rebuilt(1, loss_found=True)
    control.window = None
    assert control.rebuilt(2) == (2000, False)
    assert isinstance(control.error, TypeError)
    control.window = 64
    assert control.rebuilt(3) == (2000, False)
    assert not control.should_measure_rtt(11)
    control.rtt_requested(12)
    assert control.rtts == []


def test_a_python_strategy_that_overrides_nothing_keeps_its_initial_window():
    control = PythonCongestionControl(500, 1000)
    assert control.rebuilt(1, loss_found=True) == (500, False)
    assert not control.should_measure_rtt(1)
