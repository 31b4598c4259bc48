"""How steps wait between two tries: they yield first, then sleep, longer each time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.transport.concurrent.idle import (
    BackoffIdleStrategy,
    NoOpIdleStrategy,
    idle_strategy,
)
from aerolog.transport.time_units import NS_PER_MS, NS_PER_US

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.transport.client.client_conductor import ClientConductor


def waiting_backoff() -> BackoffIdleStrategy:
    """Return the back-off of callers that wait in a thread; it releases the GIL."""
    return BackoffIdleStrategy(0, 100, 10 * NS_PER_US, NS_PER_MS)


def awaited_backoff(longest_ns: int = NS_PER_MS) -> BackoffIdleStrategy:
    """Return the back-off of callers in an event loop, which sleep for its ``pause_ns``.

    Args:
        longest_ns: the longest sleep, nanoseconds.
    """
    return BackoffIdleStrategy(0, 50, 50 * NS_PER_US, longest_ns)


def waiter(
    conductor: ClientConductor, idle: Callable[[int], object] | str | None
) -> Callable[[int], object]:
    """Return the function that a blocking call calls between two tries.

    Args:
        conductor: conductor of the client that waits; it does its work meanwhile if the client
            has no thread.
        idle: an idle strategy, its name, or a callable that takes a work count; None for a
            back-off, or for no wait at all where the client has a driver to turn.

    Raises:
        ConfigurationError: if the name is unknown.
    """
    strategy: Callable[[int], object]
    if idle is not None:
        strategy = idle_strategy(idle) if isinstance(idle, str) else idle
    elif conductor.options.driver_invoker is None:
        strategy = waiting_backoff()
    else:
        strategy = NoOpIdleStrategy()
    if not conductor.options.invoker:
        return strategy

    def turn_and_idle(work_count: int) -> None:
        conductor.turn_without_thread()
        strategy(work_count)

    return turn_and_idle
