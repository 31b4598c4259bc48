"""A second start on the folders of a node that runs refuses before it touches anything."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from cluster_talk import answers, talk
from peer.cluster_node import java_service, our_node

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.interop, pytest.mark.error_log(""), pytest.mark.processes_end]
DELETES = ("aeron.dir.delete.on.start=true", "aeron.archive.dir.delete.on.start=true")


def second(command: list[str], **changes: str) -> str:
    """The words of a start that fails, with other values of some properties."""
    done = subprocess.run(
        [*command, *(f"-D{name}={value}" for name, value in changes.items())],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    return done.stderr


def test_the_first_node_goes_on(tmp_path: Path, reference: object) -> None:
    with our_node(tmp_path, *DELETES) as node, java_service(node), talk(node) as cluster:
        assert answers(cluster, b"one") == [b"one"]
        before = {path: path.stat().st_ino for path in tmp_path.rglob("*")}
        elsewhere = tmp_path / "elsewhere"
        command, new = node.process.command, {"aeron.dir": str(elsewhere)}
        told = second(command)
        assert "active mark file detected" in told
        assert "cluster-mark.dat" in told
        # With a driver's directory of its own, and with a cluster's folder of its own as well.
        assert "cluster-mark.dat" in second(command, **new)
        new["aeron.cluster.dir"] = str(tmp_path / "other")
        assert "archive-mark.dat" in second(command, **new)
        new = {"aeron.cluster.dir": new["aeron.cluster.dir"]}
        new["aeron.archive.dir"] = str(tmp_path / "third")
        assert "Active media driver detected" in second(command, **new)
        assert not any((tmp_path / name).exists() for name in ("elsewhere", "other", "third"))
        assert {path: path.stat().st_ino for path in before} == before
        assert answers(cluster, b"two") == [b"two"]
        with talk(node) as another:
            assert answers(another, b"three") == [b"three"]
