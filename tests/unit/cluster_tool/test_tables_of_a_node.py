"""``aerolog cluster``: tables and JSON, questions, refusals; and the cluster tool's JSON."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from mark_headers import cluster_header
from node_steps import STEPS, with_ours

from aerolog.cluster.files import ClusterMarkFile, RecordingLog, service_mark_name
from aerolog.cluster.protocol import (
    MODULE_SNAPSHOT_TYPE_ID,
    ClusterComponentType,
    ClusterSession,
    ClusterTimeUnit,
    ConsensusModule,
    PendingMessageTracker,
    SessionMessageHeader,
    SnapshotMark,
    SnapshotMarker,
    Timer,
)
from aerolog.testing.recordings import RecordingBuilder
from aerolog.tools.main import main
from aerolog.tools.reference.cluster_tool.cluster_texts import recording_log_line
from aerolog.transport.memory.filesystem import RealFileSystem

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Run = Callable[..., tuple[int, str, str]]

LOG_ID = 0
CHANGES = ("sort-recording-log", "seed-recording-log-from-snapshot", "invalidate-latest-snapshot")
#: What the reference prints of a table with so many terms; see the hash in cluster_texts.
ORDER_OF_21 = [6, 4, 1, 7, 16, 15, 14, 18, 9, 11, 5, 10, 3, 2, 12, 8, 17, 19, 13, 20, 0]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def run(folder: object, command: str, *arguments: object) -> tuple[int, str, str]:
        code = main(["cluster", command, str(folder), *map(str, arguments)])
        out, err = capsys.readouterr()
        return code, out, err

    return run


@pytest.fixture
def tool(capsys: pytest.CaptureFixture[str]) -> Run:
    def tool(*arguments: object) -> tuple[int, str, str]:
        code = main(["cluster-tool", *map(str, arguments)])
        out, err = capsys.readouterr()
        return code, out, err

    return tool


def claim(folder: Path, service_id: int, aeron_dir: str = "/nowhere") -> ClusterMarkFile:
    kind = ClusterComponentType.CONTAINER if service_id >= 0 else None
    header = cluster_header(
        component_type=kind or ClusterComponentType.CONSENSUS_MODULE,
        start_timestamp=1_700_000_000_000,
        pid=4242,
        service_id=service_id,
        cluster_id=7,
        aeron_directory=aeron_dir,
    )
    name = service_mark_name(service_id) if kind else None
    return ClusterMarkFile.claim(folder, header, name=name)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A node with two services that took two snapshots in no order, and has ended."""
    cluster = tmp_path / "cluster"
    cluster.mkdir()
    with_ours(cluster, STEPS["snapshots"].replace("term 7", f"term {LOG_ID}"))
    for service_id in (-1, 0, 1):
        mark = claim(cluster, service_id)
        mark.ready()
        mark.error_log().record(f"seen by {service_id}")
        mark.terminated()
    return cluster


def test_describe_tells_of_module_and_services(run: Run, folder: Path) -> None:
    code, out, err = run(folder, "describe")
    assert (code, err) == (0, "")
    assert out.count("component_type") == 3
    assert "ended" in out
    rows = json.loads(run(folder, "describe", "--json")[1])
    assert [row["service_id"] for row in rows] == [-1, 0, 1]
    assert [row["component_type"] for row in rows] == ["consensus_module", "container", "container"]
    assert {row["active"] for row in rows} == {False}
    assert rows[0]["version"] == "0.3.0"


def test_pid_tells_whether_the_module_lives(tool: Run, folder: Path) -> None:
    assert tool(folder, "pid") == (0, "4242\n", "")
    assert json.loads(tool(folder, "pid", "--json")[1]) == {"pid": 4242, "active": False}


@pytest.mark.parametrize("command", ["describe", "recording-log"])
def test_the_tools_json_is_that_of_our_command(
    run: Run, tool: Run, folder: Path, command: str
) -> None:
    assert json.loads(tool(folder, command, "--json")[1]) == json.loads(
        run(folder, command, "--json")[1]
    )


def test_the_tool_says_as_json_whether_it_has_changed_anything(tool: Run, folder: Path) -> None:
    for command, changed in (
        ("sort-recording-log", False),
        ("invalidate-latest-snapshot", True),
        ("seed-recording-log-from-snapshot", True),
        ("seed-recording-log-from-snapshot", True),
    ):
        code, out, _ = tool(folder, command, "--json")
        assert (code, json.loads(out)) == (0 if changed else 255, {"changed": changed})


def test_errors_are_those_of_all_components(run: Run, folder: Path) -> None:
    code, out, _ = run(folder, "errors")
    assert code == 0
    assert all(f"seen by {service_id}" in out for service_id in (-1, 0, 1))
    assert "that driver is gone" in out
    found = json.loads(run(folder, "errors", "--json")[1])
    assert [row["text"] for row in found["service 1"]] == ["seen by 1"]
    assert found["driver"] == []


def test_the_recording_log_is_a_table_or_json(run: Run, folder: Path) -> None:
    code, out, _ = run(folder, "recording-log")
    assert code == 0
    assert len(out.splitlines()) == 9
    assert "module" in out
    assert "open" in out
    rows = json.loads(run(folder, "recording-log", "--json")[1])
    assert [row["recording_id"] for row in rows] == [LOG_ID, 9, 8, 10, LOG_ID, 12, 11, 13]
    assert rows[4]["log_position"] is None


def test_the_recovery_plan_reads_the_archives_folder(
    run: Run, folder: Path, tmp_path: Path
) -> None:
    archive = tmp_path / "archive"
    archive.mkdir()
    log = RecordingBuilder()
    log.add(b"x" * 2000)
    log.write(archive)
    code, out, _ = run(folder, "recovery-plan", 2, archive)
    assert code == 0
    assert "log_stop_position" in out
    plan = json.loads(run(folder, "recovery-plan", 2, archive, "--json")[1])
    assert [row["recording_id"] for row in plan["snapshots"]] == [13, 11, 12]
    assert plan["log"]["start_position"] == plan["committed_log_position"] == 960
    assert plan["log"]["stop_position"] == plan["appended_log_position"] == log.position
    for arguments, problem in (
        (("two", archive), "Invalid value for 'SERVICES'"),
        ((2,), "no node runs there"),
        ((2, tmp_path / "none"), "there is no such folder"),
    ):
        code, _, err = run(folder, "recovery-plan", *arguments)
        assert code in {1, 2}
        assert problem in err


def test_changes_are_shown_and_made(run: Run, folder: Path) -> None:
    path = folder / "recording.log"
    before = path.read_bytes()
    for command in CHANGES[1:]:
        code, out, _ = run(folder, command, "--dry-run")
        assert code == 0
        assert "13" in out
        assert path.read_bytes() == before
    assert run(folder, "invalidate-latest-snapshot", "--yes")[:2] == (0, "done\n")
    rows = json.loads(run(folder, "recording-log", "--json")[1])
    assert [row["recording_id"] for row in rows if not row["valid"]] == [12, 11, 13]
    changed = json.loads(run(folder, "seed-recording-log-from-snapshot", "--yes", "--json")[1])
    assert [row["recording_id"] for row in changed["entries"]] == [10, 8, 9]
    assert (folder / "recording.log.bak").stat().st_size == len(before)
    with RecordingLog(folder) as log:
        assert [entry.log_position for entry in log.entries] == [0, 0, 0]


def test_a_log_in_no_order_is_sorted(run: Run, tmp_path: Path) -> None:
    with_ours(tmp_path, STEPS["no order"])
    assert "3 entries move" in run(tmp_path, "sort-recording-log", "--dry-run")[1]
    assert run(tmp_path, "sort-recording-log", "--yes")[:2] == (0, "done\n")
    assert "nothing to sort" in run(tmp_path, "sort-recording-log", "--yes")[1]


@pytest.mark.parametrize("command", CHANGES[1:])
def test_without_a_snapshot_there_is_nothing_to_change(
    run: Run, tmp_path: Path, command: str
) -> None:
    with_ours(tmp_path, STEPS["terms"])
    before = (tmp_path / "recording.log").read_bytes()
    code, out, _ = run(tmp_path, command, "--yes", "--json")
    assert code == 0
    assert json.loads(out)["changed"] is False
    assert (tmp_path / "recording.log").read_bytes() == before


@pytest.mark.parametrize("command", CHANGES[1:])
def test_a_running_node_is_left_alone(run: Run, folder: Path, command: str) -> None:
    mark = claim(folder, -1)
    mark.ready()
    code, _, err = run(folder, command, "--yes")
    assert code == 1
    assert "a node runs there, process 4242" in err
    assert json.loads(run(folder, "describe", "--json")[1])[0]["active"] is True


def test_nobody_can_be_asked_without_a_terminal(run: Run, folder: Path) -> None:
    before = (folder / "recording.log").read_bytes()
    code, _, err = run(folder, "invalidate-latest-snapshot")
    assert code == 2
    assert "--yes" in err
    assert (folder / "recording.log").read_bytes() == before


@pytest.mark.parametrize("command", ["is-leader", "list-members", "snapshot", "suspend"])
def test_a_node_that_does_not_run_is_not_asked(run: Run, folder: Path, command: str) -> None:
    yes = ["--yes"] if command == "suspend" else []
    code, _, err = run(folder, command, *yes)
    assert code == 1
    assert "no node runs there: the last one, process 4242, ended in good order" in err
    assert f"aerolog doctor --cluster-dir {folder}" in err


@pytest.mark.parametrize("form", ["run", "tool"])
def test_a_timeout_that_is_none_is_told(
    request: pytest.FixtureRequest, folder: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    run = request.getfixturevalue(form)
    monkeypatch.setenv("AERON_CLUSTER_TOOL_TIMEOUT", "5parsecs")
    monkeypatch.setenv("AERON_DRIVER_TIMEOUT", "1")
    mark = claim(folder, -1)
    mark.ready()
    code, _, err = run(folder, "list-members")
    assert code == 1
    assert err.count("aeron.cluster.tool.timeout: '5parsecs' is not") == 1
    assert "AERON_CLUSTER_TOOL_TIMEOUT" in err


def test_the_snapshot_is_read_in_the_archives_folder(run: Run, tool: Run, tmp_path: Path) -> None:
    """Every message of a snapshot, and what is wrong with one that is damaged."""
    folder = tmp_path / "cluster"
    folder.mkdir()
    with_ours(folder, "term 7 0 0 1000\nsnapshot 0 0 0 960 1001 -1\n")
    mark = claim(folder, -1)
    mark.ready()
    mark.terminated()
    begin, end = (
        SnapshotMarker(
            type_id=MODULE_SNAPSHOT_TYPE_ID,
            log_position=960,
            leadership_term_id=1,
            mark=mark,
            time_unit=ClusterTimeUnit.MICROS,
            app_version=0x010203,
        ).encode()
        for mark in (SnapshotMark.BEGIN, SnapshotMark.END)
    )
    messages = (
        ConsensusModule(
            next_session_id=3, next_service_session_id=-5, log_service_session_id=-6
        ).encode(),
        ClusterSession(
            cluster_session_id=2,
            correlation_id=77,
            opened_log_position=96,
            time_of_last_activity=-1,
            response_stream_id=102,
            response_channel="aeron:udp?endpoint=localhost:1",
        ).encode(),
        Timer(correlation_id=7, deadline=123).encode(),
        PendingMessageTracker(
            next_service_session_id=-9, log_service_session_id=-8, service_id=1
        ).encode(),
        SessionMessageHeader(leadership_term_id=-1, cluster_session_id=-5).encode() + b"hello",
    )
    for name, parts, problem in (
        ("whole", (begin, *messages, end), None),
        ("no end", (begin, *messages), "snapshot ended unexpectedly"),
        ("no begin", (*messages, end), "missing begin snapshot"),
        ("begun twice", (begin, begin, end), "already in snapshot"),
        ("damaged", (begin, messages[0][:20], end), "block ends at"),
    ):
        archive = tmp_path / name
        archive.mkdir()
        recording = RecordingBuilder()
        for part in parts:
            recording.add(part)
        assert recording.write(archive) == 0
        code, out, err = run(folder, "describe-latest-cm-snapshot", archive, "--json")
        assert code == (0 if problem is None else 1)
        classic = tool("--classic", folder, "describe-latest-cm-snapshot", archive)
        assert classic[0] == code
        if problem is None:
            found = json.loads(out)
            assert found["app_version"] == "1.2.3"
            assert found["next_session_id"] == 3
            assert [row["response_stream_id"] for row in found["sessions"]] == [102]
            assert found["timers"] == [{"correlation_id": 7, "deadline": 123}]
            assert [row["pending_messages"] for row in found["services"]] == [1]
            assert "Pending Message: length=37 clusterSessionId=-5" in classic[1]
        else:
            assert problem in err
            assert "invalidate-latest-snapshot" in err
            assert re.search(f"ClusterException: ERROR - .*{problem}", classic[2])


@pytest.mark.parametrize("command", ["describe", "errors"])
def test_a_damaged_mark_file_of_a_service_hides_no_other(
    run: Run, folder: Path, command: str
) -> None:
    damaged = folder / service_mark_name(0)
    damaged.write_bytes(b"\x77" * 8192)
    for form in ((), ("--json",)):
        code, out, err = run(folder, command, *form)
        assert code == 1
        assert "4242" in out or all(f"seen by {one}" in out for one in (-1, 1))
        assert str(damaged) in err
        assert "move it away while nothing runs on the folder" in err
    assert len(json.loads(run(folder, "describe", "--json")[1])) == 2


def test_a_folder_that_is_none_of_a_node(run: Run, tmp_path: Path) -> None:
    for command, problem in (("describe", "cluster-mark.dat"), ("recording-log", "recording.log")):
        code, _, err = run(tmp_path, command)
        assert code == 1
        assert problem in err
    assert "the cluster's own folder" in run(tmp_path / "missing", "describe")[2]
    assert list(tmp_path.iterdir()) == []


def test_a_seed_without_a_snapshot_leaves_the_file(tool: Run, tmp_path: Path) -> None:
    """The reference would leave a node without a recording log."""
    with_ours(tmp_path, STEPS["terms"])
    before = (tmp_path / "recording.log").read_bytes()
    code, out, err = tool(tmp_path, "seed-recording-log-from-snapshot")
    assert (code, out) == (255, "")
    assert "has no valid snapshot" in err
    assert (tmp_path / "recording.log").read_bytes() == before


def test_terms_stand_in_the_order_of_the_references_table(tmp_path: Path) -> None:
    with RecordingLog(tmp_path, create=True) as log:
        with_ours(tmp_path, "term 7 0 0 1000\n")
        log.reload()
        first = log.entries[0]
        for term_id in range(1, len(ORDER_OF_21)):
            log.append(replace(first, leadership_term_id=term_id))
        line = recording_log_line(log)
    expected = ", ".join(f"{term_id}={term_id}" for term_id in ORDER_OF_21)
    assert line.endswith(f"cacheIndex={{{expected}}}}}")


@pytest.mark.parametrize("form", ["run", "tool"])
def test_looking_opens_nothing_for_writing(
    request: pytest.FixtureRequest, folder: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """So that a folder which is mounted read-only can be looked at."""
    opened: list[bool] = []
    real = RealFileSystem.open_data_file

    def open_data_file(files: RealFileSystem, path: str, **how: bool) -> object:
        opened.append(how.get("writable", True))
        return real(files, path, **how)

    monkeypatch.setattr(RealFileSystem, "open_data_file", open_data_file)
    code, said, _ = request.getfixturevalue(form)(folder, "recording-log")
    assert code == 0
    assert "0" in said
    assert opened == [False]
    request.getfixturevalue("run")(folder, "invalidate-latest-snapshot", "--yes")
    assert opened[1:] == [False, True]


@pytest.mark.parametrize("form", ["run", "tool"])
@pytest.mark.parametrize("command", ["is-leader", "list-members", "snapshot", "recovery-plan 1"])
def test_a_mark_file_that_names_no_directory(
    request: pytest.FixtureRequest,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    form: str,
    command: str,
) -> None:
    """A damaged one: what stands in it goes into no call unchecked."""
    monkeypatch.setenv("AERON_DRIVER_TIMEOUT", "1")
    claim(folder, -1, aeron_dir="/no\0where").ready()
    code, out, err = request.getfixturevalue(form)(folder, *command.split())
    assert (code, out) == (1, "")
    assert "where" in err
