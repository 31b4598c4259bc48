"""Duty cycles go on while other code holds the interpreter's lock."""

import ctypes
import os
import time

import pytest

from aerolog.transport.concurrent.agent import Agent
from aerolog.transport.concurrent.agent_runner import AgentRunner, DutyCycleTracker
from aerolog.transport.concurrent.idle import SleepingMillisIdleStrategy

#: Keeps the lock while it sleeps, as a foreign library does that does not know of it.
hold_us = ctypes.PyDLL(None).usleep


class Counting(Agent):
    def __init__(self) -> None:
        super().__init__("counting")
        self.rounds = 0

    def control(self) -> int:
        self.rounds += 1
        return 0


@pytest.fixture
def make_runner():
    runners = []

    def make():
        agent, tracker = Counting(), DutyCycleTracker(100_000_000)
        runner = AgentRunner(agent, SleepingMillisIdleStrategy(), trackers=[tracker])
        runners.append(runner)
        runner.start()
        return agent, tracker

    yield make
    for runner in runners:
        runner.close()


def wait_for_rounds(agent, more=3):
    wanted, deadline = agent.rounds + more, time.monotonic() + 10
    while agent.rounds < wanted:
        assert time.monotonic() < deadline, f"{agent.rounds} of {wanted} rounds within 10 s"
        time.sleep(0.001)


def test_no_duty_cycle_waits_for_the_lock(make_runner):
    agents = [make_runner() for _ in range(3)]
    for agent, _ in agents:
        wait_for_rounds(agent)
    before = [agent.rounds for agent, _ in agents]
    hold_us(2_000_000)
    rounds = [agent.rounds for agent, _ in agents]
    for (agent, tracker), first, last in zip(agents, before, rounds, strict=True):
        assert last - first <= 1, "control() ran beside the code that holds the lock"
        assert tracker.max_cycle_time_ns < 1_000_000_000, "the cycles stood still"
        wait_for_rounds(agent)


def test_short_waits_and_long_ones_in_turns_lose_nothing(make_runner):
    agent, tracker = make_runner()
    wait_for_rounds(agent)
    for milliseconds in (1, 30, 5, 60, 19, 21, 20, 100):
        hold_us(milliseconds * 1000)
        wait_for_rounds(agent)
    assert tracker.max_cycle_time_ns < 1_000_000_000


def test_a_forked_process_has_a_standby_runner_of_its_own(make_runner):
    agent, _ = make_runner()
    wait_for_rounds(agent)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            agent, tracker = make_runner()
            wait_for_rounds(agent)
            hold_us(2_000_000)
            wait_for_rounds(agent)
            code = 0 if tracker.max_cycle_time_ns < 1_000_000_000 else 2
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    wait_for_rounds(agent)
