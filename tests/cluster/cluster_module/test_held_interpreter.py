"""A service that holds the interpreter's lock for long, in the process of its node."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from cluster_talk import answers, heard, options, wait_for
from peer.cluster_node import Node, free_ports
from peer.process import ServerProcess

from aerolog.archive.format.mark_file import ArchiveMarkFile
from aerolog.cluster.client import AeronCluster
from aerolog.cluster.files import ClusterMarkFile
from aerolog.transport.client import Aeron

if TYPE_CHECKING:
    from pathlib import Path

HOLD_S = 5
_NODE = """
import ctypes, sys
from aerolog.cluster.module import ClusteredMediaDriver
from aerolog.cluster.service import ClusteredService, ServiceContainer
from aerolog.transport.config.sources import Properties

class Holder(ClusteredService):
    def on_session_message(self, session, timestamp, data):
        if data == b"hold":
            print("held", flush=True)
            ctypes.PyDLL(None).sleep(int(sys.argv[1]))
            print("free", flush=True)
        session.send(data)

properties = Properties.from_command_line(sys.argv[2:])
with ClusteredMediaDriver(properties=properties) as node:
    with ServiceContainer(
        Holder(), aeron_dir=node.aeron_dir, cluster_dir=node.module.cluster_dir
    ):
        print("ready", flush=True)
        sys.stdin.read()
"""


def settings(folder: Path, aeron_dir: str, places: list[str]) -> list[str]:
    return [
        f"-Daeron.dir={aeron_dir}",
        "-Daeron.threading.mode=SHARED",
        f"-Daeron.archive.dir={folder}/archive",
        "-Daeron.archive.threading.mode=SHARED",
        f"-Daeron.archive.control.channel=aeron:udp?endpoint={places[4]}",
        "-Daeron.archive.replication.channel=aeron:udp?endpoint=localhost:0",
        f"-Daeron.cluster.dir={folder}/cluster",
        f"-Daeron.cluster.members=0,{','.join(places)}",
        "-Daeron.cluster.ingress.channel=aeron:udp",
        "-Daeron.cluster.replication.channel=aeron:udp?endpoint=localhost:0",
        "-Daeron.cluster.session.timeout=2s",
    ]


def test_a_held_interpreter_costs_no_session_and_stops_no_log(
    tmp_path: Path, aeron_dir: str
) -> None:
    places = [f"localhost:{port}" for port in free_ports(5)]
    command = [sys.executable, "-c", _NODE, str(HOLD_S), *settings(tmp_path, aeron_dir, places)]
    process = ServerProcess("held-node", command)
    try:
        process.wait_line("ready")
        node = Node(aeron_dir, f"0={places[0]}", tmp_path, process)
        with (
            Aeron(aeron_dir) as aeron,
            AeronCluster(aeron, **options(node)) as cluster,
            ClusterMarkFile.open(tmp_path / "cluster") as mark,
            ArchiveMarkFile.open(tmp_path / "archive") as archive_mark,
        ):
            assert answers(cluster, b"before") == [b"before"]
            commits = aeron.counters.find(label="Cluster commit-pos")
            assert commits is not None
            cluster.send(b"hold")
            process.wait_line("held")
            begin, committed = time.monotonic(), commits.value
            beats = (mark.activity_timestamp, archive_mark.activity_timestamp)
            cluster.send(b"meanwhile")
            wait_for(lambda: commits.value > committed, "commit while the lock is held")
            while time.monotonic() - begin < HOLD_S - 1:
                cluster.session.keep_alive()
                time.sleep(0.1)
            assert mark.activity_timestamp > beats[0], "the module gave no sign of life"
            assert archive_mark.activity_timestamp > beats[1], "the archive gave no sign of life"
            assert "free" not in process.log(), "the lock was not held for long enough"
            assert heard(cluster, 2) == [b"hold", b"meanwhile"]
            timed_out = aeron.counters.find(label="Cluster timed out client count")
            assert timed_out is not None
            assert timed_out.value == 0
    finally:
        process.stop()
