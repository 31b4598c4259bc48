"""What happens to a segment while it is read: the rows before it, then an error with its place."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from aerolog.archive.format.archive_folder import ArchiveFolder
from aerolog.archive.format.catalog_file import CatalogFile
from aerolog.archive.protocol.enums import RecordingState
from aerolog.archive.verification.recording_verification import verify_recording
from aerolog.archive.verification.repair_plan import plan_repair
from aerolog.catalog import open_recording
from aerolog.catalog.arrow.dataset import ArchiveDataset
from aerolog.testing.recordings import RecordingBuilder
from aerolog.transport.errors import (
    FileFormatError,
    RecordingChangedError,
    RecordingDamagedError,
)
from aerolog.transport.memory.filesystem import RealFileSystem

if TYPE_CHECKING:
    from pathlib import Path

SEGMENT = 128 * 1024


def rows_then_error(batches) -> tuple[list[int], RecordingDamagedError]:
    """Positions of the rows that came, and the error that ended them."""
    positions: list[int] = []
    with pytest.raises(RecordingDamagedError) as raised:
        for batch in batches:
            positions += batch["position"].to_pylist()
    return positions, raised.value


def whole(folder: Path) -> list[int]:
    with open_recording(folder, 0) as recording:
        return recording.to_arrow()["position"].to_pylist()


def check_rows_before(positions: list[int], everything: list[int], error) -> None:
    assert error.recording_id == 0
    assert f"position {error.position} of recording 0" in str(error)
    assert positions == [each for each in everything if each <= error.position]


@pytest.mark.parametrize("length", [0, 1, 31, 32, 1000, 66_000, 120_000])
def test_a_segment_that_is_shortened_while_it_is_read(folder: Path, length: int) -> None:
    everything = whole(folder)
    with open_recording(folder, 0) as recording:
        batches = recording.to_batches(rows_max=1)
        first = next(batches)["position"].to_pylist()
        os.truncate(folder / f"0-{SEGMENT}.rec", length)
        positions, error = rows_then_error(batches)
    assert SEGMENT <= error.position <= SEGMENT + length
    check_rows_before(first + positions, everything, error)
    assert not isinstance(error, RecordingChangedError)


def test_the_segment_that_is_being_read_may_shrink_and_grow_under_the_scan(folder: Path) -> None:
    # The window holds a part of the segment already; what comes behind it is gone.
    script = """
import os, sys, threading
from aerolog.catalog import open_recording
from aerolog.testing.recordings import RecordingBuilder
from aerolog.transport.errors import RecordingDamagedError
folder = sys.argv[1]
segments = [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith('.rec')]
contents = {path: open(path, 'rb').read() for path in segments}
done = threading.Event()
def shake():
    while not done.is_set():
        for path, content in contents.items():
            os.truncate(path, 100)
            with open(path, 'r+b') as file:
                file.write(content)
thread = threading.Thread(target=shake)
thread.start()
sound = damaged = 0
try:
    while damaged < 5 or sound + damaged < 30:
        try:
            with open_recording(folder, 0) as recording:
                for batch in recording.to_batches(columns=('position', 'payload')):
                    batch.validate(full=True)
            sound += 1
        except RecordingDamagedError as error:
            assert error.recording_id == 0, error
            damaged += 1
finally:
    done.set()
    thread.join()
print(sound + damaged)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(folder)],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 30


def test_a_missing_segment_is_named_after_the_rows_before_it(folder: Path) -> None:
    everything = whole(folder)
    (folder / f"0-{SEGMENT}.rec").unlink()
    with open_recording(folder, 0) as recording:
        positions, error = rows_then_error(recording.to_batches())
    assert error.position == SEGMENT
    check_rows_before(positions, everything, error)
    assert "recording segment not found" in str(error)


def test_a_recording_that_is_invalidated_and_deleted_while_it_is_read(folder: Path) -> None:
    everything = whole(folder)
    with open_recording(folder, 0) as recording:
        batches = recording.to_batches(rows_max=50)
        first = next(batches)["position"].to_pylist()
        with CatalogFile.open(folder) as catalog:
            catalog.change_state(0, RecordingState.INVALID)
        for segment in folder.glob("0-*.rec"):
            segment.unlink()
        positions, error = rows_then_error(batches)
    assert isinstance(error, RecordingChangedError)
    assert "was purged or invalidated while it was read" in str(error)
    check_rows_before(first + positions, everything, error)
    assert error.position == SEGMENT  # the first segment was open and was read to its end


def test_segments_that_are_purged_while_others_are_read(folder: Path) -> None:
    with open_recording(folder, 0) as recording:
        batches = recording.to_batches(rows_max=50)
        next(batches)
        with CatalogFile.open(folder) as catalog:
            catalog.update_start_position(0, 2 * SEGMENT)
        for base in (0, SEGMENT):
            (folder / f"0-{base}.rec").unlink()
        _, error = rows_then_error(batches)
    assert isinstance(error, RecordingChangedError)
    assert f"purged up to position {2 * SEGMENT}" in str(error)
    assert error.position == SEGMENT


def test_a_recording_that_is_truncated_while_it_is_read(folder: Path) -> None:
    everything = whole(folder)
    stop = next(each for each in everything if each > SEGMENT + 5000)
    with open_recording(folder, 0) as recording:
        batches = recording.to_batches(rows_max=50)
        first = next(batches)["position"].to_pylist()
        with CatalogFile.open(folder) as catalog:
            catalog.update_stop_position(0, stop)
        os.truncate(folder / f"0-{SEGMENT}.rec", stop - SEGMENT)
        os.truncate(folder / f"0-{SEGMENT}.rec", SEGMENT)
        positions, error = rows_then_error(batches)
    assert isinstance(error, RecordingChangedError)
    assert f"truncated to position {stop}" in str(error)
    assert error.position == stop
    check_rows_before(first + positions, everything, error)


def test_a_folder_where_a_segment_should_be_is_named(folder: Path) -> None:
    (folder / "0-0.rec").unlink()
    (folder / "0-0.rec").mkdir()
    with open_recording(folder, 0) as recording:
        positions, error = rows_then_error(recording.to_batches())
    assert positions == []
    assert "0-0.rec" in str(error)
    assert error.position == 0


def test_frames_longer_than_any_and_messages_without_an_end_are_damage(tmp_path: Path) -> None:
    builder = RecordingBuilder(term_length=1024 * 1024, segment_length=1024 * 1024)
    builder.add(b"sound")
    builder.pad()
    builder.write(tmp_path)
    content = bytearray((tmp_path / "0-0.rec").read_bytes())
    content[64 + 6 : 64 + 8] = (1).to_bytes(2, "little")  # the padding becomes a frame of 1 MiB
    (tmp_path / "0-0.rec").write_bytes(content)
    with open_recording(tmp_path, 0) as recording:
        positions, error = rows_then_error(recording.to_batches())
    assert positions == [64]
    assert "impossible frame length" in str(error)
    assert error.position == 64


def test_a_message_does_not_go_on_in_the_next_term(tmp_path: Path) -> None:
    builder = RecordingBuilder()
    while builder.position < 65536:
        builder.add(b"x" * 992)
    builder.add(b"y" * 96)
    builder.write(tmp_path)
    content = bytearray((tmp_path / "0-0.rec").read_bytes())
    content[65536 - 1024 + 5] = 0x80  # the term's last frame begins a message that has no end
    (tmp_path / "0-0.rec").write_bytes(content)
    path = tmp_path / "0-65536.rec"
    content = bytearray(path.read_bytes())
    content[5] = 0x40
    path.write_bytes(content)
    with ArchiveFolder(tmp_path) as archive:
        assert {len(each.payload) for each in archive.recording(0).messages()} == {992}


def test_errors_of_a_recording_travel_between_processes() -> None:
    error = RecordingChangedError("recording 7 was purged", 7, 4096)
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (RecordingChangedError, "recording 7 was purged")
    assert (again.recording_id, again.position) == (7, 4096)
    assert isinstance(again, FileFormatError)


def break_frame(folder: Path, position: int) -> None:
    """Damage the frame that begins at a position of recording 0."""
    base = position - position % SEGMENT
    with (folder / f"0-{base}.rec").open("r+b") as file:
        file.seek(position - base)
        file.write(b"\xb3\xff\xff\xff")


def read_behind_damage(folder: Path) -> tuple[list[int], list[tuple[int, int]]]:
    """Positions of the rows and of the gaps, read with and without a table."""
    with open_recording(folder, 0) as recording:
        table = recording.to_arrow(skip_damage=True)
        gaps = [(gap.from_position, gap.until_position) for gap in recording.gaps]
        assert recording.to_polars(skip_damage=True).height == table.num_rows
        assert len(recording.to_pandas(skip_damage=True)) == table.num_rows
    return table["position"].to_pylist(), gaps


@pytest.mark.parametrize("damage", ["frame", "missing", "cut"])
def test_what_is_behind_damage_is_read_with_a_word(folder: Path, damage: str) -> None:
    everything = whole(folder)
    at = next(each for each in everything if each > SEGMENT + 2000)
    segment = folder / f"0-{SEGMENT}.rec"
    if damage == "missing":
        segment.unlink()
        lost = (SEGMENT, 2 * SEGMENT)
    elif damage == "cut":
        os.truncate(segment, at - SEGMENT)
        lost = (at, 2 * SEGMENT)
    else:
        break_frame(folder, at)
        lost = (at, SEGMENT + SEGMENT // 2)  # up to the next term
    rows, gaps = read_behind_damage(folder)
    assert gaps == [lost]
    assert rows == [each for each in everything if not lost[0] < each <= lost[1]]
    with open_recording(folder, 0) as recording:
        messages = recording.recording.messages(skip_damage=True)
        assert [message.position for message in messages] == rows


def test_everything_that_a_repair_plan_calls_readable_is_read(folder: Path) -> None:
    everything = whole(folder)
    break_frame(folder, next(each for each in everything if each > 3000))
    break_frame(folder, next(each for each in everything if each > SEGMENT + 70_000))
    with ArchiveFolder(folder) as archive:
        recording = archive.recording(0)
        names = [path.name for path in folder.iterdir()]
        plan = plan_repair(recording, verify_recording(archive, 0), names)
    rows, gaps = read_behind_damage(folder)
    assert len(gaps) == 2
    promised = [
        each for each in everything if any(start < each <= end for start, end in plan.readable)
    ]
    assert len(promised) < len(everything)
    assert set(promised) <= set(rows)


def test_what_is_no_damage_is_not_skipped(folder: Path) -> None:
    class Refused(RealFileSystem):
        def open_data_file(self, path, *rest, **options):
            if f"0-{SEGMENT}" in str(path):
                raise PermissionError(13, "Permission denied", path)
            return super().open_data_file(path, *rest, **options)

    with ArchiveFolder(folder, Refused()) as archive:
        batches = archive.recording(0).batches(skip_damage=True)
        with pytest.raises(RecordingDamagedError, match="cannot be opened.*Permission denied"):
            list(batches)


def test_a_recording_that_is_invalidated_is_not_skipped(folder: Path) -> None:
    with open_recording(folder, 0) as recording:
        batches = recording.to_batches(rows_max=50, skip_damage=True)
        next(batches)
        with CatalogFile.open(folder) as catalog:
            catalog.change_state(0, RecordingState.INVALID)
        for segment in folder.glob("0-*.rec"):
            segment.unlink()
        _, error = rows_then_error(batches)
    assert isinstance(error, RecordingChangedError)


def test_a_dataset_reads_on_behind_damage_and_tells_the_gaps(folder: Path) -> None:
    (folder / f"0-{SEGMENT}.rec").unlink()
    with pytest.raises(RecordingDamagedError):
        ArchiveDataset(folder).to_table(columns=["position"])
    dataset = ArchiveDataset(folder, skip_damage=True)
    table = dataset.to_table(columns=["recording_id", "position"])
    rows, _ = read_behind_damage(folder)
    of_first = table.filter(table["recording_id"].to_numpy() == 0)
    assert of_first["position"].to_pylist() == rows
    ((placed, (gap,)),) = dataset.gaps.items()
    assert (placed.recording_id, gap.from_position, gap.until_position) == (0, SEGMENT, 2 * SEGMENT)
    assert "recording segment not found" in gap.text
    assert dataset.to_polars().collect().height == table.num_rows
