"""The files of a node: the reference and we write the same bytes for the same steps."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import peer
import pytest

from aerolog.cluster.files import (
    CandidateTerm,
    EntryType,
    LogEntry,
    NodeStateFile,
    RecordingLog,
    read_recording_log,
    seed_recording_log,
    sort_recording_log,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [pytest.mark.interop, pytest.mark.usefixtures("reference")]

STEPS = {
    "nothing": "",
    "terms": "term 7 0 0 1000\ncommit 0 640\nterm 7 1 640 2000\nstate 3 44 55\n",
    "snapshots": """\
term 7 0 0 1000
snapshot 9 0 0 320 1001 1
snapshot 8 0 0 320 1001 0
snapshot 10 0 0 320 1001 -1
commit 0 640
term 7 1 640 2000
snapshot 12 1 640 960 2001 1
snapshot 11 1 640 960 2001 0
snapshot 13 1 640 960 2001 -1
state 4 5 6
propose 2 1 1
propose 9 8 7
""",
    "re-use": """\
term 7 0 0 1000
snapshot 9 0 0 320 1001 1
snapshot 8 0 0 320 1001 0
snapshot 10 0 0 320 1001 -1
invalidate
snapshot 20 0 0 320 1005 0
snapshot 21 0 0 320 1005 -1
""",
    "standby": """\
term 7 0 0 1000
standby 5 0 0 960 2200 0 a-much-longer-name.of.an.archive:8010
standby 6 0 0 960 2200 -1 here:8010
snapshot 31 0 0 640 1007 0
snapshot 30 0 0 640 1007 -1
""",
    "no order": """\
term 7 0 0 1000
commit 0 640
term 7 1 640 2000
snapshot 9 0 0 320 1001 0
snapshot 10 0 0 320 1001 -1
""",
}


def with_ours(folder: Path, steps: str) -> None:
    state = NodeStateFile(folder, create=True)
    with RecordingLog(folder, create=True) as log:
        for line in steps.splitlines():
            name, *words = line.split()
            numbers = [int(word) for word in words[:6]]
            if name == "commit":
                log.commit_log_position(*numbers)
            elif name == "invalidate":
                log.invalidate_latest_snapshot()
            elif name == "state":
                state.update(CandidateTerm(*numbers))
            elif name == "propose":
                state.propose_max(CandidateTerm(*numbers))
            else:
                log.append(entry_of(name, numbers, words))


def entry_of(name: str, numbers: list[int], words: list[str]) -> LogEntry:
    recording_id, term_id, base, *behind = numbers
    if name == "term":
        behind = [-1, *behind, -1]
    kinds = {
        "term": EntryType.TERM,
        "snapshot": EntryType.SNAPSHOT,
        "standby": EntryType.STANDBY_SNAPSHOT,
    }
    return LogEntry(
        recording_id=recording_id,
        leadership_term_id=term_id,
        term_base_log_position=base,
        log_position=behind[0],
        timestamp=behind[1],
        service_id=behind[2],
        type=kinds[name],
        archive_endpoint="".join(words[6:]),
    )


def with_reference(folder: Path, steps: str) -> list[str]:
    return peer.java_tool("ClusterFiles", str(folder), stdin=steps).splitlines()


def as_reference_prints(folder: Path) -> list[str]:
    with RecordingLog(folder) as log:
        lines = [
            f"{e.recording_id} {e.leadership_term_id} {e.term_base_log_position} {e.log_position}"
            f" {e.timestamp} {e.service_id} {int(e.type)} {str(e.is_valid).lower()} {e.index}"
            f" {e.archive_endpoint or None}".replace("None", "null")
            for e in log.entries
        ]
    term = NodeStateFile(folder).candidate_term
    return [*lines, f"state {term.candidate_term_id} {term.timestamp} {term.log_position}"]


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
def test_both_write_the_same_bytes_and_read_each_other(tmp_path: Path, steps: str) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    ours.mkdir()
    theirs.mkdir()
    with_ours(ours, steps)
    with_reference(theirs, steps)
    assert (ours / "node-state.dat").read_bytes() == (theirs / "node-state.dat").read_bytes()
    log, other = ((folder / "recording.log").read_bytes() for folder in (ours, theirs))
    if "standby" in steps:
        # Behind an endpoint the reference leaves what it wrote for a longer one before.
        assert len(log) == len(other)
        other = b"".join(entry.encode() for entry in read_recording_log(other)[0])
    assert log == other
    assert with_reference(ours, "") == as_reference_prints(ours) == as_reference_prints(theirs)


def test_removed_entries_are_read_alike(tmp_path: Path) -> None:
    steps = "term 7 0 0 1000\nstandby 6 0 0 960 2200 -1 here:8010\nterm 7 1 640 2000\n"
    theirs = with_reference(tmp_path, f"{steps}remove 0 1\nreload\n")
    assert theirs == as_reference_prints(tmp_path)
    assert len(theirs) == 3


def invalidate(folder: Path) -> None:
    with RecordingLog(folder) as log:
        log.invalidate_latest_snapshot()


@pytest.mark.parametrize(
    ("command", "change"),
    [
        ("sort-recording-log", sort_recording_log),
        ("invalidate-latest-snapshot", invalidate),
        ("seed-recording-log-from-snapshot", seed_recording_log),
    ],
)
@pytest.mark.parametrize("steps", ["snapshots", "re-use", "no order"])
def test_offline_changes_are_those_of_the_reference(
    tmp_path: Path, steps: str, command: str, change: Callable[[Path], object]
) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    ours.mkdir()
    with_ours(ours, STEPS[steps])
    shutil.copytree(ours, theirs)
    change(ours)
    peer.java_tool("io.aeron.cluster.ClusterTool", str(theirs), command, check=False)
    for path in sorted(theirs.iterdir()):
        assert (ours / path.name).read_bytes() == path.read_bytes(), path.name
    assert {path.name for path in ours.iterdir()} == {path.name for path in theirs.iterdir()}
