"""Signs of life of a client whose program does something else, on the reference's node and ours."""

from __future__ import annotations

import ctypes
import time
from typing import TYPE_CHECKING

import pytest
from cluster_talk import ECHO_NODES, answers, options

from aerolog.cluster.client import AeronCluster
from aerolog.cluster.errors import SessionClosedError
from aerolog.transport.client import Aeron

if TYPE_CHECKING:
    from collections.abc import Iterator

    from peer.cluster_node import Node

#: Longer than the session timeout of the nodes here.
SILENCE_S = 4
TIMEOUT = {"aeron.cluster.session.timeout": "2s"}


def be_silent() -> None:
    end = time.monotonic() + SILENCE_S
    while time.monotonic() < end:
        time.sleep(0.1)


@pytest.fixture(scope="module", params=ECHO_NODES)
def node(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, reference: object
) -> Iterator[Node]:
    with ECHO_NODES[request.param](tmp_path_factory.mktemp("node"), TIMEOUT) as running:
        yield running


@pytest.fixture
def aeron(node: Node) -> Iterator[Aeron]:
    with Aeron(node.aeron_dir) as client:
        yield client


@pytest.mark.parametrize("is_ingress_exclusive", [True, False])
def test_a_program_that_sleeps_keeps_its_session(
    node: Node, aeron: Aeron, *, is_ingress_exclusive: bool
) -> None:
    given = options(node, is_ingress_exclusive=is_ingress_exclusive)
    with AeronCluster(aeron, **given) as cluster:
        be_silent()
        assert answers(cluster, b"still here") == [b"still here"]


def test_a_program_that_never_says_that_it_is_there_loses_its_session(
    node: Node, aeron: Aeron
) -> None:
    with (
        AeronCluster(aeron, **options(node, keepalive_interval=0)) as cluster,
        pytest.raises(SessionClosedError, match="TIMEOUT"),
    ):
        list(cluster.messages())


def test_a_held_interpreter_keeps_its_session(node: Node, aeron: Aeron) -> None:
    """Not even a message of the driver, on which the client has to act, makes a difference."""
    with AeronCluster(aeron, **options(node)) as cluster, Aeron(node.aeron_dir) as other:
        aeron.add_subscription("aeron:ipc", 77)
        other.add_publication_async("aeron:ipc", 77)
        ctypes.PyDLL(None).usleep(SILENCE_S * 1_000_000)
        assert answers(cluster, b"still here") == [b"still here"]
        assert not aeron.closed


def test_signs_end_with_the_session(node: Node, aeron: Aeron) -> None:
    cluster = AeronCluster(aeron, **options(node, keepalive_interval=0.01))
    ingress = cluster.session.publication
    cluster.close()
    assert ingress.closed
    with AeronCluster(aeron, **options(node)) as again:
        assert answers(again, b"another") == [b"another"]
