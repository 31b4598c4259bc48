"""A poller of several subscriptions in turn, under one idle strategy."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from aerolog.transport.client.steps.backoff import waiter
from aerolog.transport.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from aerolog.transport.client.image import Image
    from aerolog.transport.client.message import Header
    from aerolog.transport.client.subscription import Subscription

    Handler: TypeAlias = Callable[[memoryview, Header], object]
    Source: TypeAlias = Subscription | Image


class Poller:
    """Subscriptions (or images) with their handlers; used by one thread at a time.

    Each round begins with a different source, so that a busy one does not starve the others.

    Args:
        sources: pairs of a subscription and the handler for its messages.
        limit: the largest number of fragments taken from each source in a round.
        assemble: whether to join the fragments of long messages.
    """

    def __init__(
        self,
        sources: Iterable[tuple[Source, Handler]] = (),
        *,
        limit: int = 10,
        assemble: bool = True,
    ) -> None:
        self._sources = list(sources)
        self._limit = limit
        self._assemble = assemble
        self._first = 0
        self._running = False

    def add(self, source: Source, handler: Handler) -> None:
        """Add a source; a handler may call this."""
        self._sources = [*self._sources, (source, handler)]

    def remove(self, source: Source) -> None:
        """Remove a source if it is present; a handler may call this."""
        self._sources = [pair for pair in self._sources if pair[0] is not source]

    def __len__(self) -> int:
        return len(self._sources)

    def poll(self) -> int:
        """Poll every source once; return the number of fragments taken."""
        sources = self._sources
        if not sources:
            return 0
        first = self._first % len(sources)
        self._first = first + 1
        return sum(
            source.poll(handler, self._limit, assemble=self._assemble)
            for source, handler in (*sources[first:], *sources[:first])
        )

    def run(
        self,
        *,
        idle: Callable[[int], object] | str | None = None,
        until: Callable[[], bool] | None = None,
    ) -> None:
        """Poll until ``stop`` is called, ``until`` returns true, or every source is closed.

        Args:
            idle: an idle strategy, its name, or a function of the count of each round; None for
                a back-off.
            until: called after each round; a true result ends the run.

        Raises:
            ConfigurationError: there is nothing to poll.
        """
        if not self._sources:
            raise ConfigurationError("a poller without subscriptions would run for ever")
        wait = waiter(self._sources[0][0].conductor, idle)
        self._running = True
        while self._running and any(not source.closed for source, _ in self._sources):
            wait(self.poll())
            if until is not None and until():
                break
        self._running = False

    def stop(self) -> None:
        """End ``run`` after the round that it is in; may be called from any thread."""
        self._running = False

    def __repr__(self) -> str:
        return f"<Poller of {self._sources!r}>"
