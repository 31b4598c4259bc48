"""What a client does to others: too long messages, messages in others' sessions, one driver."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from cluster_talk import ECHO_NODES, answers, options, our_echo_node, the_counter, wait_for

from aerolog.cluster.client import AeronCluster
from aerolog.cluster.counter_types import INVALID_REQUESTS, LEADERSHIP_TERM
from aerolog.cluster.files import ClusterMarkFile
from aerolog.cluster.protocol import (
    AdminRequest,
    AdminRequestType,
    SessionCloseRequest,
    SessionKeepAlive,
    SessionMessageHeader,
)
from aerolog.transport.client import Aeron

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from peer.cluster_node import Node

pytestmark = [pytest.mark.interop, pytest.mark.error_log("")]

SMALL_LOG = {
    "aeron.cluster.log.channel": "aeron:ipc?term-length=64k",
    "aeron.cluster.session.timeout": "60s",
}


@pytest.fixture
def node(tmp_path: Path, reference: object) -> Iterator[Node]:
    with our_echo_node(tmp_path, SMALL_LOG) as running:
        yield running


@pytest.fixture
def aeron(node: Node) -> Iterator[Aeron]:
    with Aeron(node.aeron_dir) as client:
        yield client


def errors(node: Node) -> list[str]:
    with closing(ClusterMarkFile.open(node.folder / "cluster")) as mark_file:
        return [each.text for each in mark_file.errors()]


@pytest.mark.parametrize("kind", ECHO_NODES)
def test_a_message_that_the_log_does_not_take_is_dropped(
    tmp_path: Path, reference: object, kind: str
) -> None:
    with (
        ECHO_NODES[kind](tmp_path, SMALL_LOG) as node,
        Aeron(node.aeron_dir) as aeron,
        AeronCluster(aeron, **options(node, ingress_channel="aeron:udp?term-length=4m")) as big,
        AeronCluster(aeron, **options(node)) as other,
    ):
        assert big.offer(b"B" * 20_000) > 0
        assert answers(other, b"other") == [b"other"]
        assert answers(big, b"after") == [b"after"]
        assert answers(big, b"C" * 8_160) == [b"C" * 8_160]
        (text,) = errors(node)
        assert "message exceeds maxMessageLength of 8192, length=20032" in text


@pytest.mark.parametrize("kind", ECHO_NODES)
@pytest.mark.parametrize("ingress", ["aeron:udp", "aeron:ipc"])
def test_clients_of_one_driver_have_ingress_logs_of_their_own(
    tmp_path: Path, reference: object, kind: str, ingress: str
) -> None:
    with ECHO_NODES[kind](tmp_path) as node, Aeron(node.aeron_dir) as aeron:
        endpoints = node.endpoints if ingress == "aeron:udp" else None
        given = options(node, ingress_channel=ingress, ingress_endpoints=endpoints)
        with AeronCluster(aeron, **given) as one, AeronCluster(aeron, **given) as other:
            logs = {each.session.publication.session_id for each in (one, other)}
            assert len(logs) == 2
            assert answers(one, b"one") == [b"one"]
            assert answers(other, b"other") == [b"other"]
        shared = {**given, "is_ingress_exclusive": False}
        with AeronCluster(aeron, **shared) as one, AeronCluster(aeron, **shared) as other:
            logs = {each.session.publication.session_id for each in (one, other)}
            assert len(logs) == 1
            assert answers(one, b"one") == [b"one"]
            assert answers(other, b"other") == [b"other"]


@pytest.mark.parametrize("way", ["aeron:ipc", "aeron:udp"])
def test_a_session_takes_messages_from_its_own_client_only(
    node: Node, aeron: Aeron, way: str
) -> None:
    endpoint = node.endpoints.partition("=")[2]
    channel = way if way == "aeron:ipc" else f"{way}?endpoint={endpoint}"
    refused = the_counter(aeron, INVALID_REQUESTS)
    with (
        AeronCluster(aeron, **options(node)) as cluster,
        AeronCluster(aeron, **options(node)) as other,
        aeron.add_exclusive_publication(channel, 101) as stranger,
    ):
        stranger.wait_connected(10)
        term, session_id = cluster.leadership_term_id, cluster.cluster_session_id
        ids = {"leadership_term_id": term, "cluster_session_id": session_id}
        ask = {"correlation_id": 1, "request_type": AdminRequestType.SNAPSHOT}
        forged = (
            SessionMessageHeader(**ids).encode() + b"forged",
            SessionMessageHeader(**ids).encode() + b"F" * 9_000,
            SessionKeepAlive(**ids).encode(),
            SessionCloseRequest(**ids).encode(),
            AdminRequest(**ids, **ask).encode(),
        )
        for message in forged:
            if len(message) <= stranger.max_message_length:
                stranger.send(message)
        wait_for(lambda: refused.value == len(forged), "count of all that was forged")
        assert answers(cluster, b"own") == [b"own"]  # no "forged" before it
        assert answers(other, b"other") == [b"other"]
        (text,) = errors(node)
        assert f"session {session_id} got a message from a publication" in text


def test_in_a_new_term_a_session_takes_the_first_publication_that_speaks_in_it(
    tmp_path: Path, reference: object
) -> None:
    """A client goes on with a new publication when a node leads again, and then it alone does."""
    ipc = {"ingress_channel": "aeron:ipc", "egress_channel": "aeron:ipc"}
    with our_echo_node(tmp_path, SMALL_LOG) as node, Aeron(node.aeron_dir) as aeron:
        cluster = AeronCluster(aeron, **ipc)
        assert answers(cluster, b"before") == [b"before"]
        session_id = cluster.cluster_session_id
        cluster.session.end("a client that does not say goodbye")
    with (
        our_echo_node(tmp_path, SMALL_LOG) as node,
        Aeron(node.aeron_dir) as aeron,
        aeron.add_subscription("aeron:ipc", 102) as egress,
        aeron.add_exclusive_publication("aeron:ipc", 101) as own,
        aeron.add_exclusive_publication("aeron:ipc", 101) as stranger,
    ):
        for publication in (own, stranger):
            publication.wait_connected(10)  # so the node leads
        term = the_counter(aeron, LEADERSHIP_TERM).value
        ids = {"leadership_term_id": term, "cluster_session_id": session_id}
        header = SessionMessageHeader(**ids).encode()
        heard: list[bytes] = []

        def hears(text: bytes) -> bool:
            found = [each.data for each in egress.poll_messages(10)]
            heard.extend(each[len(header) :] for each in found if each[2:4] == header[2:4])
            return text in heard

        wait_for(lambda: egress.is_connected, "egress of the session")
        own.send(header + b"first")
        wait_for(lambda: hears(b"first"), "answer to the client")
        stranger.send(header + b"forged")
        refused = the_counter(aeron, INVALID_REQUESTS)
        wait_for(lambda: refused.value == 1, "count of what was forged")
        own.send(header + b"second")
        wait_for(lambda: hears(b"second"), "answer to the client")
        assert heard == [b"first", b"second"]
