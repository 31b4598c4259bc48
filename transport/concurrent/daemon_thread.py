"""Daemon threads that can be joined although their start was interrupted."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_BEGIN_S: Final = 10.0


class DaemonThread(threading.Thread):
    """A daemon thread; ``join`` works from the moment in which ``start`` was called.

    ``start`` waits until the thread runs. An interrupt that ends this wait leaves open whether
    there is a thread already, and a ``threading.Thread`` refuses to be joined before it runs.

    Args:
        target: what the thread runs.
        name: the thread's name.
    """

    def __init__(self, target: Callable[[], object], name: str) -> None:
        super().__init__(target=target, name=name, daemon=True)
        self._begun = threading.Event()
        self._is_refused = False

    def start(self) -> None:
        """Start the thread.

        Raises:
            RuntimeError: the system has no more threads.
        """
        try:
            super().start()
        except Exception:
            self._is_refused = True
            raise

    def run(self) -> None:
        """Run the target."""
        self._begun.set()
        super().run()

    def join(self, timeout: float | None = None) -> None:
        """Wait until the thread has ended, or for so many seconds.

        A thread of which nothing was seen for ten seconds was never made.
        """
        is_coming = not self._is_refused
        if is_coming and self._begun.wait(_BEGIN_S if timeout is None else timeout):
            super().join(timeout)
