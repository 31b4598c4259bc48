"""The same steps on our node and on the reference's: all that they leave is alike."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import pytest
from cluster_conversation import recorded
from cluster_talk import ECHO_NODES, answers, talk, toggle, tool, wait_for
from left_files import Parts, Run, assert_alike, assert_same_lines

from aerolog.cluster.counter_types import SESSION, Toggle
from aerolog.transport.client import Aeron

if TYPE_CHECKING:
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
COMMANDS = ("recording-log", "errors", "list-members")


def left(whose: str, folder: Path) -> tuple[dict[str, Parts], list[Any], dict[str, list[str]]]:
    """Go through the steps; files and recordings afterwards, and what tools said before."""
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
    files = run.folder(folder / "cluster", only_ours=frozenset(LEFT_OUT))
    for name, parts in list(files.items()):
        if name.endswith(SAVED_ERRORS):
            del files[name]
        parts[:] = [part for part in parts if ENDED not in str(part)]
    return files, recorded(folder), said


def lines_of(recordings: list[Any]) -> list[str]:
    return [repr(part) for recording in recordings for part in recording]


def has_sessions(aeron: Aeron) -> bool:
    return any(info.type_id == SESSION for info in aeron.counters.infos())


def has_ended(folder: Path) -> bool:
    mark = (folder / "cluster" / "cluster-mark.dat").read_bytes()
    return mark[16:24] == b"\xff" * 8


def test_a_node_that_was_restarted(tmp_path: Path) -> None:
    theirs, their_log, they_said = left("reference", tmp_path / "theirs")
    ours, our_log, we_said = left("ours", tmp_path / "ours")
    for files in (theirs, ours):
        for parts in files.values():
            parts[:] = [
                AUTHENTICATOR.sub("<class>", part) if isinstance(part, str) else part
                for part in parts
            ]
    assert {"cluster-mark.dat", "cluster-mark-service-0.dat", "recording.log"} <= theirs.keys()
    assert_same_lines(lines_of(our_log), lines_of(their_log), "recordings")
    assert_alike(ours, theirs)
    for command, lines in they_said.items():
        assert_same_lines(we_said[command], lines, command)
