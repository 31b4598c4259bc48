"""Time indexes, health and retention as metrics: by state, and nothing where there is none."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from aerolog.archive.retention.holds import Holds
from aerolog.archive.retention.journal import RUN_BEGIN, RUN_END, STEP_BEGIN, STEP_END, Journal
from aerolog.archive.verification import verify_recording
from aerolog.testing.recordings import RecordingBuilder, write_time_index
from aerolog.tools.metrics.metrics_exporter import Exporter, MetricSources

SEGMENT = 64 * 1024
T0 = 1_700_000_000_000_000_000
Values = dict[tuple[str, ...], float]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An archive's folder with three recordings of three segments."""
    path = tmp_path / "archive"
    path.mkdir()
    builder = RecordingBuilder()
    for _ in range(150):
        builder.add(bytes(1000))
    for recording_id in range(3):
        assert builder.write(path) == recording_id
    return path


def collect(folder: Path) -> dict[str, Values]:
    with Exporter(MetricSources(archive_dirs=(str(folder),), interval_s=1e-9)) as exporter:
        found = exporter.collect()
    return {one.family.name.removeprefix("aerolog_archive_"): one.values for one in found}


def test_an_archive_of_the_reference_has_none_of_it(folder: Path) -> None:
    names = collect(folder).keys()

    assert not [n for n in names if n.startswith(("index_", "health_", "retention_"))]


def test_indexes_are_counted_by_state(folder: Path) -> None:
    lengths = 0
    for recording_id in (0, 1):
        path = Path(write_time_index(folder, recording_id, [(T0, 0), (T0 + 9, 1024)]))
        lengths += path.stat().st_size
    with path.open("ab") as file:
        file.write(b"cut")
    found = collect(folder)

    assert found["index_recordings"] == {
        (str(folder), "whole"): 1,
        (str(folder), "faulty"): 1,
        (str(folder), "missing"): 1,
    }
    assert found["index_entries"][str(folder),] == 4
    assert found["index_bytes"][str(folder),] == lengths + 3


def test_health_is_counted_by_state(folder: Path) -> None:
    before_s = time.time_ns() // 1_000_000 / 1000
    for recording_id in (0, 1):
        assert verify_recording(folder, recording_id, note=True) == []
    (folder / f"1-{SEGMENT}.rec").unlink()
    assert verify_recording(folder, 1, note=True)
    found = collect(folder)

    recordings = found["health_recordings"]
    assert {state: count for (_, state), count in recordings.items()} == {
        "sound": 1,
        "unchecked": 1,
        "unreadable": 0,
        "changed": 0,
        "missing": 1,
        "damaged": 0,
    }
    segments = found["health_segments"]
    assert segments[str(folder), "sound"] == 5
    assert segments[str(folder), "missing"] == 1
    assert before_s <= found["health_oldest_time_seconds"][str(folder),] <= time.time()


def test_retention_is_told_by_its_journal(folder: Path) -> None:
    Holds.open(folder).add(0, "audit", now_ms=1_000)
    Holds.open(folder).add(1, "trial", 3_000, now_ms=1_000)
    journal = Journal.open(folder)
    for run in (1, 2):
        journal.append(RUN_BEGIN, 5_000, run=run, boot="b", uptime_ns=1)
        journal.append(STEP_BEGIN, 5_001, step=run, recording_id=0)
        journal.append(
            STEP_END, 5_002, step=run, outcome="refused" if run == 2 else "done", files=2, bytes=99
        )
        journal.append(RUN_END, 6_000, run=run, error="no answer" if run == 2 else None)
    found = collect(folder)
    told = {
        name.removeprefix("retention_"): values[str(folder),]
        for name, values in found.items()
        if name.startswith("retention_") and name != "retention_holds"
    }

    assert told == {
        "running": 0,
        "failed": 1,
        "last_time_seconds": 6,
        "runs_total": 2,
        "segments_total": 4,
        "bytes_total": 198,
        "refused": 1,
    }
    assert found["retention_holds"] == {(str(folder), "active"): 1, (str(folder), "ended"): 1}
