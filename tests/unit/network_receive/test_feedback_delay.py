"""When a gap is reported (spec wire-protocol 9.3)."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerolog.transport.driver.receive.loss_detector import (
    FeedbackDelay,
    OptimalMulticastDelay,
    StaticDelay,
)
from aerolog.transport.errors import ConfigurationError

US, MS = 1000, 1_000_000


def test_unicast_reports_after_a_microsecond_and_again_after_a_hundred():
    delay = StaticDelay.unicast()
    assert (delay.first(), delay.retry()) == (1 * US, 100 * US)


@pytest.mark.parametrize(
    ("nak_delay_ns", "first_ns", "retry_ns"),
    [(100 * US, 100 * US, 10 * MS), (0, 0, 100 * US), (1, 1, 100 * US), (2 * MS, 2 * MS, 200 * MS)],
)
def test_the_channel_s_nak_delay_replaces_the_driver_s(nak_delay_ns, first_ns, retry_ns):
    delay = StaticDelay.unicast(5 * MS, 100, nak_delay_ns)
    assert (delay.first(), delay.retry()) == (first_ns, retry_ns)


def test_the_driver_s_delay_is_a_microsecond_at_least_and_the_ratio_multiplies_it():
    delay = StaticDelay.unicast(10, 7)
    assert (delay.first(), delay.retry()) == (1 * US, 7 * US)


def test_an_unreliable_stream_does_not_wait():
    for delay in (StaticDelay.unreliable(), FeedbackDelay()):
        assert (delay.first(), delay.retry()) == (0, 0)


@pytest.mark.parametrize("arguments", [(-1, 0), (0, -1), (2**63, 0), (0, 2**62)])
def test_a_delay_that_cannot_be_added_to_a_time_is_refused(arguments):
    with pytest.raises(ConfigurationError, match="ns cannot be kept"):
        StaticDelay(*arguments)


def test_a_ratio_below_one_is_refused():
    with pytest.raises(ConfigurationError, match="ratio is 0"):
        StaticDelay.unicast(1000, 0)


@pytest.mark.parametrize("arguments", [(1, 0, 10), (1, 2**63, 10), (1, 10, 0), (1, 10, 2**31)])
def test_an_impossible_group_is_refused(arguments):
    with pytest.raises(ConfigurationError, match="use 1"):
        OptimalMulticastDelay(*arguments)


def test_the_same_seed_gives_the_same_delays_and_another_seed_others():
    def draws(seed: int) -> list[int]:
        delay = OptimalMulticastDelay(seed)
        return [delay.first() if n % 2 else delay.retry() for n in range(64)]

    assert draws(7) == draws(7)
    assert draws(7) != draws(8)
    assert len(set(draws(7))) > 60


def test_multicast_delays_follow_the_optimal_distribution():
    """Mean of the formula: T - T/lambda * (1 - lambda / (e^lambda - 1)); measured 7.9 ms."""
    delay = OptimalMulticastDelay(20260101)
    draws = [delay.first() for _ in range(50_000)]
    rate = math.log(10) + 1
    mean = 10 * MS * (1 - (1 - rate / (math.exp(rate) - 1)) / rate)
    assert sum(draws) / len(draws) == pytest.approx(mean, rel=0.01)
    # P(delay <= t) = (e^(lambda t / T) - 1) / (e^lambda - 1)
    for share in (0.25, 0.5, 0.75):
        expected = (math.exp(rate * share) - 1) / (math.exp(rate) - 1)
        below = sum(draw <= share * 10 * MS for draw in draws) / len(draws)
        assert below == pytest.approx(expected, abs=0.01)


@given(
    st.integers(-(2**70), 2**70),
    st.integers(1, 2**62 - 1),
    st.integers(1, 2**31 - 1),
)
def test_no_multicast_delay_is_negative_or_beyond_the_longest(seed, max_backoff_ns, group_size):
    delay = OptimalMulticastDelay(seed, max_backoff_ns, group_size)
    for _ in range(20):
        assert 0 <= delay.first() <= max_backoff_ns * (1 + 1e-9) + 1
