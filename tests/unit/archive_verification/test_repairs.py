"""What can be saved of a recording, and doing it: in files, by requests, and through crashes."""

from __future__ import annotations

import errno
from random import Random
from typing import TYPE_CHECKING

import pytest
from crash_disk import EMPTY, CrashDisk

from aerolog.archive.format.archive_folder import ArchiveFolder
from aerolog.archive.format.catalog_file import CatalogFile
from aerolog.archive.format.checksum import checksum_for
from aerolog.archive.verification import Health, Kind, verify_recording
from aerolog.archive.verification.health_file import HealthWriter, read_health
from aerolog.archive.verification.layout import (
    HEADER,
    HEADER_LENGTH,
    RECORD,
    RECORD_LENGTH,
    SegmentRecord,
    SegmentState,
    health_path,
)
from aerolog.archive.verification.recording_verification import verify_opened
from aerolog.archive.verification.repair_plan import RepairStep, RepairWay, StepKind, plan_repair
from aerolog.archive.verification.repairs import FolderRepairs, RepairRefusedError
from aerolog.testing.filesystem import FakeFileSystem
from aerolog.testing.recordings import RecordingBuilder
from aerolog.transport.memory.filesystem import RealFileSystem

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from crash_disk import State

    from aerolog.archive.verification.repair_plan import RepairPlan

FRAME = 1056
TERM = 64 * 1024
FILES = RealFileSystem()


@pytest.fixture(params=[None, "CRC-32C"], ids=["plain", "checksums"])
def folder(tmp_path: Path, request) -> Path:
    """Four segments of a stopped recording."""
    builder = RecordingBuilder(checksum=checksum_for(request.param))
    for number in range(210):
        builder.add(bytes([number % 251 + 1]) * 1000)
    builder.write(tmp_path)
    return tmp_path


def break_type(folder: Path, base: int, index: int = 3) -> None:
    with (folder / f"0-{base}.rec").open("r+b") as file:
        file.seek(index * FRAME + 6)
        file.write(b"\x09")


def planned(folder: Path, way: RepairWay = RepairWay.PAD) -> RepairPlan:
    with ArchiveFolder(folder) as archive:
        recording = archive.recording(0)
        return plan_repair(
            recording, verify_recording(archive, 0), FILES.list_dir(str(folder)), way=way
        )


def repair(folder: Path) -> list[RepairStep]:
    steps = list(planned(folder).steps)
    with FolderRepairs.borrow(folder, FILES) as repairs:
        for step in steps:
            repairs.apply(step)
    return steps


def read_all(folder: Path) -> int:
    """Messages of the recordings, all of them sound."""
    with ArchiveFolder(folder) as archive:
        return sum(1 for one in archive.recordings() for _ in one.messages())


def test_a_sound_recording_needs_nothing(folder) -> None:
    plan = planned(folder)
    assert plan.steps == ()
    assert plan.readable == ((0, 3 * TERM + 24 * FRAME),)


@pytest.mark.parametrize("base", [3 * TERM, 2 * TERM])
def test_a_damaged_end_is_cut_off_behind_the_last_sound_frame(folder, base) -> None:
    break_type(folder, base)
    if base == 2 * TERM:
        (folder / f"0-{3 * TERM}.rec").unlink()
    (step,) = repair(folder)
    assert (step.kind, step.position) == (StepKind.TRUNCATE, base + 3 * FRAME)
    assert step.lost == 3 * TERM + 24 * FRAME - step.position
    assert verify_recording(folder, 0) == []
    with ArchiveFolder(folder) as archive:
        assert archive.recording(0).end_position == base + 3 * FRAME
    assert read_all(folder) == base // TERM * 62 + 3
    with ArchiveFolder(folder) as archive:
        assert archive.segment_names(0)[-1] == f"0-{base}.rec"


def test_a_stop_position_beyond_the_frames_is_taken_back(folder) -> None:
    with CatalogFile.open(folder, checksum=None) as catalog:
        catalog.update_stop_position(0, 3 * TERM + 40 * FRAME)
    (step,) = repair(folder)
    assert (step.kind, step.position) == (StepKind.TRUNCATE, 3 * TERM + 24 * FRAME)
    assert read_all(folder) == 210


def test_a_beginning_of_which_nothing_can_be_read_is_detached(folder) -> None:
    break_type(folder, 0, index=0)
    (folder / f"0-{TERM}.rec").unlink()
    (step,) = repair(folder)
    assert (step.kind, step.position, step.lost) == (StepKind.CUT_HEAD, 2 * TERM, 2 * TERM)
    assert verify_recording(folder, 0) == []
    assert read_all(folder) == 62 + 24
    assert (folder / "0-0.rec.damaged").exists()


def test_what_can_be_read_before_damage_at_the_beginning_stays(folder) -> None:
    break_type(folder, 0)
    (folder / f"0-{TERM}.rec").unlink()
    (step,) = repair(folder)
    assert (step.kind, step.position, step.until) == (StepKind.PAD, 3 * FRAME, 2 * TERM)
    assert verify_recording(folder, 0) == []
    assert read_all(folder) == 3 + 62 + 24


def test_damage_in_the_middle_becomes_padding_and_is_kept(folder) -> None:
    path = folder / f"0-{TERM}.rec"
    break_type(folder, TERM)
    damaged = path.read_bytes()
    plan = planned(folder)
    assert plan.readable == ((0, TERM + 3 * FRAME), (2 * TERM, 3 * TERM + 24 * FRAME))
    assert ["151 messages" in line for line in plan.choices] == [True] * 3
    (step,) = repair(folder)
    assert (step.kind, step.position, step.until) == (StepKind.PAD, TERM + 3 * FRAME, 2 * TERM)
    assert verify_recording(folder, 0) == []
    assert read_all(folder) == 62 + 3 + 62 + 24
    kept = (folder / f"0-{TERM}.rec.damaged").read_bytes()
    assert kept[3 * FRAME :] == damaged[3 * FRAME : len(kept)]
    assert not any(damaged[len(kept) :])


@pytest.mark.parametrize("way", [RepairWay.COPY, RepairWay.MARK])
def test_other_ways_change_no_byte_of_the_damaged_recording(folder, way) -> None:
    break_type(folder, TERM)
    before = {path.name: path.read_bytes() for path in folder.glob("0-*.rec")}
    (step,) = planned(folder, way).steps
    with FolderRepairs.borrow(folder, FILES) as repairs:
        repairs.apply(step)
    assert {path.name: path.read_bytes() for path in folder.glob("0-*.rec")} == before
    with ArchiveFolder(folder) as archive:
        found = [one.recording_id for one in archive.recordings()]
    assert found == ([1] if way == RepairWay.COPY else [])
    if way == RepairWay.COPY:
        assert verify_recording(folder, 1) == []
        assert read_all(folder) == 62 + 3 + 62 + 24


def test_one_wrong_byte_costs_one_message(tmp_path) -> None:
    builder = RecordingBuilder(checksum=checksum_for("CRC-32C"))
    for number in range(210):
        builder.add(bytes([number % 251 + 1]) * 1000)
    builder.write(tmp_path)
    for number in (5, 9):
        with (tmp_path / "0-0.rec").open("r+b") as file:
            file.seek(number * FRAME + 200)
            file.write(b"!")
    steps = repair(tmp_path)
    assert [(one.kind, one.position, one.until) for one in steps] == [
        (StepKind.PAD, number * FRAME, (number + 1) * FRAME) for number in (5, 9)
    ]
    assert verify_recording(tmp_path, 0) == []
    assert read_all(tmp_path) == 208


def test_a_segment_about_to_be_deleted_gets_its_name_back(folder) -> None:
    (folder / f"0-{TERM}.rec").rename(folder / f"0-{TERM}.rec.del")
    (step,) = repair(folder)
    assert step.kind == StepKind.RESTORE
    assert verify_recording(folder, 0) == []
    assert read_all(folder) == 210


def test_a_changed_segment_is_taken_as_it_is(tmp_path) -> None:
    builder = RecordingBuilder()
    builder.add(b"a" * 1000)
    builder.write(tmp_path)
    assert verify_recording(tmp_path, 0, note=True) == []
    with (tmp_path / "0-0.rec").open("r+b") as file:
        file.seek(500)
        file.write(b"b")
    (finding,) = verify_recording(tmp_path, 0)
    assert finding.kind == Kind.CHANGED
    (step,) = repair(tmp_path)
    assert step.kind == StepKind.ACCEPT
    assert verify_recording(tmp_path, 0) == []
    assert Health.open(tmp_path, 0).state == "sound"


def test_what_cannot_be_read_is_left_alone(folder) -> None:
    (folder / f"0-{3 * TERM}.rec").rename(folder / "elsewhere")
    (folder / f"0-{3 * TERM}.rec").symlink_to("elsewhere")
    break_type(folder, 0)
    plan = planned(folder)
    assert plan.steps == ()
    assert len(plan.unhelped) == 1


@pytest.mark.parametrize(
    "step",
    [
        RepairStep(0, StepKind.RESTORE, 0, 0, ""),
        RepairStep(0, StepKind.ACCEPT, 9 * TERM, 0, ""),
        RepairStep(0, StepKind.TRUNCATE, -32, 0, ""),
        RepairStep(0, StepKind.CUT_HEAD, 0, 0, ""),
        RepairStep(0, StepKind.CUT_HEAD, TERM + 32, 0, ""),
    ],
)
def test_a_step_that_fits_no_more_is_refused_and_changes_nothing(folder, step) -> None:
    def content() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}

    before = content()
    with (
        FolderRepairs.borrow(folder, FILES) as repairs,
        pytest.raises(RepairRefusedError),
    ):
        repairs.apply(step)
    assert content() == before


# -- health files ---------------------------------------------------------------------------------


def descriptor(**changes: int):
    builder = RecordingBuilder()
    builder.add(b"x")
    return builder.descriptor().with_changes(**changes)


def record(base: int, **changes: object) -> SegmentRecord:
    values = {
        "base": base, "length": 64, "size": TERM, "mtime_ns": 5, "inode": 2**64 - 1,
        "fingerprint": 2**64 - 1, "verified_ms": 7, "position": -1, "run": 3,
        "state": SegmentState.SOUND, "kind": None, **changes,
    }  # fmt: skip
    return SegmentRecord(**values)  # type: ignore[arg-type]


@pytest.fixture
def disk() -> FakeFileSystem:
    disk = FakeFileSystem()
    disk.make_dirs("/a")
    return disk


def test_layouts_are_whole() -> None:
    for fields, length in ((HEADER, HEADER_LENGTH), (RECORD, RECORD_LENGTH)):
        ends = [field.offset + field.size for field in fields]
        assert all(end <= field.offset for end, field in zip(ends, fields[1:], strict=False))
        assert ends[-1] == length
        assert fields[-1].name == "checksum"


@pytest.mark.parametrize("kind", [None, *Kind])
@pytest.mark.parametrize("fingerprint", [None, 0, 2**64 - 1])
def test_records_come_back_as_they_were(kind, fingerprint) -> None:
    one = record(0, kind=kind, fingerprint=fingerprint, state=SegmentState.DAMAGED, position=96)
    assert SegmentRecord.decode(one.encode()) == one


def test_the_last_record_of_a_segment_counts(disk) -> None:
    writer = HealthWriter(disk, "/a", descriptor())
    for time in range(700):
        writer.note(record(time % 2 * TERM, verified_ms=time))
    found = read_health(disk, "/a", descriptor())
    assert {base: one.verified_ms for base, one in found.by_base.items()} == {0: 698, TERM: 699}
    assert disk.size(health_path("/a", 0)) < HEADER_LENGTH + 300 * RECORD_LENGTH


@pytest.mark.parametrize("left", [1, HEADER_LENGTH - 1, HEADER_LENGTH + 1, HEADER_LENGTH + 100])
def test_a_cut_off_file_gives_what_is_whole(disk, left) -> None:
    writer = HealthWriter(disk, "/a", descriptor())
    writer.note(record(0))
    writer.note(record(TERM))
    with disk.open_data_file(health_path("/a", 0), writable=True) as file:
        file.set_length(left)
    found = read_health(disk, "/a", descriptor())
    assert list(found.by_base) == ([0] if left > HEADER_LENGTH + RECORD_LENGTH else [])
    assert len(found.problems) == 1
    again = HealthWriter(disk, "/a", descriptor())
    again.note(record(2 * TERM))
    assert read_health(disk, "/a", descriptor()).problems == []


def test_the_file_of_another_recording_is_left_aside(disk) -> None:
    HealthWriter(disk, "/a", descriptor()).note(record(0))
    found = read_health(disk, "/a", descriptor(start_timestamp=1))
    assert found.by_base == {}
    assert "that of another recording" in found.problems[0]


def test_a_file_that_goes_meanwhile_is_made_again(disk) -> None:
    writer = HealthWriter(disk, "/a", descriptor())
    writer.note(record(0))
    disk.remove(health_path("/a", 0))
    writer.note(record(TERM))
    assert sorted(read_health(disk, "/a", descriptor()).by_base) == [0, TERM]


def states(disk: CrashDisk) -> Iterator[tuple[str, State]]:
    """What a crash before each operation may leave."""
    random = Random(7)
    for point in disk.points:
        yield point.operation, point.after_kill()
        yield from ((point.operation, torn) for torn in point.torn)
        yield point.operation, point.after_power_loss(random)
    yield "the end", disk.state()


def test_a_crash_at_any_operation_leaves_what_was_or_what_is_noted() -> None:
    disk = CrashDisk()
    disk.make_dirs("/a/aerolog/health")
    disk.watch(lambda: None)
    writer = HealthWriter(disk, "/a", descriptor())
    for time in (1, 2, 3):
        for base in range(4):
            writer.note(record(base * TERM, verified_ms=time))
    writer.keep([0, TERM])
    assert len(disk.points) > 14
    for operation, state in states(disk):
        left = CrashDisk.of({**state, "/a/x": EMPTY})
        found = read_health(left, "/a", descriptor())
        for base, one in found.by_base.items():
            assert one == record(base, verified_ms=one.verified_ms), operation
        left.make_dirs("/a/aerolog/health")
        HealthWriter(left, "/a", descriptor()).note(record(9 * TERM))
        again = read_health(left, "/a", descriptor())
        assert again.problems == [], operation
        assert set(again.by_base) == {*found.by_base, 9 * TERM}, operation


DAMAGES = {
    StepKind.TRUNCATE: ((2 * TERM, b"\x09"), (3 * TERM, b"\x09")),
    StepKind.CUT_HEAD: ((0, b"\x09"),),
    StepKind.PAD: ((TERM, b"\x09"),),
    StepKind.RESTORE: (),
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_repair_that_a_crash_cuts_short_is_gone_on_with(tmp_path, kind) -> None:
    builder = RecordingBuilder(checksum=checksum_for("CRC-32"))
    for number in range(200):
        builder.add(bytes([number + 1]) * 1000)
    builder.write(tmp_path)
    disk = CrashDisk()
    disk.make_dirs("/a")
    for path in tmp_path.iterdir():
        disk.write_bytes(f"/a/{path.name}", path.read_bytes())
    for base, data in DAMAGES[kind]:
        with disk.open_data_file(f"/a/0-{base}.rec", writable=True) as file:
            file.write_at(data, 6)
    if kind == StepKind.RESTORE:
        disk.rename(f"/a/0-{TERM}.rec", f"/a/0-{TERM}.rec.del")
    disk = CrashDisk.of(disk.state())
    with ArchiveFolder("/a", disk) as archive:
        readable = sum(1 for _ in archive.recording(0).messages(skip_damage=True))
    if kind == StepKind.RESTORE:
        readable = 200
    disk.watch(lambda: None)
    assert [step.kind for step in repaired(disk)] == [kind]
    assert disk.points
    for operation, state in states(disk):
        left = CrashDisk.of(state)
        repaired(left)
        with ArchiveFolder("/a", left) as archive:
            for recording in archive.recordings():
                assert verify_opened(recording) == [], operation
                assert sum(1 for _ in recording.messages()) == readable, operation


def repaired(disk: CrashDisk) -> list[RepairStep]:
    """Verify a folder and do what the plan says."""
    steps: list[RepairStep] = []
    with ArchiveFolder("/a", disk) as archive:
        for recording in archive.recordings():
            plan = plan_repair(recording, verify_opened(recording), disk.list_dir("/a"))
            steps += plan.steps
    with FolderRepairs.borrow("/a", disk) as repairs:
        for step in steps:
            repairs.apply(step)
    return steps


def test_a_full_disk_is_told_and_the_old_file_stays(disk) -> None:
    writer = HealthWriter(disk, "/a", descriptor())
    writer.note(record(0))
    disk.fill_up()
    with pytest.raises(OSError, match="No space|no room|space") as caught:
        for base in range(200):
            writer.note(record(base * TERM))
    assert caught.value.errno in {errno.ENOSPC, None}
    disk.fill_up(1 << 20)
    assert 0 in read_health(disk, "/a", descriptor()).by_base
