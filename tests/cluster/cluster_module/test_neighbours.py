"""What a client does to others: too long messages, messages in others' sessions, one driver."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from cluster_talk import ECHO_NODES, answers, options, our_echo_node, the_counter, wait_for

from aerolog.archive.client import AeronArchive
from aerolog.cluster.client import AeronCluster
from aerolog.cluster.counter_types import ClusterCounterType
from aerolog.cluster.files import ClusterMarkFile, RecordingLog
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

    from aerolog.transport.client import ExclusivePublication, Publication

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
    refused = the_counter(aeron, ClusterCounterType.INVALID_REQUESTS)
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
        term = the_counter(aeron, ClusterCounterType.LEADERSHIP_TERM).value
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
        refused = the_counter(aeron, ClusterCounterType.INVALID_REQUESTS)
        wait_for(lambda: refused.value == 1, "count of what was forged")
        own.send(header + b"second")
        wait_for(lambda: hears(b"second"), "answer to the client")
        assert heard == [b"first", b"second"]


class Impostor:
    """A client of its own session that sends in another's, in whatever way."""

    def __init__(self, node: Node, aeron: Aeron, cluster: AeronCluster) -> None:
        self._aeron = aeron
        self._channel = f"aeron:udp?endpoint={node.endpoints.partition('=')[2]}"
        self._term = the_counter(aeron, ClusterCounterType.LEADERSHIP_TERM)
        self._session_id = cluster.cluster_session_id

    def publication(self, channel: str = "") -> ExclusivePublication:
        made = self._aeron.add_exclusive_publication(channel or self._channel, 101)
        made.wait_connected(10)
        return made

    def send(self, publication: ExclusivePublication | Publication, message: type) -> None:
        """Send in the other's session, with the present term's id."""
        ids = {"leadership_term_id": self._term.value, "cluster_session_id": self._session_id}
        wait_for(lambda: publication.offer(message(**ids).encode()) > 0, "room for a message")


@pytest.mark.parametrize("forged", [SessionMessageHeader, SessionKeepAlive])
def test_a_new_term_gives_no_session_to_a_publication_that_is_known_as_another_s(
    tmp_path: Path, reference: object, forged: type
) -> None:
    """One that was there before the term, one of another session, and one from elsewhere."""
    with (
        our_echo_node(tmp_path, SMALL_LOG) as node,
        Aeron(node.aeron_dir) as aeron,
        AeronArchive(aeron) as archive,
        AeronCluster(aeron, **options(node)) as victim,
        AeronCluster(aeron, **options(node)) as other,
    ):
        assert answers(victim, b"before") == [b"before"]
        assert answers(other, b"before") == [b"before"]
        impostor = Impostor(node, aeron, victim)
        old = impostor.publication()
        refused = the_counter(aeron, ClusterCounterType.INVALID_REQUESTS)
        with RecordingLog(node.folder / "cluster", writable=False) as log:
            assert log.last_term is not None
            assert archive.stop_recording_by_identity(log.last_term.recording_id)
        wait_for(lambda: bool(other.poll_messages() or other.leadership_term_id == 1), "new term")
        assert answers(other, b"in the new term") == [b"in the new term"]
        impostor.send(old, forged)
        wait_for(lambda: refused.value == 1, "refusal of a publication of the term before")
        impostor.send(other.session.publication, forged)
        wait_for(lambda: refused.value == 2, "refusal of another session's publication")
        impostor.send(impostor.publication("aeron:ipc"), forged)
        wait_for(lambda: refused.value == 3, "refusal of a publication from elsewhere")
        wait_for(lambda: bool(victim.poll_messages() or victim.leadership_term_id == 1), "new term")
        assert answers(victim, b"own") == [b"own"]  # and no forged one before it
        assert answers(other, b"other") == [b"other"]
        assert refused.value == 3


def test_clients_that_share_a_log_go_on_in_a_new_term(tmp_path: Path, reference: object) -> None:
    with (
        our_echo_node(tmp_path, SMALL_LOG) as node,
        Aeron(node.aeron_dir) as aeron,
        AeronArchive(aeron) as archive,
        AeronCluster(aeron, **options(node, is_ingress_exclusive=False)) as one,
        AeronCluster(aeron, **options(node, is_ingress_exclusive=False)) as two,
    ):
        for each in (one, two):
            assert answers(each, b"before") == [b"before"]
        for term in (1, 2):
            with RecordingLog(node.folder / "cluster", writable=False) as log:
                assert log.last_term is not None
                assert archive.stop_recording_by_identity(log.last_term.recording_id)

            for each in (one, two):
                wait_for(
                    lambda each=each, term=term: bool(
                        each.poll_messages() or each.leadership_term_id == term
                    ),
                    "new term",
                )
            for each in (one, two):
                assert answers(each, b"after") == [b"after"]
        assert the_counter(aeron, ClusterCounterType.INVALID_REQUESTS).value == 0
