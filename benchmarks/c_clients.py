"""Clients of the reference in C on its driver in C: the loops of its peer program over IPC."""

from __future__ import annotations

import statistics
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from benchmarks.reference import harness
from benchmarks.result import BenchmarkFailedError
from benchmarks.udp_drivers import C_VERSION, C, c_programs, driver

if TYPE_CHECKING:
    from collections.abc import Iterator

CHANNEL = "aeron:ipc"
STREAM_ID = 1001
PATIENCE_S = 60.0


@contextmanager
def _client() -> Iterator[Any]:
    """A client in a process of its own, on a driver in SHARED mode in another."""
    c_programs()
    with driver(C, "SHARED") as process:
        peer = harness("client").CPeer(C_VERSION)
        try:
            yield peer.connect(process.aeron_dir)
        finally:
            peer.stop()


def _stream(client: Any, stream_id: int) -> tuple[int, int]:
    """The numbers of an exclusive publication and of its image."""
    subscription = client.add_subscription(CHANNEL, stream_id)
    publication = client.add_exclusive_publication(CHANNEL, stream_id)
    while not (images := subscription.images()):
        pass
    return publication.handle, images[0].handle


def ipc_throughput(length: int, warm_up: int, intervals: int, interval_s: float) -> float:
    """Messages a second between two threads of a process: the median behind the warm-up.

    Raises:
        PeerUnavailableError: the programs cannot be built.
        BenchmarkFailedError: something was lost, doubled or out of order.
    """
    with _client() as client:
        publication, image = _stream(client, STREAM_ID)
        found = client.peer.request(
            "loops_throughput",
            timeout=PATIENCE_S,
            publication=publication,
            image=image,
            length=length,
            intervals=warm_up + intervals,
            interval_ms=int(interval_s * 1000),
        )
    if not found["in_order"] or found["sent"] != found["received"]:
        raise BenchmarkFailedError(f"C clients: {found}")
    return float(statistics.median(found["rates"][warm_up:]))


def ipc_round_trips(length: int, warm_up: int, count: int) -> list[int]:
    """Nanoseconds of each of so many round trips between two threads of a process.

    Raises:
        PeerUnavailableError: the programs cannot be built.
    """
    with _client() as client:
        ping, there = _stream(client, STREAM_ID)
        pong, back = _stream(client, STREAM_ID + 1)
        found: list[int] = client.peer.request(
            "loops_round_trips",
            timeout=PATIENCE_S,
            ping=ping,
            there=there,
            pong=pong,
            back=back,
            length=length,
            warm_up=warm_up,
            count=count,
        )
    return found
