"""Where name look-ups run, so that none of them stalls the conductor (spec configuration 5.5).

A look-up is a task whose outcome is handed over on the thread that calls `poll`, the conductor's.
"""

from __future__ import annotations

import threading
from collections import deque
from queue import Full, Queue
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

#: Look-ups that may wait at a time, as many as the reference's queues between agents hold.
WAITING_LIMIT: Final = 1024
#: How long `close` waits for a look-up that the platform is busy with.
CLOSE_TIMEOUT_S: Final = 0.5


class Lookups(Protocol):
    """Runs look-ups; submit, poll and close belong to one thread."""

    def submit(
        self,
        task: Callable[[], T],
        then: Callable[[T], None],
        failed: Callable[[Exception], None],
    ) -> bool:
        """Have a task run.

        Args:
            task: what may block.
            then: told its result by a later `poll`.
            failed: told what it raised, or what ``then`` raised.

        Returns:
            False when too many wait already: the task is not taken.
        """

    def poll(self) -> int:
        """Hand over what has been found out; returns how many outcomes that were."""

    def close(self) -> None:
        """Take no more; outcomes that are not in by now are dropped."""


class InlineLookups:
    """Runs each task where it is submitted: the conductor waits for it."""

    def __init__(self) -> None:
        self._closed = False

    def submit(
        self,
        task: Callable[[], T],
        then: Callable[[T], None],
        failed: Callable[[Exception], None],
    ) -> bool:
        """See `Lookups.submit`; the outcome is told before it returns."""
        if self._closed:
            return False
        _finish(task, then, failed)()
        return True

    def poll(self) -> int:
        """Nothing is ever waiting."""
        return 0

    def close(self) -> None:
        """Take no more."""
        self._closed = True


class ThreadLookups:
    """Runs tasks one after the other on a thread of its own, which begins with the first.

    Args:
        ring: called, on that thread, when there is something to `poll`.
        limit: how many tasks may wait.
        name: of the thread.
    """

    def __init__(
        self,
        ring: Callable[[], None],
        *,
        limit: int = WAITING_LIMIT,
        name: str = "aeron-executor",
    ) -> None:
        self._ring = ring
        self._name = name
        self._tasks: Queue[Callable[[], Callable[[], None]] | None] = Queue(limit)
        self._outcomes: deque[Callable[[], None]] = deque()
        self._thread: threading.Thread | None = None
        self._closed = False

    def submit(
        self,
        task: Callable[[], T],
        then: Callable[[T], None],
        failed: Callable[[Exception], None],
    ) -> bool:
        """See `Lookups.submit`."""
        if self._closed:
            return False
        try:
            self._tasks.put_nowait(lambda: _finish(task, then, failed))
        except Full:
            return False
        if self._thread is None:
            # A daemon: a name service that hangs must not keep the process from ending.
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()
        return True

    def poll(self) -> int:
        """See `Lookups.poll`."""
        count = 0
        while self._outcomes and not self._closed:
            count += 1
            self._outcomes.popleft()()
        return count

    def close(self) -> None:
        """Take no more; a look-up that is under way is waited for a moment, then left alone."""
        if self._closed:
            return
        self._closed = True
        if self._thread is not None:
            self._drop_waiting()
            self._thread.join(CLOSE_TIMEOUT_S)

    def _drop_waiting(self) -> None:
        with self._tasks.mutex:
            self._tasks.queue.clear()
        self._tasks.put_nowait(None)

    def _run(self) -> None:
        while (task := self._tasks.get()) is not None:
            self._outcomes.append(task())
            self._ring()


def _finish(
    task: Callable[[], T], then: Callable[[T], None], failed: Callable[[Exception], None]
) -> Callable[[], None]:
    """Run a task; what it returns tells the outcome."""
    try:
        result = task()
    except Exception as error:  # noqa: BLE001 -- whatever it is, who asked is told
        reason = error
        return lambda: failed(reason)

    def tell() -> None:
        try:
            then(result)
        except Exception as error:  # noqa: BLE001 -- a command that fails is answered
            failed(error)

    return tell
