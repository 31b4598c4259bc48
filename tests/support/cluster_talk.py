"""What tests say to a cluster, and hear from it."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import peer
from cluster_echo import EchoService
from peer.cluster_node import java_node, our_node

from aerolog.cluster.client import AeronCluster
from aerolog.cluster.counter_types import ClusterCounterType, ModuleState, Toggle
from aerolog.cluster.protocol import SCHEMA_ID
from aerolog.cluster.service import ServiceContainer
from aerolog.transport.client import Aeron

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from peer.cluster_node import Node

    from aerolog.transport.client.client_counters import CounterView
    from aerolog.transport.protocol.sbe import Message


def options(node: Node, **others: Any) -> dict[str, Any]:
    return {
        "ingress_channel": "aeron:udp",
        "ingress_endpoints": node.endpoints,
        "egress_channel": "aeron:udp?endpoint=localhost:0",
        **others,
    }


@contextmanager
def our_echo_node(folder: Path, properties: Mapping[str, str] | None = None) -> Iterator[Node]:
    """Our node with our echo service."""
    settings = [f"{name}={value}" for name, value in (properties or {}).items()]
    with (
        our_node(folder, *settings) as node,
        ServiceContainer(EchoService(), aeron_dir=node.aeron_dir, cluster_dir=f"{folder}/cluster"),
    ):
        yield node


@contextmanager
def reference_echo_node(
    folder: Path, properties: Mapping[str, str] | None = None
) -> Iterator[Node]:
    """The reference's node with its echo service."""
    with java_node(folder, "aeron:udp", properties=dict(properties or {})) as node:
        yield node


ECHO_NODES = {"reference": reference_echo_node, "ours": our_echo_node}


@contextmanager
def talk(node: Node) -> Iterator[AeronCluster]:
    """A session with a client of its own."""
    with Aeron(node.aeron_dir) as aeron, AeronCluster(aeron, **options(node)) as cluster:
        yield cluster


def answers(cluster: AeronCluster, message: bytes, count: int = 1) -> list[bytes]:
    """What comes back for a message."""
    cluster.send(message)
    return heard(cluster, count)


def heard(cluster: AeronCluster, count: int = 1) -> list[bytes]:
    found: list[bytes] = []
    for received in cluster.messages():
        found.append(received.data)
        if len(found) == count:
            return found
    raise AssertionError("the session ended")


def misshapen(
    message: type[Message], dice: random.Random, schema_ids: Iterable[int] = (SCHEMA_ID,)
) -> Iterator[bytes]:
    """A message cut and longer, of other schemas and versions, and of odd block lengths."""
    block_length = message.LAYOUT.block_length
    template = message.LAYOUT.template_id.to_bytes(2, "little")
    for schema_id in schema_ids:
        for version in (0, 1, 16, 17, 65535):
            header = block_length.to_bytes(2, "little") + template
            header += schema_id.to_bytes(2, "little") + version.to_bytes(2, "little")
            whole = header + dice.randbytes(200)
            for length in (8, 9, 8 + block_length, 200):
                yield whole[:length]
    for odd in (b"\xff\xff", b"\x00\x00"):
        yield odd + template + b"\x6f\x00\x10\x00" + dice.randbytes(40)


def tool(node: Node, *command: str) -> str:
    """The output of the reference's ClusterTool on a node."""
    return peer.java_tool("io.aeron.cluster.ClusterTool", str(node.folder / "cluster"), *command)


def toggle(aeron: Aeron, wanted: Toggle) -> None:
    """Have a node do something once it leads, and wait until it has."""
    before = Toggle.SUSPEND if wanted is Toggle.RESUME else Toggle.NEUTRAL
    after = Toggle.SUSPEND if wanted is Toggle.SUSPEND else Toggle.NEUTRAL
    state = ModuleState.SUSPENDED if wanted is Toggle.SUSPEND else ModuleState.ACTIVE
    asked, module = (
        the_counter(aeron, each)
        for each in (ClusterCounterType.CONTROL_TOGGLE, ClusterCounterType.MODULE_STATE)
    )
    set_toggle = aeron.conductor.counters.compare_and_set
    wait_for(lambda: set_toggle(asked.counter_id, before, wanted), f"{before} before {wanted}")
    if wanted is not Toggle.SHUTDOWN:
        wait_for(lambda: (asked.value, module.value) == (after, state), f"end of {wanted}")


def the_counter(aeron: Aeron, type_id: int) -> CounterView:
    (found,) = [info.counter_id for info in aeron.counters.infos() if info.type_id == type_id]
    return aeron.counters[found]


def wait_for(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, f"no {what} within 20 s"
        time.sleep(0.01)
