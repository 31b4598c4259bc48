"""A cluster of one member: echoes a second, and round trips, by a Java client."""

from __future__ import annotations

import contextlib
import statistics
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.building import CHECKOUT
from benchmarks.folders import archive_folder
from benchmarks.reference import harness
from benchmarks.result import BenchmarkFailedError, Result

if TYPE_CHECKING:
    from collections.abc import Iterator

PEER = "Aeron 1.51.0 (Java) ClusteredMediaDriver"
ECHOES = 300_000
ROUND_TRIPS = 20_000
WINDOW = 1000
ROUNDS = 3
JAVA, PYTHON, BATCHES = "ClusterEcho", "EchoService", "BatchEchoService"
_SERVICE = """
import sys
sys.path.insert(0, sys.argv[1])
import cluster_echo
from aerolog.cluster.service import ServiceContainer
service = getattr(cluster_echo, sys.argv[2])()
with ServiceContainer(service, aeron_dir=sys.argv[3], cluster_dir=sys.argv[4]):
    print("ready", flush=True)
    sys.stdin.read()
"""


@contextlib.contextmanager
def _our_node(service: str) -> Iterator[Any]:
    peers = harness("cluster_node")
    with (
        tempfile.TemporaryDirectory(prefix="aerolog-bench-", dir=archive_folder()) as folder,
        peers.our_node(Path(folder)) as node,
        peers.java_service(node) if service == JAVA else _our_service(node, service),
    ):
        yield node


@contextlib.contextmanager
def _our_service(node: Any, service: str) -> Iterator[None]:
    command = [sys.executable, "-c", _SERVICE, str(CHECKOUT / "tests" / "support"), service]
    container = harness("process").ServerProcess(
        "our-service", [*command, node.aeron_dir, f"{node.folder}/cluster"]
    )
    try:
        container.wait_line("ready")
        yield
    finally:
        container.stop()


@contextlib.contextmanager
def _reference_node() -> Iterator[Any]:
    with (
        tempfile.TemporaryDirectory(prefix="aerolog-bench-", dir=archive_folder()) as folder,
        harness("cluster_node").java_node(Path(folder), "aeron:udp") as node,
    ):
        yield node


def _measure(node: Any, count: int, length: int, window: int) -> dict[str, float]:
    """What the reference's client says: nanoseconds of all, and of one at p50 and p99."""
    told: str = harness("tools").java_tool(
        "ClusterClient",
        node.aeron_dir,
        "aeron:udp",
        node.endpoints,
        "aeron:udp?endpoint=localhost:0",
        *map(str, (count, length, window)),
    )
    words = told.split()
    if "echoed" not in words:
        raise BenchmarkFailedError(f"the client said: {told[-500:]}")
    return {name: float(words[words.index(name) + 1]) for name in ("ns", "p50", "p99")}


def _in_turns(
    services: tuple[str, ...], count: int, length: int, window: int
) -> dict[str, list[dict[str, float]]]:
    """Measurements by service, the reference's node as ``PEER``; a new node for each."""
    found: dict[str, list[dict[str, float]]] = {name: [] for name in (PEER, *services)}
    for _ in range(ROUNDS):
        for name, measured in found.items():
            with _reference_node() if name == PEER else _our_node(name) as node:
                measured.append(_measure(node, count, length, window))
    return found


def echoes(length: int) -> list[Result]:
    """Echoes a second of messages of a length.

    Raises:
        BenchmarkFailedError: a message was lost, doubled or out of order.
    """
    found = _in_turns((JAVA, PYTHON, BATCHES), ECHOES, length, WINDOW)
    rates = {
        name: statistics.median(ECHOES / each["ns"] * 1e9 for each in measured)
        for name, measured in found.items()
    }
    names = {JAVA: "", PYTHON: "-python", BATCHES: "-python-batches"}
    return [
        Result(f"cluster-echo-{length}{ending}", "echoes/s", rates[name], rates[PEER], PEER)
        for name, ending in names.items()
    ]


def round_trips() -> list[Result]:
    """Microseconds of a round trip of 64 bytes, at the median and the 99th percentile.

    Raises:
        BenchmarkFailedError: a message was lost, doubled or out of order.
    """
    found = _in_turns((JAVA,), ROUND_TRIPS, 64, 1)
    figures = {
        (name, part): statistics.median(each[part] for each in measured) / 1000
        for name, measured in found.items()
        for part in ("p50", "p99")
    }
    return [
        Result(
            f"cluster-rtt-{part}",
            "us",
            figures[JAVA, part],
            figures[PEER, part],
            PEER,
            smaller_is_better=True,
        )
        for part in ("p50", "p99")
    ]
