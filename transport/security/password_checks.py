"""Passwords that wait to be hashed: a bounded number, served by turns of their sources."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor

# At tens of milliseconds for each, as many as are checked within the usual connect timeout.
WAITING_MAX: Final = 64


@dataclass(eq=False, slots=True)
class PasswordCheck:
    """The check of one client's credentials.

    Attributes:
        source: where the client is, which has its turn among the others.
        credentials: what the client sent.
        answer: the user's name, or None for a refusal; without a future the check waits.
    """

    source: str
    credentials: bytes = field(repr=False)
    answer: Future[bytes | None] | None = None

    @property
    def is_done(self) -> bool:
        """Whether the answer is known."""
        return self.answer is not None and self.answer.done()

    def settle(self, principal: bytes | None) -> None:
        """Answer without hashing."""
        self.answer = Future()
        self.answer.set_result(principal)


class PasswordChecks:
    """Gives one check at a time to an executor.

    Sources take turns, so that one which sends many passwords delays others by one hash at most
    for each source. Above the limit the source with the most waiting checks loses its latest, which
    is refused unchecked.

    Args:
        executor: where hashing runs.
        principal_of: returns the user of credentials, None when they are wrong; slow.
        limit: most checks that wait.
    """

    def __init__(
        self,
        executor: Executor,
        principal_of: Callable[[bytes], bytes | None],
        limit: int = WAITING_MAX,
    ) -> None:
        self._executor = executor
        self._principal_of = principal_of
        self._limit = limit
        # By source, the next in turn first; no queue is empty.
        self._waiting: OrderedDict[str, deque[PasswordCheck]] = OrderedDict()
        self._count = 0
        self._running: Future[bytes | None] | None = None
        # An executor may do its work at once, within the call that gives it.
        self._lock = threading.RLock()

    def add(self, check: PasswordCheck) -> None:
        """Queue a check, which may refuse it or another of the source that has the most."""
        with self._lock:
            self._waiting.setdefault(check.source, deque()).append(check)
            self._count += 1
            if self._count > self._limit:
                longest = max(self._waiting, key=lambda source: len(self._waiting[source]))
                latest = self._waiting[longest][-1]
                self._remove(latest)
                latest.settle(None)
            self._start()

    def cancel(self, check: PasswordCheck) -> None:
        """Forget a check unless it runs already."""
        with self._lock:
            if check.answer is not None:
                check.answer.cancel()
            else:
                self._remove(check)

    def close(self) -> None:
        """Forget all checks that wait."""
        with self._lock:
            self._waiting.clear()
            self._count = 0

    def _remove(self, check: PasswordCheck) -> None:
        queue = self._waiting.get(check.source)
        if queue is None or check not in queue:
            return
        queue.remove(check)
        self._count -= 1
        if not queue:
            del self._waiting[check.source]

    def _start(self) -> None:
        """Start the next source's first check if none runs."""
        if self._running is not None or not self._waiting:
            return
        source, queue = next(iter(self._waiting.items()))
        check = queue[0]
        self._remove(check)
        if source in self._waiting:
            self._waiting.move_to_end(source)
        check.answer = self._running = self._executor.submit(self._principal_of, check.credentials)
        self._running.add_done_callback(self._on_done)

    def _on_done(self, _answer: Future[bytes | None]) -> None:
        with self._lock:
            self._running = None
            self._start()
