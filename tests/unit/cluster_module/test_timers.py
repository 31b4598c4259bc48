"""Timers of both kinds, compared with a list that is searched for what is due."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerolog.cluster.module.timers import POLL_LIMIT, HeapTimers, Timers, WheelTimers

if TYPE_CHECKING:
    from collections.abc import Callable

KINDS = {"wheel": lambda: WheelTimers(8, 4), "heap": HeapTimers}
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("schedule"), st.integers(0, 5), st.integers(-20, 90)),
        st.tuples(st.just("cancel"), st.integers(0, 5), st.just(0)),
        st.tuples(st.just("pass"), st.just(0), st.integers(-3, 80)),
    ),
    max_size=40,
)


@pytest.fixture(params=KINDS.values(), ids=list(KINDS))
def timers(request: pytest.FixtureRequest) -> Timers:
    made: Timers = request.param()
    return made


def fired_at(timers: Timers, now: int) -> list[int]:
    fired: list[int] = []

    def fire(correlation_id: int) -> bool:
        fired.append(correlation_id)
        return True

    count = timers.poll(now, fire)
    assert count == len(fired)
    return fired


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
@given(steps=STEPS)
def test_timers_fire_when_they_are_due_and_once(
    make: Callable[[], Timers], steps: list[tuple[str, int, int]]
) -> None:
    timers, model, now = make(), dict[int, int](), 100
    for step, correlation_id, value in steps:
        if step == "schedule":
            timers.schedule(correlation_id, now + value)
            model[correlation_id] = now + value
        elif step == "cancel":
            assert timers.cancel(correlation_id) == (model.pop(correlation_id, None) is not None)
        else:
            now += value  # a clock may step back
            fired = fired_at(timers, now)
            assert sorted(fired) == sorted(each for each, at in model.items() if at <= now)
            if isinstance(timers, HeapTimers):
                assert [model[each] for each in fired] == sorted(model[each] for each in fired)
            for each in fired:
                del model[each]
        assert dict(timers) == model
        assert len(timers) == len(model)
        assert timers.next_deadline == min(model.values(), default=None)


def test_a_wheel_goes_by_tick_and_by_slot() -> None:
    timers = WheelTimers(8, 4)
    assert fired_at(timers, 0) == []
    for number, deadline in enumerate((17, 7, 3, 5, 3, 39)):
        timers.schedule(number, deadline)
    timers.cancel(2)
    timers.schedule(6, 4)  # takes the slot of what was cancelled
    assert fired_at(timers, 40) == [1, 6, 3, 4, 5, 0]  # 39 is a turn later, on the spoke of 3


def test_what_is_overdue_gets_the_present_tick_of_a_wheel() -> None:
    timers = WheelTimers(8, 4)
    timers.schedule(9, 1000)
    timers.advance(100)
    for number, deadline in enumerate((90, 20, 99, 3)):
        timers.schedule(number, deadline)
    assert fired_at(timers, 100) == [0, 1, 2, 3]


def test_a_heap_has_equal_deadlines_as_a_binary_heap() -> None:
    timers = HeapTimers()
    for number in range(6):
        timers.schedule(number, 5)
    assert fired_at(timers, 5) == [0, 1, 3, 5, 4, 2]


def test_a_timer_that_cannot_be_fired_stays(timers: Timers) -> None:
    timers.schedule(7, 10)
    assert timers.poll(10, lambda _: False) == 0
    assert fired_at(timers, 10) == [7]
    assert len(timers) == 0


def test_a_poll_fires_a_few_at_most(timers: Timers) -> None:
    for number in range(3 * POLL_LIMIT):
        timers.schedule(number, number)
    fired = [fired_at(timers, 1000) for _ in range(3)]
    assert [len(each) for each in fired] == [POLL_LIMIT] * 3
    assert {number for each in fired for number in each} == set(range(3 * POLL_LIMIT))
    assert len(timers) == 0


def test_timers_that_come_and_go_leave_nothing(timers: Timers) -> None:
    """Behind one that is due sooner, so that they never come to be the next."""
    timers.schedule(0, 10)
    for round_number in range(2):
        for number in range(1, 10_000):
            timers.schedule(number % 10 + 1, 1000 + number)
            timers.cancel(number % 10 + 1)
        if round_number == 0:  # the first one has made what there is to be made
            tracemalloc.start()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100_000
    assert dict(timers) == {0: 10}


def test_an_event_in_the_log_before_its_schedule_swallows_that_once(timers: Timers) -> None:
    timers.on_timer_event(7)
    timers.schedule(7, 10)
    assert len(timers) == 0
    timers.schedule(7, 20)
    assert dict(timers) == {7: 20}
