"""The dashboard's page of clusters on nodes that run, the reference's and ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from cluster_talk import ECHO_NODES, answers, talk, tool, wait_for

from aerolog.tools.top.cluster_figures import ClusterFigures, clusters_of
from aerolog.tools.top.live_source import LiveSource

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.interop, pytest.mark.usefixtures("reference")]


@pytest.mark.parametrize("make", sorted(ECHO_NODES))
def test_a_node_is_seen_whole(tmp_path: Path, make: str) -> None:
    with ECHO_NODES[make](tmp_path) as node:
        source = LiveSource(node.aeron_dir)

        def look() -> ClusterFigures:
            reading = source.look()
            (found,) = clusters_of(reading.snapshot, reading.streams)
            return found

        wait_for(lambda: look().is_active, "node that answers")
        with talk(node) as cluster:
            assert answers(cluster, b"hello") == [b"hello"]
            assert "applied" in tool(node, "snapshot")
            wait_for(lambda: look().services[0].position == look().committed, "reader at the end")
            seen = look()
            assert [seen.named(one) for one in (200, 201, 207)] == ["active", "leader", "closed"]
            assert seen.values[205] == 1
            assert seen.committed == seen.appended == seen.recorded
            assert seen.committed is not None
            assert seen.committed > 0
            assert len(seen.sessions) == 1
            assert "sessionId=" in seen.sessions[0]
            assert list(seen.services) == [0]
            assert seen.module.longest_ns
            assert seen.total("errors") == 0
        source.close()
