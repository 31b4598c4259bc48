"""Iterating over messages that come by polls: in a thread that waits, and in an event loop."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from aerolog.transport.client.backoff import waiter
from aerolog.transport.resource import AsyncResource

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from aerolog.transport.client import Aeron
    from aerolog.transport.client.message import Message

FIRST_SLEEP: Final = 50e-6
LONGEST_SLEEP: Final = 1e-3


class MessageSource(ABC):
    """What is polled for messages, and has an end."""

    @abstractmethod
    def poll_messages(self, limit: int = 64) -> list[Message]:
        """Take at most ``limit`` messages, copied, without waiting."""

    @abstractmethod
    def close(self) -> None:
        """Take no more."""

    @abstractmethod
    def _transport(self) -> Aeron:
        """The client whose clock counts, and which is turned when it has no thread."""

    @abstractmethod
    def _is_over(self) -> bool:
        """Whether nothing comes any more."""

    def messages(
        self,
        timeout: float | None = None,
        *,
        idle: Callable[[int], object] | str | None = None,
        limit: int = 64,
    ) -> Iterator[Message]:
        """Wait for messages and give them one by one.

        Args:
            timeout: end when so many seconds pass without a message; None waits on.
            idle: as of ``Subscription.messages``: what is done between two polls.
            limit: messages taken at a time.
        """
        conductor = self._transport().conductor
        wait = waiter(conductor, idle)
        last = conductor.monotonic()
        while True:
            over = self._is_over()  # before the poll, so that nothing is left
            found = self.poll_messages(limit)
            if found:
                yield from found
                last = conductor.monotonic()
            elif over or (timeout is not None and conductor.monotonic() - last >= timeout):
                return
            wait(len(found))

    def __iter__(self) -> Iterator[Message]:
        return self.messages()


SourceT = TypeVar("SourceT", bound=MessageSource)


class AsyncMessages(AsyncResource, Generic[SourceT]):
    """A message source for asyncio: its iteration gives the event loop a turn after each poll."""

    def __init__(self, source: SourceT) -> None:
        self._source = source

    async def messages(
        self,
        timeout: float | None = None,  # noqa: ASYNC109 - for silence, not for the whole
        *,
        limit: int = 64,
    ) -> AsyncIterator[Message]:
        """As ``messages`` of the form that waits."""
        source = self._source
        conductor = source._transport().conductor  # noqa: SLF001 - both are of here
        last = conductor.monotonic()
        delay = FIRST_SLEEP
        while True:
            over = source._is_over()  # noqa: SLF001
            found = source.poll_messages(limit)
            for message in found:
                yield message
            if found:
                last, delay = conductor.monotonic(), FIRST_SLEEP
            elif over or (timeout is not None and conductor.monotonic() - last >= timeout):
                return
            await asyncio.sleep(0 if found else delay)
            delay = min(2 * delay, LONGEST_SLEEP)

    def __aiter__(self) -> AsyncIterator[Message]:
        return self.messages()

    async def close(self) -> None:
        """Take no more."""
        self._source.close()
