"""Nodes that run, the reference's and ours, asked by either tool: the same words and exit codes."""

from __future__ import annotations

import io
import json
import re
import threading
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING, NamedTuple

import pytest
from cluster_echo import EchoService
from cluster_talk import ECHO_NODES, wait_for
from peer.cluster_node import our_node
from peer.tool_runner import ToolRunner

from aerolog.archive.client import AeronArchive
from aerolog.cluster.files import RecordingLog
from aerolog.cluster.service import ServiceContainer
from aerolog.tools.main import main
from aerolog.tools.reference.cluster_tool.cluster_tool import run as run_tool
from aerolog.tools.reference.tool_terminal import Terminal
from aerolog.transport.client import Aeron

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from peer.cluster_node import Node

    from aerolog.cluster.service import SnapshotWriter

pytestmark = [
    pytest.mark.interop,
    pytest.mark.usefixtures("reference"),
    pytest.mark.error_log(
        "expected termination",
        "the media driver in",
        "controlSessionId=",
        "failed to take snapshot",
        "no snapshot today",
    ),
    pytest.mark.processes_end,
]

TOOL = "io.aeron.cluster.ClusterTool"
REQUESTS = ("snapshot", "suspend", "resume", "shutdown", "abort", "validate-recording-log")
#: Times, and the number by which the archive knows its asker's request.
_DUMP = re.compile(r"\d{6}:  [0-9a-f]{2} |[A-Z][\w ]+: ")
_NOW = re.compile(r"(?<=Ns=)\d+|response for correlationId=\d+, error: ")
_FRAMES = re.compile(r"^(\t|Caused by: ).*\n", re.MULTILINE)


class Said(NamedTuple):
    """What a run printed, without times, and its exit code."""

    out: str
    err: str
    code: int


Speak = "Callable[..., Said]"


def ours(*arguments: object) -> Said:
    out, err = io.StringIO(), io.StringIO()
    code = run_tool(list(map(str, arguments)), Terminal(out=out, err=err))
    return Said(_NOW.sub("", out.getvalue()), err.getvalue(), code)


@contextmanager
def reference_tool(**properties: str) -> Iterator[Callable[..., Said]]:
    """The reference's tool, told to wait for an answer no longer than ours is."""
    with ToolRunner({"aeron.cluster.tool.timeout": "5s", **properties}) as runner:

        def theirs(*arguments: object) -> Said:
            done = runner.run(TOOL, *arguments)
            err = _NOW.sub("", _FRAMES.sub("", done.err))
            return Said(_NOW.sub("", done.out), err, done.code)

        yield theirs


@pytest.fixture(scope="module")
def theirs() -> Iterator[Callable[..., Said]]:
    with reference_tool() as tool:
        yield tool


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AERON_CLUSTER_TOOL_TIMEOUT", "5s")


@pytest.fixture(params=["theirs", "ours"])
def speak(request: pytest.FixtureRequest, theirs: Callable[..., Said]) -> Callable[..., Said]:
    """Either tool."""
    return theirs if request.param == "theirs" else ours


@pytest.fixture(scope="module", params=sorted(ECHO_NODES))
def node(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, reference: object
) -> Iterator[Node]:
    """A node with an echo service that leads."""
    with ECHO_NODES[request.param](tmp_path_factory.mktemp("node")) as running:
        folder = running.folder / "cluster"
        wait_for(lambda: ours(folder, "is-leader").code == 0, "leader")
        yield running


@pytest.fixture
def folder(node: Node) -> Path:
    return node.folder / "cluster"


def test_requests(folder: Path, speak: Callable[..., Said]) -> None:
    def line(command: str) -> str:
        said = speak(folder, command)
        assert said.err == ""
        assert said.code == (0 if "applied" in said.out else 255)
        return said.out.removeprefix("Member [0]: ")

    before = RecordingLog(folder).latest_snapshot()
    assert line("snapshot") == "SNAPSHOT applied successfully\n"
    assert RecordingLog(folder).latest_snapshot()[0] != before
    assert line("resume") == (
        "Unable to RESUME as the state of the consensus module is ACTIVE, but needs to be"
        " SUSPENDED\n"
    )
    assert line("suspend") == "SUSPEND applied successfully\n"
    for command in (each for each in REQUESTS if each != "resume"):
        wait_for(lambda: "SUSPENDED" in line("suspend"), "suspension")
        name = command.upper().replace("-", "_")
        assert line(command) == (
            f"Unable to {name} as the state of the consensus module is SUSPENDED, but needs to be"
            " ACTIVE\n"
        )
    assert line("resume") == "RESUME applied successfully\n"
    assert line("validate-recording-log") == "VALIDATE_RECORDING_LOG applied successfully\n"


def without_characters(dump: str) -> list[str]:
    """The lines of dumps without their characters: the reference's are raw, ours are escapes."""
    return [line.partition("   |")[0] for line in dump.split("\n") if _DUMP.match(line)]


def test_both_tools_tell_the_same(folder: Path, theirs: Callable[..., Said]) -> None:
    assert theirs(folder, "snapshot").code == 0
    for command in (
        "is-leader",
        "list-members",
        "describe-latest-cm-snapshot",
        "backup-query",
        "backup-query 1s",
        "backup-query x",
        "backup-query 1000",
    ):
        said = ours(folder, *command.split())
        expected = theirs(folder, *command.split())
        if command == "describe-latest-cm-snapshot":
            assert without_characters(said.out) == without_characters(expected.out)
        else:
            assert said == expected
        assert said.out or said.err or command == "is-leader"
    assert "nextSessionId=" in ours(folder, "describe-latest-cm-snapshot").out


@pytest.mark.parametrize(
    ("type_id", "command"),
    [(202, "suspend"), (202, "snapshot"), (233, "validate-recording-log")],
)
def test_a_toggle_that_is_set_already(
    tmp_path: Path, theirs: Callable[..., Said], type_id: int, command: str
) -> None:
    """On our node: the reference's does not outlive a value that it does not know."""
    folder = tmp_path / "cluster"
    with ECHO_NODES["ours"](tmp_path) as node, Aeron(node.aeron_dir) as aeron:
        wait_for(lambda: ours(folder, "is-leader").code == 0, "leader")
        toggle = aeron.counters.find(type_id=type_id)
        assert toggle is not None
        for value in (0, 9):
            aeron.conductor.counters.set_value(toggle.counter_id, value)
            said = ours(folder, command)
            assert said == theirs(folder, command)
            assert "toggle value" in said.out + said.err
            assert main(["cluster", command, str(folder), "--yes"]) == 1
        aeron.conductor.counters.set_value(toggle.counter_id, 1)
        assert ours(folder, command).code == 0


def test_parts_of_snapshots_without_a_recording(
    node: Node, folder: Path, speak: Callable[..., Said]
) -> None:
    assert speak(folder, "snapshot").code == 0
    newest = RecordingLog(folder).latest_snapshot(1)
    assert len(newest) == 2
    with (
        Aeron(node.aeron_dir) as aeron,
        AeronArchive(aeron, request_channel="aeron:ipc", response_channel="aeron:ipc") as archive,
    ):
        archive.purge_recording(newest[1].recording_id)
    assert speak(folder, "validate-recording-log").code == 0

    def valid() -> list[bool]:
        entries = {entry.recording_id: entry for entry in RecordingLog(folder).entries}
        return [entries[entry.recording_id].is_valid for entry in newest]

    # The reference's node sets its toggle back before it has looked.
    wait_for(lambda: valid() == [True, False], "entry that is invalid")
    assert RecordingLog(folder).latest_snapshot(1) != newest


def test_a_node_that_waits_for_its_service(tmp_path: Path, theirs: Callable[..., Said]) -> None:
    with our_node(tmp_path):
        folder = tmp_path / "cluster"
        for command in ("is-leader", "list-members", "describe-latest-cm-snapshot", *REQUESTS):
            said = ours(folder, command)
            assert said == theirs(folder, command)
            assert said.code == (0 if command == "list-members" else said.code or "not 0")
        assert "leaderMemberId = -1" in ours(folder, "snapshot").out


@pytest.mark.parametrize("make", sorted(ECHO_NODES))
@pytest.mark.parametrize("command", ["shutdown", "abort"])
def test_the_end(tmp_path: Path, speak: Callable[..., Said], make: str, command: str) -> None:
    folder = tmp_path / "cluster"
    with ECHO_NODES[make](tmp_path) as node:
        wait_for(lambda: ours(folder, "is-leader").code == 0, "leader")
        node.process.expect_end()
        said = speak(folder, command)
        assert said == Said(f"Member [0]: {command.upper()} applied successfully\n", "", 0)
        wait_for(
            lambda: json.loads(run_json(folder, "describe"))[0]["activity_timestamp"] == -1, "end"
        )
    assert len(RecordingLog(folder).latest_snapshot(1)) == (2 if command == "shutdown" else 0)


def test_a_node_whose_driver_has_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AERON_DRIVER_TIMEOUT", "500")
    with our_node(tmp_path):
        pass
    with reference_tool(**{"aeron.driver.timeout": "500"}) as theirs:
        for command in ("is-leader", "list-members", "snapshot", "validate-recording-log"):
            said = ours(tmp_path / "cluster", command)
            assert said == theirs(tmp_path / "cluster", command)
            assert said.code == 1
            assert "DriverTimeoutException: FATAL - CnC file not created" in said.err


def test_folders_without_files(tmp_path: Path, theirs: Callable[..., Said]) -> None:
    for command in ("is-leader", "list-members", "describe-latest-cm-snapshot", *REQUESTS):
        said = ours(tmp_path, command)
        assert said == theirs(tmp_path, command)
        assert said.code in {1, 255}
    assert list(tmp_path.iterdir()) == []


# -- tables and JSON -------------------------------------------------------------------------------


def run_json(folder: Path, *command: str) -> str:
    """The output of a command of ours."""
    with redirect_stdout(io.StringIO()) as out:
        main(["cluster", command[0], str(folder), *command[1:], "--json"])
    return out.getvalue()


def test_own_forms(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def run(*arguments: str, code: int = 0) -> str:
        assert main(["cluster", arguments[0], str(folder), *arguments[1:]]) == code
        out, err = capsys.readouterr()
        return out if code == 0 else err

    assert run("is-leader") == "leader\n"
    assert json.loads(run("is-leader", "--json")) == {
        "leader": True,
        "role": "leader",
        "election_state": "closed",
    }
    members = json.loads(run("list-members", "--json"))
    assert members["leader_member_id"] == members["members"][0]["member_id"] == 0
    assert members["members"][0]["ingress_endpoint"] in run("list-members")
    before = len(RecordingLog(folder).entries)
    assert "snapshot on member 0 of cluster 0" in run("snapshot", "--dry-run")
    assert len(RecordingLog(folder).entries) == before
    assert re.match(r"snapshot: done in \d+\.\d{3} s, the newest snapshot is at", run("snapshot"))
    taken = json.loads(run("snapshot", "--json"))
    newest = RecordingLog(folder).latest_snapshot()[0]
    assert taken["snapshot_position"] == newest.log_position
    for archive in ((), (str(folder.parent / "archive"),)):
        held = json.loads(run("describe-latest-cm-snapshot", *archive, "--json"))
        assert held["log_position"] == newest.log_position
        assert held["sessions"] == []
        assert [row["service_id"] for row in held["services"]] == [0]
        assert "service_id" in run("describe-latest-cm-snapshot", *archive)
    assert "--yes" in run("suspend", code=2)
    assert "has to be SUSPENDED" in run("resume", code=1)
    assert run("suspend", "--yes").startswith("suspend: done in ")
    assert "is SUSPENDED, and has to be ACTIVE" in run("snapshot", code=1)
    assert run("resume").startswith("resume: done in ")
    assert run("validate-recording-log").startswith("validate-recording-log: done in ")
    assert "not the folder of a cluster backup" in run("backup-query", code=1)


def test_own_forms_of_the_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the tool says is done is done: the node has ended when it returns."""
    folder = tmp_path / "cluster"
    with ECHO_NODES["ours"](tmp_path) as node:
        wait_for(lambda: ours(folder, "is-leader").code == 0, "leader")
        assert main(["cluster", "shutdown", str(folder), "--yes"]) == 0
        assert capsys.readouterr().out.startswith("shutdown: done in ")
        assert node.process.wait() == 0
    for command in ("is-leader", "list-members", "snapshot", "resume"):
        assert main(["cluster", command, str(folder)]) == 1
        assert "no node runs there" in capsys.readouterr().err


def test_a_node_that_was_killed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its driver's last heartbeat is recent at first; then one line tells that it is gone."""
    folder = tmp_path / "cluster"
    with ECHO_NODES["ours"](tmp_path) as node:
        wait_for(lambda: ours(folder, "is-leader").code == 0, "leader")
        capsys.readouterr()
        node.process.kill()
        monkeypatch.setenv("AERON_DRIVER_TIMEOUT", "1000")
        assert main(["cluster", "snapshot", str(folder)]) == 1
        out, err = capsys.readouterr()
        assert out == ""
        (told,) = err.splitlines()
        assert "its driver does not answer" in told
        assert f"see aerolog doctor --cluster-dir {folder}" in told


class SnapshotService(EchoService):
    """Waits with its snapshot until it is let go on, and may fail to take it."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.fails = False

    def on_take_snapshot(self, snapshot: SnapshotWriter) -> None:
        assert self.gate.wait(30)
        if self.fails:
            raise RuntimeError("no snapshot today")
        super().on_take_snapshot(snapshot)


def test_snapshots_that_take_long_or_fail(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, service = tmp_path / "cluster", SnapshotService()
    limit = "aerolog.tools.cluster.running_node.DONE_TIMEOUT_S"
    monkeypatch.setattr(limit, 0.2)
    with (
        our_node(tmp_path) as node,
        ServiceContainer(service, aeron_dir=node.aeron_dir, cluster_dir=str(folder)),
    ):
        wait_for(lambda: ours(folder, "is-leader").code == 0, "leader")
        told = "Member [0]: Timed out after 200ms waiting for SNAPSHOT to complete.\n"
        assert ours(folder, "snapshot") == Said(told, "", 255)
        assert "state of the consensus module is SNAPSHOT" in ours(folder, "snapshot").out
        service.gate.set()
        monkeypatch.setattr(limit, 20.0)
        wait_for(lambda: len(RecordingLog(folder).latest_snapshot(1)) == 2, "snapshot")
        wait_for(lambda: ours(folder, "snapshot").code == 0, "end of the snapshot")
        service.fails = True
        before = RecordingLog(folder).latest_snapshot()
        capsys.readouterr()
        assert main(["cluster", "snapshot", str(folder)]) == 1
        out, err = capsys.readouterr()
        assert out == ""
        assert "there is no new snapshot: a service could not take its own" in err
        assert RecordingLog(folder).latest_snapshot() == before
        service.gate.clear()
        monkeypatch.setattr(limit, 0.2)
        assert main(["cluster", "snapshot", str(folder)]) == 1
        assert "has not done it within 0.2 s, and may still" in capsys.readouterr().err
        service.gate.set()
