"""Invokers and runners of agents (docs/decisions/0001)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from late_threads import begin_when_joined

from aerolog.transport.concurrent.agent import Agent
from aerolog.transport.concurrent.agent_runner import (
    AgentInvoker,
    AgentRunner,
    AgentTerminated,
    DutyCycleTracker,
)
from aerolog.transport.concurrent.clock import ManualClock
from aerolog.transport.concurrent.idle import SleepingIdleStrategy, idle_strategy
from aerolog.transport.errors import AeronTimeoutError, ConfigurationError


class Recorder(Agent):
    """Notes what is called on it."""

    def __init__(self, name="recorder", journal=None, work=0):
        super().__init__(name)
        self.journal = [] if journal is None else journal
        self.work = work
        self.cycles = 0
        self.threads = set()

    def on_start(self):
        self.journal.append(f"{self.role_name} start")
        self.threads.add(threading.current_thread())

    def control(self):
        self.cycles += 1
        self.threads.add(threading.current_thread())
        return self.work

    def on_close(self):
        self.journal.append(f"{self.role_name} close")
        self.threads.add(threading.current_thread())


class Failing(Recorder):
    """Raises in one of its calls."""

    def __init__(self, where, error):
        super().__init__("failing")
        self.where = where
        self.error = error

    def on_start(self):
        super().on_start()
        if self.where == "on_start":
            raise self.error

    def control(self):
        super().control()
        if self.where == "control":
            raise self.error
        return 0

    def on_close(self):
        super().on_close()
        if self.where == "on_close":
            raise self.error


def test_an_invoker_turns_its_agents_in_order_and_adds_their_work():
    journal = []
    first, second = Recorder("one", journal, 2), Recorder("two", journal, 3)
    with AgentInvoker([first, second]) as invoker:
        assert invoker.invoke() == 5
        assert invoker.invoke() == 5
        assert invoker.is_running
    assert journal == ["one start", "two start", "two close", "one close"]
    assert (first.cycles, second.cycles) == (2, 2)
    assert invoker.is_closed


def test_an_invoker_does_nothing_before_its_start_and_after_its_close():
    agent = Recorder(work=1)
    invoker = AgentInvoker(agent)
    assert invoker.invoke() == 0
    invoker.start()
    invoker.start()
    assert invoker.invoke() == 1
    invoker.close()
    invoker.close()
    invoker.start()
    assert invoker.invoke() == 0
    assert agent.journal == ["recorder start", "recorder close"]


def test_closing_what_was_never_started_still_closes_the_agents():
    for runner in (AgentInvoker(Recorder()), AgentRunner(Recorder(), idle_strategy("yield"))):
        runner.close()
        assert runner.agents[0].journal == ["recorder close"]


def test_an_agent_that_invokes_its_own_invoker_is_not_turned_twice():
    class Nested(Agent):
        def control(self):
            return 10 + invoker.invoke()

    with AgentInvoker(Nested("nested")) as invoker:
        assert invoker.invoke() == 10


#: What code may raise that no agent expects; an invoker's interrupts are its caller's own.
DEFECTS = (ValueError, AssertionError, MemoryError, RecursionError, AgentTerminated, OSError)
INTERRUPTS = (SystemExit, KeyboardInterrupt, GeneratorExit)


@pytest.mark.parametrize("kind", DEFECTS)
@pytest.mark.parametrize("where", ["on_start", "control"])
def test_an_exception_ends_the_agents_of_an_invoker(where, kind):
    told = []
    journal = []
    failing, healthy = Failing(where, kind("broken")), Recorder("healthy", journal, work=1)
    invoker = AgentInvoker(
        [failing, healthy],
        error_handler=lambda error: told.append(("reported", str(error))),
        on_failure=lambda error: told.append(("failed", str(error), journal[-1:])),
    )
    invoker.start()
    assert [invoker.invoke(), invoker.invoke()] == [0, 0]
    before = [] if where == "on_start" else ["healthy start"]
    assert told == [("reported", "broken"), ("failed", "broken", before)]
    assert journal == [*before, "healthy close"]
    assert invoker.is_closed


@pytest.mark.parametrize("kind", [*DEFECTS, *INTERRUPTS])
@pytest.mark.parametrize("where", ["on_start", "control", "on_close"])
def test_an_exception_ends_the_agents_of_a_runner(where, kind, until, capfd):
    reported, failures = [], []
    failing, healthy = Failing(where, kind("broken")), Recorder("healthy", work=1)
    runner = AgentRunner(
        [failing, healthy],
        idle_strategy("sleep-ms"),
        error_handler=reported.append,
        on_failure=failures.append,
    )
    runner.start()
    if where == "on_close":
        runner.close()
    until(lambda: runner.is_closed)
    assert [str(error) for error in reported] == ["broken"]
    assert [str(error) for error in failures] == ([] if where == "on_close" else ["broken"])
    assert healthy.journal[-1] == "healthy close"
    said = capfd.readouterr().err
    is_explained = where == "on_close" or kind in {AgentTerminated, OSError}
    assert ("Traceback" in said) is not is_explained, said


@pytest.mark.parametrize("kind", INTERRUPTS)
def test_handlers_that_raise_an_interrupt_keep_no_runner_from_its_end(kind, until, caplog):
    failures = []

    def report(_error):
        raise kind("in the error handler")

    def owner(error):
        failures.append(error)
        raise kind("in the owner")

    failing = Failing("control", ValueError("broken"))
    runner = AgentRunner(failing, idle_strategy("sleep-ms"), error_handler=report, on_failure=owner)
    runner.start()
    until(lambda: runner.is_closed)
    assert [str(error) for error in failures] == ["broken"]
    assert failing.journal[-1] == "failing close"
    assert all(text in caplog.text for text in ("broken", "in the error handler", "in the owner"))


def test_an_owner_that_fails_as_well_does_not_keep_the_agents_from_closing():
    errors = []

    def owner(_error):
        raise RuntimeError("owner broken")

    failing = Failing("control", ValueError("broken"))
    with AgentInvoker(failing, error_handler=errors.append, on_failure=owner) as invoker:
        invoker.invoke()
        assert invoker.is_closed
    assert [str(error) for error in errors] == ["broken", "owner broken"]
    assert failing.journal[-1] == "failing close"


def test_an_error_without_a_handler_is_logged(caplog):
    with AgentInvoker(Failing("control", ValueError("broken"))) as invoker:
        invoker.invoke()
    assert "broken" in caplog.text


def test_an_error_handler_that_fails_does_not_hide_the_error(caplog):
    def handler(_error):
        raise RuntimeError("handler broken")

    with AgentInvoker(Failing("control", ValueError("broken")), error_handler=handler) as invoker:
        invoker.invoke()
    assert "agent failed: broken" in caplog.text
    assert "handler broken" in caplog.text


def test_an_agent_whose_start_fails_ends_the_invoker():
    errors = []
    failing = Failing("on_start", ValueError("no start"))
    invoker = AgentInvoker(failing, error_handler=errors.append)
    invoker.start()
    assert invoker.is_closed
    assert [str(error) for error in errors] == ["no start"]
    assert failing.journal == ["failing start", "failing close"]


def test_a_close_that_fails_does_not_keep_the_others_from_closing():
    errors = []
    first, last = Recorder(), Failing("on_close", ValueError("stuck"))
    AgentInvoker([first, last], error_handler=errors.append).close()
    assert len(errors) == 1
    assert first.journal == ["recorder close"]


def test_an_interrupt_comes_out_of_invoke_and_the_invoker_can_be_closed():
    agent = Failing("control", KeyboardInterrupt())
    invoker = AgentInvoker(agent)
    invoker.start()
    with pytest.raises(KeyboardInterrupt):
        invoker.invoke()
    with pytest.raises(KeyboardInterrupt):
        invoker.invoke()
    invoker.close()
    assert agent.journal[-1] == "failing close"


def test_an_interrupt_at_the_start_closes_the_agents_and_comes_out():
    agent = Failing("on_start", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        AgentInvoker(agent).start()
    assert agent.journal == ["failing start", "failing close"]


def test_an_interrupt_at_the_end_comes_out_when_all_are_closed():
    first, last = Recorder(), Failing("on_close", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        AgentInvoker([first, last]).close()
    assert first.journal == ["recorder close"]


@pytest.mark.parametrize("agents", [[], [object()], None])
def test_a_runner_without_agents_is_refused(agents):
    with pytest.raises((ConfigurationError, TypeError)):
        AgentInvoker(agents)


def test_as_many_trackers_as_agents():
    with pytest.raises(ConfigurationError, match="1 agents"):
        AgentInvoker(Recorder(), trackers=[])
    with pytest.raises(ConfigurationError, match="not a DutyCycleTracker"):
        AgentInvoker(Recorder(), trackers=["x"])


def test_role_names_of_several_are_in_brackets():
    assert AgentInvoker(Recorder("sender")).role_name == "sender"
    assert AgentInvoker([Recorder("a"), Recorder("b")]).role_name == "[a,b]"


def test_duty_cycles_are_measured_with_the_clock():
    clock = ManualClock()
    tracker = DutyCycleTracker(threshold_ns=1_000)
    with AgentInvoker(Recorder(), clock=clock, trackers=[tracker]) as invoker:
        for elapsed_ns in (10, 1_000, 1_001, 5):
            clock.advance_ns(elapsed_ns)
            invoker.invoke()
    assert tracker.max_cycle_time_ns == 1_001
    assert tracker.threshold_exceeded_count == 1


def test_a_runner_calls_everything_on_its_own_thread(until):
    agent = Recorder()
    with AgentRunner(agent, idle_strategy("sleep-ms"), name="worker") as runner:
        until(lambda: agent.cycles > 3)
        assert runner.is_running
        thread = runner.thread
    assert agent.threads == {thread}
    assert thread.name == "worker"
    assert not thread.is_alive()
    assert runner.is_closed
    assert agent.journal == ["recorder start", "recorder close"]


def test_threads_carry_their_name_for_the_system(until):
    names = []

    class Named(Recorder):
        def control(self):
            names.append(Path("/proc/thread-self/comm").read_text(encoding="utf-8").strip())
            return super().control()

    with AgentRunner(Named("driver-conductor"), idle_strategy("sleep-ms")):
        until(lambda: names)
    assert names[0] == "driver-conducto"


def test_a_runner_can_be_bound_to_a_processor(until):
    processor = max(os.sched_getaffinity(0))
    seen = []

    class Bound(Recorder):
        def control(self):
            seen.append(os.sched_getaffinity(0))
            return super().control()

    with AgentRunner(Bound(), idle_strategy("sleep-ms"), affinity=processor):
        until(lambda: seen)
    assert seen[0] == {processor}
    assert os.sched_getaffinity(0) != set()


def test_a_processor_that_is_not_there_is_reported_and_the_agent_runs(until):
    errors = []
    agent = Recorder()
    with AgentRunner(agent, idle_strategy("sleep-ms"), affinity=1023, error_handler=errors.append):
        until(lambda: agent.cycles)
    assert "processor 1023" in str(errors[0])


def test_closing_is_prompt_even_in_an_hour_s_sleep(until):
    agent = Recorder()
    runner = AgentRunner(agent, SleepingIdleStrategy(3600 * 10**9))
    runner.start()
    until(lambda: agent.cycles)
    start = time.monotonic()
    runner.close()
    assert time.monotonic() - start < 60
    assert runner.is_closed
    runner.close()


def test_waking_a_runner_gives_it_another_cycle(until):
    agent = Recorder()
    with AgentRunner(agent, SleepingIdleStrategy(3600 * 10**9)) as runner:
        until(lambda: agent.cycles == 1)
        for count in (2, 3):
            runner.wake()
            until(lambda count=count: agent.cycles == count)


def test_a_runner_whose_agent_terminates_ends_by_itself(until):
    errors = []
    agent = Failing("control", AgentTerminated("done"))
    runner = AgentRunner(agent, idle_strategy("sleep-ms"), error_handler=errors.append)
    runner.start()
    until(lambda: runner.is_closed)
    assert agent.journal[-1] == "failing close"
    assert [str(error) for error in errors] == ["done"]
    runner.close()


def test_a_runner_whose_agent_cannot_start_ends_by_itself(until):
    errors = []
    runner = AgentRunner(
        Failing("on_start", OSError("no")), idle_strategy("spin"), error_handler=errors.append
    )
    runner.start()
    until(lambda: runner.is_closed)
    assert len(errors) == 1


def test_a_runner_whose_start_is_interrupted_leaves_no_thread(monkeypatch):
    agent = Recorder()
    runner = AgentRunner(agent, idle_strategy("backoff"))
    begin_when_joined(monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        runner.start()
    assert runner.is_closed
    assert not runner.thread.is_alive()
    assert agent.journal[-1] == "recorder close"
    assert agent.journal.count("recorder close") == 1


def test_a_runner_for_which_there_is_no_thread_closes_its_agents(monkeypatch):
    def refused(thread):
        raise RuntimeError("can't start new thread")

    agent = Recorder()
    runner = AgentRunner(agent, idle_strategy("backoff"))
    monkeypatch.setattr(threading.Thread, "start", refused)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        runner.start()
    assert runner.is_closed
    assert agent.journal == ["recorder close"]


def test_a_runner_can_be_closed_by_its_own_agent(until):
    class Closing(Recorder):
        def control(self):
            runner.close()
            return super().control()

    runner = AgentRunner(Closing(), idle_strategy("sleep-ms"))
    runner.start()
    until(lambda: runner.is_closed)
    assert runner.agents[0].cycles == 1


def test_closing_gives_up_on_an_agent_that_does_not_return(until):
    release = threading.Event()

    class Stuck(Recorder):
        def control(self):
            super().control()
            release.wait(30)
            return 0

    runner = AgentRunner(Stuck("stuck"), idle_strategy("spin"))
    runner.start()
    until(lambda: runner.agents[0].cycles)
    with pytest.raises(AeronTimeoutError, match="stuck"):
        runner.close(timeout_s=0.05)
    release.set()
    runner.close()
    assert runner.is_closed


def test_a_runner_is_turned_by_nobody_else():
    with pytest.raises(RuntimeError, match="own thread"):
        AgentRunner(Recorder(), idle_strategy("spin")).invoke()


def test_a_python_idle_strategy_is_called_and_its_errors_are_reported(until):
    errors, calls = [], []

    def idle(work_count):
        calls.append(work_count)
        if len(calls) == 3:
            raise KeyError("idle broken")

    with AgentRunner(Recorder(work=4), idle_strategy(idle), error_handler=errors.append):
        until(lambda: len(calls) > 5)
    assert [type(error) for error in errors] == [KeyError]
    assert 4 in calls


def test_a_thread_that_hogs_the_interpreter_does_not_stop_stopping(until):
    agent = Recorder()
    stop = threading.Event()

    def hog():
        while not stop.is_set():
            sum(range(100))

    hogs = [threading.Thread(target=hog, daemon=True) for _ in range(2)]
    for each in hogs:
        each.start()
    try:
        with AgentRunner(agent, idle_strategy("sleep-ms")):
            until(lambda: agent.cycles > 2)
    finally:
        stop.set()
    assert agent.journal[-1] == "recorder close"


FORGOTTEN = """
import sys, threading
from aerolog.transport.concurrent.agent import Agent
from aerolog.transport.concurrent.agent_runner import AgentRunner
from aerolog.transport.concurrent.idle import idle_strategy

class Forgotten(Agent):
    def on_close(self):
        print("closed", flush=True)

runner = AgentRunner(Forgotten("forgotten"), idle_strategy(sys.argv[1]))
runner.start()
print("ready", flush=True)
if sys.argv[2] == "wait":
    threading.Event().wait(60)
"""


@pytest.mark.parametrize("strategy", ["spin", "backoff"])
def test_a_forgotten_runner_is_closed_when_the_process_ends(strategy):
    done = subprocess.run(
        [sys.executable, "-c", FORGOTTEN, strategy, "end"],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "ready\nclosed\n", "")


def test_ctrl_c_ends_a_process_with_a_runner():
    process = subprocess.Popen(
        [sys.executable, "-c", FORGOTTEN, "backoff", "wait"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert out == "closed\n"
    assert "KeyboardInterrupt" in err
    assert process.returncode != 0


FORKED = """
import os, sys
from aerolog.transport.concurrent.agent import Agent
from aerolog.transport.concurrent.agent_runner import AgentRunner
from aerolog.transport.concurrent.idle import idle_strategy

class Closing(Agent):
    def on_close(self):
        print("closed in", "parent" if os.getpid() == parent else "child", flush=True)

parent = os.getpid()
runner = AgentRunner(Closing("closing"), idle_strategy("backoff"))
runner.start()
child = os.fork()
if child:
    assert os.waitpid(child, 0)[1] == 0
sys.exit(0)
"""


def test_a_forked_child_leaves_the_runner_to_its_parent():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "closed in parent\n", "")
