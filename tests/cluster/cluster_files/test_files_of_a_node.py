"""The files of a node: the reference and we write the same bytes for the same steps."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import peer
import pytest
from node_steps import STEPS, with_ours

from aerolog.cluster.files import (
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
@pytest.mark.parametrize(
    "steps", ["snapshots", "re-use", "no order", "standby", "standby at one position"]
)
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
