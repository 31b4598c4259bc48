"""Looks at real folders of a cluster's node, written by the classes that a node uses."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from mark_headers import cluster_header
from unprivileged import forbid, run_unprivileged

from aerolog.cluster.files import (
    ClusterMarkFile,
    EntryType,
    LogEntry,
    NodeStateFile,
    RecordingLog,
    service_mark_name,
)
from aerolog.cluster.protocol import ClusterComponentType
from aerolog.testing import ManualClock
from aerolog.testing.recordings import RecordingBuilder
from aerolog.tools.doctor.check_groups import examine
from aerolog.tools.doctor.examination import Examination
from aerolog.tools.doctor.system_snapshot import Case
from aerolog.tools.main import main
from aerolog.tools.views.errors import ViewError

from .driver_files import NOW_MS, DriverFiles

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from aerolog.tools.doctor.findings import Finding

CLUSTER_ID = 7
ENTRY = 64
NAMES = ("cluster-mark.dat", "cluster-mark-service-0.dat", "recording.log", "node-state.dat")


@pytest.fixture
def files(tmp_path: Path) -> DriverFiles:
    """The driver of the node."""
    return DriverFiles(tmp_path / "aeron")


@pytest.fixture
def node(tmp_path: Path, files: DriverFiles) -> Path:
    """A node that runs: a module and a service, one term, one snapshot."""
    folder = tmp_path / "cluster"
    folder.mkdir()
    NodeStateFile(folder, create=True)
    with RecordingLog(folder, create=True) as log:
        log.append(term(0))
        for service_id in (0, -1):
            log.append(part(320, service_id))
    for service_id in (-1, 0):
        owner(folder, service_id, files).ready()
    return folder


def term(term_id: int, base: int = 0, end: int = -1) -> LogEntry:
    return LogEntry(
        recording_id=0,
        leadership_term_id=term_id,
        term_base_log_position=base,
        log_position=end,
        timestamp=NOW_MS,
        type=EntryType.TERM,
    )


def part(position: int, service_id: int, recording_id: int = 1) -> LogEntry:
    return LogEntry(
        recording_id=recording_id,
        leadership_term_id=0,
        term_base_log_position=0,
        log_position=position,
        timestamp=NOW_MS,
        service_id=service_id,
        type=EntryType.SNAPSHOT,
    )


def owner(
    folder: Path,
    service_id: int = -1,
    driver: DriverFiles | None = None,
    *,
    age_ms: int = 0,
    pid: int | None = None,
) -> ClusterMarkFile:
    """Claims a mark file as a module or a service does, with a last sign of life of some age."""
    is_service = service_id >= 0
    kind = ClusterComponentType.CONTAINER if is_service else ClusterComponentType.CONSENSUS_MODULE
    header = cluster_header(
        component_type=kind,
        start_timestamp=NOW_MS - 60_000,
        pid=pid or os.getpid(),
        service_id=service_id,
        cluster_id=CLUSTER_ID,
        aeron_directory="/nowhere" if driver is None else str(driver.folder),
    )
    name = service_mark_name(service_id) if is_service else "cluster-mark.dat"
    (folder / name).unlink(missing_ok=True)
    return ClusterMarkFile.claim(folder, header, name=name, clock=ManualClock(NOW_MS - age_ms))


def found_in(folder: Path, **options: str) -> dict[str, Finding]:
    """Findings about a node's folder in one look, by code; not those about the driver's place."""
    look = Examination(cluster_dir=str(folder), **options).look()
    return {one.code: one for one in examine(Case(look)) if one.code != "driver-not-in-memory"}


def patch(path: Path, offset: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


def test_a_node_that_runs_has_no_findings_and_is_left_as_it_is(node: Path) -> None:
    before = {path: path.read_bytes() for path in node.iterdir()}
    assert found_in(node) == {}
    assert {path: path.read_bytes() for path in node.iterdir()} == before


def test_the_driver_is_that_of_the_mark_file(node: Path, files: DriverFiles) -> None:
    look = Examination(cluster_dir=str(node)).look()
    assert look.driver is not None
    assert look.driver.aeron_dir == str(files.folder)


def test_a_torn_tail_is_told_with_its_place(node: Path) -> None:
    path = node / "recording.log"
    path.write_bytes(path.read_bytes() + bytes(17))
    found = found_in(node)["recording-log-torn"]
    assert found.figures == {"length": 17, "offset": 3 * ENTRY}


@pytest.mark.parametrize("kind", [3, 77, -7])
def test_an_unknown_type_is_damage(node: Path, kind: int) -> None:
    patch(node / "recording.log", ENTRY + 44, kind.to_bytes(4, "little", signed=True))
    found = found_in(node)
    assert "unknown entry type" in found["recording-log-damaged"].what
    assert str(ENTRY + 44) in found["recording-log-damaged"].what


def test_terms_of_two_recordings_are_damage(node: Path) -> None:
    with RecordingLog(node) as log:
        log.append(term(1, 640))
    patch(node / "recording.log", 3 * ENTRY, (9).to_bytes(8, "little"))
    assert "[0, 9]" in found_in(node)["recording-log-damaged"].what


def test_a_term_without_an_end_before_another_one(node: Path) -> None:
    with RecordingLog(node) as log:
        log.append(term(1, 640))
    assert found_in(node)["term-open"].figures == {"term": 0, "following": 1}
    with RecordingLog(node) as log:
        log.commit_log_position(0, 576)
    found = found_in(node)
    assert "term-open" not in found
    assert found["terms-apart"].figures == {"term": 0, "following": 1, "end": 576, "base": 640}
    with RecordingLog(node) as log:
        log.commit_log_position(0, 640)
    assert found_in(node) == {}


@pytest.mark.parametrize(
    ("written", "missing"), [((0,), "the consensus module"), ((-1,), "service 0")]
)
def test_a_snapshot_without_a_part(node: Path, written: tuple[int, ...], missing: str) -> None:
    with RecordingLog(node) as log:
        for service_id in written:
            log.append(part(640, service_id))
    found = found_in(node)["snapshot-incomplete"]
    assert found.figures == {"position": 640, "missing": missing, "used": "the one at 320"}


def test_an_invalidated_snapshot_is_none(node: Path) -> None:
    with RecordingLog(node) as log:
        log.append(part(640, 0))
        log.invalidate(log.entries[-1])
    assert found_in(node) == {}


def test_a_log_that_ends_before_the_snapshot(node: Path) -> None:
    with RecordingLog(node) as log:
        log.commit_log_position(0, 256)
    assert found_in(node)["snapshot-ahead"].figures == {"position": 320, "end": 256}


def archived(folder: Path, count: int) -> str:
    """An archive with recordings of 320 bytes each, and more."""
    folder.mkdir()
    for _ in range(count):
        builder = RecordingBuilder()
        builder.add(bytes(480 - 32))
        builder.write(folder)
    return str(folder)


def test_a_recording_that_the_archive_does_not_have(node: Path, tmp_path: Path) -> None:
    archive = archived(tmp_path / "archive", 1)
    found = found_in(node, archive_dir=archive)["cluster-recording-missing"]
    assert found.figures["recording"] == 1
    assert "part of" in found.what


def test_a_log_that_is_shorter_than_what_was_committed(node: Path, tmp_path: Path) -> None:
    with RecordingLog(node) as log:
        log.commit_log_position(0, 640)
    archive = archived(tmp_path / "archive", 2)
    found = found_in(node, archive_dir=archive)
    assert found["log-behind"].figures == {"recording": 0, "end": 480, "committed": 640}
    assert "cluster-recording-missing" not in found


def test_missing_files(node: Path) -> None:
    (node / "node-state.dat").unlink()
    assert set(found_in(node)) == {"node-state-missing"}
    (node / "recording.log").unlink()
    assert set(found_in(node)) == {"recording-log-missing"}


def test_what_a_crash_leaves_is_no_damage(node: Path) -> None:
    (node / "node-state.dat").write_bytes(b"")
    path = node / "recording.log"
    path.write_bytes(path.read_bytes() + bytes(ENTRY))
    found = found_in(node)
    assert set(found) == {"node-state-missing", "recording-log-torn"}
    assert found["recording-log-torn"].figures == {"length": ENTRY, "offset": 3 * ENTRY}


def test_a_damaged_node_state(node: Path) -> None:
    patch(node / "node-state.dat", 8 + 8, (3).to_bytes(4, "little"))
    assert "a message of 3 bytes" in found_in(node)["node-state-damaged"].what


def test_a_node_state_of_another_version(node: Path) -> None:
    patch(node / "node-state.dat", 0, (1 << 16).to_bytes(4, "little"))
    assert "unknown version" in found_in(node)["node-state-damaged"].what


@pytest.mark.parametrize("service_id", [-1, 0])
def test_components_that_ended_died_stand_or_start(
    node: Path, files: DriverFiles, service_id: int
) -> None:
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    seen: list[str] = []

    def see(age_ms: int, pid: int | None, end: Callable[[ClusterMarkFile], None]) -> None:
        mark = owner(node, service_id, files, age_ms=age_ms, pid=pid)
        end(mark)
        seen.append(next(code for code in found_in(node) if code.startswith("cluster-")))

    see(0, None, lambda _: None)
    see(4_000, None, ClusterMarkFile.ready)
    see(11_000, None, ClusterMarkFile.ready)
    see(4_000, done.pid, ClusterMarkFile.ready)
    see(0, None, ClusterMarkFile.terminated)
    see(0, None, ClusterMarkFile.failed_start)
    assert seen == [
        "cluster-starting",
        "cluster-late",
        "cluster-stuck",
        "cluster-dead",
        "cluster-closed",
        "cluster-start-failed",
    ]


def test_a_service_whose_module_is_gone(node: Path, files: DriverFiles) -> None:
    owner(node, -1, files).terminated()
    found = found_in(node)
    assert found["service-without-module"].figures == {"who": "service 0", "pid": os.getpid()}
    assert found["cluster-closed"].figures["who"] == "consensus module"


def test_a_mark_file_of_another_version(node: Path) -> None:
    patch(node / "cluster-mark.dat", 8, (1 << 16).to_bytes(4, "little"))
    found = found_in(node)["cluster-mark-version"]
    assert found.figures == {"file": "cluster-mark.dat", "version": "1.0.0", "ours": "0.3.0"}


def test_a_mark_file_that_is_cut_off(node: Path) -> None:
    os.truncate(node / "cluster-mark-service-0.dat", 60)
    found = found_in(node)["cluster-mark-unreadable"]
    assert found.figures["file"] == "cluster-mark-service-0.dat"
    assert "cut off" in found.what


def test_errors_of_module_and_service(node: Path, files: DriverFiles) -> None:
    for service_id in (-1, 0):
        mark = owner(node, service_id, files)
        mark.error_log().record(f"seen by {service_id}")
        mark.ready()
    look = Examination(cluster_dir=str(node)).look()
    found = [one for one in examine(Case(look)) if one.code == "error-logged"]
    assert [one.figures["who"] for one in found] == ["consensus module", "service 0"]
    assert [one.figures["text"] for one in found] == ["seen by -1", "seen by 0"]
    assert f"cluster errors {node}" in found[0].remedy


def test_a_service_of_another_folder_is_found_by_its_link(node: Path, files: DriverFiles) -> None:
    elsewhere = node.parent / "marks"
    elsewhere.mkdir()
    (node / "cluster-mark-service-0.dat").rename(elsewhere / "cluster-mark-service-0.dat")
    (node / "cluster-mark-service-0.lnk").write_text(str(elsewhere))
    look = Examination(cluster_dir=str(node)).look()
    assert look.cluster is not None
    assert [mark.who for mark in look.cluster.marks] == ["consensus module", "service 0"]


def test_a_folder_of_no_node(tmp_path: Path) -> None:
    with pytest.raises(ViewError, match="no file of a cluster's node"):
        Examination(cluster_dir=str(tmp_path)).look()
    with pytest.raises(ViewError, match="there is no such folder"):
        Examination(cluster_dir=str(tmp_path / "gone")).look()


def test_a_folder_of_no_node_beside_a_driver_is_a_finding(
    tmp_path: Path, files: DriverFiles
) -> None:
    found = found_in(tmp_path / "gone", aeron_dir=str(files.folder))
    assert set(found) == {"cluster-unreadable"}


def test_files_that_may_not_be_read(node: Path) -> None:
    for name in ("cluster-mark.dat", "recording.log"):
        (node / name).chmod(0o644)
    forbid(node / "cluster-mark.dat")
    done = run_unprivileged("doctor", "--cluster-dir", node, "--interval", 0, "--json")
    found = {one["code"]: one for one in json.loads(done.stdout)["findings"]}
    assert "Permission denied" in found["cluster-mark-unreadable"]["what"], done.stderr
    forbid(node / "recording.log")
    done = run_unprivileged("doctor", "--cluster-dir", node, "--interval", 0)
    assert done.returncode == 1
    assert "recording.log: Permission denied: run this as the user that owns it" in done.stderr


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(20))
def test_whatever_is_in_a_file_is_told_or_passed_over(node: Path, name: str, seed: int) -> None:
    rng = random.Random(f"{seed} {name}")
    path = node / name
    data = bytearray(path.read_bytes())
    head = min(len(data), 256)
    for _ in range(rng.randrange(1, 8)):
        data[rng.randrange(head)] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
    del data[rng.choice([len(data), rng.randrange(len(data)), rng.randrange(head)]) :]
    path.write_bytes(data)
    look = Examination(cluster_dir=str(node)).look()
    texts = [text for one in examine(Case(look)) for text in (one.what, one.reason, one.remedy)]
    assert all(texts)


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_in_place_of_a_file_is_told(node: Path, name: str, files: DriverFiles) -> None:
    (node / name).unlink()
    (node / name).mkdir()
    found = found_in(node, aeron_dir=str(files.folder))
    assert {"cluster-unreadable", "cluster-mark-unreadable"} & found.keys()


def test_the_command_tells_of_the_node(node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    quiet = ("--interval", "0", "--ignore", "driver-not-in-memory")
    assert main(["doctor", "--cluster-dir", str(node), *quiet]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith(f"consensus module of cluster {node}, process {os.getpid()}, alive")
    assert lines[2].startswith(f"service 0 of cluster {node}, process {os.getpid()}, alive")
    assert "3 entries of recording.log" in lines[-1]
    assert main(["doctor", "--cluster-dir", str(node), *quiet, "--json"]) == 0
    seen = json.loads(capsys.readouterr().out)["looked_at"]["cluster"]
    assert seen == {
        "cluster_dir": str(node),
        "entries": 3,
        "components": [
            {"name": "consensus module", "pid": os.getpid(), "alive": True},
            {"name": "service 0", "pid": os.getpid(), "alive": True},
        ],
    }
