"""UDP through a driver process on loopback: ours, the reference's two, under the same native loops.

Publisher and subscriber are two threads of this process, whichever driver is measured, so that
only the drivers differ. Each driver is measured in all of its threading modes; the fastest counts.
"""

from __future__ import annotations

import socket
import statistics
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from aerolog.transport.client import Aeron
from aerolog.transport.concurrent.idle import idle_strategy
from aerolog.transport.network.sockets import open_receive_port, open_send_port
from aerolog.transport.protocol.frames import DATA_HEADER_LENGTH
from benchmarks.loop_threads import (
    CONNECT_S,
    Measuring,
    measured_rate,
    median_rate,
    percentiles_us,
    require_histogram,
    round_trip_times,
    running,
)
from benchmarks.native_loops import native
from benchmarks.result import Peer, PeerUnavailableError, Result
from benchmarks.udp_drivers import MODES, OURS, PEERS, driver, peer_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HOST = "127.0.0.1"
STREAM_ID = 1001
FRAGMENT_LIMIT = 256
ROUND_TRIPS = 20_000
ROUNDS = 10
WARM_UP_ROUND_TRIPS = 20_000
PERCENTILES = (50.0, 99.0)
LOSS = 0.01
LOSS_SEED = 4711
MEGABYTE = 1_000_000
NO_OFFLOAD = {"aeron.network.offload": "false"}
BARE_WINDOW = 1 << 19


def throughput(length: int) -> list[Result]:
    """Messages of one length a second."""
    name = f"udp-{length}"
    return [_compared(name, "messages/s", lambda kind, mode: _rate(kind, mode, length))]


def throughput_without_offload(length: int) -> list[Result]:
    """The same with segmentation and receive offload switched off on our side."""

    def measure(kind: str, mode: str) -> float:
        return _rate(kind, mode, length, properties=NO_OFFLOAD if kind == OURS else {})

    name = f"udp-{length}-no-offload"
    compared = _compared(name, "messages/s", measure)
    calls = "sendmmsg and recvmmsg alone, no driver"
    return [
        compared,
        Result(f"{name}-bare", "messages/s", compared.ours, _bare_rate(length), calls),
    ]


def goodput_with_loss() -> list[Result]:
    """MB/s of 1 KiB messages when a relay drops 1 % of the datagrams, the same for both."""

    def measure(kind: str, mode: str) -> float:
        with _relay() as (sender_port, receiver_port):
            channels = (_channel(sender_port), _channel(receiver_port))
            return _rate(kind, mode, 1024, channels=channels) * 1024 / MEGABYTE

    return [_compared("udp-loss-1024", "MB/s", measure)]


def round_trips() -> list[Result]:
    """Percentiles of round trips of 32-byte messages, two channels through one driver.

    Medians of rounds in which all drivers take turns in all modes, because where the kernel puts
    the threads decides a round. The mode with the best median counts.
    """
    drivers = [(kind, mode) for kind in (OURS, *PEERS) for mode in MODES]
    found: dict[tuple[str, str], list[dict[float, float]]] = {each: [] for each in drivers}
    reasons: dict[str, str] = {}
    for _ in range(ROUNDS):
        for kind, mode in drivers:
            if kind not in reasons:
                try:
                    found[kind, mode].append(_round_trip_percentiles(kind, mode))
                except PeerUnavailableError as error:
                    reasons[kind] = f": {error}"
    best = {kind: _best_mode(kind, found) for kind in (OURS, *PEERS) if kind not in reasons}
    ours_mode, ours = best[OURS]
    results = []
    for percentile in PERCENTILES:
        peers = []
        for kind in PEERS:
            mode, medians = best.get(kind, ("", {}))
            name = f"{peer_name(kind, mode)}{reasons.get(kind, '')} (ours {ours_mode})"
            peers.append(Peer(medians.get(percentile), name))
        first, *more = peers
        name = f"udp-rtt-p{percentile:g}"
        figures = (ours[percentile], first.figure, first.name)
        results.append(Result(name, "us", *figures, smaller_is_better=True, more=tuple(more)))
    return results


def _best_mode(
    kind: str, found: dict[tuple[str, str], list[dict[float, float]]]
) -> tuple[str, dict[float, float]]:
    """The mode of a driver with the smallest median, and the medians of the percentiles there."""
    medians = {
        mode: {
            each: statistics.median(one[each] for one in found[kind, mode]) for each in PERCENTILES
        }
        for mode in MODES
    }
    return min(medians.items(), key=lambda item: item[1][50.0])


def _compared(name: str, unit: str, measure: Callable[[str, str], float]) -> Result:
    """The fastest mode of each side."""
    ours, ours_mode = max((measure(OURS, mode), mode) for mode in MODES)
    peers = []
    for kind in PEERS:
        try:
            figure, mode = max((measure(kind, mode), mode) for mode in MODES)
            peers.append(Peer(figure, f"{peer_name(kind, mode)} (ours {ours_mode})"))
        except PeerUnavailableError as error:
            peers.append(Peer(None, f"{peer_name(kind, '')}: {error}"))
    first, *more = peers
    return Result(name, unit, ours, first.figure, first.name, more=tuple(more))


def free_port() -> int:
    """A port of the loopback interface that nobody has just now."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def _channel(port: int) -> str:
    return f"aeron:udp?endpoint={HOST}:{port}"


def _rate(
    kind: str,
    mode: str,
    length: int,
    *,
    channels: tuple[str, str] | None = None,
    properties: dict[str, str] | None = None,
) -> float:
    """Median messages a second of one driver, every message checked."""
    loops = native("loops")
    to, at = channels or (_channel(free_port()),) * 2
    with (
        driver(kind, mode, properties) as process,
        Aeron(process.aeron_dir) as aeron,
        aeron.add_subscription(at, STREAM_ID) as subscription,
        aeron.add_exclusive_publication(to, STREAM_ID) as publication,
    ):
        subscription.wait_connected(CONNECT_S)
        publication.wait_connected(CONNECT_S, writable=True)
        subscriber = loops.Subscriber(
            subscription.images[0], length, FRAGMENT_LIMIT, idle_strategy("backoff")
        )
        publisher = loops.Publisher(publication, length, idle_strategy("backoff"))
        return measured_rate(f"{kind} {mode} {length}", publisher, subscriber)


def _bare_rate(length: int) -> float:
    """Median datagrams a second, of a frame with a message each, between two threads."""
    bare = native("bare")
    with (
        open_receive_port((HOST, 0), so_sndbuf=1 << 21, so_rcvbuf=1 << 21) as receiving,
        open_send_port(
            receiving.local_address, (HOST, 0), so_sndbuf=1 << 21, so_rcvbuf=1 << 21
        ) as sending,
    ):
        drain = bare.Drain(receiving)
        flood = bare.Flood(sending, drain, length=length + DATA_HEADER_LENGTH, window=BARE_WINDOW)
        with running(drain), running(flood):
            return median_rate(lambda: drain.count, Measuring())


@contextmanager
def _relay() -> Iterator[tuple[int, int]]:
    """A relay on a thread of its own; the ports that the sender sends to and the receiver is at."""
    relays = native("relay")
    receiver_port = free_port()
    with ExitStack() as stack:
        towards_sender = stack.enter_context(
            open_receive_port((HOST, 0), so_sndbuf=1 << 21, so_rcvbuf=1 << 21)
        )
        towards_receiver = stack.enter_context(
            open_send_port((HOST, receiver_port), (HOST, 0), so_sndbuf=1 << 21, so_rcvbuf=1 << 21)
        )
        relay = relays.Relay(
            towards_sender, towards_receiver, idle_strategy("backoff"), loss=LOSS, seed=LOSS_SEED
        )
        with running(relay):
            yield towards_sender.local_address[1], receiver_port


def _round_trip_percentiles(kind: str, mode: str) -> dict[float, float]:
    """The round trips' microseconds by percentile."""
    histogram = require_histogram("udp-rtt")
    there, back = ((_channel(free_port()), STREAM_ID) for _ in range(2))
    with driver(kind, mode) as process, Aeron(process.aeron_dir) as aeron:
        times = round_trip_times(
            aeron,
            there,
            back,
            length=32,
            warm_up=WARM_UP_ROUND_TRIPS,
            count=ROUND_TRIPS,
            idle="yield",
        )
    return percentiles_us(histogram, times, PERCENTILES)
