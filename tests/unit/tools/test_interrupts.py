"""Interrupts that wait until what was begun can also be ended."""

from __future__ import annotations

import signal
import threading
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from aerolog.archive.client import RecordingSignal as Signal
from aerolog.tools.command_line.interrupts import HeldInterrupts
from aerolog.tools.command_line.invocation import run
from aerolog.tools.connection import clients

from .fake_archive import FakeArchive, FakeOptions
from .fake_archive import signal as archive_signal

if TYPE_CHECKING:
    from collections.abc import Iterator

ID = 12


class Stopped(BaseException):
    """What the handlers of a test raise."""


def stop(_number: int, _frame: Any) -> None:
    raise Stopped


@pytest.fixture
def handlers() -> Iterator[None]:
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_is_raised_where_it_is_asked_for(handlers: None, number: int) -> None:
    with HeldInterrupts() as held:
        held.check()
        signal.raise_signal(number)
        with pytest.raises(Stopped):
            held.check()
        held.check()
    assert signal.getsignal(number) is stop


def test_an_interrupt_that_nobody_asked_for_is_raised_at_the_end(handlers: None) -> None:
    with pytest.raises(Stopped), HeldInterrupts():
        signal.raise_signal(signal.SIGTERM)


def test_an_error_goes_before_an_interrupt(handlers: None) -> None:
    with pytest.raises(ValueError, match="first"), HeldInterrupts():
        signal.raise_signal(signal.SIGTERM)
        raise ValueError("first")


def test_a_second_interrupt_is_heard_at_once(handlers: None) -> None:
    with HeldInterrupts() as held:
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(Stopped):
            signal.raise_signal(signal.SIGINT)
        with pytest.raises(Stopped):
            held.check()


def test_a_thread_leaves_signals_to_the_program(handlers: None) -> None:
    def work() -> None:
        with HeldInterrupts() as held:
            held.check()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGINT) is stop


class InterruptedArchive(FakeArchive):
    """The interrupt comes with its answer to the request to replicate."""

    def replicate(self, *_where: Any, **_how: Any) -> int:
        signal.raise_signal(signal.SIGINT)
        self.script = deque(
            [[archive_signal(kind, ID, position=64)]
             for kind in (Signal.REPLICATE, Signal.EXTEND, Signal.STOP, Signal.REPLICATE_END)]
        )  # fmt: skip
        return ID


def test_a_replication_interrupted_as_it_starts_is_stopped(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = InterruptedArchive(stops={3: 64}, options=FakeOptions(message_timeout=10.0))

    @contextmanager
    def opened(_options: Any) -> Iterator[Any]:
        yield archive

    monkeypatch.setattr(clients, "open_archive", opened)
    source = "aeron:udp?control=localhost:8010|control-mode=dynamic"  # nobody is asked how far

    assert run(["recordings", "replicate", "7", source]) == 130
    assert ("try_stop_replication", ID) in archive.calls
    assert capsys.readouterr().err == "recording 3: replicated, at position 64\n"
