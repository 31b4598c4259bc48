"""Whatever byte of a recording changes, a verification that knows its fingerprints finds it."""

from __future__ import annotations

from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st

from aerolog.archive.format.archive_folder import ArchiveFolder
from aerolog.archive.format.catalog_file import CatalogFile
from aerolog.archive.format.checksum import checksum_for
from aerolog.archive.format.segment import segment_file_name
from aerolog.archive.verification import Finding, verify_recording
from aerolog.testing.filesystem import FakeFileSystem
from aerolog.testing.recordings import RecordingBuilder

FOLDER = "/archive"
SEGMENT = 64 * 1024
START = 2048


@cache
def made(checksum: str | None) -> tuple[FakeFileSystem, int]:
    """A folder with one recording that was verified, and the recording's end."""
    disk = FakeFileSystem()
    disk.make_dirs(FOLDER)
    builder = RecordingBuilder(checksum=checksum_for(checksum), start_position=START)
    for number in range(220):
        builder.add(bytes([number % 251 + 1]) * (number * 37 % 4000))
    with CatalogFile.open(FOLDER, files=disk, capacity=4096) as catalog:
        catalog.add_recording(builder.descriptor())
    for base in range(0, builder.position, SEGMENT):
        data = bytes(builder.data[base : base + SEGMENT]).ljust(SEGMENT, b"\0")
        disk.write_bytes(f"{FOLDER}/{segment_file_name(0, base)}", data)
    with ArchiveFolder(FOLDER, disk) as folder:
        assert verify_recording(folder, 0, note=True) == []
    return disk, builder.position


def verified(disk: FakeFileSystem) -> list[Finding]:
    """What a verification finds; it notes nothing."""
    with ArchiveFolder(FOLDER, disk) as folder:
        return verify_recording(folder, 0, threads=1)


@settings(max_examples=50, deadline=None)
@given(
    checksum=st.sampled_from([None, "CRC-32", "CRC-32C"]),
    place=st.floats(0, 1, exclude_max=True),
    flip=st.integers(1, 255),
)
def test_every_changed_byte_is_found_in_its_segment(checksum, place, flip) -> None:
    disk, end = made(checksum)
    position = START + int(place * (end - START))
    base = position - position % SEGMENT
    with disk.open_data_file(f"{FOLDER}/{segment_file_name(0, base)}", writable=True) as file:
        (before,) = file.read_at(1, position - base)
        file.write_at(bytes([before ^ flip]), position - base)
        try:
            found = verified(disk)
        finally:
            file.write_at(bytes([before]), position - base)
    assert {one.base for one in found} == {base}


@settings(max_examples=50, deadline=None)
@given(
    place=st.floats(0, 1, exclude_max=True),
    data=st.binary(min_size=1, max_size=3000),
)
def test_whatever_stands_there_is_judged_and_nothing_else(place, data) -> None:
    disk, end = made("CRC-32C")
    position = START + int(place * (end - START))
    base = position - position % SEGMENT
    data = data[: min(base + SEGMENT, end) - position]
    with disk.open_data_file(f"{FOLDER}/{segment_file_name(0, base)}", writable=True) as file:
        before = file.read_at(len(data), position - base)
        file.write_at(data, position - base)
        try:
            found = verified(disk)
        finally:
            file.write_at(before, position - base)
    assert {one.base for one in found} == (set() if data == before else {base})
    assert verified(disk) == []
