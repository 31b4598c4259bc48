"""Recordings whose times are not known: policies by age keep them, and say so."""

from __future__ import annotations

import json
import time
from array import array
from typing import TYPE_CHECKING, Any

import pytest
from retention_facts import DAY_MS, NOW_MS, SEGMENT, write_recording

from aerolog.archive.format.archive_folder import ArchiveFolder
from aerolog.archive.time_index import SOURCE_CHANNEL, SOURCE_CLOCK
from aerolog.archive.time_index.index_file import write_index
from aerolog.archive.time_index.known_part import UNKNOWN_TIMES
from aerolog.archive.time_index.layout import IndexHeader, index_path
from aerolog.tools.main import main
from aerolog.transport.memory.filesystem import RealFileSystem
from aerolog.transport.time_units import NS_PER_MS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FILES = RealFileSystem()
DAY_NS = DAY_MS * NS_PER_MS
AGE = ("--max-age", "7d")
END = 7 * SEGMENT // 2
SIZE = ("--max-total-size", "64k")


@pytest.fixture
def plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., dict[str, Any]]:
    """The plan for a folder with one recording, which took a second ten days ago."""
    ahead_ms = time.time_ns() // NS_PER_MS - NOW_MS
    write_recording(str(tmp_path), FILES, age_ms=10 * DAY_MS - ahead_ms)

    def planned(*policy: str) -> dict[str, Any]:
        where = ["--archive-dir", str(tmp_path), "--stream", "0-99", "--json"]
        capsys.readouterr()
        assert main(["retention", "plan", *policy, *where]) == 0
        row: dict[str, Any] = json.loads(capsys.readouterr().out)
        return row

    return planned


def index(folder: Path, entries: list[tuple[int, int]], source: str = SOURCE_CLOCK) -> None:
    """Give the recording an index with these times and positions."""
    with ArchiveFolder(folder) as opened:
        header = IndexHeader.of(opened.recording(0).descriptor, source=source)
    times, positions = zip(*entries, strict=True)
    write_index(str(folder), header, array("q", times), array("q", positions), FILES)


def kept(row: dict[str, Any]) -> dict[str, Any]:
    """What the plan keeps for want of times; nothing goes."""
    assert row["steps"] == []
    (one,) = row["kept"]
    assert (one["recording_id"], one["kind"]) == (0, "times")
    found: dict[str, Any] = one
    return found


def test_a_recording_without_an_index_is_named_with_what_helps(tmp_path: Path, plan) -> None:
    assert plan(*AGE)["steps"][0]["kind"] == "recording"
    (tmp_path / index_path(tmp_path, 0)).unlink()
    reason = kept(plan(*AGE))["reason"]
    command = f"aerolog recordings times 0 --archive-dir {tmp_path} --rebuild"
    assert f"it has no time index: {command} makes one where its messages carry times" in reason


def test_an_index_of_the_catalog_s_times_lets_nothing_go(tmp_path: Path, plan) -> None:
    (tmp_path / index_path(tmp_path, 0)).unlink()
    rebuild = ["recordings", "times", "0", "--archive-dir", str(tmp_path), "--rebuild"]
    assert main(rebuild) == 0
    assert "was made of the times in its catalog entry" in kept(plan(*AGE))["reason"]


def test_an_index_that_cannot_be_read_is_named(tmp_path: Path, plan) -> None:
    path = tmp_path / index_path(tmp_path, 0)
    path.unlink()
    path.mkdir()
    assert "cannot be read" in kept(plan(*AGE))["reason"]


@pytest.mark.parametrize(
    ("source", "ago_ns"),
    [(SOURCE_CHANNEL, 40 * DAY_NS), (SOURCE_CLOCK, -2 * DAY_NS), (SOURCE_CLOCK, 20_000 * DAY_NS)],
)
def test_times_that_cannot_be_are_named(tmp_path: Path, plan, source: str, ago_ns: int) -> None:
    at_ns = time.time_ns() - ago_ns
    index(tmp_path, [(at_ns, 0), (at_ns + 1000, END)], source)
    reason = kept(plan(*AGE))["reason"]
    assert "do not go with those of the catalog" in reason
    assert "aerolog recordings purge 0" in reason


def test_an_index_that_is_older_than_the_recording_in_the_catalog_is_named(
    tmp_path: Path, plan
) -> None:
    at_ns = time.time_ns() - 40 * DAY_NS
    index(tmp_path, [(at_ns, 0), (at_ns + 1000, END)])
    row = plan("--max-age", "20d")
    assert [step["kind"] for step in row["steps"]] == ["segments"]
    assert row["kept"][0]["kind"] == "times"
    assert "the catalog that it began later" in row["kept"][0]["reason"]


def test_a_part_without_times_is_named_and_counts_as_the_youngest(tmp_path: Path, plan) -> None:
    at_ns = time.time_ns() - 10 * DAY_NS
    gap = [(one, SEGMENT) for one in UNKNOWN_TIMES]
    index(tmp_path, [(at_ns, 0), (at_ns + 500, SEGMENT), *gap, (at_ns + 1000, END)])
    row = plan(*AGE)
    assert [step["new_start_position"] for step in row["steps"]] == [SEGMENT]
    (one,) = row["kept"]
    assert (one["kind"], one["position"]) == ("times", SEGMENT)
    assert "aerolog recordings purge-segments 0" in one["reason"]
    row = plan(*SIZE)
    assert row["files"] == 3
    assert "recording 0 counts as the youngest: " in row["warnings"][0]


def test_a_recording_without_times_goes_last_by_size_and_the_plan_says_so(
    tmp_path: Path, plan
) -> None:
    (tmp_path / index_path(tmp_path, 0)).unlink()
    ahead_ms = time.time_ns() // NS_PER_MS - NOW_MS
    write_recording(str(tmp_path), FILES, stream_id=11, age_ms=DAY_MS - ahead_ms)
    row = plan("--max-total-size", "256k")
    assert [step["recording_id"] for step in row["steps"]] == [1]
    assert "recording 0 counts as the youngest: it has no time index" in row["warnings"][0]


def test_what_is_young_by_known_times_is_not_named(plan) -> None:
    row = plan("--max-age", "20d")
    assert (row["steps"], row["kept"], row["warnings"]) == ([], [], [])
