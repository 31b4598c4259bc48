"""The wait of a foreground program ends by a signal or a word, whenever that comes."""

import os
import signal
import threading

import pytest

from aerolog.transport.concurrent.stop_signal import STOP_SIGNALS, StopSignal


@pytest.mark.parametrize("number", STOP_SIGNALS)
def test_a_signal_that_came_before_the_wait_ends_it(number):
    before = signal.getsignal(number)
    with StopSignal() as stop:
        os.kill(os.getpid(), number)
        stop.wait()
        assert stop.received == number
    assert signal.getsignal(number) == before


def test_a_signal_ends_a_wait_that_has_begun():
    with StopSignal() as stop:
        killer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGTERM))
        killer.start()
        stop.wait()
        killer.join()
        assert stop.received == signal.SIGTERM


def test_anybody_may_end_the_wait_any_number_of_times():
    with StopSignal() as stop:
        talkers = [threading.Thread(target=stop.stop) for _ in range(3)]
        for talker in talkers:
            talker.start()
        stop.wait()
        for talker in talkers:
            talker.join()
        assert stop.received is None


def test_more_signals_than_the_pipe_holds_are_no_error(capfd):
    with StopSignal() as stop:
        for _ in range(70_000):
            stop.stop()
        os.kill(os.getpid(), signal.SIGTERM)
        stop.wait()
    assert capfd.readouterr() == ("", "")


def test_a_word_that_comes_too_late_is_no_error():
    with StopSignal() as stop:
        stop.stop()
        stop.wait()
    stop.stop()
