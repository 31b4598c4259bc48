"""Our client on the reference's cluster: connect, send, receive, end."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from peer.cluster_node import java_node

from aerolog.cluster.client import (
    AeronCluster,
    AsyncAeronCluster,
    ClientState,
    ClusterAuthenticationError,
    ClusterError,
    SessionClosedError,
)
from aerolog.transport.client import Aeron
from aerolog.transport.errors import AeronTimeoutError

if TYPE_CHECKING:
    from peer.cluster_node import Node

pytestmark = pytest.mark.interop
PAGE = Path(__file__).resolve().parents[3] / "docs" / "cluster" / "client.md"
SAMPLE = "io.aeron.samples.archive.SampleAuthenticatorSupplier"


def options(node: Node, **others: Any) -> dict[str, Any]:
    return {
        "ingress_channel": "aeron:udp",
        "ingress_endpoints": node.endpoints,
        "egress_channel": "aeron:udp?endpoint=localhost:0",
        **others,
    }


def echoed(cluster: AeronCluster, messages: list[bytes]) -> list[bytes]:
    """Send messages, a window at a time, and return what comes back."""
    found: list[bytes] = []
    sent = 0
    deadline = time.monotonic() + 30
    while len(found) < len(messages):
        assert time.monotonic() < deadline, (sent, len(found))
        if sent < len(messages) and sent - len(found) < 64 and cluster.offer(messages[sent]) > 0:
            sent += 1
        found += [message.data for message in cluster.poll_messages()]
    return found


def test_the_page_s_program_runs(node: Node) -> None:
    """The program of client.md, with the places of its imagined nodes replaced by this one's."""
    (program,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    for imagined, real in (
        ("/dev/shm/aeron", node.aeron_dir),
        ('{0: "node0:9002", 1: "node1:9002", 2: "node2:9002"}', repr(node.endpoints)),
        ("here:0", "localhost:0"),
    ):
        assert imagined in program
        program = program.replace(imagined, real)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr == ""
    assert re.fullmatch(r"\d{13} b'bid 7 100'\n", done.stdout)


def test_messages_come_back_in_order(node: Node, aeron: Aeron) -> None:
    messages = [b"%d" % number * (number % 200 + 1) for number in range(2000)]
    messages.append(b"x" * 100_000)
    with AeronCluster(aeron, **options(node, name="tester")) as cluster:
        assert cluster.state is ClientState.CONNECTED
        assert cluster.cluster_session_id > 0
        assert (cluster.leader_member_id, cluster.leadership_term_id) == (0, 0)
        assert cluster.keep_alive()
        assert echoed(cluster, messages) == messages
    assert cluster.state is ClientState.CLOSED


def test_a_client_waits_sends_claims_and_iterates(node: Node, aeron: Aeron) -> None:
    with AeronCluster(aeron, **options(node)) as cluster:
        assert cluster.send(b"first") > 0
        with cluster.try_claim(6) as claim:
            claim.buffer[32:] = b"second"
        found = []
        for message in cluster.messages():
            found.append(message)
            if len(found) == 2:
                break
        assert [message.data for message in found] == [b"first", b"second"]
        assert all(message.leadership_term_id == 0 for message in found)
        now_ms = time.time() * 1000
        assert all(abs(message.timestamp - now_ms) < 60_000 for message in found)
        heard: list[bytes] = []
        cluster.send(b"third")
        deadline = time.monotonic() + 10
        while not heard and time.monotonic() < deadline:
            cluster.poll(lambda message: heard.append(message.data))
        assert heard == [b"third"]


def test_what_an_abandoned_iteration_has_not_given_stays(node: Node, aeron: Aeron) -> None:
    with AeronCluster(aeron, **options(node)) as cluster:
        for number in range(20):
            cluster.send(b"%d" % number)
        found = [next(iter(cluster.messages())).data for _ in range(20)]
        assert found == [b"%d" % number for number in range(20)]


def test_a_service_may_end_the_session(node: Node, aeron: Aeron) -> None:
    with AeronCluster(aeron, **options(node)) as cluster:
        cluster.send(b"close")
        with pytest.raises(SessionClosedError, match="SERVICE_ACTION"):
            list(cluster.messages())
        assert cluster.state is ClientState.CLOSED
        before = cluster.cluster_session_id
        cluster.reconnect()
        assert cluster.cluster_session_id > before
        assert echoed(cluster, [b"again"]) == [b"again"]


def test_asyncio(node: Node) -> None:
    async def run() -> list[bytes]:
        cluster = await AsyncAeronCluster.connect(aeron_dir=node.aeron_dir, **options(node))
        async with cluster:
            for number in range(10):
                await cluster.send(b"%d" % number)
            found: list[bytes] = []
            async for message in cluster.messages():
                found.append(message.data)
                if len(found) == 10:
                    return found
        raise AssertionError("the session ended")

    assert asyncio.run(run()) == [b"%d" % number for number in range(10)]


def test_a_snapshot_is_not_for_everybody(node: Node, aeron: Aeron) -> None:
    with (
        AeronCluster(aeron, **options(node)) as cluster,
        pytest.raises(ClusterError, match="UNAUTHORISED_ACCESS"),
    ):
        cluster.take_snapshot()


def test_no_cluster_is_told_with_its_place(node: Node, aeron: Aeron) -> None:
    nowhere = options(node, ingress_endpoints={0: "localhost:1"}, message_timeout=0.5)
    with pytest.raises(
        AeronTimeoutError, match="no member of a cluster on 0=localhost:1 stream 101"
    ):
        AeronCluster(aeron, **nowhere)


def test_ingress_over_ipc(aeron: Aeron) -> None:
    with AeronCluster(aeron, ingress_channel="aeron:ipc", egress_channel="aeron:ipc") as cluster:
        assert echoed(cluster, [b"over", b"ipc"]) == [b"over", b"ipc"]


def test_credentials_and_challenges(tmp_path: Path, reference: object) -> None:
    with java_node(tmp_path, "aeron:udp", SAMPLE) as node, Aeron(node.aeron_dir) as aeron:
        with AeronCluster(aeron, **options(node, credentials=b"admin:admin")) as cluster:
            assert echoed(cluster, [b"known"]) == [b"known"]
        asked: list[bytes] = []

        def answer(challenge: bytes) -> bytes:
            asked.append(challenge)
            return b"admin:CSadmin"

        challenged = options(node, credentials=b"admin:adminC", on_challenge=answer)
        with AeronCluster(aeron, **challenged) as cluster:
            assert echoed(cluster, [b"proven"]) == [b"proven"]
        assert len(asked) == 1
        with pytest.raises(ClusterAuthenticationError, match="session failed authentication"):
            AeronCluster(aeron, **options(node, credentials=b"admin:nonsense"))
