"""Native publisher and subscriber threads through a driver in this process."""

from __future__ import annotations

import importlib
import importlib.util
import statistics
import threading
import time
from typing import Any

from aerolog.transport.client import Aeron
from aerolog.transport.concurrent.idle import idle_strategy
from aerolog.transport.driver import MediaDriver
from benchmarks import c_clients
from benchmarks.java import PEER_NAME, percentiles, throughput
from benchmarks.native_loops import native
from benchmarks.result import BenchmarkFailedError, Peer, PeerUnavailableError, Result
from benchmarks.udp_drivers import C_NAME

CHANNEL = "aeron:ipc"
STREAM_ID = 1001
INTERVAL_S = 1.0
INTERVALS = 6
WARM_UP_INTERVALS = 3
FRAGMENT_LIMIT = 10
JAVA_SECONDS = 11.0
C_CLIENTS = C_NAME.format("clients on the C driver SHARED")
LENGTH = 32
ROUND_TRIPS = 100_000
WARM_UP_ROUND_TRIPS = 20_000
PERCENTILES = (50.0, 90.0, 99.0, 99.9)


def ipc_throughput(length: int) -> list[Result]:
    """Messages of one length a second; the peer is the reference's sample of the same shape."""
    name = "EmbeddedExclusiveIpcThroughput"
    ours = _throughput(length)
    peer, peer_name = None, PEER_NAME.format(name)
    try:
        properties = {"aeron.sample.messageLength": str(length)}
        peer = throughput(f"io.aeron.samples.{name}", properties, JAVA_SECONDS)
    except PeerUnavailableError as reason:
        peer_name = f"{peer_name}: {reason}"
    more = (c_ipc_throughput(length),)
    return [Result(f"ipc-{length}", "messages/s", ours, peer, peer_name, more=more)]


def c_ipc_throughput(length: int) -> Peer:
    """The same of the reference's clients in C on its driver in C."""
    try:
        found = c_clients.ipc_throughput(length, WARM_UP_INTERVALS, INTERVALS, INTERVAL_S)
    except PeerUnavailableError as reason:
        return Peer(None, f"{C_CLIENTS}: {reason}")
    return Peer(found, C_CLIENTS)


def java_ipc_throughput(length: int) -> float:
    """The peer's figure alone, for benchmarks that compare other things with it."""
    return throughput(
        "io.aeron.samples.EmbeddedExclusiveIpcThroughput",
        {"aeron.sample.messageLength": str(length)},
        JAVA_SECONDS,
    )


def _throughput(length: int) -> float:
    loops = native("loops")
    with (
        MediaDriver.embedded(threading_mode="SHARED") as driver,
        Aeron(driver.aeron_dir) as aeron,
        aeron.add_subscription(CHANNEL, STREAM_ID) as subscription,
        aeron.add_exclusive_publication(CHANNEL, STREAM_ID) as publication,
    ):
        subscription.wait_connected(5)
        subscriber = loops.Subscriber(
            subscription.images[0], length, FRAGMENT_LIMIT, idle_strategy("backoff")
        )
        publisher = loops.Publisher(publication, length, idle_strategy("backoff"))
        threads = [threading.Thread(target=loop.run) for loop in (subscriber, publisher)]
        for thread in threads:
            thread.start()
        try:
            rates = _rates(subscriber)
        finally:
            publisher.stop()
            threads[1].join()  # it may be in the middle of one more message
            deadline = time.monotonic() + 5
            while subscriber.count < publisher.count and time.monotonic() < deadline:
                time.sleep(0.01)
            subscriber.stop()
            for thread in threads:
                thread.join()
        if subscriber.failed or subscriber.count != publisher.count:
            raise BenchmarkFailedError(
                f"ipc-{length}: {publisher.count} sent, {subscriber.count} received,"
                f" order {'broken' if subscriber.failed else 'kept'}"
            )
    return statistics.median(rates[WARM_UP_INTERVALS:])


def _rates(subscriber: Any) -> list[float]:
    rates = []
    count, then = subscriber.count, time.perf_counter()
    for _ in range(WARM_UP_INTERVALS + INTERVALS):
        time.sleep(INTERVAL_S)
        last, count = count, subscriber.count
        before, then = then, time.perf_counter()
        rates.append((count - last) / (then - before))
    return rates


def ipc_rtt() -> list[Result]:
    """Round trips of 32-byte messages between two native threads, as percentiles."""
    ours = _round_trips()
    name = "EmbeddedPingPong"
    peers: dict[float, float] = {}
    peer_name = PEER_NAME.format(name)
    properties = {
        "aeron.sample.ping.channel": CHANNEL,
        "aeron.sample.pong.channel": CHANNEL,
        "aeron.sample.exclusive.publications": "true",
        "aeron.sample.messages": str(ROUND_TRIPS),
        "aeron.sample.warmup.messages": str(WARM_UP_ROUND_TRIPS),
        "aeron.sample.warmup.iterations": "3",
    }
    try:
        peers = percentiles(f"io.aeron.samples.{name}", properties, PERCENTILES)
    except PeerUnavailableError as reason:
        peer_name = f"{peer_name}: {reason}"
    c_name, c_found = C_CLIENTS, None
    try:
        c_found = _histogram(c_clients.ipc_round_trips(LENGTH, WARM_UP_ROUND_TRIPS, ROUND_TRIPS))
    except PeerUnavailableError as reason:
        c_name = f"{C_CLIENTS}: {reason}"
    return [
        Result(
            f"ipc-rtt-p{percentile:g}",
            "us",
            _microseconds(ours, percentile) or 0.0,
            peers.get(percentile),
            peer_name,
            smaller_is_better=True,
            more=(Peer(_microseconds(c_found, percentile), c_name),),
        )
        for percentile in PERCENTILES
    ]


def _histogram(nanoseconds: list[int]) -> Any:
    if importlib.util.find_spec("hdrh") is None:
        raise BenchmarkFailedError("ipc-rtt needs HdrHistogram: pip install hdrhistogram")
    histogram = importlib.import_module("hdrh.histogram").HdrHistogram(1, 10_000_000_000, 3)
    for each in nanoseconds:
        histogram.record_value(max(1, each))
    return histogram


def _microseconds(histogram: Any, percentile: float) -> float | None:
    if histogram is None:
        return None
    return float(histogram.get_value_at_percentile(percentile)) / 1000


def _round_trips() -> Any:
    loops = native("loops")
    with (
        MediaDriver.embedded(threading_mode="SHARED") as driver,
        Aeron(driver.aeron_dir) as aeron,
        aeron.add_subscription(CHANNEL, STREAM_ID) as there,
        aeron.add_exclusive_publication(CHANNEL, STREAM_ID) as ping,
        aeron.add_subscription(CHANNEL, STREAM_ID + 1) as back,
        aeron.add_exclusive_publication(CHANNEL, STREAM_ID + 1) as pong,
    ):
        for subscription in (there, back):
            subscription.wait_connected(5)
        for publication in (ping, pong):
            publication.wait_connected(5, writable=True)
        echo = loops.Echo(there.images[0], pong, idle_strategy("spin"))
        thread = threading.Thread(target=echo.run)
        thread.start()
        try:
            caller = loops.Caller(ping, back.images[0], LENGTH, idle_strategy("spin"))
            caller.run(WARM_UP_ROUND_TRIPS)
            return _histogram(caller.run(ROUND_TRIPS))
        finally:
            echo.stop()
            thread.join()
