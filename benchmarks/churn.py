"""Round trips of one stream while another client adds and removes large publications."""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from aerolog.transport.client import Aeron
from benchmarks.loop_threads import percentiles_us, require_histogram, round_trip_times
from benchmarks.result import BenchmarkFailedError, Peer, PeerUnavailableError, Result
from benchmarks.udp import HOST, free_port
from benchmarks.udp_drivers import OURS, PEERS, driver, peer_name

if TYPE_CHECKING:
    from collections.abc import Iterator

MODES = ("SHARED", "DEDICATED")
MEDIA = ("ipc", "udp")
STREAM_ID = 1001
SECONDS = 10.0
LENGTH = 32
WARM_UP_ROUND_TRIPS = 20_000
ROUND_TRIPS = 10_000
PERCENTILE = 99.9
END_S = 30.0


def round_trips() -> list[Result]:
    """The 99.9th percentile beside the churn, in each mode, and how many times the quiet one."""
    return [result for media in MEDIA for mode in MODES for result in _compared(media, mode)]


def _compared(media: str, mode: str) -> list[Result]:
    quiet, ours = _measured(OURS, mode, media)
    beside, times = [], []
    for kind in PEERS:
        name = peer_name(kind, mode)
        try:
            peer_quiet, figure = _measured(kind, mode, media)
            beside.append(Peer(figure, name))
            times.append(Peer(figure / peer_quiet, name))
        except PeerUnavailableError as error:
            beside.append(Peer(None, f"{name}: {error}"))
            times.append(Peer(None, f"{name}: {error}"))
    name = f"churn-rtt-{media}-{mode.lower()}"
    return [
        _result(f"{name}-p{PERCENTILE:g}", "us", ours, beside),
        _result(f"{name}-of-quiet", "x", ours / quiet, times),
    ]


def _result(name: str, unit: str, ours: float, peers: list[Peer]) -> Result:
    first, *more = peers
    return Result(
        name, unit, ours, first.figure, first.name, smaller_is_better=True, more=tuple(more)
    )


def _measured(kind: str, mode: str, media: str) -> tuple[float, float]:
    """Microseconds of round trips through a driver without the churn, and with it."""
    with driver(kind, mode) as process:
        quiet = _percentile(process.aeron_dir, media)
        with _churn(process.aeron_dir, _channel(media)):
            return quiet, _percentile(process.aeron_dir, media)


def _percentile(aeron_dir: str, media: str) -> float:
    histogram = require_histogram("churn-rtt")
    with Aeron(aeron_dir) as aeron:
        times = round_trip_times(
            aeron,
            (_channel(media), STREAM_ID),
            (_channel(media), STREAM_ID + 1),
            length=LENGTH,
            warm_up=WARM_UP_ROUND_TRIPS,
            count=ROUND_TRIPS,
            idle="yield",
            seconds=SECONDS,
        )
    return percentiles_us(histogram, times, (PERCENTILE,))[PERCENTILE]


def _channel(media: str) -> str:
    return "aeron:ipc" if media == "ipc" else f"aeron:udp?endpoint={HOST}:{free_port()}"


@contextmanager
def _churn(aeron_dir: str, channel: str) -> Iterator[None]:
    """A process that adds and removes publications until the block ends.

    Raises:
        BenchmarkFailedError: it ended early, or with an error.
    """
    command = [sys.executable, "-m", "benchmarks.roles", "churn", aeron_dir, channel]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        try:
            yield
            if process.poll() is not None:
                raise BenchmarkFailedError(f"churn ended early: code {process.returncode}")
            process.communicate(timeout=END_S)  # the end of its input ends it
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        raise BenchmarkFailedError(f"churn failed: code {process.returncode}")
