"""Retention, the tools and an archive's requests take away what they said, and nothing else."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from live_recordings import FRAME, SEGMENT, live_archive
from preservation import content_of, missing
from retention_facts import reading

from aerolog.archive.retention.archive_access import StoppedArchive
from aerolog.archive.retention.policy_file import parse_policies
from aerolog.archive.retention.run import Retention
from aerolog.archive.time_index import index_path
from aerolog.testing.recordings import RecordingBuilder, write_time_index
from aerolog.tools.main import main
from aerolog.transport.memory.filesystem import RealFileSystem

if TYPE_CHECKING:
    from aerolog.archive.format.descriptor import RecordingDescriptor

HOUR_NS = 3_600_000_000_000
FILES = RealFileSystem()


class Dated(RecordingBuilder):
    """A recording that took a second, and ended at a time in epoch milliseconds."""

    def __init__(self, end_ms: int) -> None:
        super().__init__()
        self._end_ms = end_ms

    def descriptor(self, **options: Any) -> RecordingDescriptor:
        times = {"start_timestamp": self._end_ms - 1000, "stop_timestamp": self._end_ms}
        return super().descriptor(**options).with_changes(**times)


def record(folder: Path, age_ns: int) -> dict[int, bytes]:
    """A recording of some segments with its times, which ended so long ago."""
    now_ns = time.time_ns()
    builder = Dated((now_ns - age_ns) // 1_000_000)
    messages, entries = {}, []
    for number in range(200):
        payload = age_ns.to_bytes(8, "little") + number.to_bytes(4, "little") + bytes(1012)
        end = builder.add(payload)
        messages[end - FRAME] = payload
        entries.append((now_ns - age_ns - (200 - number) * 1_000_000, end - FRAME))
    recording_id = builder.write(folder)
    write_time_index(folder, recording_id, entries)
    return messages


@pytest.fixture
def published(tmp_path: Path) -> dict[int, dict[int, bytes]]:
    return {number: record(tmp_path, (number + 1) * HOUR_NS) for number in range(3)}


def remove(path: Path) -> None:
    path.unlink()


def empty(path: Path) -> None:
    path.write_bytes(b"")


def unreadable(path: Path) -> None:
    path.unlink()
    path.mkdir()


def of_another(path: Path) -> None:
    path.write_bytes(path.with_name("0.time").read_bytes())


def apply(folder: Path, policy: str) -> tuple[list[tuple[int, int, int]], list[str]]:
    """Run retention; what its plan listed, as recording id, begin and end, and its warnings."""
    with StoppedArchive.borrow(str(folder), FILES) as door:
        retention = Retention(
            archive_dir=str(folder),
            policies=parse_policies(policy),
            files=FILES,
            read_clock=lambda: reading(time.time_ns() // 1_000_000),
        )
        plan, _ = retention.run(door)
    listed = [
        (
            step.recording_id,
            step.start_position,
            step.new_start_position if step.kind == "segments" else 2**62,
        )
        for step in plan.steps
    ]
    return listed, [str(text) for text in plan.warnings]


SIZE = "[[policy]]\nstream = '0-9999'\nmax_size = '128k'\n"
AGE = "[[policy]]\nstream = '0-9999'\nmax_age = '150m'\n"


@pytest.mark.parametrize("policy", [SIZE, AGE], ids=["size", "age"])
def test_retention_takes_what_its_plan_lists(tmp_path, published, policy) -> None:
    listed, _ = apply(tmp_path, policy)
    assert listed
    assert missing(published, content_of(tmp_path), listed=listed) == []


@pytest.mark.parametrize("harm", [remove, empty, unreadable, of_another])
def test_retention_by_age_keeps_what_has_no_known_time(tmp_path, published, harm) -> None:
    harm(Path(index_path(tmp_path, 2)))
    listed, _ = apply(tmp_path, AGE)
    assert listed == []
    assert missing(published, content_of(tmp_path)) == []


def test_compacting_and_orphans_leave_what_is_valid(tmp_path, published) -> None:
    gone = published.pop(1)
    assert gone
    in_folder = ["--archive-dir", str(tmp_path), "--yes"]
    assert main(["recordings", "mark-invalid", "1", *in_folder]) == 0
    assert main(["recordings", "compact", *in_folder]) == 0
    assert missing(published, content_of(tmp_path)) == []
    assert main(["recordings", "delete-orphaned", *in_folder]) == 0
    assert missing(published, content_of(tmp_path)) == []


def test_requests_take_what_they_name(tmp_path) -> None:
    folder = tmp_path / "archive"
    with live_archive(folder) as live:
        archive = live.archive
        front = live.record(0, 3.5)
        archive.truncate_recording(front, 3 * SEGMENT)
        live.cut(front, lambda at: at < 3 * SEGMENT)
        live.check()
        rest = live.record(3 * SEGMENT, 2.5)
        archive.migrate_segments(rest, front)
        live.check(moved={rest: front})
        archive.detach_segments(front, 2 * SEGMENT)
        live.check(moved={rest: front})
        assert archive.attach_segments(front) == 2
        live.check(moved={rest: front})
        archive.purge_segments(front, SEGMENT)
        live.cut(front, lambda at: at >= SEGMENT)
        live.check(moved={rest: front})
        other = live.record(0, 1.5)
        archive.purge_recording(rest)
        live.check(moved={rest: front})
        assert len(content_of(folder).recordings[other]) == len(live.published[other])
