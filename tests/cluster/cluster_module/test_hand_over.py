"""A folder goes from the reference's node to ours and back."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

import pytest
from cluster_talk import talk, tool
from peer.cluster_node import java_node, java_service, our_node

from aerolog.cluster.files import EntryType, RecordingLog

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from peer.cluster_node import Node

    from aerolog.cluster.client import AeronCluster

pytestmark = [pytest.mark.interop, pytest.mark.processes_end]


@contextlib.contextmanager
def a_node(whose: str, folder: Path) -> Iterator[Node]:
    """The reference's node, or ours; with the echo service in either case."""
    if whose == "reference":
        with java_node(folder, "aeron:udp") as node:
            yield node
    else:
        with our_node(folder) as node, java_service(node):
            yield node


def answer(cluster: AeronCluster, message: bytes = b"") -> bytes:
    if message:
        cluster.send(message)
    return next(iter(cluster.messages())).data


def await_count(cluster: AeronCluster, expected: int) -> None:
    """Ask for the service's count until it is as expected."""
    deadline = time.monotonic() + 10
    found = b""
    while found != b"count %d" % expected:
        assert time.monotonic() < deadline, (found, expected)
        found = answer(cluster, b"count")
        while not found.startswith(b"count"):  # a timer that has just expired
            found = answer(cluster)


@pytest.mark.parametrize("first", ["reference", "ours"])
def test_a_folder_goes_on_under_the_other(tmp_path: Path, reference: object, first: str) -> None:
    """State, terms, numbers of sessions and timers, from the log and from a snapshot, both ways."""
    second = {"reference": "ours", "ours": "reference"}[first]
    sessions = []
    for round_number, whose in enumerate((first, second, first, second)):
        with a_node(whose, tmp_path) as node, talk(node) as cluster:
            assert cluster.leadership_term_id == round_number
            sessions.append(cluster.cluster_session_id)
            await_count(cluster, 2 * round_number + 2000 * round_number)
            assert answer(cluster, b"one") == b"one"
            cluster.send(b"timer %d 0" % (100 + round_number))
            assert answer(cluster) == b"timer %d" % (100 + round_number)
            # This timer expires under the next node, which has it from the log or the snapshot.
            cluster.send(b"timer %d 2000" % round_number)
            if round_number % 2 == 0:
                assert "SNAPSHOT applied" in tool(node, "snapshot")
            assert answer(cluster, b"two") == b"two"
    assert sessions == [1, 2, 3, 4]
    with RecordingLog(tmp_path / "cluster") as log:
        assert [e.leadership_term_id for e in log.entries if e.type == EntryType.TERM] == [
            0,
            1,
            2,
            3,
        ]
