"""The catalog and the mark file on a disk that is full (spec archive-files 3.3)."""

from __future__ import annotations

import pytest
from mark_headers import archive_header

from aerolog.archive.format.catalog_file import CatalogFile
from aerolog.archive.format.catalog_map import CatalogReader
from aerolog.archive.format.mark_file import ArchiveMarkFile
from aerolog.testing import FakeFileSystem, ManualClock
from aerolog.testing.recordings import RecordingBuilder
from aerolog.transport.errors import StorageSpaceError

FOLDER = "/archive"
LONG = "aeron:ipc?alias=" + "x" * 900


@pytest.fixture
def disk() -> FakeFileSystem:
    files = FakeFileSystem(capacity_bytes=1 << 20)
    files.make_dirs(FOLDER)
    return files


def add_until_full(catalog: CatalogFile, limit: int = 2000) -> int:
    for count in range(limit):
        try:
            catalog.add_recording(RecordingBuilder().descriptor(channel=LONG))
        except StorageSpaceError:
            return count
    raise AssertionError("the disk is never full")


def test_a_full_disk_refuses_a_recording_and_keeps_all_others(disk: FakeFileSystem) -> None:
    with CatalogFile.open(FOLDER, files=disk, capacity=4096) as catalog:
        for _ in range(3):
            catalog.add_recording(RecordingBuilder().descriptor(channel=LONG))
        disk.fill_up()
        added = add_until_full(catalog)
        ids = catalog.ids()
        assert ids == list(range(3 + added))
        catalog.recording_stopped(0, 96, 1)
    with CatalogReader.open(FOLDER, disk) as reader:
        assert reader.ids() == ids
        assert reader.descriptor(0).stop_position == 96
        assert reader.descriptor(ids[-1]).original_channel == LONG


def test_when_space_returns_recordings_are_added_again(disk: FakeFileSystem) -> None:
    with CatalogFile.open(FOLDER, files=disk, capacity=1024) as catalog:
        disk.write_bytes("/ballast", bytes(64 * 1024))
        disk.fill_up()
        before = add_until_full(catalog)
        disk.remove("/ballast")
        assert catalog.add_recording(RecordingBuilder().descriptor(channel=LONG)) == before
    with CatalogFile.open(FOLDER, files=disk) as catalog:
        assert catalog.ids() == list(range(before + 1))


def test_a_full_disk_has_no_room_for_a_new_archive(disk: FakeFileSystem) -> None:
    disk.fill_up()
    with pytest.raises(StorageSpaceError):
        CatalogFile.open(FOLDER, files=disk)
    header = archive_header(aeron_directory="aeron")
    with pytest.raises(StorageSpaceError):
        ArchiveMarkFile.claim(FOLDER, header, files=disk, clock=ManualClock())
    assert not disk.exists(f"{FOLDER}/archive-mark.dat")
