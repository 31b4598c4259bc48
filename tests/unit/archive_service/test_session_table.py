"""Hand-over of sessions, and a conductor that sleeps while there is nothing to do."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest

from aerolog.archive.service.session_table import SessionTable
from aerolog.transport.agents.doorbell import Doorbell
from aerolog.transport.concurrent.agent import Agent
from aerolog.transport.concurrent.agent_runner import AgentRunner
from aerolog.transport.concurrent.idle import SleepingIdleStrategy

AN_HOUR_NS = 3600 * 10**9
PATIENCE_S = 60


class Session:
    """Stands for a native session."""


def test_sessions_are_added_seen_and_released() -> None:
    table = SessionTable(2)
    first, second, third = Session(), Session(), Session()
    assert table.add(first)
    assert table.add(second)
    assert not table.add(third)
    assert table.sessions() == [(0, first), (1, second)]
    table.release(0)
    assert table.sessions() == [(1, second)]
    assert table.add(third)
    assert table.sessions() == [(0, third), (1, second)]


def test_the_table_keeps_nothing_alive() -> None:
    table = SessionTable()
    session = Session()
    seen = weakref.ref(session)
    table.add(session)
    table.release(0)
    del session
    gc.collect()
    assert seen() is None


@pytest.mark.parametrize("index", [-1, 4])
def test_a_slot_out_of_range_is_refused(index: int) -> None:
    with pytest.raises(IndexError):
        SessionTable(4).release(index)


def test_a_table_without_room_is_refused() -> None:
    with pytest.raises(ValueError, match="capacity=0"):
        SessionTable(0)


def test_the_bell_is_heard_once_however_often_it_was_rung(rig) -> None:
    bell, listener = rig.archive._context.doorbell, rig.archive._conductor
    rig.pass_time(10)
    assert not listener.take_bell()
    for _ in range(3):
        bell.ring_bell()
    assert listener.take_bell()
    assert not listener.take_bell()


def turns_of(rig, monkeypatch, milliseconds: int) -> int:
    """How often the conductor runs in the interpreter in so many milliseconds."""
    conductor = rig.archive._conductor
    turns = 0
    original = type(conductor).control

    def counting(self) -> int:
        nonlocal turns
        turns += 1
        return original(self)

    monkeypatch.setattr(type(conductor), "control", counting)
    for _ in range(milliseconds):
        rig.turn()
    monkeypatch.undo()
    return turns


def test_an_idle_conductor_leaves_the_interpreter_alone(make_rig, monkeypatch) -> None:
    rig = make_rig()
    rig.pass_time(200)
    assert turns_of(rig, monkeypatch, 1000) <= 25


def test_a_request_wakes_the_conductor_at_once(rig, monkeypatch) -> None:
    from aerolog.archive import protocol as ap

    rig.ask(ap.ArchiveIdRequest)
    rig.pass_time(200)
    correlation_id = rig.post(ap.ArchiveIdRequest)
    assert turns_of(rig, monkeypatch, 2) >= 1
    assert rig.answers(correlation_id)


class Counted(Agent):
    """Tells how often it was turned."""

    def __init__(self) -> None:
        super().__init__("counted")
        self.control_due = True
        self.turned = threading.Semaphore(0)

    def control(self) -> int:
        self.control_due = True
        self.turned.release()
        return 0


@pytest.mark.parametrize("means", ["bell", "session"])
def test_what_is_handed_over_ends_the_park_of_who_takes_it(means: str) -> None:
    agent, bell, table = Counted(), Doorbell(), SessionTable()
    session = Session()
    runner = AgentRunner(agent, SleepingIdleStrategy(AN_HOUR_NS))
    bell.wakes(runner.idle_strategy)
    table.wakes(runner.idle_strategy)
    with runner:
        assert agent.turned.acquire(timeout=PATIENCE_S)
        for _ in range(3):
            if means == "bell":
                bell.ring_bell()
            else:
                table.add(session)
            assert agent.turned.acquire(timeout=PATIENCE_S)


def test_what_a_driver_of_the_same_process_has_done_rings_for_the_archive(rig) -> None:
    rig.pass_time(10)
    listener = rig.archive._conductor
    while listener.take_bell():
        pass
    rig.both.driver.conductor.control(True, False)  # a timer's turn, with which clients are told
    assert listener.take_bell()
