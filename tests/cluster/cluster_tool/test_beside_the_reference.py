"""The cluster tool's classic form says what the reference's ClusterTool says of the same folder."""

from __future__ import annotations

import io
import re
import shutil
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

import pytest
from node_steps import STEPS, with_ours
from peer.cluster_node import java_node
from peer.tool_runner import ToolRunner
from waits import wait_until

from aerolog.cluster.files import ClusterMarkFile
from aerolog.tools.reference.cluster_tool.cluster_tool import run as run_tool
from aerolog.tools.reference.tool_terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = [pytest.mark.interop, pytest.mark.usefixtures("reference")]

TOOL = "io.aeron.cluster.ClusterTool"
LOOKS = ("describe", "pid", "errors", "recording-log", "pid 1 2")
CHANGES = (
    "sort-recording-log",
    "seed-recording-log-from-snapshot",
    "invalidate-latest-snapshot",
)
_NOW = re.compile(r"^(Type: \S+) \d\d:\d\d:\d\d ", re.MULTILINE)
_BEAT = re.compile(r"activity: [-\d :]+\)|activityTimestamp=\d+")
_FRAMES = re.compile(r"^(\t|Caused by: ).*\n", re.MULTILINE)


class Said(NamedTuple):
    """What a run printed, the time of day left out, and its exit code."""

    out: str
    err: str
    code: int


class Tools:
    """Both tools."""

    def __init__(self, runner: ToolRunner) -> None:
        self.runner = runner

    def theirs(self, *arguments: object) -> Said:
        done = self.runner.run(TOOL, *arguments)
        return Said(_NOW.sub(r"\1 ", done.out), _FRAMES.sub("", done.err), done.code)

    def ours(self, *arguments: object) -> Said:
        out, err = io.StringIO(), io.StringIO()
        code = run_tool(list(map(str, arguments)), Terminal(out=out, err=err))
        return Said(_NOW.sub(r"\1 ", out.getvalue()), err.getvalue(), code)

    def agree(self, *arguments: object) -> Said:
        ours = self.ours(*arguments)
        assert ours == self.theirs(*arguments)
        return ours

    def agree_on_change(self, folder: Path, command: str) -> Said:
        """Each tool changes the folder as it was; what is left is the same."""
        kept = folder.with_name(f"{folder.name}-kept")
        shutil.copytree(folder, kept)
        ours, left = self.ours(folder, command), contents(folder)
        shutil.rmtree(folder)
        kept.rename(folder)
        assert ours == self.theirs(folder, command)
        assert left == contents(folder)
        return ours


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def tools() -> Iterator[Tools]:
    with ToolRunner({"aeron.cluster.tool.timeout": "10s"}) as runner:
        yield Tools(runner)


@pytest.fixture(scope="module")
def left(tools: Tools, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folders of a node that took two snapshots and was stopped."""
    folder = tmp_path_factory.mktemp("node")
    with java_node(folder, "aeron:ipc"):
        for _ in range(2):
            take_snapshot(tools, folder / "cluster")
    return folder


def take_snapshot(tools: Tools, folder: Path) -> None:
    wait_until(lambda: tools.theirs(folder, "is-leader").code == 0, "the node to lead")
    assert tools.theirs(folder, "snapshot").code == 0


@pytest.fixture
def node(left: Path, tmp_path: Path) -> Path:
    """A copy of that node's cluster folder; its services' folder is that of the original."""
    return shutil.copytree(left / "cluster", tmp_path / "cluster")


def test_a_running_node(tmp_path: Path, tools: Tools) -> None:
    folder = tmp_path / "cluster"
    with ExitStack() as stack:
        seen = stack.enter_context(java_node(tmp_path, "aeron:ipc"))
        take_snapshot(tools, folder)
        for command in ("pid", "recording-log"):
            assert tools.agree(folder, command).code == 0
        for command in ("describe", "errors"):
            ours, theirs = (
                _BEAT.sub("beat", said(folder, command).out) for said in (tools.ours, tools.theirs)
            )
            assert ours == theirs
        properties = {
            "aeron.dir": seen.aeron_dir,
            "aeron.archive.control.channel": "aeron:ipc",
            "aeron.archive.control.response.channel": "aeron:ipc",
        }
        with ToolRunner(properties) as runner:
            for count in (0, 1):
                plan = runner.run(TOOL, folder, "recovery-plan", count).out
                for archive in ((), (tmp_path / "archive",)):
                    ours = tools.ours(folder, "recovery-plan", count, *archive)
                    assert ours == Said(plan, "", 0)
                assert "stopPosition=-1" in plan


@pytest.mark.parametrize("command", LOOKS)
def test_a_node_that_has_ended(left: Path, tools: Tools, command: str) -> None:
    before = contents(left / "cluster")
    said = tools.agree(left / "cluster", *command.split())
    # The driver's directory has gone with the node.
    assert said.code == (1 if command == "errors" else 0)
    assert contents(left / "cluster") == before


@pytest.mark.parametrize("command", CHANGES)
def test_changes(node: Path, tools: Tools, command: str) -> None:
    said = tools.agree_on_change(node, command)
    assert said.code == (255 if command == "sort-recording-log" else 0)


def test_snapshots_are_invalidated_until_none_is_left(node: Path, tools: Tools) -> None:
    codes = [tools.agree_on_change(node, "invalidate-latest-snapshot").code for _ in range(3)]
    assert codes == [0, 0, 255]


@pytest.mark.parametrize("steps", STEPS)
def test_recording_logs(tmp_path: Path, tools: Tools, steps: str) -> None:
    folder = tmp_path / "cluster"
    folder.mkdir()
    with_ours(folder, STEPS[steps])
    assert tools.agree(folder, "recording-log").code == 0
    is_out_of_order = steps in {"standby at one position", "no order"}
    has_snapshot = "snapshot" in STEPS[steps]
    sorted_now = tools.agree_on_change(folder, "sort-recording-log").code
    assert sorted_now == (0 if is_out_of_order else 255)
    invalidated = tools.agree_on_change(folder, "invalidate-latest-snapshot").code
    assert invalidated == (0 if has_snapshot else 255)
    if has_snapshot and steps != "re-use":
        assert tools.agree_on_change(folder, "sort-recording-log").code == 255


@pytest.mark.parametrize("count", [1, 5, 6, 10, 11, 24, 60])
def test_many_terms(tmp_path: Path, tools: Tools, count: int) -> None:
    """The reference prints terms in the order of a hash table, in which ours does too."""
    steps = "".join(
        f"term 7 {number * 3} {number * 64} 5\ncommit {number * 3} {number * 64 + 64}\n"
        for number in range(count)
    )
    with_ours(tmp_path, steps)
    assert tools.agree(tmp_path, "recording-log").code == 0


def test_a_folder_without_files(tmp_path: Path, tools: Tools) -> None:
    for command in (*LOOKS, *CHANGES):
        code = tools.agree(tmp_path, *command.split()).code
        assert code == (255 if command == "sort-recording-log" else 1), command
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "code"),
    [([], 255), (["nonsense"], 255), (["recovery-plan"], 255), (["recovery-plan", "x"], 1)],
)
def test_wrong_usage(node: Path, tools: Tools, arguments: list[str], code: int) -> None:
    assert tools.agree(node, *arguments).code == code


def test_a_folder_that_is_not_there(tmp_path: Path, tools: Tools) -> None:
    assert tools.agree(tmp_path / "missing", "describe").code == 255
    assert tools.agree().code == 255


def cut(path: Path) -> None:
    path.write_bytes(b"")


def other_version(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[8:12] = (1 << 16).to_bytes(4, "little")
    path.write_bytes(data)


def failed_start(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[8:12] = b"\xff" * 4
    path.write_bytes(data)


def unknown_type(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[12:16] = (9).to_bytes(4, "little")
    path.write_bytes(data)


@pytest.mark.parametrize("damage", [cut, other_version, failed_start, unknown_type])
def test_damaged_mark_files(node: Path, tools: Tools, damage: Callable[[Path], None]) -> None:
    damage(node / "cluster-mark.dat")
    assert tools.agree(node, "describe").code == 1
    assert tools.agree(node, "pid").code == (0 if damage is unknown_type else 1)


def test_errors_of_the_module(node: Path, tools: Tools) -> None:
    mark = ClusterMarkFile.claim(node, ClusterMarkFile.open(node).header)
    mark.ready()
    mark.error_log().record("java.lang.IllegalStateException: gone wrong")
    mark.terminated()
    assert tools.agree(node, "errors").out.count("gone wrong") == 1
    assert tools.agree(node, "describe").code == 0


def test_a_mark_file_elsewhere(node: Path, tmp_path: Path, tools: Tools) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    (node / "cluster-mark.dat").rename(marks / "cluster-mark.dat")
    (node / "cluster-mark.lnk").write_text(str(marks))
    assert tools.agree(node, "describe").code == 0
