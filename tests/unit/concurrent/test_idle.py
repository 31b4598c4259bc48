"""Idle strategies: what they do, and their names (spec configuration 9, spec client 18)."""

from __future__ import annotations

import threading
import time

import pytest

from aerolog.transport.concurrent.idle import (
    BackoffIdleStrategy,
    BusySpinIdleStrategy,
    CallableIdleStrategy,
    ControllableIdleStrategy,
    NoOpIdleStrategy,
    SleepingIdleStrategy,
    SleepingMillisIdleStrategy,
    YieldingIdleStrategy,
    idle_strategy,
)
from aerolog.transport.errors import ConfigurationError

CLASSES = {
    "noop": NoOpIdleStrategy,
    "spin": BusySpinIdleStrategy,
    "yield": YieldingIdleStrategy,
    "sleep-ns": SleepingIdleStrategy,
    "sleeping": SleepingIdleStrategy,
    "sleep-ms": SleepingMillisIdleStrategy,
    "backoff": BackoffIdleStrategy,
    "controllable": ControllableIdleStrategy,
}


@pytest.mark.parametrize("alias", CLASSES)
def test_aliases_name_strategies(alias):
    assert type(idle_strategy(alias)) is CLASSES[alias]


@pytest.mark.parametrize("alias", sorted(set(CLASSES) - {"sleeping"}))
def test_java_class_names_name_strategies(alias):
    name = f"org.agrona.concurrent.{CLASSES[alias].__name__}"
    strategy = idle_strategy(name)
    assert type(strategy) is CLASSES[alias]
    assert strategy.alias == alias


@pytest.mark.parametrize("name", ["", "Backoff", "@null", "com.example.MyIdle", "backoff "])
def test_an_unknown_name_is_refused_by_name(name):
    with pytest.raises(ConfigurationError) as refused:
        idle_strategy(name)
    assert repr(name) in str(refused.value)


def test_every_call_makes_a_strategy_of_its_own():
    assert idle_strategy("backoff") is not idle_strategy("backoff")


def test_a_strategy_is_taken_as_it_is():
    strategy = SleepingIdleStrategy(5)
    assert idle_strategy(strategy) is strategy


def test_the_defaults_are_the_reference_s():
    backoff = idle_strategy("backoff")
    assert (backoff.max_spins, backoff.max_yields) == (10, 20)
    assert (backoff.min_park_ns, backoff.max_park_ns) == (1_000, 1_000_000)
    assert idle_strategy("sleep-ns").period_ns == 1_000
    assert idle_strategy("sleep-ms").period_ns == 1_000_000


def test_arguments_of_the_c_driver_are_understood():
    assert idle_strategy("sleep-ns", "1ms").period_ns == 1_000_000
    backoff = idle_strategy("backoff", "5, 6, 7us, 8ms")
    assert (backoff.max_spins, backoff.max_yields) == (5, 6)
    assert (backoff.min_park_ns, backoff.max_park_ns) == (7_000, 8_000_000)


@pytest.mark.parametrize(
    ("alias", "arguments"),
    [("spin", "1ms"), ("backoff", "1,2"), ("backoff", "a,b,1us,1ms"), ("sleep-ns", "soon")],
)
def test_arguments_that_a_strategy_does_not_take_are_refused(alias, arguments):
    with pytest.raises(ConfigurationError):
        idle_strategy(alias, arguments)


@pytest.mark.parametrize(
    "make",
    [
        lambda: SleepingIdleStrategy(0),
        lambda: SleepingIdleStrategy(-1),
        lambda: SleepingMillisIdleStrategy(0),
        lambda: BackoffIdleStrategy(max_spins=-1),
        lambda: BackoffIdleStrategy(min_park_ns=2_000, max_park_ns=1_000),
        lambda: CallableIdleStrategy(3),
        lambda: idle_strategy(None),
    ],
)
def test_impossible_parameters_are_refused(make):
    with pytest.raises(ConfigurationError):
        make()


def duration_s(strategy, work_count=0):
    start = time.perf_counter()
    strategy(work_count)
    return time.perf_counter() - start


def test_a_sleep_lasts_its_period_and_work_skips_it():
    assert duration_s(SleepingMillisIdleStrategy(300)) >= 0.299
    assert duration_s(SleepingMillisIdleStrategy(3_600_000), 1) < 60


def test_backoff_parks_longer_each_time_until_there_is_work():
    for start_over in (lambda strategy: strategy(1), lambda strategy: strategy.reset_idle()):
        strategy = BackoffIdleStrategy(0, 0, 100_000_000, 3600 * 10**9)
        first, second, third, fourth = (duration_s(strategy) for _ in range(4))
        assert first >= 0.099
        assert second >= 0.199
        assert third >= 0.399
        assert fourth >= 0.799
        start_over(strategy)
        again = sum(duration_s(strategy) for _ in range(3))
        assert again < 11.199  # what the next three parks would have taken


def test_backoff_parks_no_longer_than_it_may():
    strategy = BackoffIdleStrategy(0, 0, 1_000_000, 2_000_000)
    assert sum(duration_s(strategy) for _ in range(40)) < 60  # doubled each time it were years


def test_backoff_spins_and_yields_before_it_parks():
    strategy = BackoffIdleStrategy(3, 4, 3600 * 10**9, 3600 * 10**9)
    assert sum(duration_s(strategy) for _ in range(7)) < 60
    strategy.wake_up()
    strategy()


def test_backoff_counts_pauses_as_it_parks():
    strategy = BackoffIdleStrategy(1, 2, 100, 300)
    assert [strategy.pause_ns() for _ in range(7)] == [0, 0, 0, 100, 200, 300, 300]
    assert strategy.pause_ns(1) == 0
    assert [strategy.pause_ns() for _ in range(5)] == [0, 0, 0, 100, 200]
    strategy()  # parks, and counts as well
    assert strategy.pause_ns() == 300


@pytest.mark.parametrize(
    "make",
    [
        lambda: SleepingIdleStrategy(60 * 10**9),
        lambda: BackoffIdleStrategy(0, 0, 60 * 10**9, 60 * 10**9),
    ],
)
def test_waking_ends_a_park_from_another_thread(make, until):
    strategy = make()
    parked = threading.Thread(target=strategy, daemon=True)
    parked.start()
    strategy.wake_up()
    parked.join(50)
    assert not parked.is_alive()


def test_a_wake_before_the_park_is_not_lost_and_counts_once():
    endless = SleepingMillisIdleStrategy(100_000)
    endless.wake_up()
    assert duration_s(endless) < 60
    strategy = SleepingMillisIdleStrategy(300)
    strategy.wake_up()
    strategy()
    assert duration_s(strategy) >= 0.299


def test_parking_gives_the_interpreter_lock_away():
    strategy = SleepingMillisIdleStrategy(1000)
    counted = 0
    parked = threading.Thread(target=strategy)
    parked.start()
    while parked.is_alive():
        counted += 1
    assert counted > 100


def test_a_python_callable_is_given_the_work_count():
    seen = []
    strategy = idle_strategy(seen.append)
    strategy(3)
    strategy()
    assert seen == [3, 0]


def test_what_a_python_callable_raises_the_caller_gets():
    with pytest.raises(ZeroDivisionError):
        idle_strategy(lambda _: 1 // 0)()


def test_an_uncontrolled_controllable_strategy_parks_briefly():
    assert duration_s(ControllableIdleStrategy()) < 60
