"""When messages are due, by a clock that moves when told to."""

from __future__ import annotations

import os
import select
import signal
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerolog.archive.client.replay.pacer import Pacer
from aerolog.transport.concurrent.clock import ManualClock
from aerolog.transport.errors import ConfigurationError

T0 = 1_700_000_000_000_000_000
SECOND = 1_000_000_000
PATIENCE_S = 30.0


def test_the_first_message_is_due_at_once_and_the_others_as_long_after_it_as_recorded() -> None:
    clock = ManualClock()
    pacer = Pacer(1.0, clock=clock)

    assert pacer.delay_ns(T0) == 0
    assert pacer.delay_ns(T0 + 5) == 5
    clock.advance_ns(3)
    assert pacer.delay_ns(T0 + 5) == 2
    clock.advance_ns(2)
    assert pacer.delay_ns(T0 + 5) == 0
    assert pacer.delay_ns(T0 + 5) == 0


@pytest.mark.parametrize(("speed", "delay"), [(0.5, 2000), (1.0, 1000), (10.0, 100), (None, 0)])
def test_speed_divides_the_time_between_messages(speed: float | None, delay: int) -> None:
    pacer = Pacer(speed, clock=ManualClock())
    pacer.delay_ns(T0)

    assert pacer.delay_ns(T0 + 1000) == delay
    assert pacer.speed == speed


def test_a_message_that_comes_late_is_due_at_once_and_moves_nothing() -> None:
    clock = ManualClock()
    pacer = Pacer(1.0, clock=clock)
    pacer.delay_ns(T0)
    clock.advance_ns(500)

    assert pacer.delay_ns(T0 + 100) == -400
    assert pacer.delay_ns(T0 + 700) == 200
    assert pacer.late_ns_max == 400


def test_a_pause_takes_no_recorded_time() -> None:
    clock = ManualClock()
    pacer = Pacer(1.0, clock=clock)
    pacer.delay_ns(T0)
    clock.advance_ns(30)
    pacer.pause()

    assert pacer.delay_ns(T0 + 100) is None
    clock.advance_ns(10**12)
    assert pacer.delay_ns(T0 + 100) is None
    pacer.resume()
    assert pacer.delay_ns(T0 + 100) == 70


def test_another_speed_counts_from_where_it_is_set() -> None:
    clock = ManualClock()
    pacer = Pacer(1.0, clock=clock)
    pacer.delay_ns(T0)
    assert pacer.delay_ns(T0 + 1000) == 1000
    clock.advance_ns(400)
    pacer.speed = 2.0

    assert pacer.delay_ns(T0 + 1000) == 300
    pacer.speed = None
    assert pacer.delay_ns(T0 + 1000) == 0
    pacer.speed = 1.0
    assert pacer.delay_ns(T0 + 1500) == 500


def test_a_clock_that_went_back_takes_no_time() -> None:
    pacer = Pacer(1.0, clock=ManualClock())
    pacer.delay_ns(T0)
    pacer.delay_ns(T0 + 100)

    assert pacer.delay_ns(T0 - 3600 * SECOND) == 100
    assert pacer.delay_ns(T0 - 3600 * SECOND + 50) == 150
    assert pacer.steps_back == 1


@given(
    st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20),
    st.sampled_from([0.000_001, 0.5, 1.0, 3.0, 1e6, None]),
)
def test_any_times_are_borne(times: list[int], speed: float | None) -> None:
    clock = ManualClock()
    pacer = Pacer(speed, clock=clock)
    last_due = 0
    for one in times:
        delay = pacer.delay_ns(one)
        assert delay is not None
        assert pacer.due_ns >= last_due
        last_due = pacer.due_ns


@pytest.mark.parametrize("speed", [0.0, -1.0, 1e-7, 1e7, float("nan"), float("inf")])
def test_a_speed_that_is_none_is_refused(speed: float) -> None:
    with pytest.raises(ConfigurationError, match="speed"):
        Pacer(speed)
    pacer = Pacer()
    with pytest.raises(ConfigurationError, match="speed"):
        pacer.speed = speed
    assert pacer.speed == 1.0


def test_a_wait_is_not_over_before_the_message_is_due() -> None:
    pacer = Pacer(1.0)
    begin = time.monotonic_ns()
    assert pacer.wait(T0)
    while not pacer.wait(T0 + 20_000_000):
        pass
    assert time.monotonic_ns() - begin >= 20_000_000


def test_a_wait_ends_when_asked_to() -> None:
    pacer = Pacer(1.0)
    pacer.wait(T0)

    assert not pacer.wait(T0 + 3600 * SECOND, 1_000_000)


def in_a_while(work: object) -> threading.Thread:
    thread = threading.Thread(target=work)  # type: ignore[arg-type]
    thread.start()
    return thread


@pytest.mark.parametrize("change", ["stop", "faster", "resume"])
def test_a_change_ends_the_sleep_of_another_thread(change: str) -> None:
    pacer = Pacer(1.0, paused=change == "resume")
    pacer.delay_ns(T0)
    done = threading.Event()

    def wait() -> None:
        while not pacer.wait(T0 + (0 if change == "resume" else 10**6 * SECOND), 3600 * SECOND):
            if pacer.stopped:
                break
        done.set()

    waiting = in_a_while(wait)
    if change == "stop":
        pacer.stop()
    elif change == "resume":
        pacer.resume()
    else:
        pacer.speed = None
    assert done.wait(PATIENCE_S)
    waiting.join(PATIENCE_S)


def test_a_stopped_pacer_lets_nothing_through() -> None:
    pacer = Pacer(None)
    pacer.stop()

    assert pacer.stopped
    assert not pacer.wait(T0)


def test_a_signal_ends_a_wait() -> None:
    class HeardError(Exception):
        pass

    def hear(_number: int, _frame: object) -> None:
        raise HeardError

    previous = signal.signal(signal.SIGUSR1, hear)
    pacer = Pacer(1.0)
    pacer.pause()
    sender = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGUSR1))
    try:
        with pytest.raises(HeardError):
            sender.start()
            while not pacer.wait(T0, 3600 * SECOND):
                pass
    finally:
        sender.join(PATIENCE_S)
        signal.signal(signal.SIGUSR1, previous)


def test_every_change_makes_the_descriptor_readable() -> None:
    pacer = Pacer()
    for change in (pacer.pause, pacer.resume, pacer.stop):
        change()
        assert select.select([pacer], [], [], PATIENCE_S)[0]
        pacer.drain()
        assert not select.select([pacer], [], [], 0)[0]


def test_as_many_changes_as_one_likes_do_not_block() -> None:
    pacer = Pacer()
    for _ in range(100_000):
        pacer.pause()
    assert pacer.paused
