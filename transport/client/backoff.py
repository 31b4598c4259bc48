"""Waiting between two tries, and for how long, for blocking calls."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from aerolog.transport.concurrent.idle import idle_strategy

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.transport.client.client_conductor import ClientConductor

_YIELDS = 100
_FIRST_SLEEP = 10e-6
_LONGEST_SLEEP = 1e-3


class Backoff:
    """Yields first, then sleeps, longer each time; a client without a thread is turned meanwhile.

    With a driver to turn there is nothing to wait for: it turns that, and never sleeps.

    Call it with the work that was done: 0 waits, more than 0 starts over.
    """

    def __init__(self, conductor: ClientConductor) -> None:
        self._turn = conductor.turn_without_thread
        self._sleeps = conductor.options.driver_invoker is None
        self._count = 0
        self._sleep = _FIRST_SLEEP

    def __call__(self, work_count: int) -> None:
        """Wait a moment if no work was done."""
        if work_count > 0:
            self._count, self._sleep = 0, _FIRST_SLEEP
            return
        self._turn()
        if not self._sleeps:
            return
        self._count += 1
        if self._count <= _YIELDS:
            time.sleep(0)
            return
        time.sleep(self._sleep)
        self._sleep = min(2 * self._sleep, _LONGEST_SLEEP)


def waiter(
    conductor: ClientConductor, idle: Callable[[int], object] | str | None
) -> Callable[[int], object]:
    """Return the function that a blocking call calls between two tries.

    Args:
        conductor: conductor of the client that waits; it does its work meanwhile if the client
            has no thread.
        idle: an idle strategy, its name, or a callable that takes a work count; None for a
            back-off that releases the GIL.

    Raises:
        ConfigurationError: if the name is unknown.
    """
    if idle is None:
        return Backoff(conductor)
    strategy = idle_strategy(idle) if isinstance(idle, str) else idle
    if not conductor.options.invoker:
        return strategy

    def turn_and_idle(work_count: int) -> None:
        conductor.turn_without_thread()
        strategy(work_count)

    return turn_and_idle
