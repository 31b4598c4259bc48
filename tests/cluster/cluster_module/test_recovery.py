"""What a node recovers from when its files are not whole."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from cluster_talk import talk, tool
from peer.cluster_node import java_service, our_node

from aerolog.archive.client import AeronArchive
from aerolog.cluster.files import ClusterMarkFile, RecordingLog
from aerolog.transport.client import Aeron

if TYPE_CHECKING:
    from pathlib import Path

    from peer.cluster_node import Node

pytestmark = [
    pytest.mark.interop,
    pytest.mark.error_log("recording.log", "did not start", "failed to start"),
    pytest.mark.processes_end,
]


def counted(node: Node, more: int) -> int:
    """The service's count, before so many messages are sent to it."""
    with talk(node) as cluster:
        cluster.send(b"count")
        messages = iter(cluster.messages())
        found = next(messages).data
        for number in range(more):
            cluster.send(b"%d" % number)
            assert next(messages).data == b"%d" % number
        return int(found.split()[1])


@pytest.fixture
def folder(tmp_path: Path, reference: object) -> Path:
    """A node that has counted to 5, with snapshots at 3 and at 5, and then to 6."""
    with our_node(tmp_path) as node, java_service(node):
        counted(node, 3)
        assert "SNAPSHOT applied" in tool(node, "snapshot")
        counted(node, 2)
        assert "SNAPSHOT applied" in tool(node, "snapshot")
        counted(node, 1)
    return tmp_path


def purge(folder: Path, recording_id: int) -> None:
    """Remove a recording from the node's archive, while the node waits for its services."""
    with our_node(folder) as node, Aeron(node.aeron_dir) as aeron, AeronArchive(aeron) as archive:
        archive.purge_recording(recording_id)


def starts(folder: Path, more: int = 0) -> int:
    with our_node(folder) as node, java_service(node):
        return counted(node, more)


def why_it_ends(folder: Path) -> str:
    """The errors of a node that cannot start."""
    with our_node(folder) as node:
        assert node.process.wait() == 1
    return "\n".join(error.text for error in ClusterMarkFile.open(folder / "cluster").errors())


def test_from_the_newest_snapshot(folder: Path) -> None:
    assert starts(folder, 1) == 6
    assert starts(folder) == 7


@pytest.mark.parametrize("count", [1, 2])
def test_from_an_older_snapshot_and_from_the_log_alone(folder: Path, count: int) -> None:
    with RecordingLog(folder / "cluster") as log:
        for _ in range(count):
            assert log.invalidate_latest_snapshot()
    assert starts(folder) == 6


def test_a_snapshot_without_its_service_does_not_count(folder: Path) -> None:
    with RecordingLog(folder / "cluster") as log:
        log.invalidate(log.latest_snapshot(1)[1])
    assert starts(folder) == 6


@pytest.mark.parametrize("length", [1, 47, 48, 49, 63])
def test_a_torn_tail_is_passed_over(folder: Path, length: int) -> None:
    with (folder / "cluster" / "recording.log").open("ab") as file:
        file.write(b"\x07" * length if length <= 48 else bytes(40) + b"\xff" * (length - 40))
    assert starts(folder, 1) == 6
    assert starts(folder) == 7


@pytest.mark.parametrize("entries", [1, 2, 3, 4, 5])
def test_entries_that_are_missing_at_the_end_cost_no_message(folder: Path, entries: int) -> None:
    """As after a power loss, or from an older copy: the log itself has all that was answered."""
    with our_node(folder) as node, java_service(node):
        assert counted(node, 2) == 6
        assert "SNAPSHOT applied" in tool(node, "snapshot")
        counted(node, 1)
    with (folder / "cluster" / "recording.log").open("r+b") as file:
        file.truncate(64 * entries + 8)
    assert starts(folder, 1) == 9
    assert starts(folder) == 10


def test_a_snapshot_newer_than_the_log(folder: Path) -> None:
    with RecordingLog(folder / "cluster") as log:
        term, newest = log.last_term, log.latest_snapshot(1)
    assert term is not None
    with our_node(folder) as node, Aeron(node.aeron_dir) as aeron, AeronArchive(aeron) as archive:
        archive.truncate_recording(term.recording_id, newest[0].log_position - 96)
    told = why_it_ends(folder)
    assert "is newer than the log" in told
    assert "invalidate-latest-snapshot" in told


@pytest.mark.error_log("unknown recording id")
def test_a_snapshot_whose_recording_is_gone(folder: Path) -> None:
    with RecordingLog(folder / "cluster") as log:
        module = log.latest_snapshot(1)[0]
    purge(folder, module.recording_id)
    assert f"{module.recording_id}" in why_it_ends(folder)


def test_a_log_whose_recording_is_gone(folder: Path) -> None:
    with RecordingLog(folder / "cluster") as log:
        term = log.last_term
    assert term is not None
    purge(folder, term.recording_id)
    assert f"unknown recording id: {term.recording_id}: " in why_it_ends(folder)


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("recording.log", b"\x09" * 64, "recording.log at offset 44"),
        ("node-state.dat", b"\x09" * (1 << 20), "node-state.dat at offset 0"),
        ("cluster-mark.dat", b"\x09" * 9000, "cluster-mark.dat"),
    ],
)
def test_a_damaged_file_is_named(folder: Path, name: str, content: bytes, told: str) -> None:
    (folder / "cluster" / name).write_bytes(content)
    with pytest.raises(AssertionError, match="ended with 1") as failure, our_node(folder):
        pass
    assert told in str(failure.value)


def test_killed_at_any_time(tmp_path: Path, reference: object) -> None:
    """What a client was answered is there after each kill, and nothing is there twice."""
    known = 0
    for round_number in range(6):
        with our_node(tmp_path) as node, java_service(node):
            found = counted(node, 5)
            assert found == known, round_number
            known += 5
            if round_number % 2:
                assert "SNAPSHOT applied" in tool(node, "snapshot")
            time.sleep(0.01 * round_number)
            node.process.kill()
