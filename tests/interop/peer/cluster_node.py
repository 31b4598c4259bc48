"""A node of the reference's cluster with an echo service."""

from __future__ import annotations

import shutil
import socket
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from peer.artifact import toolchain
from peer.process import ServerProcess

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Node(NamedTuple):
    """What a client needs to know of it."""

    aeron_dir: str
    endpoints: str


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


@contextmanager
def java_node(folder: Path, ingress: str, authenticator: str = "-") -> Iterator[Node]:
    aeron_dir = tempfile.mkdtemp(prefix="aeron-cluster-", dir="/dev/shm")
    places = [f"localhost:{port}" for port in free_ports(5)]
    members = f"0,{','.join(places)}"
    command = toolchain().command(
        "ClusterNode", str(folder), f"{aeron_dir}/aeron", members, ingress, authenticator,
        properties={},
    )  # fmt: skip
    node = ServerProcess("java-cluster-node", command)
    try:
        node.wait_line("ready")
        yield Node(f"{aeron_dir}/aeron", f"0={places[0]}")
    finally:
        node.stop()
        shutil.rmtree(aeron_dir, ignore_errors=True)
