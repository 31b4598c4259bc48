"""The reference's node, with our container in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from cluster_echo import BatchEchoService, EchoService
from peer.cluster_node import java_node

from aerolog.cluster.service import ServiceContainer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from peer.cluster_node import Node


@pytest.fixture(scope="module", params=[EchoService, BatchEchoService])
def node(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, reference: object
) -> Iterator[Node]:
    folder = tmp_path_factory.mktemp("node")
    with (
        java_node(folder, "aeron:udp", elsewhere=1) as running,
        ServiceContainer(
            request.param(), aeron_dir=running.aeron_dir, cluster_dir=str(folder / "cluster")
        ),
    ):
        yield running
