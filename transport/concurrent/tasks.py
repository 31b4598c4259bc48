"""Runs tasks that may block so that the agent that submits them goes on meanwhile.

The outcome of a task is reported on the thread that calls `poll`, which is that of the agent.
"""

from __future__ import annotations

import threading
from collections import deque
from functools import partial
from queue import Full, Queue
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from aerolog.transport.errors import AerologError

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

#: The number of tasks that may wait, the same as in the reference's queues between agents.
WAITING_LIMIT: Final = 1024
#: The time for which `close` waits for a task that is running.
CLOSE_TIMEOUT_S: Final = 0.5


class Tasks(Protocol):
    """Runs tasks; one thread calls submit, poll and close."""

    def submit(
        self,
        task: Callable[[], T],
        then: Callable[[T], None],
        failed: Callable[[Exception], None],
    ) -> bool:
        """Accept a task to run.

        Args:
            task: what may block.
            then: called with its result by a later `poll`.
            failed: called with the exception of the task or of ``then``.

        Returns:
            False when too many tasks wait already: this one is not accepted.
        """

    def poll(self) -> int:
        """Report the outcomes that are ready; return their number."""

    def close(self) -> None:
        """Accept no more tasks; outcomes that are not ready by now are dropped."""


class InlineTasks:
    """Runs each task in the call that submits it, so that the agent waits for it."""

    def __init__(self) -> None:
        self._closed = False

    def submit(
        self,
        task: Callable[[], T],
        then: Callable[[T], None],
        failed: Callable[[Exception], None],
    ) -> bool:
        """Run a task and report its outcome before returning; see `Tasks.submit`."""
        if self._closed:
            return False
        _finish(task, then, failed)()
        return True

    def poll(self) -> int:
        """Return 0: no outcome is ever waiting."""
        return 0

    def close(self) -> None:
        """Accept no more tasks."""
        self._closed = True


class ThreadTasks:
    """Runs tasks one after the other on a thread of its own, which starts with the first task.

    Args:
        ring: called on that thread when an outcome is ready for `poll`.
        limit: how many tasks may wait, 0 for any number.
        name: the name of the thread.
        close_timeout_s: how long `close` waits for a task that is running.
    """

    def __init__(
        self,
        ring: Callable[[], None],
        *,
        limit: int = WAITING_LIMIT,
        name: str = "aeron-executor",
        close_timeout_s: float | None = None,
    ) -> None:
        self._ring = ring
        self._close_timeout_s = CLOSE_TIMEOUT_S if close_timeout_s is None else close_timeout_s
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
        """Queue a task for the thread; see `Tasks.submit`."""
        if self._closed:
            return False
        try:
            self._tasks.put_nowait(lambda: _finish(_without_exit(task), then, failed))
        except Full:
            return False
        if self._thread is None:
            # A daemon: a task that hangs must not prevent the end of the process.
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()
        return True

    def poll(self) -> int:
        """Report the outcomes that are ready; see `Tasks.poll`."""
        count = 0
        while self._outcomes and not self._closed:
            count += 1
            self._outcomes.popleft()()
        return count

    def close(self) -> None:
        """Accept no more tasks; one that is running is waited for briefly, then abandoned."""
        if self._closed:
            return
        self._closed = True
        if self._thread is not None:
            self._drop_waiting()
            self._thread.join(self._close_timeout_s)

    def _drop_waiting(self) -> None:
        with self._tasks.mutex:
            self._tasks.queue.clear()
        self._tasks.put_nowait(None)

    def _run(self) -> None:
        while (task := self._tasks.get()) is not None:
            self._outcomes.append(task())
            self._ring()


def _without_exit(task: Callable[[], T]) -> Callable[[], T]:
    """A task that cannot end its thread: tasks after it would wait for ever, and who asked too."""

    def run() -> T:
        try:
            return task()
        except Exception:
            raise
        except BaseException as error:
            raise AerologError(f"a task raised {type(error).__name__}: {error}") from error

    return run


def _finish(
    task: Callable[[], T], then: Callable[[T], None], failed: Callable[[Exception], None]
) -> Callable[[], None]:
    """Run a task; the function returned reports its outcome."""
    try:
        result = task()
    except Exception as error:  # noqa: BLE001 -- whatever it is, who asked is told
        return partial(failed, error)  # not a closure: a cycle with the error's traceback

    def tell() -> None:
        try:
            then(result)
        except Exception as error:  # noqa: BLE001 -- a command that fails is answered
            failed(error)

    return tell
