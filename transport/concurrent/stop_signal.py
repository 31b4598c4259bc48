"""The wait of a foreground program for its end, by a signal or a call of ``stop``.

A Python signal handler that sets a threading.Event can interrupt the wait for that event in such a
way that the wait never ends. Here the C-level handler writes into a pipe, and the wait reads that
pipe, so that no signal is missed.
"""

from __future__ import annotations

import os
import select
import signal
import threading
from typing import TYPE_CHECKING, Any, Self

from aerolog.transport.text_output import write_text, write_traceback

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType, TracebackType

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopSignal:
    """Handles the stop signals while it is open; to be used on the main thread.

    Args:
        signals: the signals that end the wait.

    Attributes:
        received: the first signal that arrived; None if ``stop`` was called before.
    """

    def __init__(self, signals: tuple[signal.Signals, ...] = STOP_SIGNALS) -> None:
        self._signals = signals
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        self._handlers: dict[signal.Signals, Callable[..., Any] | int | None] = {}
        self._wakeup = -1
        self._lock = threading.Lock()  # never taken by the signal handler
        self._closed = False
        self.received: signal.Signals | None = None

    def stop(self) -> None:
        """End the wait, from any thread; it may be called more than once."""
        with self._lock:
            if self._closed:
                return
            try:
                os.write(self._write, b"\0")
            except BlockingIOError:
                return  # the pipe is full, so the wait ends in any case

    def wait(self) -> None:
        """Wait for a stop signal or ``stop``."""
        os.read(self._read, 1)

    def turn(self, do_work: Callable[[], int], idle: Callable[[int], None]) -> None:
        """Work on this thread until a stop signal or ``stop`` comes.

        Args:
            do_work: one duty cycle, which returns a work count.
            idle: called with that count after each.
        """
        while not select.select([self._read], (), (), 0)[0]:
            idle(do_work())

    def __enter__(self) -> Self:
        self._wakeup = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        self._handlers = {number: signal.signal(number, self._note) for number in self._signals}
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._wakeup)
        with self._lock:
            self._closed = True
            os.close(self._read)
            os.close(self._write)

    def _note(self, number: int, frame: FrameType | None) -> None:
        del frame
        if self.received is None:
            self.received = signal.Signals(number)


class ServiceStop(StopSignal):
    """Ends the process on a signal, a terminate command, or a fatal failure.

    Attributes:
        failure: why the service could not go on; None while it can.
    """

    failure: BaseException | None = None

    def fail(self, reason: BaseException) -> None:
        """End the process, with an exit code that says that it failed."""
        if self.failure is None:
            self.failure = reason
        self.stop()


def ignore_stop_signals() -> None:
    """Let no stop signal change the exit code of a process that has done its work.

    The interpreter takes some time to end. The default action of a signal that comes then would
    make an ordered end look like a killed process.
    """
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def say_failure(error: BaseException, exit_code: int) -> int:
    """Write why a service could not start or go on to stderr; return the exit code."""
    if os.environ.get("AEROLOG_TRACEBACK"):
        write_traceback(error)
    text = str(error)
    if not isinstance(error, Exception) or not text:
        text = f"{type(error).__name__}: {text}".removesuffix(": ")
    write_text(f"ERROR: {text}\n")
    return exit_code
