"""Nodes whose recording log or snapshots are not what was written."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import peer
import pytest
from cluster_echo import EchoService
from cluster_talk import answers, our_echo_node, talk, tool
from peer.cluster_node import our_node

from aerolog.cluster.files import (
    ClusterMarkFile,
    FolderSums,
    RecordingLog,
    files_of_sums,
    service_mark_name,
)
from aerolog.cluster.service import ServiceContainer
from aerolog.tools.main import main

if TYPE_CHECKING:
    from pathlib import Path

    from peer.cluster_node import Node

pytestmark = [pytest.mark.interop, pytest.mark.error_log(""), pytest.mark.processes_end]

RECORDED = 5


def count_of(node: Node) -> int:
    """How many messages the service has echoed."""
    with talk(node) as cluster:
        (answer,) = answers(cluster, b"count")
        return int(answer.split()[1])


@pytest.fixture
def folder(tmp_path: Path, reference: object) -> Path:
    """A node of ours that has echoed five messages and taken a snapshot, and is stopped."""
    with our_echo_node(tmp_path) as node:
        with talk(node) as cluster:
            for number in range(RECORDED):
                assert answers(cluster, b"%d" % number) == [b"%d" % number]
        assert "SNAPSHOT applied" in tool(node, "snapshot")
    return tmp_path


def starts(folder: Path, *settings: str) -> int:
    with our_echo_node(folder, dict(each.split("=") for each in settings)) as node:
        return count_of(node)


def why_it_ends(folder: Path) -> str:
    """What a node says that cannot go on once its archive has answered."""
    with our_node(folder) as node:
        assert node.process.wait() == 1
        return node.process.log()


def why_it_does_not_start(folder: Path) -> str:
    """What a node says whose files are refused before anything is asked."""
    with pytest.raises(AssertionError, match="ended with 1;") as raised, our_node(folder):
        pass
    return str(raised.value)


def damage(path: Path, offset: int) -> None:
    content = bytearray(path.read_bytes())
    content[offset] ^= 1
    path.write_bytes(content)


def recording_log(folder: Path) -> Path:
    return folder / "cluster" / "recording.log"


def test_a_node_covers_its_recording_log_and_snapshots(folder: Path) -> None:
    names = [path.rpartition("/")[2] for path in files_of_sums(folder / "cluster")]
    assert names == ["checksums-module.json", "checksums-service-0.json"]
    with RecordingLog(folder / "cluster", writable=False) as log:
        module, service = log.latest_snapshot(1)
        for entry, owner in ((module, "module"), (service, "service-0")):
            sums = FolderSums(folder / "cluster", owner)
            where = (entry.recording_id, entry.leadership_term_id, entry.log_position)
            assert sums.snapshot_check(*where).is_covered
        assert FolderSums(folder / "cluster", "module").check_log(log) == ""
    assert starts(folder) == RECORDED


def test_an_empty_recording_log_beside_a_log_is_refused(folder: Path) -> None:
    recording_log(folder).write_bytes(b"")
    told = why_it_ends(folder)
    assert "has no entries, but node-state.dat knows term 0" in told
    assert "aerolog.cluster.start.empty=true" in told
    assert starts(folder, "aerolog.cluster.start.empty=true") == 0
    assert starts(folder) == 0


def test_an_empty_recording_log_without_a_log_is_that_of_a_new_node(
    tmp_path: Path, reference: object
) -> None:
    """A node that was killed before it wrote anything starts."""
    with our_node(tmp_path):
        pass
    recording_log(tmp_path).write_bytes(b"")
    assert starts(tmp_path) == 0


@pytest.mark.parametrize("offset", [8, 16, 24, 64 + 8, 64 + 24])
def test_a_damaged_recording_log_is_refused_until_it_is_accepted(
    folder: Path, offset: int, capsys: pytest.CaptureFixture[str]
) -> None:
    before = recording_log(folder).read_bytes()
    damage(recording_log(folder), offset)
    told = why_it_does_not_start(folder)
    assert "recording.log is damaged at offset" in told
    assert f"aerolog cluster accept {folder}/cluster" in told
    assert main(["cluster", "accept", f"{folder}/cluster", "--yes"]) == 0
    assert "done" in capsys.readouterr().out
    assert files_of_sums(folder / "cluster") == []
    recording_log(folder).write_bytes(before)
    assert starts(folder) == RECORDED
    assert len(files_of_sums(folder / "cluster")) == 2


def test_what_the_reference_s_tools_and_node_change_is_accepted(folder: Path) -> None:
    cluster = str(folder / "cluster")
    done = peer.java_tool("io.aeron.cluster.ClusterTool", cluster, "invalidate-latest-snapshot")
    assert "invalidate latest snapshot: true" in done
    with our_echo_node(folder) as node:
        assert count_of(node) == RECORDED
        assert "counts as it is now" in tool(node, "errors")
        assert "SNAPSHOT applied" in tool(node, "snapshot")
    assert starts(folder) == RECORDED


def test_a_wrong_bit_in_a_snapshot_is_refused(folder: Path) -> None:
    with RecordingLog(folder / "cluster", writable=False) as log:
        module, service = log.latest_snapshot(1)
    for recording_id, errors in (
        (service.recording_id, service_errors),
        (module.recording_id, why_it_ends),
    ):
        segment = folder / "archive" / f"{recording_id}-0.rec"
        before = segment.read_bytes()
        damage(segment, len(before.rstrip(b"\0")) - 1)
        assert f"recording {recording_id} of the archive is not what was written" in errors(folder)
        segment.write_bytes(before)
    assert starts(folder) == RECORDED


def service_errors(folder: Path) -> str:
    """The errors of a service with which a node does not start."""
    with (
        our_node(folder) as node,
        ServiceContainer(EchoService(), aeron_dir=node.aeron_dir, cluster_dir=f"{folder}/cluster"),
    ):
        assert node.process.wait() == 1
        with closing(
            ClusterMarkFile.open(folder / "cluster", name=service_mark_name(0))
        ) as mark_file:
            return "\n".join(each.text for each in mark_file.errors())
