"""Links and folders under the names of segments: nothing outside the folder is touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from aerolog.archive.format.descriptor import RecordingDescriptor
from aerolog.archive.service.storage.stored_segments import (
    NameScan,
    SegmentNames,
    check_frame_at,
    cut_segment,
    first_position,
)
from aerolog.transport.errors import ArchiveError
from aerolog.transport.memory.filesystem import RealFileSystem

SEGMENT = 64 * 1024
FILES = RealFileSystem()


@pytest.fixture
def descriptor() -> RecordingDescriptor:
    return RecordingDescriptor(
        recording_id=0,
        start_timestamp=1,
        stop_timestamp=2,
        start_position=SEGMENT,
        stop_position=2 * SEGMENT,
        initial_term_id=0,
        segment_file_length=SEGMENT,
        term_buffer_length=SEGMENT,
        mtu_length=1408,
        session_id=1,
        stream_id=2,
        stripped_channel="aeron:ipc",
        original_channel="aeron:ipc",
        source_identity="aeron:ipc",
    )


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A file of somebody, as long as a segment, and a link to it among the segments."""
    target = tmp_path / "outside"
    target.write_bytes(b"x" * SEGMENT)
    folder = tmp_path / "archive"
    folder.mkdir()
    for base in (0, SEGMENT):
        (folder / f"0-{base}.rec").symlink_to(target)
    return target


def test_what_a_link_points_to_is_not_cut(tmp_path, outside, descriptor) -> None:
    folder = str(tmp_path / "archive")
    for call in (
        lambda: check_frame_at(FILES, folder, descriptor, SEGMENT + 32),
        lambda: cut_segment(FILES, folder, descriptor, SEGMENT + 32, 2),
    ):
        with pytest.raises(ArchiveError, match=f"segment file 0-{SEGMENT}.rec is a link"):
            call()
    assert outside.read_bytes() == b"x" * SEGMENT


def test_what_a_link_points_to_is_not_attached(tmp_path, outside, descriptor) -> None:
    with pytest.raises(ArchiveError, match=r"segment file 0-0\.rec is a link or a folder"):
        first_position(FILES, str(tmp_path / "archive"), descriptor, 0)


def test_a_folder_is_not_attached(tmp_path, descriptor) -> None:
    (tmp_path / "0-0.rec").mkdir()
    with pytest.raises(ArchiveError, match=r"fileLength=\d+ not equal to segmentLength=65536"):
        first_position(FILES, str(tmp_path), descriptor, 0)


def test_names_stay_in_the_folder(tmp_path) -> None:
    for recording_id in (0, 2**63 - 1):
        for name in SegmentNames(recording_id, 0, 10 * SEGMENT, SEGMENT):
            assert Path(name).name == name
    (tmp_path / "0-..").mkdir()
    (tmp_path / "0-.." / "x.rec").write_bytes(b"")
    (tmp_path / "0-0.rec").write_bytes(b"")
    scan = NameScan(FILES, str(tmp_path), 0)
    while not scan.is_done:
        scan.go_on(1)
    assert list(scan.found) == ["0-0.rec"]


def test_names_of_an_endless_recording_take_no_room() -> None:
    names = SegmentNames(0, 0, 2**62, SEGMENT)
    assert len(names) == 2**46 + 1
    assert names.highest == 2**62
    assert next(iter(names)) == "0-0.rec"
    assert SegmentNames(0, SEGMENT, 0, SEGMENT).highest == -1
