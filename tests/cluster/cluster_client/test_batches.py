"""Many messages in one call to a cluster, on the reference's node and ours."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from cluster_talk import ECHO_NODES, options, talk

from aerolog.cluster.client import AsyncAeronCluster
from aerolog.transport.client.status import OfferStatus
from aerolog.transport.errors import MessageTooLargeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from peer.cluster_node import Node

    from aerolog.cluster.client import AeronCluster, EgressBatch

ROWS = np.arange(16_000, dtype="<i8").reshape(1000, 16)
TEXTS = [row.tobytes() for row in ROWS]


@pytest.fixture(scope="module", params=ECHO_NODES)
def node(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, reference: object
) -> Iterator[Node]:
    with ECHO_NODES[request.param](tmp_path_factory.mktemp("node")) as running:
        yield running


@pytest.fixture
def cluster(node: Node) -> Iterator[AeronCluster]:
    with talk(node) as session:
        yield session


def echoed(cluster: AeronCluster, offer: Callable[[int], int], count: int) -> list[bytes]:
    """Offer from where the ingress stopped, until all have come back."""
    found: list[bytes] = []
    sent = 0
    deadline = time.monotonic() + 30
    while len(found) < count:
        assert time.monotonic() < deadline, (sent, len(found), cluster.last_result)
        if sent < count:
            sent += offer(sent)
        found += [message.data for message in cluster.poll_messages(100)]
    return found


def test_each_call_sends_a_thousand_in_order(cluster: AeronCluster) -> None:
    def many(at: int) -> int:
        return cluster.offer_many(TEXTS, start=at, limit=100)

    def rows(at: int) -> int:
        return cluster.offer_array(ROWS, start=at, limit=100)

    for kind in (pa.binary(), pa.large_binary(), pa.binary(128)):
        values = pa.array(TEXTS, kind)
        assert echoed(
            cluster, lambda at, v=values: cluster.offer_arrow(v, start=at, limit=100), 1000
        ) == TEXTS  # fmt: skip
    assert echoed(cluster, many, 1000) == TEXTS
    assert echoed(cluster, rows, 1000) == TEXTS
    assert cluster.last_result > 0


def test_answers_come_in_batches(cluster: AeronCluster) -> None:
    batches: list[EgressBatch] = []
    sent = 0
    begin_ms = time.time() * 1000
    deadline = time.monotonic() + 30
    while sum(map(len, batches)) < len(ROWS):
        assert time.monotonic() < deadline, (sent, sum(map(len, batches)))
        if sent < len(ROWS):
            sent += cluster.offer_array(ROWS, start=sent, limit=100)
        batches.append(cluster.poll_batch(100))
    assert max(map(len, batches)) <= 100
    assert np.array_equal(
        np.concatenate([np.frombuffer(batch.data, "<i8").reshape(-1, 16) for batch in batches]),
        ROWS,
    )
    timestamps = np.concatenate([batch.timestamps for batch in batches])
    assert (np.diff(timestamps) >= 0).all()
    assert (abs(timestamps - begin_ms) < 60_000).all()
    positions = np.concatenate([batch.positions for batch in batches])
    assert (np.diff(positions) > 0).all()
    for batch in batches:
        assert (batch.session_ids == cluster.cluster_session_id).all()
        assert (batch.leadership_term_ids == cluster.leadership_term_id).all()
    table = pa.Table.from_batches([batch.to_arrow() for batch in batches])
    assert table.column("payload").to_pylist() == TEXTS


def test_batches_are_awaited(node: Node) -> None:
    async def run() -> list[bytes]:
        found: list[bytes] = []
        async with await AsyncAeronCluster.connect(
            aeron_dir=node.aeron_dir, **options(node)
        ) as cluster:
            for text in TEXTS[:10]:
                await cluster.send(text)
            async for batch in cluster.batches():
                found += [message.data for message in batch]
                if len(found) == 10:
                    return found
        raise AssertionError("the session ended")

    assert asyncio.run(run()) == TEXTS[:10]


def test_long_messages_are_sent_in_fragments(cluster: AeronCluster) -> None:
    long = [bytes([index]) * 10_000 for index in range(20)]
    array = np.frombuffer(b"".join(long), np.uint8).reshape(20, 10_000)
    assert echoed(cluster, lambda at: cluster.offer_many(long, start=at), 20) == long
    assert echoed(cluster, lambda at: cluster.offer_array(array, start=at), 20) == long
    values = pa.array(long)
    assert echoed(cluster, lambda at: cluster.offer_arrow(values, start=at), 20) == long


def test_what_cannot_be_sent_is_told(cluster: AeronCluster) -> None:
    with pytest.raises(TypeError, match="offer_many takes a sequence"):
        cluster.offer_many(b"one message")
    with pytest.raises(ValueError, match="rows of an array of messages must be contiguous"):
        cluster.offer_array(ROWS[:, ::2])
    with pytest.raises(TypeError, match="not format"):
        cluster.offer_arrow(pa.array([1, 2]))
    with pytest.raises(MessageTooLargeError):
        cluster.offer_many([bytes(cluster.session.publication.max_message_length)])
    assert cluster.offer_many([]) == 0


def test_taken_offers_are_uncertain_without_the_leader_and_none_is_taken_then(
    cluster: AeronCluster,
) -> None:
    taken = cluster.offer_many(TEXTS[:10])
    assert taken == 10
    cluster.session._await_leader()
    assert cluster.uncertain_offers == 10
    assert cluster.offer_many(TEXTS) == 0
    assert cluster.last_result is OfferStatus.NOT_CONNECTED


def test_back_pressure_stops_a_batch(cluster: AeronCluster) -> None:
    big = [bytes(100_000)] * 2000
    assert 0 < cluster.offer_many(big) < 2000
    assert cluster.last_result in (OfferStatus.BACK_PRESSURED, OfferStatus.ADMIN_ACTION)


def test_a_closed_session_takes_nothing(cluster: AeronCluster) -> None:
    cluster.close()
    assert cluster.offer_array(ROWS) == 0
    assert cluster.last_result is OfferStatus.CLOSED
