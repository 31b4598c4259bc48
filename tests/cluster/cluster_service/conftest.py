"""A node of the reference's or ours, with our container in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from cluster_echo import BatchEchoService, EchoService
from peer.cluster_node import java_node, our_node

from aerolog.cluster.service import ServiceContainer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from peer.cluster_node import Node


@pytest.fixture(
    scope="module",
    params=[
        ("reference", EchoService),
        ("reference", BatchEchoService),
        ("ours", EchoService),
        ("ours", BatchEchoService),
    ],
    ids=lambda param: f"{param[0]}-{param[1].__name__}",
)
def node(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, reference: object
) -> Iterator[Node]:
    folder = tmp_path_factory.mktemp("node")
    module, service = request.param
    started = our_node(folder) if module == "ours" else java_node(folder, "aeron:udp", elsewhere=1)
    with (
        started as running,
        ServiceContainer(
            service(), aeron_dir=running.aeron_dir, cluster_dir=str(folder / "cluster")
        ),
    ):
        yield running
