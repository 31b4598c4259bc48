"""A node of the reference's, and a client of its driver."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from peer.cluster_node import java_node

from aerolog.transport.client import Aeron

if TYPE_CHECKING:
    from collections.abc import Iterator

    from peer.cluster_node import Node


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory, reference: object) -> Iterator[Node]:
    with java_node(tmp_path_factory.mktemp("node"), "aeron:udp") as running:
        yield running


@pytest.fixture
def aeron(node: Node) -> Iterator[Aeron]:
    with Aeron(node.aeron_dir) as client:
        yield client
