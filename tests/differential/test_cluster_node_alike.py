"""The same steps on our node and on the reference's: all that they leave is alike."""

from __future__ import annotations

import os
import re
import shutil
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from cluster_conversation import recorded
from cluster_talk import ECHO_NODES, answers, talk, toggle, tool, wait_for
from left_files import Parts, Run, assert_alike, assert_same_lines
from peer.tool_runner import ToolRunner
from random_node_steps import ENDS, NodeScript
from random_seeds import seeds

from aerolog.cluster.counter_types import ClusterCounterType, Toggle
from aerolog.transport.client import Aeron

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.interop,
    pytest.mark.usefixtures("reference"),
    pytest.mark.error_log(""),
    pytest.mark.processes_end,
]

#: What is left out of a cluster's folder, and why.
LEFT_OUT = {
    "aerolog": "files of ours: checksums (docs/cluster/operations.md)",
    "cluster-mark.lnk": "the folder of the mark file, where it is another",
}
#: The reference logs the ordered end of a node as an error, and so it saves that log at a restart.
ENDED = "TerminationException"
SAVED_ERRORS = "-error.log"
#: Classes of authenticators: theirs, or a name of ours.
AUTHENTICATOR = re.compile(r"^io\.aeron\.security\.\w+$|^default$")
LIVES = 2
COMMANDS = ("recording-log", "errors", "list-members")


class Left(NamedTuple):
    """What a node has left, and what was said before.

    Attributes:
        files: of the cluster's folder.
        recordings: of its archive.
        said: by tools, by subject.
        ends: entries of error logs that are an ordered end, and files with saved ones.
    """

    files: dict[str, Parts]
    recordings: list[Any]
    said: dict[str, list[str]]
    ends: list[str]


def looked_at(folder: Path, run: Run, said: dict[str, list[str]]) -> Left:
    """What a node has left once it has ended."""
    files = run.folder(folder / "cluster", only_ours=frozenset(LEFT_OUT))
    ends = [name for name in files if name.endswith(SAVED_ERRORS)]
    for name in ends:
        del files[name]
    for parts in files.values():
        ends += [str(part) for part in parts if ENDED in str(part)]
        parts[:] = [
            AUTHENTICATOR.sub("<class>", part) if isinstance(part, str) else part
            for part in parts
            if ENDED not in str(part)
        ]
    return Left(files, recorded(folder), said, ends)


def assert_same(ours: Left, theirs: Left) -> None:
    assert {
        "cluster-mark.dat",
        "cluster-mark-service-0.dat",
        "recording.log",
    } <= theirs.files.keys()
    for subject, lines in theirs.said.items():
        assert_same_lines(ours.said[subject], lines, subject)
    assert_same_lines(lines_of(ours.recordings), lines_of(theirs.recordings), "recordings")
    assert_alike(ours.files, theirs.files)
    # An ordered end is an error there, and none here (docs/compatibility).
    assert any(ENDED in end for end in theirs.ends)
    assert not ours.ends


def restarted(whose: str, folder: Path) -> Left:
    """Go through the steps twice, with a restart between."""
    folder.mkdir()
    run = Run(texts={str(folder): "<folder>"})
    said: dict[str, list[str]] = {}
    for life in range(2):
        with ECHO_NODES[whose](folder) as node:
            run.pids |= {node.process.pid, os.getpid()}
            with talk(node) as cluster, Aeron(node.aeron_dir) as aeron:
                for text in (b"hello", b"x" * 3000, b"count"):
                    answers(cluster, text)
                toggle(aeron, Toggle.SNAPSHOT)
                answers(cluster, b"after %d" % life)
                if life:
                    for command in COMMANDS:
                        said[command] = run.text(tool(node, command)).splitlines()
            with Aeron(node.aeron_dir) as aeron:
                wait_for(lambda aeron=aeron: not has_sessions(aeron), "end of the session")
                toggle(aeron, Toggle.SHUTDOWN)
            wait_for(lambda: has_ended(folder), "end of the node")
    return looked_at(folder, run, said)


def drawn(whose: str, folder: Path, seed: int, tools: ToolRunner) -> Left:
    """Go through random steps, with restarts between."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    dice = Random(seed)
    run = Run(texts={str(folder): "<folder>"})
    said: dict[str, list[str]] = {}
    for life in range(LIVES):
        with ECHO_NODES[whose](folder) as node:
            run.pids |= {node.process.pid, os.getpid()}
            run.texts[node.aeron_dir] = "<directory>"
            script = NodeScript(node, dice, tools, run)
            script.play(dice.choice(ENDS))
            said[f"life {life}"] = script.said
            wait_for(lambda: has_ended(folder), "end of the node")
    return looked_at(folder, run, said)


def lines_of(recordings: list[Any]) -> list[str]:
    return [repr(part) for recording in recordings for part in recording]


def has_sessions(aeron: Aeron) -> bool:
    return any(info.type_id == ClusterCounterType.SESSION for info in aeron.counters.infos())


def has_ended(folder: Path) -> bool:
    mark = (folder / "cluster" / "cluster-mark.dat").read_bytes()
    return mark[16:24] == b"\xff" * 8


@pytest.fixture(scope="module")
def tools(reference: object) -> Iterator[ToolRunner]:
    with ToolRunner() as found:
        yield found


def test_a_node_that_was_restarted(tmp_path: Path) -> None:
    theirs = restarted("reference", tmp_path / "theirs")
    assert_same(restarted("ours", tmp_path / "ours"), theirs)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", seeds(2, 20))
def test_random_steps(tmp_path: Path, tools: ToolRunner, seed: int) -> None:
    theirs = drawn("reference", tmp_path / "node", seed, tools)
    assert_same(drawn("ours", tmp_path / "node", seed, tools), theirs)
