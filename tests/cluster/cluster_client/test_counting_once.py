"""The page about messages that count once: its programs, with each consensus module."""

from __future__ import annotations

import asyncio
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from cluster_talk import options, wait_for
from peer.cluster_node import java_node, our_node

from aerolog.cluster.client import AeronCluster, AsyncAeronCluster, NumberedOffers
from aerolog.cluster.service import ServiceContainer
from aerolog.transport.client import Aeron

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "count-messages-once.md"


@pytest.fixture
def page() -> dict[str, Any]:
    """What the page's programs define."""
    names: dict[str, Any] = {}
    for program in re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL):
        exec(program, names)
    return names


@pytest.fixture(
    params=[our_node, partial(java_node, ingress="aeron:udp", elsewhere=1)],
    ids=["ours", "reference"],
)
def node(request: pytest.FixtureRequest, tmp_path: Path, reference: object) -> Iterator[Any]:
    with request.param(tmp_path) as running:
        yield running


async def placed_together(page: dict[str, Any], node: Any) -> None:
    async with await AsyncAeronCluster.connect(
        aeron_dir=node.aeron_dir, **options(node)
    ) as cluster:
        await page["place_together"](cluster, [b"plums", b"quinces"])


def test_orders_count_once_in_whatever_session(
    page: dict[str, Any], node: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    service = page["Orders"]()
    with (
        ServiceContainer(
            service, aeron_dir=node.aeron_dir, cluster_dir=str(node.folder / "cluster")
        ),
        Aeron(node.aeron_dir) as aeron,
        AeronCluster(aeron, **options(node)) as cluster,
    ):
        page["place"](cluster, [b"apples", b"pears"])
        assert capsys.readouterr().out == "1 order 1\n2 order 2\n"
        offers = NumberedOffers(cluster, window=300)
        for number in range(1, 201):
            assert offers.send(b"more") == number
        offers.reconnect()
        assert offers.repeated > 0
        found: list[int] = []

        def all_answered() -> bool:
            found.extend(answer.number for answer in offers.poll())
            return not offers.waiting

        wait_for(all_answered, "answers to all orders")
        found += [answer.number for answer in offers.poll()]
        assert offers.send(b"last") == 201
        wait_for(all_answered, "an answer to the last order")
        assert found == list(range(1, 202))
        assert service.count == 203
        asyncio.run(placed_together(page, node))
        assert capsys.readouterr().out == "1 order 204\n2 order 205\n"
