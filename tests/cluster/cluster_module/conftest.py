"""Our node with the reference's echo service."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from peer.cluster_node import java_service, our_node
from shared_memory import memory_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from peer.cluster_node import Node


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory, reference: object) -> Iterator[Node]:
    folder = tmp_path_factory.mktemp("node")
    with our_node(folder, "aeron.cluster.session.timeout=2s") as running, java_service(running):
        yield running


@pytest.fixture
def aeron_dir() -> Iterator[str]:
    with memory_folder() as home:
        yield f"{home}/aeron"
