"""An archive as seen from outside: its mark file, recordings, files and counters."""

import os
import struct
from pathlib import Path

import pytest
from mark_headers import archive_header

from aerolog.archive.format.catalog_file import CatalogFile
from aerolog.archive.format.layout import CATALOG_NAME, MARK_FILE_NAME
from aerolog.archive.format.mark_file import ArchiveMarkFile
from aerolog.archive.protocol.counter_types import ArchiveCounterType
from aerolog.testing.recordings import RecordingBuilder
from aerolog.tools.views.archive_view import ArchiveView
from aerolog.tools.views.driver_view import DriverView
from aerolog.tools.views.errors import Trouble, ViewError

from .made_up import MadeUpDriver

SEGMENT = 64 * 1024


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "archive"
    path.mkdir()
    builder = RecordingBuilder()
    for _ in range(150):
        builder.add(bytes(1000))
    assert builder.write(path) == 0
    assert RecordingBuilder(stream_id=11).write(path, stopped=False) == 1
    return path


def claim(folder: Path, aeron_dir: str = "/nowhere") -> ArchiveMarkFile:
    header = archive_header(
        start_timestamp=5,
        pid=os.getpid(),
        error_buffer_length=4096,
        archive_id=2,
        control_channel="aeron:ipc",
        aeron_directory=aeron_dir,
    )
    return ArchiveMarkFile.claim(folder, header)


def test_recordings_have_their_files(folder: Path) -> None:
    with ArchiveView.open(folder) as view:
        first, second = view.recordings()

    assert (first.recording_id, second.recording_id) == (0, 1)
    assert first.is_valid
    assert [s.base_position for s in first.segments] == [0, SEGMENT, 2 * SEGMENT]
    assert first.length == 3 * SEGMENT
    assert first.missing_segments() == []
    assert second.descriptor.is_active
    assert view.damages == []


def test_a_segment_that_is_gone_is_missed(folder: Path) -> None:
    (folder / f"0-{SEGMENT}.rec").unlink()
    view = ArchiveView.open(folder)

    first, second = view.recordings()

    assert first.missing_segments() == [SEGMENT]
    assert second.missing_segments() == []
    assert second.missing_segments(end_position=SEGMENT + 1) == [SEGMENT]


def test_later_recordings_are_seen(folder: Path) -> None:
    view = ArchiveView.open(folder)
    assert len(view.recordings()) == 2
    assert RecordingBuilder().write(folder) == 2

    assert len(view.recordings()) == 3


def test_the_mark_file_tells_of_the_archive(folder: Path) -> None:
    view = ArchiveView.open(folder)
    assert view.mark is None
    assert view.mark_fault is not None
    assert MARK_FILE_NAME in view.mark_fault
    assert (view.pid, view.archive_id, view.aeron_dir, view.activity_ms()) == (None,) * 4
    assert not view.is_alive()
    assert view.errors() == []

    mark = claim(folder, "/somewhere")
    mark.ready()
    mark.error_log().record("a fault")
    view = ArchiveView.open(folder)
    activity = view.activity_ms()
    assert activity is not None
    assert (view.pid, view.archive_id, view.aeron_dir) == (os.getpid(), 2, "/somewhere")
    assert view.is_alive(activity + 9_999)
    assert not view.is_alive(activity + 10_000)
    assert [e.text for e in view.errors()] == ["a fault"]
    assert [e.text for e in ArchiveView.mark_errors(folder)] == ["a fault"]
    mark.terminated()
    assert view.activity_age_ms() is None
    assert not view.is_alive()


def test_counters_of_the_archive_are_found(folder: Path, driver: MadeUpDriver) -> None:
    claim(folder).ready()
    for archive_id in (2, 3):
        key = struct.pack("<qii", 1, 1001, 3) + b"ipc" + struct.pack("<q", archive_id)
        label = f"rec-pos: 1 1001 11 aeron:ipc - archiveId={archive_id}"
        driver.counters.allocate(
            ArchiveCounterType.RECORDING_POSITION, label, key, 5, 6, value=640 + archive_id
        )
        driver.counters.allocate(
            ArchiveCounterType.RECORDING_SESSIONS,
            f"Archive Recording Sessions - archiveId={archive_id}",
            struct.pack("<q", archive_id),
            5,
            6,
            value=archive_id,
        )
    view = ArchiveView.open(folder)

    found = view.recording_counters(DriverView.open(driver.folder).counters())

    assert {k: (v.position, v.stream_id) for k, v in found.recordings.items()} == {1: (642, 11)}
    assert found.value(111) == 2
    assert found.value(102) is None


def test_room_on_the_disk_is_told(folder: Path) -> None:
    space = ArchiveView.open(folder).disk()

    assert 0 < space.usable <= space.total
    assert 0 < space.used_part < 1


def trouble(folder: Path) -> ViewError:
    with pytest.raises(ViewError) as caught:
        ArchiveView.open(folder)
    assert "\n" not in str(caught.value)
    return caught.value


def test_what_is_no_archive_is_told(tmp_path: Path, folder: Path) -> None:
    assert trouble(tmp_path / "nix").trouble is Trouble.MISSING
    (tmp_path / "empty").mkdir()
    assert "empty" in trouble(tmp_path / "empty").reason
    (folder / CATALOG_NAME).unlink()
    assert trouble(folder).trouble is Trouble.HALF_DELETED


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", Trouble.DAMAGED),
        (bytes(4096), Trouble.VERSION),
        (b"\xff" * 4096, Trouble.VERSION),
        (struct.pack("<iiqi", 0x30100, 32, 0, 0) + bytes(4096), Trouble.DAMAGED),
    ],
)
def test_what_is_no_catalog_is_told(folder: Path, content: bytes, expected: Trouble) -> None:
    (folder / CATALOG_NAME).write_bytes(content)

    assert trouble(folder).trouble is expected
    assert (folder / CATALOG_NAME).read_bytes() == content


def test_an_entry_that_cannot_be_read_ends_the_list(folder: Path) -> None:
    with CatalogFile.open(folder) as catalog:
        at = catalog.entry(1).offset
    data = bytearray((folder / CATALOG_NAME).read_bytes())
    strings = at + 32 + 80
    data[strings : strings + 4] = (1 << 30).to_bytes(4, "little")
    (folder / CATALOG_NAME).write_bytes(data)
    view = ArchiveView.open(folder)

    assert [one.recording_id for one in view.recordings()] == [0]
    assert "stripped_channel" in view.damages[0]


def test_a_folder_that_goes_away_is_told(folder: Path, tmp_path: Path) -> None:
    view = ArchiveView.open(folder)
    folder.rename(tmp_path / "elsewhere")

    with pytest.raises(ViewError):
        view.recordings()
