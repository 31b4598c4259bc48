"""Sources that are polled for messages, iterated over by a thread or in an event loop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic, TypeVar

from aerolog.transport.client.steps.awaited_caller import AwaitedCaller
from aerolog.transport.client.steps.caller import Parts, waiting_caller
from aerolog.transport.concurrent.deadline import Deadline
from aerolog.transport.resource import AsyncResource, Resource

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from aerolog.transport.client import Aeron
    from aerolog.transport.client.message import Message


class MessageSource(ABC, Resource):
    """A source that is polled for messages until it ends."""

    @abstractmethod
    def poll_messages(self, limit: int = 64) -> list[Message]:
        """Take at most ``limit`` messages, copied, without waiting."""

    @abstractmethod
    def close(self) -> None:
        """End the source; no more messages are taken."""

    @property
    @abstractmethod
    def transport(self) -> Aeron:
        """The client whose clock is used, and which is turned when it has no thread."""

    @property
    @abstractmethod
    def is_over(self) -> bool:
        """Whether nothing comes any more."""

    def message_parts(self, timeout: float | None, limit: int) -> Parts[Message]:
        """Messages as they come, as steps for either form; arguments as of `messages`."""
        silence = Deadline(timeout, self.transport.conductor.options.clock)
        while True:
            over = self.is_over  # before the poll, so that nothing is left
            found = self.poll_messages(limit)
            if found:
                yield found
                silence.restart()
            elif over or silence.is_over:
                return
            else:
                yield 0

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
            idle: what is done between two polls, as in ``Subscription.messages``.
            limit: messages taken at a time.
        """
        caller = waiting_caller(self.transport.conductor, idle)
        return caller.iterate(self.message_parts(timeout, limit))

    def __iter__(self) -> Iterator[Message]:
        return self.messages()


SourceT = TypeVar("SourceT", bound=MessageSource)


class AsyncMessages(AsyncResource, Generic[SourceT]):
    """A message source for asyncio: its iteration gives the event loop a turn after each poll."""

    def __init__(self, source: SourceT) -> None:
        self._source = source

    def messages(self, timeout: float | None = None, *, limit: int = 64) -> AsyncIterator[Message]:
        """As ``messages`` of the form that waits."""
        return AwaitedCaller(lambda: None).iterate(self._source.message_parts(timeout, limit))

    def __aiter__(self) -> AsyncIterator[Message]:
        return self.messages()

    async def close(self) -> None:
        """Close the source: no more messages are taken."""
        self._source.close()
