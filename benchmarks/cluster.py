"""A cluster of one member: echoes, round trips, recovery, and what it takes without work."""

from __future__ import annotations

import contextlib
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.folders import archive_folder, temporary_folder
from benchmarks.native_loops import CHECKOUT
from benchmarks.processes import processor_share
from benchmarks.reference import harness
from benchmarks.result import BenchmarkFailedError, Result

if TYPE_CHECKING:
    from collections.abc import Iterator

PEER = "Aeron 1.51.0 (Java) ClusteredMediaDriver"
ECHOES = 300_000
ROUND_TRIPS = 20_000
WINDOW = 1000
RECOVERED = 1_000_000
ROUNDS = 3
SETTLED_S = 5.0
IDLE_S = 20.0
JAVA, PYTHON, BATCHES = "ClusterEcho", "EchoService", "BatchEchoService"
NATIVE = "NativeEchoService"
_SERVICE = """
import sys, time
sys.path.insert(0, sys.argv[1])
import cluster_echo
from aerolog.cluster.service import ServiceContainer

class Service(getattr(cluster_echo, sys.argv[2])):
    def on_start(self, cluster, snapshot):
        self.start_ns = time.monotonic_ns()
        super().on_start(cluster, snapshot)

    def on_role_change(self, role):
        print("recovered", self.count, "in", time.monotonic_ns() - self.start_ns, flush=True)

with ServiceContainer(Service(), aeron_dir=sys.argv[3], cluster_dir=sys.argv[4]):
    print("ready", flush=True)
    sys.stdin.read()
"""


class _Running(NamedTuple):
    """A node, and the process that its service runs in."""

    node: Any
    service: Any


@contextlib.contextmanager
def _run(name: str, folder: str) -> Iterator[_Running]:
    """A node in a folder: the reference's as ``PEER``, or ours with a service."""
    peers = harness("cluster_node")
    if name == PEER:
        with peers.java_node(Path(folder), "aeron:udp") as node:
            yield _Running(node, node.process)
        return
    with (
        peers.our_node(Path(folder)) as node,
        peers.java_service(node) if name == JAVA else _our_service(node, name) as service,
    ):
        yield _Running(node, service)


@contextlib.contextmanager
def _our_service(node: Any, service: str) -> Iterator[Any]:
    command = [sys.executable, "-c", _SERVICE, str(CHECKOUT / "tests" / "support"), service]
    container = harness("process").ServerProcess(
        "our-service", [*command, node.aeron_dir, f"{node.folder}/cluster"]
    )
    try:
        container.wait_line("ready")
        yield container
    finally:
        container.stop()


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
            with temporary_folder(archive_folder()) as folder, _run(name, folder) as running:
                measured.append(_measure(running.node, count, length, window))
    return found


def echoes(length: int) -> list[Result]:
    """Echoes a second of messages of a length.

    Raises:
        BenchmarkFailedError: a message was lost, doubled or out of order.
    """
    found = _in_turns((JAVA, NATIVE, PYTHON, BATCHES), ECHOES, length, WINDOW)
    rates = {
        name: statistics.median(ECHOES / each["ns"] * 1e9 for each in measured)
        for name, measured in found.items()
    }
    names = {JAVA: "-java", NATIVE: "", PYTHON: "-python", BATCHES: "-python-batches"}
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


def recovery() -> list[Result]:
    """Messages of a log that a service gets again a second, when its node starts anew.

    Raises:
        BenchmarkFailedError: a message was lost or doubled.
    """
    names = {NATIVE: "", PYTHON: "-python", BATCHES: "-python-batches"}
    rates: dict[str, list[float]] = {name: [] for name in (PEER, *names)}
    for _ in range(ROUNDS):
        for name, measured in rates.items():
            with temporary_folder(archive_folder()) as folder:
                with _run(name, folder) as running:
                    _measure(running.node, RECOVERED, 64, WINDOW)
                with _run(name, folder) as running:
                    measured.append(RECOVERED / _recovered_ns(running.service) * 1e9)
    reference = statistics.median(rates[PEER])
    return [
        Result(
            f"cluster-recovery{ending}",
            "messages/s",
            statistics.median(rates[name]),
            reference,
            PEER,
        )
        for name, ending in names.items()
    ]


def _recovered_ns(service: Any) -> float:
    """How long a service took from its start until it leads, nanoseconds."""
    deadline = time.monotonic() + 60
    while True:
        lines = [line for line in service.log().splitlines() if line.startswith("recovered")]
        if lines:
            _, count, _, taken_ns = lines[-1].split()
            if int(count) != RECOVERED:
                raise BenchmarkFailedError(f"{count} of {RECOVERED} messages were replayed")
            return float(taken_ns)
        if time.monotonic() > deadline:
            raise BenchmarkFailedError(f"no recovery within 60 s: {service.log()[-500:]}")
        time.sleep(0.01)


def idle() -> list[Result]:
    """Percent of a core that a node without clients takes: driver, archive and module."""
    shares: dict[str, list[float]] = {PEER: [], NATIVE: []}
    for _ in range(ROUNDS):
        for name, measured in shares.items():
            with temporary_folder(archive_folder()) as folder, _run(name, folder) as running:
                time.sleep(SETTLED_S)
                measured.append(processor_share(running.node.process.pid, IDLE_S))
    ours, reference = (statistics.median(shares[name]) for name in (NATIVE, PEER))
    return [Result("cluster-idle", "% of a core", ours, reference, PEER, smaller_is_better=True)]
