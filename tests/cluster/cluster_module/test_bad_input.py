"""What strangers send into the ingress of a node; the sessions of others do not suffer."""

from __future__ import annotations

import os
import random
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest
from cluster_talk import answers, misshapen, options, tool

from aerolog.cluster.client import AeronCluster, ClusterError
from aerolog.cluster.files import ClusterMarkFile
from aerolog.cluster.protocol import (
    MESSAGES,
    AdminRequest,
    AdminRequestType,
    ChallengeResponse,
    SessionCloseRequest,
    SessionConnectRequest,
    SessionKeepAlive,
    SessionMessageHeader,
)
from aerolog.transport.client import Aeron
from aerolog.transport.errors import AeronTimeoutError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from peer.cluster_node import Node

    from aerolog.transport.client.publication import ExclusivePublication

pytestmark = [pytest.mark.interop, pytest.mark.error_log("")]


@pytest.fixture
def aeron(node: Node) -> Iterator[Aeron]:
    with Aeron(node.aeron_dir) as client:
        yield client


@pytest.fixture
def cluster(node: Node, aeron: Aeron) -> Iterator[AeronCluster]:
    """A session that must not suffer."""
    with AeronCluster(aeron, **options(node)) as opened:
        yield opened


@pytest.fixture
def ingress(aeron: Aeron, node: Node) -> Iterator[ExclusivePublication]:
    with aeron.add_exclusive_publication("aeron:ipc", 101) as publication:
        publication.wait_connected(10)
        yield publication


def check_echo(cluster: AeronCluster) -> None:
    text = b"%d" % time.monotonic_ns()
    assert answers(cluster, text) == [text]


def errors(node: Node) -> list[Any]:
    return list(ClusterMarkFile.open(node.folder / "cluster").errors())


def test_random_bytes(cluster: AeronCluster, ingress: ExclusivePublication, node: Node) -> None:
    dice = random.Random(7)
    for number in range(3000):
        ingress.send(dice.randbytes(dice.choice((0, 1, 7, 8, 9, 31, 32, 33, 200, 5000))))
        if number % 500 == 0:
            check_echo(cluster)
    check_echo(cluster)
    assert len(errors(node)) < 20


def test_every_message_cut_and_longer_and_of_other_versions(
    cluster: AeronCluster, ingress: ExclusivePublication
) -> None:
    dice = random.Random(11)
    for made in MESSAGES.values():
        for message in misshapen(made, dice):
            ingress.send(message)
    check_echo(cluster)


def test_messages_of_other_sessions_and_terms(
    cluster: AeronCluster, ingress: ExclusivePublication
) -> None:
    own, term = cluster.cluster_session_id, cluster.leadership_term_id
    for session_id in (-1, 0, own + 1000, 2**63 - 1, -(2**63)):
        for made in (SessionMessageHeader, SessionKeepAlive, SessionCloseRequest):
            ingress.send(
                made(leadership_term_id=term, cluster_session_id=session_id).encode() + b"text"
            )
        ingress.send(
            ChallengeResponse(
                correlation_id=1, cluster_session_id=session_id, encoded_credentials=b"x"
            ).encode()
        )
    for other in (-1, term + 1, 2**63 - 1):
        for made in (SessionMessageHeader, SessionCloseRequest):
            ingress.send(made(leadership_term_id=other, cluster_session_id=own).encode() + b"stale")
    ingress.send(
        AdminRequest(
            leadership_term_id=term,
            cluster_session_id=own + 1000,
            correlation_id=1,
            request_type=AdminRequestType.SNAPSHOT,
        ).encode()
    )
    check_echo(cluster)  # and neither "text" nor "stale" came before


@pytest.mark.parametrize(
    "channel",
    ["", "nonsense", "aeron:udp", "aeron:udp?endpoint=", "aeron:ipc?term-length=7", "x" * 4000],
)
def test_a_response_channel_that_cannot_be_used(
    cluster: AeronCluster, ingress: ExclusivePublication, node: Node, channel: str
) -> None:
    ingress.send(
        SessionConnectRequest(
            correlation_id=9, response_stream_id=102, response_channel=channel
        ).encode()
    )
    check_echo(cluster)
    assert node.process.running


def test_a_flood_of_connects(
    cluster: AeronCluster, ingress: ExclusivePublication, node: Node, aeron: Aeron
) -> None:
    """Clients that never listen are refused, and the memory for them is bounded."""
    for number in range(3000):
        ingress.send(
            SessionConnectRequest(
                correlation_id=number,
                response_stream_id=number,
                response_channel="aeron:ipc?term-length=64k|sparse=true",
            ).encode()
        )
        if number % 300 == 0:
            check_echo(cluster)
    check_echo(cluster)
    publications = [info for info in aeron.counters.infos() if info.label.startswith("pub-pos")]
    assert len(publications) < 1000  # logs that are not used any more stay a while
    # The driver adds a log for each of them, one after the other; then others are answered, and
    # those that never listened are gone after the session timeout of 2 s.
    end = time.monotonic() + 30
    while True:
        check_echo(cluster)
        try:
            # Not for long, since the first session has to say that it is there meanwhile.
            AeronCluster(
                aeron, ingress_channel="aeron:ipc", egress_channel="aeron:ipc", message_timeout=1
            ).close()
            break
        except (ClusterError, AeronTimeoutError):
            assert time.monotonic() < end
    assert node.process.running


def test_a_client_that_never_reads(cluster: AeronCluster, node: Node, aeron: Aeron) -> None:
    """A service waits for room in its log until it leaves; then the others are answered."""
    with AeronCluster(
        aeron, ingress_channel="aeron:ipc", egress_channel="aeron:ipc?term-length=64k"
    ) as deaf:
        for _ in range(10):
            deaf.offer(b"x" * 20_000)  # more than fits into a log that nobody reads
    check_echo(cluster)


def test_a_node_that_stood_still_loses_no_session(cluster: AeronCluster, node: Node) -> None:
    """Longer than the session timeout of 2 s; the client says meanwhile that it is there."""
    check_echo(cluster)
    os.kill(node.process.pid, signal.SIGSTOP)
    try:
        end = time.monotonic() + 4
        while time.monotonic() < end:
            cluster.keep_alive()
            time.sleep(0.1)
    finally:
        os.kill(node.process.pid, signal.SIGCONT)
    check_echo(cluster)


def test_an_oversized_payload_is_refused_by_the_client(cluster: AeronCluster) -> None:
    with pytest.raises(ValueError, match="longer than|exceeds|maximum"):
        cluster.offer(b"x" * (17 << 20))
    check_echo(cluster)


def test_the_reference_s_tool_reads_the_errors(node: Node) -> None:
    assert "distinct errors observed" in tool(node, "errors")
