"""Nodes without services, the reference's and ours, and our container in this process."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import pytest
from cluster_echo import BatchEchoService, EchoService, NativeEchoService
from peer.cluster_node import java_node, our_node

from aerolog.cluster.service import ServiceContainer
from aerolog.transport.client import Aeron

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from peer.cluster_node import Node

    from aerolog.cluster.service import ClusteredService


class NodeMaker(Protocol):
    """Starts a node that expects services."""

    def __call__(self, folder: Path, services: int = 1) -> AbstractContextManager[Node]: ...


def reference_node(folder: Path, services: int = 1) -> AbstractContextManager[Node]:
    return java_node(folder, "aeron:udp", elsewhere=services)


def node_of_ours(
    folder: Path, services: int = 1, settings: Sequence[str] = ()
) -> AbstractContextManager[Node]:
    return our_node(folder, f"aeron.cluster.service.count={services}", *settings)


@pytest.fixture(params=[reference_node, node_of_ours], ids=["reference", "ours"])
def make_node(request: pytest.FixtureRequest, reference: object) -> NodeMaker:
    found: NodeMaker = request.param
    return found


@contextmanager
def container(node: Node, service: ClusteredService, **options: Any) -> Iterator[ServiceContainer]:
    with ServiceContainer(
        service, aeron_dir=node.aeron_dir, cluster_dir=str(node.folder / "cluster"), **options
    ) as running:
        yield running


@pytest.fixture(
    scope="module",
    params=[
        (reference_node, EchoService),
        (reference_node, BatchEchoService),
        (reference_node, NativeEchoService),
        (node_of_ours, EchoService),
        (node_of_ours, BatchEchoService),
        (node_of_ours, NativeEchoService),
    ],
    ids=[
        "reference-EchoService",
        "reference-BatchEchoService",
        "reference-NativeEchoService",
        "ours-EchoService",
        "ours-BatchEchoService",
        "ours-NativeEchoService",
    ],
)
def node(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, reference: object
) -> Iterator[Node]:
    make, service = request.param
    with make(tmp_path_factory.mktemp("node")) as running, container(running, service()):
        yield running


@pytest.fixture
def aeron(node: Node) -> Iterator[Aeron]:
    with Aeron(node.aeron_dir) as client:
        yield client
