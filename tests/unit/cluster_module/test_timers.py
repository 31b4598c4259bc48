"""Timers, compared with a list that is searched for what is due."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from aerolog.cluster.module.timers import POLL_LIMIT, Timers

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("schedule"), st.integers(0, 5), st.integers(0, 50)),
        st.tuples(st.just("cancel"), st.integers(0, 5), st.just(0)),
        st.tuples(st.just("pass"), st.just(0), st.integers(0, 20)),
    ),
    max_size=40,
)


@given(STEPS)
def test_timers_fire_by_deadline_and_once(steps: list[tuple[str, int, int]]) -> None:
    timers, model, now = Timers(), dict[int, int](), 0
    for step, correlation_id, value in steps:
        if step == "schedule":
            timers.schedule(correlation_id, now + value)
            model[correlation_id] = now + value
        elif step == "cancel":
            assert timers.cancel(correlation_id) == (model.pop(correlation_id, None) is not None)
        else:
            now += value
            fired: list[int] = []
            timers.poll(now, lambda each, fired=fired: fired.append(each) is None)  # type: ignore[misc]
            due = sorted((deadline, each) for each, deadline in model.items() if deadline <= now)
            assert sorted(fired) == sorted(each for _, each in due)
            assert [model[each] for each in fired] == [deadline for deadline, _ in due]
            for each in fired:
                del model[each]
        assert dict(timers) == model
        assert timers.next_deadline == min(model.values(), default=None)


def test_a_timer_that_cannot_be_fired_stays() -> None:
    timers = Timers()
    timers.schedule(7, 10)
    assert timers.poll(10, lambda _: False) == 0
    assert timers.poll(10, lambda each: each == 7) == 1
    assert len(timers) == 0


def test_a_poll_fires_a_few_at_most() -> None:
    timers = Timers()
    for number in range(3 * POLL_LIMIT):
        timers.schedule(number, number)
    assert timers.poll(1000, lambda _: True) == POLL_LIMIT
    assert len(timers) == 2 * POLL_LIMIT


def test_an_event_in_the_log_before_its_schedule_swallows_that_once() -> None:
    timers = Timers()
    timers.on_timer_event(7)
    timers.schedule(7, 10)
    assert len(timers) == 0
    timers.schedule(7, 20)
    assert dict(timers) == {7: 20}
