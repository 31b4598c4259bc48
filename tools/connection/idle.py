"""How tools wait while there is nothing to do: they sleep at once, and spin for nobody."""

from __future__ import annotations

from aerolog.transport.concurrent.idle import BackoffIdleStrategy
from aerolog.transport.time_units import NS_PER_MS, NS_PER_US


def sleeping_idle() -> BackoffIdleStrategy:
    """Return a strategy that sleeps, longer the longer there is nothing to do, up to 2 ms."""
    return BackoffIdleStrategy(
        max_spins=0, max_yields=0, min_park_ns=50 * NS_PER_US, max_park_ns=2 * NS_PER_MS
    )
