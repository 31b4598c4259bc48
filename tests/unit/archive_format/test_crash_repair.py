"""What the start of an archive finishes, on real files; ``tests/crash`` does it everywhere."""

from __future__ import annotations

import mmap
from typing import TYPE_CHECKING

import pytest

from aerolog.archive.format.catalog_file import CatalogFile
from aerolog.archive.format.catalog_redo import REDO_NAME, note_change, noted_change
from aerolog.archive.format.crash_repair import finish_interrupted
from aerolog.archive.protocol.enums import RecordingState
from aerolog.testing.recordings import RecordingBuilder
from aerolog.transport.memory.data_file import DataFile
from aerolog.transport.memory.filesystem import RealFileSystem

if TYPE_CHECKING:
    from pathlib import Path

SEGMENT = 64 * 1024
PAGE = 4096


def write(folder: Path, segments: int, *, stopped: bool = True, fill: bytes = b"\x07") -> int:
    """A recording over so many segments; its position."""
    builder = RecordingBuilder(start_position=0)
    while builder.position < (segments - 1) * SEGMENT + 5_000:
        builder.add(fill * 1000)
    builder.write(folder, stopped=stopped)
    return builder.position


def finish(folder: Path, *, after_crash: bool = True) -> list[str]:
    with CatalogFile.open(folder) as catalog:
        catalog.refresh(7)
        return finish_interrupted(catalog, after_crash=after_crash)


def set_stop(folder: Path, position: int) -> None:
    with CatalogFile.open(folder) as catalog:
        catalog.update_stop_position(0, position)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.suffix == ".rec")


def test_nothing_is_done_to_a_folder_in_order(tmp_path: Path) -> None:
    write(tmp_path, 3)
    with CatalogFile.open(tmp_path):  # as long as it is going to be
        before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert finish(tmp_path) == []
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("after_crash", [False, True])
def test_segments_behind_the_stop_position_go(tmp_path: Path, after_crash: bool) -> None:
    write(tmp_path, 4)
    set_stop(tmp_path, SEGMENT + 1056)
    done = finish(tmp_path, after_crash=after_crash)
    assert names(tmp_path) == ["0-0.rec", "0-65536.rec"]
    assert len(done) == 2 + after_crash
    behind = (tmp_path / "0-65536.rec").read_bytes()[1056:]
    assert any(behind) is not after_crash
    assert len(behind) == SEGMENT - 1056


def test_the_empty_segment_at_the_stop_position_stays(tmp_path: Path) -> None:
    builder = RecordingBuilder()
    builder.add(b"one")
    builder.pad()
    builder.write(tmp_path)
    assert finish(tmp_path) == []
    assert names(tmp_path) == ["0-0.rec", "0-65536.rec"]


def test_segments_of_a_purged_recording_go_and_those_of_nobody_stay(tmp_path: Path) -> None:
    write(tmp_path, 2)
    write(tmp_path, 1)
    (tmp_path / "77-0.rec").write_bytes(b"somebody's")
    (tmp_path / "0-no.rec").write_bytes(b"somebody's")
    with CatalogFile.open(tmp_path) as catalog:
        catalog.change_state(0, RecordingState.DELETED)
    assert finish(tmp_path, after_crash=False) == [
        "recording 0: removed 0-0.rec, it was purged",
        "recording 0: removed 0-65536.rec, it was purged",
    ]
    assert names(tmp_path) == ["0-no.rec", "1-0.rec", "77-0.rec"]


def test_a_damaged_entry_and_links_are_left_alone(tmp_path: Path) -> None:
    write(tmp_path, 2)
    write(tmp_path, 2)
    catalog = tmp_path / "archive.catalog"
    content = bytearray(catalog.read_bytes())
    content[64 + 64 : 64 + 68] = (1000).to_bytes(4, "little")  # the first one's term length
    catalog.write_bytes(content)
    somewhere = tmp_path / "somewhere"
    somewhere.write_bytes(b"somebody's")
    (tmp_path / "1-131072.rec").symlink_to(somewhere)
    (tmp_path / "1-196608.rec").mkdir()
    assert finish(tmp_path) == []
    assert len(names(tmp_path)) == 6
    assert somewhere.read_bytes() == b"somebody's"


def test_detached_segments_stay(tmp_path: Path) -> None:
    write(tmp_path, 4)
    with CatalogFile.open(tmp_path) as catalog:
        catalog.update_start_position(0, 2 * SEGMENT)
    assert finish(tmp_path) == []
    assert len(names(tmp_path)) == 4


def test_a_segment_that_never_got_its_length_gets_it(tmp_path: Path) -> None:
    write(tmp_path, 1, stopped=False)
    (tmp_path / "0-65536.rec").write_bytes(b"")
    with CatalogFile.open(tmp_path) as catalog:
        (recovered,) = catalog.refresh(7)
    assert recovered.stop.position == SEGMENT
    assert (tmp_path / "0-65536.rec").stat().st_size == SEGMENT


def sparse(path: Path) -> None:
    """Make pages of zeros holes, as in a file that is not written everywhere."""
    content = path.read_bytes()
    path.unlink()
    with path.open("wb") as file:
        file.truncate(len(content))
        for at in range(0, len(content), PAGE):
            if any(content[at : at + PAGE]):
                file.seek(at)
                file.write(content[at : at + PAGE])


def tells_holes(folder: Path) -> bool:
    path = folder / "sparse"
    with path.open("wb") as file:
        file.truncate(SEGMENT)
    with DataFile.open(str(path)) as opened:
        return opened.first_hole() == 0


def test_a_frame_with_a_hole_ends_the_recording_wherever_it_is(tmp_path: Path) -> None:
    assert tells_holes(tmp_path), "these tests need a file system that tells holes"
    builder = RecordingBuilder(mtu_length=16 * 1024)
    builder.add(b"\x07" * 1000)
    builder.add(b"\x07" * 12_000)
    builder.add(b"\x07" * 1000)
    builder.write(tmp_path, stopped=False)
    path = tmp_path / "0-0.rec"
    content = bytearray(path.read_bytes())
    content[2 * PAGE : 3 * PAGE] = bytes(PAGE)
    path.write_bytes(content)
    sparse(path)
    with CatalogFile.open(tmp_path) as catalog:
        (recovered,) = catalog.refresh(7)
    assert recovered.stop.position == 1056
    assert recovered.stop.unverified is not None
    assert recovered.stop.unverified.has_hole
    assert not recovered.stop.unverified.is_last
    assert path.read_bytes() == content  # what is behind it is kept


def test_a_last_frame_with_a_hole_goes(tmp_path: Path) -> None:
    builder = RecordingBuilder(mtu_length=16 * 1024)
    builder.add(b"\x07" * 1000)
    builder.add(b"\x07" * 12_000)
    builder.write(tmp_path, stopped=False)
    path = tmp_path / "0-0.rec"
    content = bytearray(path.read_bytes())
    content[PAGE:] = bytes(SEGMENT - PAGE)
    path.write_bytes(content)
    sparse(path)
    with CatalogFile.open(tmp_path) as catalog:
        (recovered,) = catalog.refresh(7)
    assert recovered.stop.position == 1056
    assert "what there was of it is gone" in str(recovered.stop.unverified)
    assert path.read_bytes() == bytes(content[:1056]).ljust(SEGMENT, b"\0")


def test_a_last_frame_of_zeros_was_written_when_it_has_no_hole(tmp_path: Path) -> None:
    builder = RecordingBuilder(mtu_length=16 * 1024)
    builder.add(b"\x07" * 1000)
    end = builder.add(bytes(12_000))
    builder.write(tmp_path, stopped=False)
    path = tmp_path / "0-0.rec"
    content = path.read_bytes()
    with path.open("wb") as file:
        file.write(content[: 4 * PAGE])
        file.truncate(SEGMENT)
    with CatalogFile.open(tmp_path) as catalog:
        (recovered,) = catalog.refresh(7)
    assert (recovered.stop.position, recovered.stop.unverified) == (end, None)


def test_clearing_does_not_shorten_the_file_under_a_reader(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"\x07" * SEGMENT)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
        with DataFile.open(str(path), True) as opened:
            opened.clear_behind(5000)
            assert opened.file_size() == SEGMENT
            opened.clear_behind(SEGMENT + 1)
        assert mapped[:] == b"\x07" * 5000 + bytes(SEGMENT - 5000)
    assert path.stat().st_blocks * 512 <= 2 * PAGE


def test_a_noted_change_is_made_and_a_torn_note_is_not(tmp_path: Path) -> None:
    write(tmp_path, 1)
    files, catalog = RealFileSystem(), tmp_path / "archive.catalog"
    before = catalog.read_bytes()
    note_change(files, str(tmp_path), 32, before[32:600], 1)
    noted = (tmp_path / REDO_NAME).read_bytes()
    assert noted_change(files, str(tmp_path)) == (32, before[32:600])
    damaged = bytearray(before)
    damaged[40:500] = bytes(460)
    for note, expected in ((noted, before), (noted[:-1], bytes(damaged)), (b"", bytes(damaged))):
        catalog.write_bytes(damaged)
        (tmp_path / REDO_NAME).write_bytes(note)
        try:
            with CatalogFile.open(tmp_path):
                pass
        finally:
            assert catalog.read_bytes()[: len(before)] == expected
            assert not (tmp_path / REDO_NAME).exists()
