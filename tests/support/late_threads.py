"""Threads whose start is interrupted while they are on their way."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from aerolog.transport.concurrent.daemon_thread import DaemonThread

if TYPE_CHECKING:
    import pytest


def begin_when_joined(monkeypatch: pytest.MonkeyPatch) -> list[threading.Thread]:
    """From now on an interrupt comes out of each start, and the thread begins when it is joined.

    Returns:
        The threads that will begin, or have begun.
    """
    start, join, is_joined = threading.Thread.start, DaemonThread.join, threading.Event()
    found: list[threading.Thread] = []

    def interrupted(thread: threading.Thread) -> None:
        found.append(thread)
        start(threading.Thread(target=lambda: (is_joined.wait(30), start(thread))))
        raise KeyboardInterrupt

    def join_and_tell(thread: DaemonThread, timeout: float | None = None) -> None:
        is_joined.set()
        join(thread, timeout)

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    monkeypatch.setattr(DaemonThread, "join", join_and_tell)
    return found
