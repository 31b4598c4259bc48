"""Waiting for a condition, and how long calls take."""

from __future__ import annotations

import math
import statistics
import time
from typing import TYPE_CHECKING

from benchmarks.result import BenchmarkFailedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

PATIENCE_S = 60.0
_REST_S = 0.0005


def until(what: str, condition: Callable[[], object], patience_s: float = PATIENCE_S) -> None:
    """Wait for a condition.

    Raises:
        BenchmarkFailedError: not in time.
    """
    deadline = time.monotonic() + patience_s
    while not condition():
        if time.monotonic() > deadline:
            raise BenchmarkFailedError(f"{what}: not within {patience_s:.0f} s")
        time.sleep(_REST_S)


def seconds(call: Callable[[], object]) -> float:
    """Wall time of a call."""
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def median_ms(call: Callable[[], object], rounds: int, warm_up_rounds: int) -> float:
    """Median milliseconds of some calls behind those that warm up."""
    times = [seconds(call) for _ in range(warm_up_rounds + rounds)]
    return statistics.median(times[warm_up_rounds:]) * 1000


def percentile(values: Iterable[float], percent: int) -> float:
    """The smallest of the values that so many percent of them do not exceed."""
    ordered = sorted(values)
    return ordered[math.ceil(len(ordered) * percent / 100) - 1]
