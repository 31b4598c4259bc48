"""What lies beside recordings as it is seen: indexes, health, retention, whole and damaged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aerolog.archive.retention.holds import Holds
from aerolog.archive.retention.journal import RUN_BEGIN, RUN_END, STEP_BEGIN, STEP_END, Journal
from aerolog.archive.retention.retention_folder import holds_path, run_lock
from aerolog.archive.time_index.layout import BLOCK_LENGTH, index_path
from aerolog.archive.verification import verify_recording
from aerolog.archive.verification.layout import health_path
from aerolog.testing.recordings import RecordingBuilder, write_time_index
from aerolog.tools.views.archive_view import ArchiveView
from aerolog.transport.memory.filesystem import RealFileSystem

SEGMENT = 64 * 1024
T0 = 1_700_000_000_000_000_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An archive's folder: recording 0 has three segments, recording 1 is still open."""
    path = tmp_path / "archive"
    path.mkdir()
    builder = RecordingBuilder()
    for _ in range(150):
        builder.add(bytes(1000))
    assert builder.write(path) == 0
    assert RecordingBuilder(stream_id=11).write(path, stopped=False) == 1
    return path


def test_an_archive_of_the_reference_has_nothing_beside_it(folder: Path) -> None:
    with ArchiveView.open(folder) as view:
        beside, recordings = view.companions, view.recordings()

        assert (beside.keeps_times, beside.is_verified, beside.retention()) == (False, False, None)
        assert (beside.indexes(recordings), beside.health(recordings)) == ({}, {})
    assert not (folder / "aerolog").exists()


def test_an_index_is_told_by_its_ends(folder: Path) -> None:
    entries = [(T0 + n * 1_000_000, n * 1024) for n in range(101)]
    path = Path(write_time_index(folder, 0, entries))
    with ArchiveView.open(folder) as view:
        (index,) = view.companions.indexes(view.recordings()).values()
        assert view.companions.keeps_times

        assert (index.source, index.entries, index.problems) == ("clock", 101, ())
        assert (index.first_time_ns, index.last_time_ns) == (T0, T0 + 100_000_000)
        assert (index.end_position, index.size_bytes) == (102_400, path.stat().st_size)
        write_time_index(folder, 0, [*entries, (T0 + 10**9, 120_000)])
        assert view.companions.indexes(view.recordings())[0].end_position == 120_000
        path.unlink()
        assert view.companions.indexes(view.recordings()) == {}


def test_an_index_of_another_recording_is_not_used(folder: Path) -> None:
    path = Path(write_time_index(folder, 0, [(T0, 0), (T0 + 5, 1024)]))
    path.rename(index_path(folder, 1))
    with ArchiveView.open(folder) as view:
        found = view.companions.indexes(view.recordings())

    assert found.keys() == {1}
    assert (found[1].source, found[1].entries) == ("descriptor", 0)
    assert "recording 0" in found[1].problems[0]


def test_damage_within_an_index_is_found_by_the_deep_look(folder: Path) -> None:
    entries = [(T0 + n, n * 32) for n in range(900)]
    path = Path(write_time_index(folder, 0, entries))
    data = bytearray(path.read_bytes())
    data[2 * BLOCK_LENGTH + 40] ^= 1
    path.write_bytes(data)
    with ArchiveView.open(folder) as view:
        (index,) = view.companions.indexes(view.recordings()).values()
        (deep,) = view.companions.indexes(view.recordings(), deep=True).values()

    assert index.end_position == 899 * 32
    assert "damaged blocks" in " ".join(deep.problems)


def test_health_counts_closed_segments_by_state(folder: Path) -> None:
    with ArchiveView.open(folder) as view:
        assert verify_recording(folder, 0, note=True) == []
        (health,) = view.companions.health(view.recordings()).values()
        assert (health.state, health.segments, health.faults) == ("sound", {"sound": 3}, ())
        assert health.oldest_ms is not None

        second = folder / f"0-{SEGMENT}.rec"
        data = bytearray(second.read_bytes())
        data[4] = 77  # no version of a frame
        second.write_bytes(data)
        assert verify_recording(folder, 0, note=True)
        (health,) = view.companions.health(view.recordings()).values()
        assert (health.state, health.segments) == ("damaged", {"sound": 2, "damaged": 1})
        (fault,) = health.faults
        assert (fault.base_position, fault.state) == (SEGMENT, "damaged")
        assert str(SEGMENT) in fault.text


def test_a_health_file_that_is_no_use_leaves_everything_unchecked(folder: Path) -> None:
    assert verify_recording(folder, 0, note=True) == []
    Path(health_path(str(folder), 0)).write_bytes(b"\xff" * 300)
    with ArchiveView.open(folder) as view:
        (health,) = view.companions.health(view.recordings()).values()

    assert (health.state, health.segments) == ("unchecked", {"unchecked": 3})
    assert health.problems


def test_retention_is_told_by_its_journal_and_its_holds(folder: Path) -> None:
    Holds.open(folder).add(0, "audit", now_ms=1_000)
    Holds.open(folder).add(1, "trial", 3_000, now_ms=1_000)
    journal = Journal.open(folder)
    journal.append(RUN_BEGIN, 5_000, run=1, boot="b", uptime_ns=1)
    journal.append(STEP_BEGIN, 5_001, step=1, recording_id=0)
    journal.append(STEP_END, 5_002, step=1, outcome="done", files=2, bytes=2 * SEGMENT)
    with ArchiveView.open(folder) as view:
        cut_off = view.companions.retention()
        assert cut_off is not None
        assert cut_off.last_run is not None
        assert (cut_off.is_running, cut_off.last_run.end_ms) == (False, None)
        with run_lock(folder, RealFileSystem(), 5_003):
            running = view.companions.retention()
            assert running is not None
            assert running.is_running
        journal.append(RUN_END, 6_000, run=1, error="no answer")
        ended = view.companions.retention()

    assert ended is not None
    assert ended.last_run is not None
    assert (ended.last_run.end_ms, ended.last_run.error) == (6_000, "no answer")
    assert (ended.runs, ended.files, ended.bytes, ended.problems) == (1, 2, 2 * SEGMENT, ())
    assert [(one.recording_id, one.is_over(6_000)) for one in ended.holds] == [
        (0, False),
        (1, True),
    ]


def test_holds_that_cannot_be_read_are_told(folder: Path) -> None:
    Holds.open(folder).add(0, "audit")
    Path(holds_path(folder)).write_text(json.dumps({"version": 1}))
    with ArchiveView.open(folder) as view:
        seen = view.companions.retention()

    assert seen is not None
    assert "holds.json" in seen.problems[0]
