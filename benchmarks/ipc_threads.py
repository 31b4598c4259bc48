"""Native publisher and subscriber threads through a driver in this process."""

from __future__ import annotations

from aerolog.transport.client import Aeron
from aerolog.transport.concurrent.idle import idle_strategy
from aerolog.transport.driver import MediaDriver
from benchmarks import c_clients
from benchmarks.java import PEER_NAME, percentiles, throughput
from benchmarks.loop_threads import (
    Measuring,
    measured_rate,
    percentiles_us,
    require_histogram,
    round_trip_times,
)
from benchmarks.native_loops import native
from benchmarks.result import Peer, Result, from_peer
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
    ours = _throughput(length)
    java, c = java_ipc_throughput(length), c_ipc_throughput(length)
    return [Result(f"ipc-{length}", "messages/s", ours, java.figure, java.name, more=(c,))]


def java_ipc_throughput(length: int) -> Peer:
    """The same of the reference's sample."""
    name = "EmbeddedExclusiveIpcThroughput"
    properties = {"aeron.sample.messageLength": str(length)}
    figure, peer_name = from_peer(
        PEER_NAME.format(name),
        lambda: throughput(f"io.aeron.samples.{name}", properties, JAVA_SECONDS),
    )
    return Peer(figure, peer_name)


def c_ipc_throughput(length: int) -> Peer:
    """The same of the reference's clients in C on its driver in C."""
    figure, peer_name = from_peer(
        C_CLIENTS,
        lambda: c_clients.ipc_throughput(length, WARM_UP_INTERVALS, INTERVALS, INTERVAL_S),
    )
    return Peer(figure, peer_name)


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
        measuring = Measuring(WARM_UP_INTERVALS * INTERVAL_S, INTERVAL_S, INTERVALS)
        return measured_rate(f"ipc-{length}", publisher, subscriber, measuring)


def ipc_rtt() -> list[Result]:
    """Round trips of 32-byte messages between two native threads, as percentiles.

    Raises:
        BenchmarkFailedError: HdrHistogram is not installed.
    """
    histogram = require_histogram("ipc-rtt")
    with (
        MediaDriver.embedded(threading_mode="SHARED") as driver,
        Aeron(driver.aeron_dir) as aeron,
    ):
        times = round_trip_times(
            aeron,
            (CHANNEL, STREAM_ID),
            (CHANNEL, STREAM_ID + 1),
            length=LENGTH,
            warm_up=WARM_UP_ROUND_TRIPS,
            count=ROUND_TRIPS,
            idle="spin",
        )
    ours = percentiles_us(histogram, times, PERCENTILES)
    name = "EmbeddedPingPong"
    properties = {
        "aeron.sample.ping.channel": CHANNEL,
        "aeron.sample.pong.channel": CHANNEL,
        "aeron.sample.exclusive.publications": "true",
        "aeron.sample.messages": str(ROUND_TRIPS),
        "aeron.sample.warmup.messages": str(WARM_UP_ROUND_TRIPS),
        "aeron.sample.warmup.iterations": "3",
    }
    java, java_name = from_peer(
        PEER_NAME.format(name),
        lambda: percentiles(f"io.aeron.samples.{name}", properties, PERCENTILES),
    )
    c_times, c_name = from_peer(
        C_CLIENTS, lambda: c_clients.ipc_round_trips(LENGTH, WARM_UP_ROUND_TRIPS, ROUND_TRIPS)
    )
    c = percentiles_us(histogram, c_times, PERCENTILES) if c_times else {}
    return [
        Result(
            f"ipc-rtt-p{percentile:g}",
            "us",
            ours[percentile],
            (java or {}).get(percentile),
            java_name,
            smaller_is_better=True,
            more=(Peer(c.get(percentile), c_name),),
        )
        for percentile in PERCENTILES
    ]
