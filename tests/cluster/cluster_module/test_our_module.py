"""Our consensus module with the reference's services, clients and tools."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import peer
import pytest
from cluster_talk import answers, heard, options, tool, wait_for
from peer.cluster_node import free_ports, java_service, our_node

from aerolog.cluster.client import (
    AeronCluster,
    ClusterAuthenticationError,
    ClusterError,
    SessionClosedError,
)
from aerolog.cluster.counter_types import ClusterCounterType
from aerolog.cluster.files import EntryType, RecordingLog
from aerolog.transport.client import Aeron

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from peer.cluster_node import Node

pytestmark = [
    pytest.mark.interop,
    pytest.mark.error_log("concurrent session limit", "expected termination"),
]


@pytest.fixture
def aeron(node: Node) -> Iterator[Aeron]:
    with Aeron(node.aeron_dir) as client:
        yield client


@pytest.mark.parametrize(
    ("ingress", "egress", "length"),
    [
        ("aeron:udp", "aeron:udp?endpoint=localhost:0", 64),
        ("aeron:udp", "aeron:udp?endpoint=localhost:0", 10_000),
        ("aeron:ipc", "aeron:ipc", 1024),
    ],
)
def test_the_reference_s_client(node: Node, ingress: str, egress: str, length: int) -> None:
    endpoints = node.endpoints if ingress == "aeron:udp" else "-"
    done = peer.java_tool(
        "ClusterClient", node.aeron_dir, ingress, endpoints, egress, "5000", str(length), "100"
    )
    session, echoed = done.splitlines()
    assert session.startswith("session ")
    assert echoed.startswith("echoed 5000 ns ")


def test_our_client(node: Node, aeron: Aeron) -> None:
    with AeronCluster(aeron, **options(node, name="tester")) as cluster:
        assert answers(cluster, b"hello") == [b"hello"]
        assert answers(cluster, b"x" * 100_000) == [b"x" * 100_000]
        labels = [
            info.label
            for info in aeron.counters.infos()
            if info.type_id == ClusterCounterType.SESSION
        ]
        assert any(label.startswith("cluster-session: name=tester ") for label in labels)


def test_a_silent_client_is_closed(node: Node, aeron: Aeron) -> None:
    with AeronCluster(aeron, **options(node, keepalive_interval=0)) as cluster:
        begin = time.monotonic()
        with pytest.raises(SessionClosedError, match="TIMEOUT"):
            list(cluster.messages())
        assert 1.9 < time.monotonic() - begin < 10


def test_a_client_that_says_that_it_is_there_stays(node: Node, aeron: Aeron) -> None:
    with AeronCluster(aeron, **options(node)) as cluster:
        end = time.monotonic() + 4
        while time.monotonic() < end:
            assert cluster.keep_alive()
            cluster.poll_messages()
            time.sleep(0.1)
        assert answers(cluster, b"still here") == [b"still here"]


def test_a_service_closes_a_session(node: Node, aeron: Aeron) -> None:
    with AeronCluster(aeron, **options(node)) as cluster:
        cluster.send(b"close")
        with pytest.raises(SessionClosedError, match="SERVICE_ACTION"):
            list(cluster.messages())


def test_timers_fire_once_and_are_cancelled(node: Node, aeron: Aeron) -> None:
    with AeronCluster(aeron, **options(node)) as cluster:
        for line in (b"timer 7 50", b"timer 8 1500", b"timer 9 1000", b"cancel 9", b"timer 10 0"):
            cluster.send(line)
        assert sorted(heard(cluster, 3)) == [b"timer 10", b"timer 7", b"timer 8"]
        assert answers(cluster, b"nothing more") == [b"nothing more"]


def test_services_write_into_the_log(node: Node, aeron: Aeron) -> None:
    with AeronCluster(aeron, **options(node)) as cluster:
        for number in range(30):
            cluster.send(b"offer m%d" % number)
        assert heard(cluster, 30) == [b"offered m%d" % number for number in range(30)]


def test_sessions_are_limited(node: Node, aeron: Aeron) -> None:
    sessions = []
    try:
        with pytest.raises(ClusterError, match="concurrent session limit"):
            for _ in range(11):
                sessions.append(AeronCluster(aeron, **options(node)))
                for each in sessions:
                    each.keep_alive()
        assert len(sessions) == 10
    finally:
        for each in sessions:
            each.close()


def test_the_reference_s_tool(node: Node) -> None:
    assert "CONSENSUS_MODULE" in tool(node, "describe")
    assert f"{node.process.pid}" in tool(node, "pid")
    members = tool(node, "list-members")
    assert "leaderMemberId=0" in members
    assert "memberId=0" in members
    assert tool(node, "is-leader") == ""
    assert "type=TERM, isValid=true" in tool(node, "recording-log")
    before = RecordingLog(node.folder / "cluster").latest_snapshot()
    assert "SNAPSHOT applied successfully" in tool(node, "snapshot")
    after = RecordingLog(node.folder / "cluster").latest_snapshot()
    assert len(after) == 2
    assert after != before
    assert "SUSPEND applied successfully" in tool(node, "suspend")
    assert "RESUME applied successfully" in tool(node, "resume")
    assert "nextSessionId" in tool(node, "describe-latest-cm-snapshot")


def test_a_node_goes_on_where_it_was(tmp_path: Path, reference: object) -> None:
    """From the log alone, and from a snapshot with a log behind it, after an end and a kill."""
    for round_number in range(3):
        with our_node(tmp_path) as node, java_service(node), Aeron(node.aeron_dir) as aeron:
            with AeronCluster(aeron, **options(node)) as cluster:
                assert cluster.leadership_term_id == round_number
                assert answers(cluster, b"count") == [b"count %d" % (2 * round_number)]
                assert answers(cluster, b"one") == [b"one"]
                if round_number == 1:
                    assert "SNAPSHOT applied" in tool(node, "snapshot")
                assert answers(cluster, b"two") == [b"two"]
            if round_number == 1:
                node.process.kill()
    with RecordingLog(tmp_path / "cluster") as log:
        terms = [entry for entry in log.entries if entry.type == EntryType.TERM]
        assert [entry.leadership_term_id for entry in terms] == [0, 1, 2]
        assert [entry.log_position for entry in terms[:2]] == [
            entry.term_base_log_position for entry in terms[1:]
        ]


def test_a_shutdown_ends_node_and_services(tmp_path: Path, reference: object) -> None:
    with our_node(tmp_path) as node, java_service(node) as service:
        with Aeron(node.aeron_dir) as aeron, AeronCluster(aeron, **options(node)) as cluster:
            assert answers(cluster, b"one") == [b"one"]
        assert "SHUTDOWN applied successfully" in tool(node, "shutdown")
        assert service.wait_line("terminated")
        assert node.process.wait() == 0
    with RecordingLog(tmp_path / "cluster") as log:
        assert len(log.latest_snapshot(1)) == 2
        assert log.last_term is not None
        assert log.last_term.log_position > 0


def test_credentials_and_challenges(tmp_path: Path, reference: object) -> None:
    sample = "io.aeron.samples.archive.SampleAuthenticatorSupplier"
    with (
        our_node(tmp_path, f"aeron.cluster.authenticator.supplier={sample}") as node,
        java_service(node),
        Aeron(node.aeron_dir) as aeron,
    ):
        with AeronCluster(aeron, **options(node, credentials=b"admin:admin")) as cluster:
            assert answers(cluster, b"known") == [b"known"]
        challenged = options(
            node, credentials=b"admin:adminC", on_challenge=lambda _: b"admin:CSadmin"
        )
        with AeronCluster(aeron, **challenged) as cluster:
            assert answers(cluster, b"proven") == [b"proven"]
        with pytest.raises(ClusterAuthenticationError, match="session failed authentication"):
            AeronCluster(aeron, **options(node, credentials=b"admin:nonsense"))


def test_snapshots_by_request(tmp_path: Path, reference: object) -> None:
    with (
        our_node(tmp_path, "aeron.cluster.authorisation.service.supplier=ALLOW_ALL") as node,
        java_service(node),
        Aeron(node.aeron_dir) as aeron,
        AeronCluster(aeron, **options(node)) as cluster,
    ):
        cluster.take_snapshot()
        wait_for(
            lambda: len(RecordingLog(tmp_path / "cluster").latest_snapshot(1)) == 2, "snapshot"
        )


def test_a_snapshot_is_not_for_everybody(node: Node, aeron: Aeron) -> None:
    with (
        AeronCluster(aeron, **options(node)) as cluster,
        pytest.raises(ClusterError, match="UNAUTHORISED_ACCESS"),
    ):
        cluster.take_snapshot()


def test_the_reference_s_echo_service(tmp_path: Path, reference: object) -> None:
    with (
        our_node(tmp_path) as node,
        java_service(node, "io.aeron.samples.cluster.EchoService"),
        Aeron(node.aeron_dir) as aeron,
        AeronCluster(aeron, **options(node)) as cluster,
    ):
        assert answers(cluster, b"to the sample") == [b"to the sample"]


def test_the_tutorial_s_auction(tmp_path: Path, reference: object) -> None:
    """The tutorial's service on our module, and its client, which knows the ports of member 0."""
    places = ["localhost:9002", *(f"localhost:{port}" for port in free_ports(4))]
    tutorial = "io.aeron.samples.cluster.tutorial.BasicAuction"
    with (
        our_node(
            tmp_path,
            f"aeron.cluster.members=0,{','.join(places)}",
            f"aeron.archive.control.channel=aeron:udp?endpoint={places[4]}",
        ) as node,
        java_service(node, f"{tutorial}ClusteredService"),
    ):
        told = peer.java_tool(
            f"{tutorial}ClusterClient",
            properties={
                "aeron.cluster.tutorial.customerId": "1001",
                "aeron.cluster.tutorial.numOfBids": "5",
                "aeron.cluster.tutorial.bidIntervalMs": "10",
            },
        )
    assert told.count("Sent(") == 5
    assert told.count("SessionMessage(1, ") == 5
    assert ", true)" in told
