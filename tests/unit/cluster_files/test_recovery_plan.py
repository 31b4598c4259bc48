"""What a node recovers from, where the reference has no answer (spec cluster 3, 12)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from aerolog.cluster.files import EntryType, LogEntry, RecordingLog, plan_recovery
from aerolog.testing.recordings import RecordingBuilder
from aerolog.transport.errors import ConfigurationError, FileFormatError

if TYPE_CHECKING:
    from pathlib import Path

    from aerolog.archive.format.descriptor import RecordingDescriptor

LOG = RecordingBuilder(start_position=64).descriptor()


def describe(recording_id: int) -> RecordingDescriptor | None:
    return LOG if recording_id == LOG.recording_id else None


def entry(kind: EntryType, position: int, service_id: int = -1, **changes: object) -> LogEntry:
    values: dict[str, object] = {
        "recording_id": LOG.recording_id if kind == EntryType.TERM else 100 + position + service_id,
        "leadership_term_id": 0,
        "term_base_log_position": 64,
        "log_position": position,
        "timestamp": 5,
        "service_id": service_id,
        "type": kind,
    }
    return LogEntry(**(values | changes))


def filled(folder: Path, *entries: LogEntry) -> RecordingLog:
    log = RecordingLog(folder, create=True)
    for each in entries:
        log.append(each)
    return log


def whole(position: int, services: int = 1) -> list[LogEntry]:
    ids = range(services - 1, -2, -1)
    return [entry(EntryType.SNAPSHOT, position, service_id) for service_id in ids]


def test_a_snapshot_that_lacks_a_service_is_passed_over(tmp_path: Path) -> None:
    term = entry(EntryType.TERM, -1)
    with filled(tmp_path, term, *whole(320), entry(EntryType.SNAPSHOT, 640)) as log:
        plan = plan_recovery(log, describe, 1)
        assert [each.log_position for each in plan.snapshots] == [320, 320]
        assert [each.service_id for each in plan.snapshots] == [-1, 0]
        assert plan.log is not None
        assert plan.log.start_position == plan.committed_log_position == 320
        assert plan_recovery(log, describe, 0).committed_log_position == 640
        assert plan_recovery(log, describe, 2).snapshots == []


def test_invalidated_entries_do_not_count(tmp_path: Path) -> None:
    with filled(tmp_path, entry(EntryType.TERM, -1), *whole(320), *whole(640)) as log:
        log.invalidate(next(e for e in log.entries if e.log_position == 640 and e.service_id == 0))
        assert plan_recovery(log, describe, 1).committed_log_position == 320
        log.invalidate_latest_snapshot()
        log.invalidate_latest_snapshot()
        plan = plan_recovery(log, describe, 1)
        assert plan.snapshots == []
        assert plan.log is not None
        assert plan.log.start_position == LOG.start_position


def test_a_new_node_has_nothing_or_a_copied_log(tmp_path: Path) -> None:
    with filled(tmp_path) as log:
        nothing = plan_recovery(log, describe, 1)
        assert (nothing.last_leadership_term_id, nothing.log, nothing.snapshots) == (-1, None, [])
        copied = plan_recovery(log, describe, 1, LOG.recording_id)
        assert copied.log is not None
        assert copied.log.start_position == LOG.start_position
        assert copied.appended_log_position == LOG.stop_position
        with pytest.raises(FileFormatError, match="unknown recording id: 77"):
            plan_recovery(log, describe, 1, 77)


def test_a_snapshot_is_found_by_position(tmp_path: Path) -> None:
    with filled(tmp_path, *whole(320), *whole(640), entry(EntryType.SNAPSHOT, 960)) as log:
        places = [log.snapshot_at_or_before(at, 1)[0].log_position for at in (0, 320, 639, 5000)]
        assert places == [320, 320, 320, 640]
        assert log.snapshot_at_or_before(5000, 2) == []


def test_standby_snapshots_are_whole_and_of_one_term(tmp_path: Path) -> None:
    kind, here, there = EntryType.STANDBY_SNAPSHOT, "here:1", "there:1"
    parts = [
        *(entry(kind, 640, service_id, archive_endpoint=here) for service_id in (0, -1)),
        *(entry(kind, 960, service_id, archive_endpoint=here) for service_id in (0, -1)),
        entry(kind, 960, -1, archive_endpoint=there),
        entry(kind, 960, 0, archive_endpoint=there, leadership_term_id=1),
    ]
    with filled(tmp_path, *parts) as log:
        found = log.standby_snapshots(1)
        assert list(found) == [here]
        assert [(e.log_position, e.service_id) for e in found[here]] == [(960, -1), (960, 0)]


def test_a_term_behind_an_open_one_needs_its_start(tmp_path: Path) -> None:
    with filled(tmp_path, entry(EntryType.TERM, -1)) as log:
        later = entry(EntryType.TERM, -1, leadership_term_id=2, term_base_log_position=-1)
        with pytest.raises(ConfigurationError, match="prior term was not committed"):
            log.ensure_coherent(later)
        before = (tmp_path / "recording.log").read_bytes()
        other = entry(EntryType.TERM, -1, leadership_term_id=2, recording_id=8)
        with pytest.raises(ConfigurationError, match="invalid recordingId=8"):
            log.ensure_coherent(other)
        assert (tmp_path / "recording.log").read_bytes() == before
        log.ensure_coherent(
            entry(EntryType.TERM, -1, leadership_term_id=2, term_base_log_position=640)
        )
        terms = [(e.leadership_term_id, e.log_position) for e in log.entries]
        assert terms == [(0, 640), (1, 640), (2, -1)]
