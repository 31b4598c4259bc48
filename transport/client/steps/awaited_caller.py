"""The caller for asyncio, in a module of its own because importing asyncio takes long.

Nothing wakes an event loop when shared memory changes, so this caller polls: at once at first, then
after sleeps that grow. The loop runs after every step, however much there is to do.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

from aerolog.transport.client.steps.backoff import awaited_backoff
from aerolog.transport.client.steps.caller import Caller
from aerolog.transport.time_units import NS_PER_MS, NS_PER_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from contextlib import AbstractContextManager

    from aerolog.transport.client.steps.caller import Parts, Steps
    from aerolog.transport.concurrent.idle import BackoffIdleStrategy

T = TypeVar("T")


class AwaitedCaller(Caller):
    """Carries steps out in an event loop; several may be under way at once."""

    def __init__(
        self,
        turn: Callable[[], object],
        lock: AbstractContextManager[Any] | None = None,
        longest_sleep_ns: int = NS_PER_MS,
    ) -> None:
        """Make a caller.

        Args:
            turn: called between two steps.
            lock: held while steps are carried out, a new one by default.
            longest_sleep_ns: the longest sleep between two steps, nanoseconds.
        """
        super().__init__(turn, lock)
        self._longest_sleep_ns = longest_sleep_ns

    async def pause(self, work_count: int, backoff: BackoffIdleStrategy) -> None:
        """Let the event loop run, and sleep when there was nothing to do for many turns."""
        self.turn()
        await asyncio.sleep(backoff.pause_ns(work_count) / NS_PER_S)

    async def carry_out(self, steps: Steps[T]) -> T:
        """Carry steps out to their end and return their result."""
        backoff = awaited_backoff(self._longest_sleep_ns)
        try:
            while True:
                try:
                    with self.lock:
                        work = next(steps)
                except StopIteration as done:
                    result: T = done.value
                    return result
                await self.pause(work, backoff)
        finally:
            steps.close()

    async def iterate(self, parts: Parts[T]) -> AsyncIterator[T]:
        """Give what a series finds, one by one; other tasks may run between two parts."""
        backoff = awaited_backoff(self._longest_sleep_ns)
        try:
            while True:
                with self.lock:
                    part = next(parts, None)
                if part is None:
                    return
                if isinstance(part, int):
                    await self.pause(part, backoff)
                    continue
                for one in part:
                    yield one
                await self.pause(len(part), backoff)
        finally:
            with self.lock:
                parts.close()
