"""Our container with a service in Python on the reference's consensus module, and on ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import peer
import pytest
from cluster_talk import answers, heard, options

from aerolog.cluster.client import AeronCluster, SessionClosedError

if TYPE_CHECKING:
    from peer.cluster_node import Node

    from aerolog.transport.client import Aeron

pytestmark = pytest.mark.interop


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
    with AeronCluster(aeron, **options(node)) as cluster:
        assert answers(cluster, b"hello") == [b"hello"]
        assert answers(cluster, b"x" * 100_000) == [b"x" * 100_000]
        assert answers(cluster, b"") == [b""]


def test_a_service_ends_a_session(node: Node, aeron: Aeron) -> None:
    with AeronCluster(aeron, **options(node)) as cluster:
        cluster.send(b"close")
        with pytest.raises(SessionClosedError, match="SERVICE_ACTION"):
            list(cluster.messages())


def test_timers(node: Node, aeron: Aeron) -> None:
    with AeronCluster(aeron, **options(node)) as cluster:
        cluster.send(b"timer 7 100")
        cluster.send(b"timer 8 60000")
        cluster.send(b"cancel 8")
        cluster.send(b"timer 9 300")
        assert heard(cluster, 2) == [b"timer 7", b"timer 9"]


def test_a_service_offers_to_the_log(node: Node, aeron: Aeron) -> None:
    with AeronCluster(aeron, **options(node)) as cluster:
        for number in range(30):
            cluster.send(b"offer m%d" % number)
        assert heard(cluster, 30) == [b"offered m%d" % number for number in range(30)]


def test_answers_and_events_come_in_one_log(node: Node, aeron: Aeron) -> None:
    """A client so hears the last answers of the service before the module's word of the end."""
    with AeronCluster(aeron, **options(node)) as cluster:
        assert answers(cluster, b"heard") == [b"heard"]
        images = cluster.session.subscription.images
        assert len({image.session_id for image in images}) == 1
        cluster.send(b"last")
        cluster.send(b"close")
        assert heard(cluster) == [b"last"]
        with pytest.raises(SessionClosedError, match="SERVICE_ACTION"):
            list(cluster.messages())
