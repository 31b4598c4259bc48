"""Signs of life of a client whose program does something else, on the reference's node and ours."""

from __future__ import annotations

import ctypes
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from cluster_echo import EchoService
from cluster_talk import answers, options
from peer.cluster_node import java_node, our_node

from aerolog.cluster.client import AeronCluster
from aerolog.cluster.errors import SessionClosedError
from aerolog.cluster.service import ServiceContainer
from aerolog.transport.client import Aeron

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from peer.cluster_node import Node

#: Longer than the session timeout of the nodes here.
SILENCE_S = 4
TIMEOUT = {"aeron.cluster.session.timeout": "2s"}


def be_silent() -> None:
    end = time.monotonic() + SILENCE_S
    while time.monotonic() < end:
        time.sleep(0.1)


@contextmanager
def node_of_ours(folder: Path) -> Iterator[Node]:
    with (
        our_node(folder, *(f"{name}={value}" for name, value in TIMEOUT.items())) as node,
        ServiceContainer(EchoService(), aeron_dir=node.aeron_dir, cluster_dir=f"{folder}/cluster"),
    ):
        yield node


@contextmanager
def reference_node(folder: Path) -> Iterator[Node]:
    with java_node(folder, "aeron:udp", properties=TIMEOUT) as node:
        yield node


@pytest.fixture(scope="module", params=[reference_node, node_of_ours], ids=["reference", "ours"])
def node(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, reference: object
) -> Iterator[Node]:
    with request.param(tmp_path_factory.mktemp("node")) as running:
        yield running


@pytest.fixture
def aeron(node: Node) -> Iterator[Aeron]:
    with Aeron(node.aeron_dir) as client:
        yield client


def test_a_program_that_sleeps_keeps_its_session(node: Node, aeron: Aeron) -> None:
    with AeronCluster(aeron, **options(node)) as cluster:
        be_silent()
        assert answers(cluster, b"still here") == [b"still here"]


def test_a_held_interpreter_keeps_its_session(node: Node, aeron: Aeron) -> None:
    """Not even a message of the driver, on which the client has to act, makes a difference."""
    with AeronCluster(aeron, **options(node)) as cluster, Aeron(node.aeron_dir) as other:
        aeron.add_subscription("aeron:ipc", 77)
        other.add_publication_async("aeron:ipc", 77)
        ctypes.PyDLL(None).usleep(SILENCE_S * 1_000_000)
        assert answers(cluster, b"still here") == [b"still here"]
        assert not aeron.closed


def test_an_exclusive_ingress_needs_a_program_that_polls(node: Node, aeron: Aeron) -> None:
    alone = options(node, is_ingress_exclusive=True)
    with AeronCluster(aeron, **alone) as cluster:
        end = time.monotonic() + SILENCE_S
        while time.monotonic() < end:
            cluster.session.poll()
            time.sleep(0.01)
        assert answers(cluster, b"still here") == [b"still here"]
        be_silent()
        with pytest.raises(SessionClosedError, match="TIMEOUT"):
            answers(cluster, b"too late")


def test_signs_end_with_the_session(node: Node, aeron: Aeron) -> None:
    cluster = AeronCluster(aeron, **options(node, keepalive_interval=0.01))
    ingress = cluster.session.publication
    cluster.close()
    assert ingress.closed
    with AeronCluster(aeron, **options(node)) as again:
        assert answers(again, b"another") == [b"another"]
