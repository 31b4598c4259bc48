"""Consensus modules beside a driver and an archive in another process."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

from peer.cluster_node import free_ports
from peer.process import ServerProcess

from aerolog.cluster.module.consensus_module import ConsensusModule
from aerolog.transport.config.sources import Properties

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextlib.contextmanager
def command(name: str, *settings: str) -> Iterator[ServerProcess]:
    """A service of the command line that runs in the foreground."""
    process = ServerProcess(
        name,
        [sys.executable, "-m", "aerolog.tools.main", name, *(f"-D{each}" for each in settings)],
        stop_by_signal=True,
    )
    try:
        process.wait_line("ready")
        yield process
    finally:
        process.stop()


@contextlib.contextmanager
def archiving_driver(folder: Path, aeron_dir: str) -> Iterator[ServerProcess]:
    with command(
        "archiving-driver",
        f"aeron.dir={aeron_dir}",
        "aeron.threading.mode=SHARED",
        "aeron.archive.threading.mode=SHARED",
        f"aeron.archive.dir={folder}/archive",
    ) as process:
        yield process


@contextlib.contextmanager
def archive_alone(folder: Path, aeron_dir: str) -> Iterator[ServerProcess]:
    """An archive beside a driver that runs, in a process of its own."""
    with command(
        "archive",
        f"aeron.dir={aeron_dir}",
        "aeron.archive.threading.mode=SHARED",
        f"aeron.archive.dir={folder}/archive",
        "aeron.archive.control.channel=aeron:udp?endpoint=localhost:0",
        "aeron.archive.replication.channel=aeron:udp?endpoint=localhost:0",
    ) as process:
        yield process


def lone_module(tmp_path: Path, aeron_dir: str, *settings: str) -> ConsensusModule:
    """A module in this process with the streams that are usual."""
    members = f"0,{','.join(f'localhost:{port}' for port in free_ports(5))}"
    settings = (
        f"aeron.dir={aeron_dir}",
        f"aeron.cluster.dir={tmp_path}/cluster",
        f"aeron.cluster.members={members}",
        "aeron.cluster.ingress.channel=aeron:ipc",
        "aeron.cluster.replication.channel=aeron:udp?endpoint=localhost:0",
        *settings,
    )
    properties = Properties.from_command_line([f"-D{setting}" for setting in settings])
    return ConsensusModule(properties=properties)
