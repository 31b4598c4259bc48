"""Nodes of a cluster: the reference's and ours, with services of the reference's."""

from __future__ import annotations

import shutil
import socket
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from shared_memory import memory_path

from peer.artifact import toolchain
from peer.process import ServerProcess

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Node(NamedTuple):
    """What a client needs to know of it.

    Attributes:
        aeron_dir: the driver's directory.
        endpoints: the ingress endpoints.
        folder: where ``cluster`` and ``archive`` are.
        process: the process of driver, archive and module.
    """

    aeron_dir: str
    endpoints: str
    folder: Path
    process: ServerProcess


def folders_of(folder: Path, aeron_dir: Path) -> tuple[Path, ...]:
    """The folders of a node in which its driver, archive and module have their error logs."""
    return aeron_dir / "aeron", folder / "archive", folder / "cluster"


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


@contextmanager
def java_node(
    folder: Path,
    ingress: str,
    authenticator: str = "-",
    elsewhere: int = 0,
    *,
    properties: dict[str, str] | None = None,
    agent: Path | None = None,
    is_agents_own: bool = False,
) -> Iterator[Node]:
    """The reference's driver, archive and consensus module in one process.

    Args:
        folder: where ``cluster`` and ``archive`` are, or will be.
        ingress: the ingress channel.
        authenticator: the class of an authenticator supplier.
        elsewhere: how many services run in containers of their own; 0 for an echo service here.
        properties: further system properties.
        agent: the jar of the agent that logs events.
        is_agents_own: whether the node is of the version that is in that jar.
    """
    aeron_dir = memory_path("node")
    aeron_dir.mkdir()
    places = [f"localhost:{port}" for port in free_ports(5)]
    members = f"0,{','.join(places)}"
    command = toolchain().command(
        "ClusterNode", str(folder), f"{aeron_dir}/aeron", members, ingress, authenticator,
        str(elsewhere), properties=properties or {},
    )  # fmt: skip
    if is_agents_own:
        jar = str(toolchain().jar)
        command = [word.replace(jar, str(agent)) for word in command]
    if agent is not None:
        command.insert(1, f"-javaagent:{agent}")
    node = ServerProcess("java-cluster-node", command, folders=folders_of(folder, aeron_dir))
    try:
        node.wait_line("ready")
        yield Node(f"{aeron_dir}/aeron", f"0={places[0]}", folder, node)
    finally:
        node.stop()
        shutil.rmtree(aeron_dir, ignore_errors=True)


@contextmanager
def our_node(folder: Path, *settings: str, ingress: str = "aeron:udp") -> Iterator[Node]:
    """Our driver, archive and consensus module in one process, without services.

    Args:
        folder: where ``cluster`` and ``archive`` are, or will be.
        settings: further properties, as NAME=VALUE.
        ingress: the ingress channel.
    """
    aeron_dir = memory_path("node")
    aeron_dir.mkdir()
    places = [f"localhost:{port}" for port in free_ports(5)]
    properties = (
        f"aeron.dir={aeron_dir}/aeron",
        "aeron.threading.mode=SHARED",
        f"aeron.archive.dir={folder}/archive",
        "aeron.archive.threading.mode=SHARED",
        f"aeron.archive.control.channel=aeron:udp?endpoint={places[4]}",
        "aeron.archive.replication.channel=aeron:udp?endpoint=localhost:0",
        f"aeron.cluster.dir={folder}/cluster",
        f"aeron.cluster.members=0,{','.join(places)}",
        f"aeron.cluster.ingress.channel={ingress}",
        "aeron.cluster.ingress.ipc.allowed=true",
        "aeron.cluster.replication.channel=aeron:udp?endpoint=localhost:0",
        *settings,
    )
    command = [sys.executable, "-m", "aerolog.tools.main", "clustered-driver"]
    node = ServerProcess(
        "our-cluster-node",
        command + [f"-D{each}" for each in properties],
        folders=folders_of(folder, aeron_dir),
        stop_by_signal=True,
    )
    try:
        node.wait_line("ready")
        yield Node(f"{aeron_dir}/aeron", f"0={places[0]}", folder, node)
    finally:
        node.stop()
        shutil.rmtree(aeron_dir, ignore_errors=True)


@contextmanager
def java_service(
    node: Node,
    service: str = "ClusterEcho",
    service_id: int = 0,
    *,
    properties: dict[str, str] | None = None,
) -> Iterator[ServerProcess]:
    """A container of the reference's with a service of a class that peers or samples have."""
    command = toolchain().command(
        "ClusterContainer", str(node.folder), node.aeron_dir, service,
        properties={"aeron.cluster.service.id": str(service_id), **(properties or {})},
    )  # fmt: skip
    container = ServerProcess("java-service", command, folders=[node.folder / "cluster"])
    try:
        container.wait_line("ready")
        yield container
    finally:
        container.stop()
