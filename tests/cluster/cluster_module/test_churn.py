"""Sessions and snapshots that come and go leave nothing behind, in the node and in the service."""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import cluster_echo
import pytest
from cluster_talk import answers, options, talk, wait_for
from holdings import Household
from peer.cluster_node import our_node
from peer.process import ServerProcess

from aerolog.cluster.client import AeronCluster
from aerolog.cluster.counter_types import ClusterCounterType, ElectionState
from aerolog.cluster.errors import SessionClosedError
from aerolog.transport.client import Aeron, CountersReader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from peer.cluster_node import Node

pytestmark = pytest.mark.processes_end

# How many sessions of each kind come in a round, and how many rounds come after the first one.
FORMS = [
    pytest.param(3, 1, id="short"),
    pytest.param(10, 5, id="long", marks=[pytest.mark.slow, pytest.mark.timeout(600)]),
]
SETTINGS = (
    "aeron.client.liveness.timeout=2s",
    "aeron.image.liveness.timeout=1s",
    "aeron.publication.linger.timeout=200ms",
    "aeron.counters.free.to.reuse.timeout=100ms",
    "aeron.timer.interval=100ms",
    "aeron.archive.segment.file.length=128k",
    "aeron.archive.replay.linger.timeout=100ms",
    "aeron.term.buffer.sparse.file=true",
    "aeron.cluster.log.channel=aeron:udp?term-length=64k",
    "aeron.cluster.session.timeout=2s",
    "aeron.cluster.max.sessions=64",
    "aeron.cluster.authorisation.service.supplier=ALLOW_ALL",
)
KILLED = """
import sys, time
from aerolog import Aeron
from aerolog.cluster.client import AeronCluster
aeron = Aeron(sys.argv[1])
cluster = AeronCluster(aeron, ingress_channel="aeron:ipc", egress_channel="aeron:ipc")
cluster.send(b"count")
print("here", flush=True)
time.sleep(60)
"""


def has_elected(node: Node) -> bool:
    """Whether the module takes sessions."""
    state = CountersReader(node.aeron_dir).find(type_id=ClusterCounterType.ELECTION_STATE)
    return state is not None and state.value == ElectionState.CLOSED


@contextmanager
def echo_container(node: Node) -> Iterator[ServerProcess]:
    """A process with our echo service."""
    process = ServerProcess(
        "our-service",
        [
            *(sys.executable, "-m", "aerolog.tools.main"),
            *("service-container", "cluster_echo:EchoService", "--aeron-dir", node.aeron_dir),
            *("--cluster-dir", str(node.folder / "cluster")),
        ],
        cwd=Path(cluster_echo.__file__).parent,
        stop_by_signal=True,
    )
    try:
        process.wait_line("ready")
        yield process
    finally:
        process.stop()


def be_answered(node: Node) -> None:
    """Sessions over UDP and IPC that get answers and end, with a timer that is still to come."""
    with talk(node) as cluster:
        assert answers(cluster, b"x" * 3000) == [b"x" * 3000]
        cluster.send(b"timer 7 1")
        assert answers(cluster, b"offer this", 2) != []
    ipc = {"ingress_channel": "aeron:ipc", "egress_channel": "aeron:ipc"}
    with Aeron(node.aeron_dir) as aeron, AeronCluster(aeron, **ipc) as cluster:
        assert answers(cluster, b"over IPC") == [b"over IPC"]


def be_closed(node: Node) -> None:
    """A session that the service closes."""
    with talk(node) as cluster:
        cluster.send(b"close")
        with pytest.raises(SessionClosedError, match="SERVICE_ACTION"):
            list(cluster.messages())


def be_lost(node: Node) -> None:
    """A session whose client goes without a word, so that its time runs out."""
    with Aeron(node.aeron_dir) as aeron:
        assert answers(AeronCluster(aeron, **options(node)), b"lost") == [b"lost"]


def be_killed(node: Node) -> None:
    """A client that dies with its session."""
    command = [sys.executable, "-c", KILLED, node.aeron_dir]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
        process.kill()


def churn(node: Node, clients: int) -> None:
    """One round of everything that comes and goes.

    Those whose clients are lost come last: a service waits for each, before it gives it up.
    """
    for _ in range(clients):
        be_answered(node)
        be_closed(node)
        with talk(node) as cluster:
            cluster.take_snapshot()
    for _ in range(clients):
        be_lost(node)
    be_killed(node)


@pytest.mark.parametrize(("clients", "rounds"), FORMS)
def test_churn_leaves_nothing_behind(tmp_path: Path, clients: int, rounds: int) -> None:
    with our_node(tmp_path, *SETTINGS) as node, echo_container(node) as service:
        wait_for(lambda: has_elected(node), "leader")
        household = Household(node.aeron_dir, node.process.pid, service.pid)
        churn(node, clients)  # what is made once and kept is made
        before = household.settled()
        for _ in range(rounds):
            churn(node, clients)
        household.check(before, household.settled())
        known = 1003 * clients * (1 + rounds)  # a timer counts a thousand
        with talk(node) as cluster:
            assert answers(cluster, b"count") == [b"count %d" % known]
