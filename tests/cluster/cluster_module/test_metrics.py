"""The metrics of a live node: what the dashboard asks for is there, with its values."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

from cluster_talk import answers, talk
from metric_dashboard import QUERIES

if TYPE_CHECKING:
    from peer.cluster_node import Node


def test_what_the_dashboard_asks_for_is_served(node: Node) -> None:
    asked = {name for query, _ in QUERIES for name in re.findall(r"aerolog_cluster_\w+", query)}
    with talk(node) as cluster:
        assert answers(cluster, b"hello") == [b"hello"]
        command = ["serve-metrics", "--aeron-dir", node.aeron_dir, "--once"]
        done = subprocess.run(
            [sys.executable, "-m", "aerolog.tools.main", *command],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
    lines = [line for line in done.stdout.splitlines() if line.startswith("aerolog_cluster_")]
    # A container of the reference does not count what its clients have missed.
    assert {line.partition("{")[0] for line in lines} >= asked - {
        "aerolog_cluster_missed_messages_total"
    }
    values = {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines}
    cluster_0 = f'{{aeron_dir="{node.aeron_dir}",cluster_id="0"'
    assert values[f'aerolog_cluster_module_state{cluster_0},state="active"}}'] == 1
    assert values[f'aerolog_cluster_node_role{cluster_0},role="leader"}}'] == 1
    assert values[f"aerolog_cluster_sessions{cluster_0}}}"] == 1
    assert values[f"aerolog_cluster_commit_position_bytes{cluster_0}}}"] > 0
