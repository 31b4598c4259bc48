"""Messages in batches, with their columns, and services in native code."""

from __future__ import annotations

import sys
from pathlib import Path

import cluster_echo
import numpy as np
import pytest
from cluster_echo import EchoService, NativeEchoService
from cluster_talk import answers, heard, options, talk, the_counter, wait_for
from peer.cluster_node import our_node
from peer.process import ServerProcess

from aerolog.cluster.client import AeronCluster
from aerolog.cluster.counter_types import ClusterCounterType
from aerolog.cluster.service import ClusteredService, MessageBatch, NativeService
from aerolog.transport.client import Aeron
from aerolog.transport.time_units import NS_PER_S

from .conftest import container

pytestmark = pytest.mark.processes_end

PRICE = np.dtype([("item", "<i4"), ("price", "<f8")])


class Prices(ClusteredService):
    """Sums prices an item with NumPy, and answers each message with the sum so far."""

    def __init__(self) -> None:
        self.sums = np.zeros(10)
        self.batches: list[MessageBatch] = []

    def on_session_messages(self, messages: MessageBatch) -> None:
        self.batches.append(messages)
        prices = np.frombuffer(messages.data, PRICE)
        told = []
        for price in prices:
            self.sums[price["item"]] += price["price"]
            told.append(self.sums[price["item"]].tobytes())
        assert messages.answer(told) == len(messages)


def sent(cluster: AeronCluster, items: list[int]) -> None:
    for index, item in enumerate(items):
        cluster.send(np.array((item, index + 0.5), PRICE).tobytes())


def test_a_batch_is_columns_as_well(tmp_path: Path) -> None:
    service = Prices()
    with our_node(tmp_path) as node, container(node, service), talk(node) as cluster:
        sent(cluster, [1, 2, 1])
        sums = [float(np.frombuffer(data, "<f8")[0]) for data in heard(cluster, 3)]
        assert sums == [0.5, 1.5, 3.0]
        session_id = cluster.session.session_id
    # A batch is a copy: it is there after its session, its log and its container.
    columns = [
        (ids, times, positions, ends)
        for batch in service.batches
        for ids, times, positions, ends in zip(
            batch.session_ids, batch.timestamps, batch.positions, batch.ends, strict=True
        )
    ]
    messages = [message for batch in service.batches for message in batch]
    assert [each[0] for each in columns] == [session_id] * 3
    assert [each[1] for each in columns] == [message.timestamp for message in messages]
    assert [each[2] for each in columns] == [message.position for message in messages]
    assert [len(message.data) for message in messages] == [PRICE.itemsize] * 3
    for batch in service.batches:
        assert list(batch.leadership_term_ids) == [0] * len(batch)
        assert list(batch.ends) == [PRICE.itemsize * (index + 1) for index in range(len(batch))]
        table = batch.to_arrow()
        assert table.column("payload").to_pylist() == [message.data for message in batch]
        assert table.column("position").to_pylist() == list(batch.positions)
        assert batch[-1].position == batch[len(batch) - 1].position
        assert [message.data for message in batch[:]] == [message.data for message in batch]
        with pytest.raises(IndexError, match=f"message {len(batch)} of a batch of {len(batch)}"):
            batch[len(batch)]


def test_answers_are_as_many_as_messages(tmp_path: Path) -> None:
    class Halves(ClusteredService):
        def on_session_messages(self, messages: MessageBatch) -> None:
            with pytest.raises(ValueError, match=r"\d+ answers to \d+ messages"):
                messages.answer([b"one too many"] * (len(messages) + 1))
            with pytest.raises(TypeError):
                messages.answer(["text"] * len(messages))  # type: ignore[list-item]
            is_even = [not int(message.data) % 2 for message in messages]
            told = [message.data if even else None
                    for message, even in zip(messages, is_even, strict=True)]  # fmt: skip
            assert messages.answer(told) == sum(is_even)

    with our_node(tmp_path) as node, container(node, Halves()) as running, talk(node) as cluster:
        for number in range(6):
            cluster.send(b"%d" % number)
        assert heard(cluster, 3) == [b"0", b"2", b"4"]
        assert running.is_running


def test_an_empty_batch_and_objects_without_a_start_do_no_harm() -> None:
    batch = MessageBatch()
    assert len(batch) == 0
    assert list(batch) == []
    assert bytes(batch.data) == b""
    assert batch.positions.shape == (0,)
    assert batch.to_arrow().num_rows == 0
    assert batch.answer([]) == 0
    with pytest.raises(IndexError):
        batch[0]

    class Lying(list[bytes]):
        def __len__(self) -> int:
            return 0

    assert batch.answer(Lying([b"more", b"than", b"it says"])) == 0
    assert isinstance(NativeService(), NativeService)


def test_a_native_service_leaves_what_it_wants_to_python(tmp_path: Path) -> None:
    with (
        our_node(tmp_path) as node,
        container(node, NativeEchoService()) as running,
        talk(node) as cluster,
    ):
        assert answers(cluster, b"count") == [b"count 0"]
        assert answers(cluster, b"n" * 64) == [b"n" * 64]
        assert answers(cluster, b"x" * 200_000) == [b"x" * 200_000]
        assert answers(cluster, b"count") == [b"count 2"]
        assert answers(cluster, b"offer 1") == [b"offered 1"]
        assert running.is_running


def test_a_native_service_needs_no_interpreter(tmp_path: Path) -> None:
    """It goes on while another thread of its process holds the interpreter's lock."""
    script = """
import ctypes, sys
sys.path.insert(0, sys.argv[1])
from cluster_echo import NativeEchoService
from aerolog.cluster.service import ServiceContainer
with ServiceContainer(NativeEchoService(), aeron_dir=sys.argv[2], cluster_dir=sys.argv[3]):
    print("ready", flush=True)
    sys.stdin.readline()
    print("held", flush=True)
    ctypes.PyDLL(None).read(0, ctypes.create_string_buffer(1), 1)  # holds the lock
    print("free", flush=True)
    sys.stdin.read()
"""
    with our_node(tmp_path) as node:
        support = str(Path(cluster_echo.__file__).parent)
        arguments = [support, node.aeron_dir, f"{tmp_path}/cluster"]
        process = ServerProcess("service", [sys.executable, "-c", script, *arguments])
        try:
            process.wait_line("ready")
            with talk(node) as cluster:
                assert answers(cluster, b"b" * 64) == [b"b" * 64]
                process.write_line("")
                process.wait_line("held")
                for number in range(1000):
                    message = b"%064d" % number
                    assert answers(cluster, message) == [message]
                process.write_line("")
                process.wait_line("free")
                assert answers(cluster, b"count") == [b"count 1001"]
        finally:
            process.stop()


@pytest.mark.parametrize("make", [EchoService, NativeEchoService])
def test_a_client_that_never_reads_makes_the_others_wait_once(
    tmp_path: Path, make: type[EchoService]
) -> None:
    """It misses what comes after the tenth of a second for which its egress had no room."""
    service = make()
    narrow = "aeron:udp?endpoint=localhost:0|term-length=64k|rcv-wnd=16k"
    with (
        our_node(tmp_path) as node,
        container(node, service),
        talk(node) as other,
        Aeron(node.aeron_dir) as aeron,
        AeronCluster(aeron, **options(node, egress_channel=narrow)) as deaf,
    ):
        taken = 0
        while taken < 200:
            taken += deaf.offer(b"d" * 1000) > 0
        wait_for(lambda: service.count > 40, "full egress")
        assert answers(other, b"o" * 100) == [b"o" * 100]
        waited = the_counter(aeron, ClusterCounterType.SERVICE_EGRESS_WAIT)
        missed = the_counter(aeron, ClusterCounterType.SERVICE_MISSED)
        wait_for(lambda: missed.value > 0, "a message that was missed")
        assert 0 < waited.value < NS_PER_S
