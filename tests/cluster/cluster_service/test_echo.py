"""Our container with a service in Python on the reference's consensus module, and on ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import peer
import pytest

from aerolog.cluster.client import AeronCluster, SessionClosedError
from aerolog.transport.client import Aeron

if TYPE_CHECKING:
    from collections.abc import Iterator

    from peer.cluster_node import Node

pytestmark = pytest.mark.interop


def options(node: Node, **others: Any) -> dict[str, Any]:
    return {
        "ingress_channel": "aeron:udp",
        "ingress_endpoints": node.endpoints,
        "egress_channel": "aeron:udp?endpoint=localhost:0",
        **others,
    }


@pytest.fixture
def aeron(node: Node) -> Iterator[Aeron]:
    with Aeron(node.aeron_dir) as client:
        yield client


def answers(cluster: AeronCluster, message: bytes, count: int = 1) -> list[bytes]:
    """What comes back for a message."""
    cluster.send(message)
    return heard(cluster, count)


def heard(cluster: AeronCluster, count: int = 1) -> list[bytes]:
    found: list[bytes] = []
    for received in cluster.messages():
        found.append(received.data)
        if len(found) == count:
            return found
    raise AssertionError("the session ended")


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
        assert answers(cluster, b"offer this") == [b"offered this"]
