"""A driver with threads inside a Python process, through the fixtures that are shipped for it."""

import os
import sys
import threading
import time

import pytest

from aerolog.transport.client import Aeron
from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.driver import MediaDriver, ThreadingMode
from aerolog.transport.errors import ConfigurationError, ResourceClosedError
from aerolog.transport.memory.cnc import HEARTBEAT_CLOSED, CncFile
from aerolog.transport.memory.filesystem import RealFileSystem
from aerolog.transport.protocol import commands as c
from aerolog.transport.protocol import responses as r

pytest_plugins = ["aerolog.testing.pytest_plugin"]

DEADLINE_S = 60


def answers(cnc, receiver, command):
    """What a driver says up to the answer to a command."""
    assert cnc.to_driver.write(command.TYPE_ID, c.encode_command(command))
    said = []
    deadline = time.monotonic() + DEADLINE_S
    while not said or getattr(said[-1], "correlation_id", None) != command.correlation_id:
        received = receiver.receive_next()
        if received is not None:
            said.append(r.decode_response(*received))
        assert time.monotonic() < deadline
    return said


@pytest.fixture
def unhurried():
    """Python threads do not take turns: who has the interpreter keeps it."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(60)
    yield
    sys.setswitchinterval(before)


def test_a_python_thread_that_hogs_the_interpreter_does_not_stop_the_driver(
    media_driver_factory, unhurried
):
    driver = media_driver_factory(timer_interval=0.02)
    cnc = CncFile.connect(driver.aeron_dir)
    receiver = cnc.receiver()
    answers(cnc, receiver, c.AddSubscription(99, 101, 7, "aeron:ipc"))
    *_, ready, _image = answers_and_image(cnc, receiver)
    values = cnc.counters
    assert isinstance(ready, r.PublicationReady)
    turns, go = [], threading.Event()
    eager = threading.Thread(target=lambda: turns.append(go.wait()))
    eager.start()
    go.set()
    limits, beats = set(), set()
    deadline = time.monotonic() + DEADLINE_S
    while (len(beats) < 5 or 32_768 not in limits) and time.monotonic() < deadline:
        limits.add(values.counter_value(ready.limit_counter_id))
        beats.add(cnc.heartbeat_ms)
    assert turns == []  # the interpreter was ours all the time
    eager.join(DEADLINE_S)
    assert len(beats) >= 5
    assert 32_768 in limits


def answers_and_image(cnc, receiver):
    said = answers(cnc, receiver, c.AddPublication(99, 102, 7, "aeron:ipc"))
    deadline = time.monotonic() + DEADLINE_S
    while not isinstance(said[-1], r.AvailableImage):
        received = receiver.receive_next()
        if received is not None:
            said.append(r.decode_response(*received))
        assert time.monotonic() < deadline
    return said


THREADS = {ThreadingMode.DEDICATED: 3, ThreadingMode.SHARED_NETWORK: 2, ThreadingMode.SHARED: 1}


@pytest.mark.parametrize("mode", THREADS)
def test_closing_ends_every_thread(media_driver_factory, mode):
    before = set(threading.enumerate())
    driver = media_driver_factory(threading_mode=mode)
    assert len(set(threading.enumerate()) - before) == THREADS[mode]
    cnc = CncFile.connect(driver.aeron_dir)
    driver.close()
    assert set(threading.enumerate()) <= before
    assert cnc.heartbeat_ms == HEARTBEAT_CLOSED
    assert driver.is_closed


def test_a_controllable_idle_strategy_parks_until_an_operator_says_otherwise(media_driver_factory):
    driver = media_driver_factory(
        shared_idle_strategy="org.agrona.concurrent.ControllableIdleStrategy", timer_interval=0.01
    )
    cnc = CncFile.connect(driver.aeron_dir)
    assert cnc.counters.counter_value(SystemCounter.CONTROLLABLE_IDLE_STRATEGY) == 4
    for mode in (1, 2, 3, 4, 0, -77):
        cnc.counters.set_value(SystemCounter.CONTROLLABLE_IDLE_STRATEGY, mode)
        before = cnc.heartbeat_ms
        deadline = time.monotonic() + DEADLINE_S
        while cnc.heartbeat_ms == before:
            assert time.monotonic() < deadline
            time.sleep(0.001)


def test_a_client_of_the_same_process_wakes_the_driver_with_each_command(media_driver_factory):
    driver = media_driver_factory(
        threading_mode="DEDICATED",
        conductor_idle_strategy="sleep-ns",
        conductor_idle_strategy_init_args="3600s",
    )
    with (
        Aeron(driver.aeron_dir, driver_bell=driver.wake) as aeron,
        aeron.add_publication("aeron:ipc", 7) as publication,
        aeron.add_subscription("aeron:ipc", 7),
    ):
        # Each was answered, or there would have been a DriverTimeoutError.
        publication.wait_connected(DEADLINE_S)
        assert publication.is_connected


def test_a_driver_without_threads_has_nobody_to_wake(media_driver_factory):
    driver = media_driver_factory(threading_mode="INVOKER")
    command = c.ClientKeepalive(1, 1)
    CncFile.connect(driver.aeron_dir).to_driver.write(command.TYPE_ID, c.encode_command(command))
    driver.wake()
    assert driver.do_work() > 0


def test_a_driver_with_threads_is_not_turned_by_hand(media_driver):
    with pytest.raises(ConfigurationError, match="INVOKER"):
        media_driver.do_work()


def test_an_embedded_driver_has_a_directory_of_its_own_that_goes_with_it(media_driver_factory):
    one, other = media_driver_factory(), media_driver_factory()
    assert one.aeron_dir != other.aeron_dir
    one.close()
    with pytest.raises(FileNotFoundError):
        CncFile.open(RealFileSystem(), one.aeron_dir)


def test_a_termination_validator_of_the_owner_decides(media_driver_dir):
    asked, told = [], []
    driver = MediaDriver(
        media_driver_dir,
        threading_mode="INVOKER",
        termination_validator=lambda directory, token: asked.append((directory, token)) or True,
        termination_hook=lambda: told.append(True),
    )
    with driver:
        cnc = CncFile.connect(driver.aeron_dir)
        command = c.TerminateDriver(-1, 1, b"secret")
        cnc.to_driver.write(command.TYPE_ID, c.encode_command(command))
        driver.do_work()
    assert asked == [(driver.aeron_dir, b"secret")]
    assert told == [True]


def test_the_owner_hears_when_the_conductor_ends_by_itself(media_driver_factory):
    ended = threading.Event()

    def leave(directory, token):
        raise SystemExit(token)

    driver = media_driver_factory(termination_validator=leave, ended_hook=ended.set)
    cnc = CncFile.connect(driver.aeron_dir)
    command = c.TerminateDriver(-1, 1, b"")
    cnc.to_driver.write(command.TYPE_ID, c.encode_command(command))
    assert ended.wait(DEADLINE_S)
    assert cnc.heartbeat_ms == HEARTBEAT_CLOSED


DEFECTS = (ValueError, AssertionError, MemoryError, OSError, SystemExit, KeyboardInterrupt)


@pytest.mark.parametrize("kind", DEFECTS)
@pytest.mark.parametrize("mode", ["DEDICATED", "SHARED_NETWORK", "SHARED"])
def test_an_exception_in_the_conductor_ends_the_driver(media_driver_factory, mode, kind, capfd):
    failed = threading.Event()
    driver = media_driver_factory(threading_mode=mode, on_fatal=lambda _reason: failed.set())

    def defect():
        raise kind("broken")

    driver.conductor.on_worked = defect
    cnc = CncFile.connect(driver.aeron_dir)
    command = c.ClientKeepalive(-1, 1)
    cnc.to_driver.write(command.TYPE_ID, c.encode_command(command))
    assert failed.wait(DEADLINE_S)
    for runner in driver.runners:
        runner.thread.join(DEADLINE_S)
        assert runner.is_closed
    assert (type(driver.failure), driver.is_closed) == (kind, True)
    assert cnc.heartbeat_ms == HEARTBEAT_CLOSED
    assert [kind.__name__ in error.text for error in cnc.errors()] == [True]
    assert ("Traceback" in capfd.readouterr().err) is (kind is not OSError)
    driver.close()


def test_an_invoked_driver_refuses_work_after_an_exception(media_driver_factory):
    failures = []
    driver = media_driver_factory(threading_mode="INVOKER", on_fatal=failures.append)
    driver.conductor.on_worked = lambda: 1 // 0
    cnc = CncFile.connect(driver.aeron_dir)
    command = c.ClientKeepalive(-1, 1)
    cnc.to_driver.write(command.TYPE_ID, c.encode_command(command))
    driver.do_work()
    assert [type(error) for error in failures] == [ZeroDivisionError]
    assert cnc.heartbeat_ms == HEARTBEAT_CLOSED
    with pytest.raises(ResourceClosedError, match="is closed"):
        driver.do_work()


def test_a_forked_child_leaves_the_driver_alone(media_driver):
    child = os.fork()
    if child == 0:
        media_driver.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    cnc = CncFile.connect(media_driver.aeron_dir)
    assert cnc.heartbeat_ms > 0
    assert not media_driver.is_closed


def test_an_idle_driver_never_calls_python(media_driver_factory, monkeypatch):
    driver = media_driver_factory(threading_mode="INVOKER", timer_interval=0.001)
    calls = []
    monkeypatch.setattr(driver.conductor, "control", lambda *args: calls.append(args) or 0)
    deadline = time.monotonic() + 0.1
    while time.monotonic() < deadline:
        driver.do_work()
    assert calls == []
    cnc = CncFile.connect(driver.aeron_dir)
    command = c.ClientKeepalive(1, 1)
    cnc.to_driver.write(command.TYPE_ID, c.encode_command(command))
    driver.do_work()
    assert calls == [(False, False)]
