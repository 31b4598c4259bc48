"""The program of operations.md, on a node of ours that goes on afterwards."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from cluster_echo import EchoService
from cluster_talk import answers, talk, tool
from peer.cluster_node import our_node

from aerolog.cluster.service import ServiceContainer

PAGE = Path(__file__).resolve().parents[3] / "docs" / "cluster" / "operations.md"
#: Terms and segments of 64 KiB, so that a short log has several.
SMALL = (
    "aeron.cluster.log.channel=aeron:udp?term-length=64k",
    "aeron.archive.segment.file.length=64k",
)


def segments(folder: Path, recording_id: int) -> list[int]:
    names = (folder / "archive").glob(f"{recording_id}-*.rec")
    return sorted(int(path.stem.partition("-")[2]) for path in names)


def test_the_log_before_a_snapshot_is_purged(tmp_path: Path, reference: object) -> None:
    (program,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    with (
        our_node(tmp_path, *SMALL) as node,
        ServiceContainer(
            EchoService(), aeron_dir=node.aeron_dir, cluster_dir=f"{tmp_path}/cluster"
        ),
    ):
        with talk(node) as cluster:
            for _ in range(300):
                assert answers(cluster, b"x" * 1000) == [b"x" * 1000]
        assert "SNAPSHOT applied successfully" in tool(node, "snapshot")
        before = segments(tmp_path, 0)
        here = program.replace("node0/cluster", f"{tmp_path}/cluster")
        here = here.replace("/dev/shm/aeron-node0", node.aeron_dir)
        done = subprocess.run(
            [sys.executable, "-c", here], capture_output=True, text=True, timeout=60, check=False
        )
        assert done.stderr == ""
        left = segments(tmp_path, 0)
        assert done.stdout == f"{len(before) - len(left)} segments of the log are gone\n"
        assert len(before) > 4
        assert len(left) == 1
    with (
        our_node(tmp_path, *SMALL) as node,
        ServiceContainer(
            EchoService(), aeron_dir=node.aeron_dir, cluster_dir=f"{tmp_path}/cluster"
        ),
        talk(node) as cluster,
    ):
        assert answers(cluster, b"count") == [b"count 300"]
