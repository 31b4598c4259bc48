"""Consensus modules in processes of their own, beside one driver and one archive."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

import pytest
from cluster_echo import EchoService
from cluster_talk import answers, wait_for
from lone_modules import archiving_driver, command, lone_module
from peer.cluster_node import Node, free_ports, java_service

from aerolog.cluster.client import AeronCluster
from aerolog.cluster.counter_types import ModuleState
from aerolog.cluster.errors import ClusterError
from aerolog.cluster.files import ClusterMarkFile
from aerolog.cluster.service import ServiceContainer
from aerolog.cluster.service.service_agent import ServiceAgent
from aerolog.transport.client import Aeron

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.error_log(""), pytest.mark.processes_end]


@contextlib.contextmanager
def cluster(folder: Path, aeron_dir: str, cluster_id: int) -> Iterator[AeronCluster]:
    """A cluster with its module, an echo service and a session; its streams have ids of its own."""
    own = folder / f"cluster-{cluster_id}"
    places = [f"localhost:{port}" for port in free_ports(5)]
    first = 100 + 100 * cluster_id
    streams = {
        "aeron.cluster.log.stream.id": first,
        "aeron.cluster.ingress.stream.id": first + 1,
        "aeron.cluster.replay.stream.id": first + 3,
        "aeron.cluster.service.stream.id": first + 4,
        "aeron.cluster.consensus.module.stream.id": first + 5,
        "aeron.cluster.snapshot.stream.id": first + 7,
    }
    with (
        command(
            "consensus-module",
            f"aeron.dir={aeron_dir}",
            f"aeron.cluster.dir={own}",
            f"aeron.cluster.id={cluster_id}",
            f"aeron.cluster.members=0,{','.join(places)}",
            "aeron.cluster.ingress.channel=aeron:ipc",
            "aeron.cluster.replication.channel=aeron:udp?endpoint=localhost:0",
            *(f"{name}={value}" for name, value in streams.items()),
        ),
        ServiceContainer(
            EchoService(),
            aeron_dir=aeron_dir,
            cluster_dir=str(own),
            cluster_id=cluster_id,
            replay_stream_id=first + 3,
            service_stream_id=first + 4,
            consensus_module_stream_id=first + 5,
            snapshot_stream_id=first + 6,
        ),
        Aeron(aeron_dir) as aeron,
        AeronCluster(
            aeron,
            ingress_channel="aeron:ipc",
            ingress_stream_id=first + 1,
            egress_channel="aeron:ipc",
            egress_stream_id=first + 2,
        ) as session,
    ):
        yield session


def test_two_clusters_share_a_driver_and_an_archive(tmp_path: Path, aeron_dir: str) -> None:
    with archiving_driver(tmp_path, aeron_dir):
        for known in (0, 2):
            with cluster(tmp_path, aeron_dir, 0) as one, cluster(tmp_path, aeron_dir, 1) as other:
                for session in (one, other):
                    assert answers(session, b"count") == [b"count %d" % known]
                    assert answers(session, b"first") == [b"first"]
                    assert answers(session, b"second") == [b"second"]


def test_a_module_that_has_ended_leaves_its_id_at_once(tmp_path: Path, aeron_dir: str) -> None:
    with archiving_driver(tmp_path, aeron_dir):
        for _ in range(5):
            with lone_module(tmp_path, aeron_dir) as module:
                assert not module.is_closed


def test_the_end_of_a_module_ends_its_containers(
    tmp_path: Path, aeron_dir: str, reference: object
) -> None:
    with archiving_driver(tmp_path, aeron_dir) as driver:
        node = Node(aeron_dir, "", tmp_path, driver)
        with (
            lone_module(tmp_path, aeron_dir, "aeron.cluster.service.count=2") as module,
            java_service(node) as theirs,
            ServiceContainer(
                EchoService(), aeron_dir=aeron_dir, cluster_dir=f"{tmp_path}/cluster", service_id=1
            ) as ours,
        ):
            wait_for(lambda: module.state is ModuleState.ACTIVE, "leader")
            assert ours.is_running
            module.close()
            theirs.wait_line("terminated")
            with pytest.raises(ClusterError, match="the consensus module is gone"):
                ours.wait(10)


def test_a_second_module_of_one_cluster_is_refused(tmp_path: Path, aeron_dir: str) -> None:
    with archiving_driver(tmp_path, aeron_dir), cluster(tmp_path, aeron_dir, 0) as session:
        refused = pytest.raises(AssertionError, match="existing consensus module detected")
        with refused, cluster(tmp_path / "other", aeron_dir, 0):
            pass
        refused = pytest.raises(AssertionError, match="active mark file detected")
        with refused, cluster(tmp_path, aeron_dir, 0):
            pass
        assert answers(session, b"still here") == [b"still here"]


def test_a_module_without_a_driver_says_so(tmp_path: Path, aeron_dir: str) -> None:
    with (
        pytest.raises(AssertionError, match="no media driver in") as failure,
        command(
            "consensus-module",
            f"aeron.dir={aeron_dir}",
            "aeron.driver.timeout=500",
            f"aeron.cluster.dir={tmp_path}/cluster",
            "aeron.cluster.members=0,localhost:1,localhost:2,localhost:3,localhost:4,localhost:5",
            "aeron.cluster.ingress.channel=aeron:ipc",
            "aeron.cluster.replication.channel=aeron:udp?endpoint=localhost:0",
        ),
    ):
        pass
    assert "ended with 1" in str(failure.value)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ((), "ClusterMembers must be set"),
        (("aeron.cluster.members=1,a:1,a:2,a:3,a:4,a:5",), "memberId=0 not found in"),
        (
            ("aeron.cluster.members=0,a:1,a:2,a:3,a:4,a:5|1,b:1,b:2,b:3,b:4,b:5",),
            "ingressChannel must be specified",
        ),
        (
            (
                "aeron.cluster.members=0,a:1,a:2,a:3,a:4,a:5",
                "aeron.cluster.ingress.channel=aeron:udp",
            ),
            "replicationChannel must be specified",
        ),
    ],
)
def test_settings_that_cannot_be_used_end_with_2(settings: tuple[str, ...], told: str) -> None:
    with (
        pytest.raises(AssertionError, match=told) as failure,
        command("consensus-module", *settings),
    ):
        pass
    assert "ended with 2" in str(failure.value)


def test_snapshots_of_a_node_with_two_containers_of_one_service(
    tmp_path: Path, aeron_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By mistake; the first of the two that acknowledges is taken, and the other is reported."""
    # A container that finds the module recovered, or the log begun, comes too late for it: both
    # start and join the log before the module hears of the first.
    both, acknowledge = threading.Barrier(2), ServiceAgent._acknowledge

    def acknowledge_together(agent: ServiceAgent, relevant_id: int) -> None:
        if agent._ack_id < 2:  # the start and the log
            both.wait(20)
        acknowledge(agent, relevant_id)

    monkeypatch.setattr(ServiceAgent, "_acknowledge", acknowledge_together)
    with archiving_driver(tmp_path, aeron_dir), contextlib.ExitStack() as opened:
        containers = [
            opened.enter_context(
                ServiceContainer(
                    EchoService(), aeron_dir=aeron_dir, cluster_dir=str(tmp_path / name)
                )
            )
            for name in ("one", "other")
        ]
        allowing = "aeron.cluster.authorisation.service.supplier=ALLOW_ALL"
        module = opened.enter_context(lone_module(tmp_path, aeron_dir, allowing))
        aeron = opened.enter_context(Aeron(aeron_dir))
        session = opened.enter_context(
            AeronCluster(aeron, ingress_channel="aeron:ipc", egress_channel="aeron:ipc")
        )
        for _ in range(2):
            assert answers(session, b"to both", 2) == [b"to both"] * 2
            session.take_snapshot()
        assert module.state is ModuleState.ACTIVE
        assert all(each.is_running for each in containers)
        with contextlib.closing(ClusterMarkFile.open(tmp_path / "cluster")) as mark_file:
            assert any("duplicate serviceId=0" in each.text for each in mark_file.errors())
