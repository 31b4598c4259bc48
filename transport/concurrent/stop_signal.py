"""How a foreground program waits for its end: signals, or somebody who says so.

A signal handler of Python that sets a threading.Event can come in the middle of the wait for that
event, and then the wait never ends. Here the C-level handler writes into a pipe, and the wait is a
read of that pipe: nothing can come between.
"""

from __future__ import annotations

import os
import signal
import threading
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType, TracebackType

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopSignal:
    """Takes the stop signals over while it is open; for the main thread.

    Args:
        signals: the ones that mean the end.

    Attributes:
        received: the first signal that came, None when ``stop`` was called before.
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
        """End the wait, from any thread; more than once is no error."""
        with self._lock:
            if self._closed:
                return
            try:
                os.write(self._write, b"\0")
            except BlockingIOError:
                return  # full of reasons to stop already

    def wait(self) -> None:
        """Wait for a stop signal or ``stop``."""
        os.read(self._read, 1)

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
