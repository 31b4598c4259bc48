"""The native loops on threads of this process: rates of streams and round trips between two."""

from __future__ import annotations

import importlib
import importlib.util
import statistics
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aerolog.transport.concurrent.idle import idle_strategy
from benchmarks.native_loops import native
from benchmarks.result import BenchmarkFailedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from aerolog.transport.client import Aeron

CONNECT_S = 10.0
_SETTLE_S = 5.0


@dataclass(frozen=True, slots=True)
class Measuring:
    """How long rates are measured.

    Attributes:
        warm_up_s: seconds before the first interval.
        interval_s: seconds of an interval.
        intervals: how many; the median counts.
    """

    warm_up_s: float = 2.0
    interval_s: float = 0.5
    intervals: int = 7


@contextmanager
def running(*loops: Any) -> Iterator[None]:
    """Each loop on a thread of its own, until the block ends."""
    threads = [threading.Thread(target=loop.run) for loop in loops]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for loop in loops:
            loop.stop()
        for thread in threads:
            thread.join()


def median_rate(count: Callable[[], int], measuring: Measuring) -> float:
    """The median growth a second of a count."""
    time.sleep(measuring.warm_up_s)
    rates = []
    last, then = count(), time.perf_counter()
    for _ in range(measuring.intervals):
        time.sleep(measuring.interval_s)
        before, since = last, then
        last, then = count(), time.perf_counter()
        rates.append((last - before) / (then - since))
    return statistics.median(rates)


def measured_rate(
    what: str, publisher: Any, subscriber: Any, measuring: Measuring | None = None
) -> float:
    """Run both loops for a while; the median rate of the subscriber.

    Raises:
        BenchmarkFailedError: something was lost, doubled or out of order.
    """
    with running(subscriber):
        with running(publisher):
            rate = median_rate(lambda: subscriber.count, measuring or Measuring())
        deadline = time.monotonic() + _SETTLE_S
        while subscriber.count < publisher.count and time.monotonic() < deadline:
            time.sleep(0.01)
    if subscriber.failed or subscriber.count != publisher.count:
        raise BenchmarkFailedError(
            f"{what}: {publisher.count} sent, {subscriber.count} received,"
            f" order {'broken' if subscriber.failed else 'kept'}"
        )
    return rate


def round_trip_times(
    aeron: Aeron,
    there: tuple[str, int],
    back: tuple[str, int],
    *,
    length: int,
    warm_up: int,
    count: int,
    idle: str,
    seconds: float = 0.0,
) -> list[int]:
    """Nanoseconds of each round trip of a message between two threads.

    Args:
        aeron: the client of both.
        there: channel and stream to the thread that echoes.
        back: channel and stream from it.
        length: bytes of the message.
        warm_up: round trips that are not measured.
        count: those that are.
        idle: idle strategy of both threads.
        seconds: measures further round trips until so much time has passed.
    """
    loops = native("loops")
    with (
        aeron.add_subscription(*there) as request_subscription,
        aeron.add_exclusive_publication(*there) as request_publication,
        aeron.add_subscription(*back) as answer_subscription,
        aeron.add_exclusive_publication(*back) as answer_publication,
    ):
        for subscription in (request_subscription, answer_subscription):
            subscription.wait_connected(CONNECT_S)
        for publication in (request_publication, answer_publication):
            publication.wait_connected(CONNECT_S, writable=True)
        echo = loops.Echo(request_subscription.images[0], answer_publication, idle_strategy(idle))
        with running(echo):
            caller = loops.Caller(
                request_publication, answer_subscription.images[0], length, idle_strategy(idle)
            )
            caller.run(warm_up)
            end_s = time.perf_counter() + seconds
            times: list[int] = caller.run(count)
            while time.perf_counter() < end_s:
                times += caller.run(count)
            return times


def require_histogram(benchmark: str) -> Any:
    """The class HdrHistogram.

    Raises:
        BenchmarkFailedError: its package is not installed; the message names the benchmark.
    """
    if importlib.util.find_spec("hdrh") is None:
        raise BenchmarkFailedError(f"{benchmark} needs HdrHistogram: pip install hdrhistogram")
    return importlib.import_module("hdrh.histogram").HdrHistogram


def percentiles_us(
    histogram_class: Any, nanoseconds: list[int], percents: tuple[float, ...]
) -> dict[float, float]:
    """Microseconds by percentile, of an HdrHistogram of these times."""
    histogram = histogram_class(1, 10_000_000_000, 3)
    for each in nanoseconds:
        histogram.record_value(max(1, each))
    return {
        percent: float(histogram.get_value_at_percentile(percent)) / 1000 for percent in percents
    }
