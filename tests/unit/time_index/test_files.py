"""Index files: stale, of another recording, damaged, cut, missing; what readers make of them."""

from __future__ import annotations

import os
import re
from array import array
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from aerolog.archive.format.archive_folder import ArchiveFolder
from aerolog.archive.format.catalog_file import CatalogFile
from aerolog.archive.format.checksum import checksum_for
from aerolog.archive.protocol.extension_query import TimesPage
from aerolog.archive.time_index import TimeIndex, epoch_ns, index_path
from aerolog.archive.time_index.blocks import encode_blocks
from aerolog.archive.time_index.index_file import (
    forget_before,
    remove_orphans,
    seal_index,
    write_index,
)
from aerolog.archive.time_index.layout import (
    BLOCK_LENGTH,
    ENTRIES_PER_BLOCK,
    HEADER,
    HEADER_COPIES,
    TRAILER,
    IndexHeader,
)
from aerolog.archive.time_index.notes import TIME_OF_RESERVED
from aerolog.archive.time_index.rebuild import rebuild_index
from aerolog.testing.recordings import RecordingBuilder, write_time_index
from aerolog.transport.errors import ArchiveError, FileFormatError
from aerolog.transport.memory.filesystem import RealFileSystem

if TYPE_CHECKING:
    from aerolog.transport.protocol.fixed_layout import Field

FILES = RealFileSystem()
MS = 1_000_000
HOUR = 3_600_000 * MS
T0 = 1_700_000_000_000 * MS
FRAME = 128


def entries(count: int) -> list[tuple[int, int]]:
    """Every frame of a recording, a millisecond apart."""
    return [(T0 + index * MS, index * FRAME) for index in range(count)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with recording 0 of 700 frames, and its index."""
    builder = RecordingBuilder(segment_length=128 * 1024)
    for _ in range(700):
        builder.add(bytes(96))
    builder.write(tmp_path)
    write_time_index(tmp_path, 0, entries(700))
    return tmp_path


def file_of(folder: Path) -> Path:
    return Path(index_path(folder, 0))


def harm(folder: Path, offset: int) -> None:
    content = bytearray(file_of(folder).read_bytes())
    content[offset] ^= 1
    file_of(folder).write_bytes(content)


def test_a_time_finds_its_frame_and_a_frame_its_time(folder) -> None:
    with TimeIndex.open(folder, 0) as index:
        assert (index.source, index.entries, index.problems) == ("clock", 700, ())
        assert index.first_time_ns == T0
        assert index.last_time_ns == T0 + 699 * MS
        for number in (0, 1, 251, 252, 253, 600, 699):
            time_ns, position = T0 + number * MS, number * FRAME
            assert index.position_at(time_ns) == position
            assert index.position_at(time_ns + 1) == position
            assert index.end_position_at(time_ns) == position
            assert index.time_at(position) == time_ns
        assert index.time_at(FRAME // 2) == T0 + MS // 2
        assert index.position_at(0) == 0
        assert index.end_position_at(T0 + 10**12) == index.end_position == 700 * FRAME


def test_times_may_be_datetimes_and_without_a_zone_are_utc(folder) -> None:
    at = datetime.fromtimestamp(T0 // 10**9, UTC)
    assert epoch_ns(at) == epoch_ns(at.replace(tzinfo=None)) == T0
    with TimeIndex.open(folder, 0) as index:
        assert index.position_at(at.replace(microsecond=5000)) == 5 * FRAME


def test_many_times_at_once_are_the_same_as_one_by_one(folder) -> None:
    with ArchiveFolder(folder) as opened, TimeIndex.open(opened, 0) as index:
        positions = array("q", range(0, 700 * FRAME, 32))
        found = array("q", bytes(8 * len(positions)))
        index.fill_times(positions, found)
        known = [index.time_at(position) for position in positions if index.knows(position)]
        assert list(found) == known + [0] * (len(found) - len(known))
        assert len(known) == 699 * FRAME // 32 + 1  # of what follows the last entry nothing is
        with pytest.raises(ValueError, match="room for 3 times of 4"):
            index.fill_times(positions[:4], array("q", bytes(24)))


def test_without_an_index_the_descriptor_tells(folder) -> None:
    file_of(folder).unlink()
    with TimeIndex.open(folder, 0) as index:
        assert (index.source, index.entries, index.size_bytes) == ("descriptor", 0, 0)
        assert index.problems == ()
        assert index.position_at(T0) == index.position_at(T0 + 500 * MS) == 0
        assert index.position_at(T0 + 1001 * MS) == index.end_position
        assert index.end_position_at(T0) == 0
        assert index.end_position_at(T0 + 1) == index.end_position
        assert T0 < index.estimate_at(350 * FRAME) < T0 + 1001 * MS
        assert not index.knows(350 * FRAME)


@pytest.mark.parametrize("left", [0, 1, 100, BLOCK_LENGTH - 1, BLOCK_LENGTH])
def test_an_index_cut_to_its_header_or_less_is_as_none(folder, left) -> None:
    content = file_of(folder).read_bytes()
    file_of(folder).write_bytes(content[:left])
    with TimeIndex.open(folder, 0) as index:
        assert index.entries == 0
        assert index.position_at(T0 + 500 * MS) == 0
        assert index.check() == index.problems
        if left < 100:
            (problem,) = index.problems
            assert "header" in problem


def test_an_index_that_ends_within_a_block_has_the_blocks_before(folder) -> None:
    content = file_of(folder).read_bytes()
    file_of(folder).write_bytes(content[: 2 * BLOCK_LENGTH + 77])
    with TimeIndex.open(folder, 0) as index:
        assert index.entries == ENTRIES_PER_BLOCK
        assert index.problems == ("the index ends within a block, 77 bytes of it",)
        assert index.position_at(T0 + 100 * MS) == 100 * FRAME
        assert index.position_at(T0 + 500 * MS) == 251 * FRAME


def test_a_damaged_block_costs_the_precision_of_its_times(folder) -> None:
    harm(folder, 2 * BLOCK_LENGTH + 50)
    with TimeIndex.open(folder, 0) as index:
        assert index.position_at(T0 + 100 * MS) == 100 * FRAME
        assert index.position_at(T0 + 300 * MS) == 251 * FRAME
        assert index.end_position_at(T0 + 300 * MS) == 504 * FRAME
        assert index.position_at(T0 + 600 * MS) == 600 * FRAME
        assert index.time_at(251 * FRAME) < index.estimate_at(300 * FRAME) < T0 + 504 * MS
        assert [index.knows(n * FRAME) for n in (251, 252, 503, 504)] == [True, False, False, True]
        assert index.check() == ("damaged blocks of entries: 1",)


@pytest.mark.parametrize("left", [0, 2 * BLOCK_LENGTH])
def test_an_index_that_is_cut_while_it_is_read_says_so(folder, left: int) -> None:
    path = file_of(folder)
    length = path.stat().st_size
    told = f"{path} became shorter while it was read: it had {length} bytes"
    with TimeIndex.open(folder, 0) as index:
        index.check_length()
        os.truncate(path, left)
        assert index.check()[-1] == told
        with pytest.raises(FileFormatError, match=re.escape(told)):
            index.check_length()


def test_one_damaged_copy_of_the_header_is_made_up_for_by_the_other(folder) -> None:
    harm(folder, HEADER_COPIES[0] + 30)
    with TimeIndex.open(folder, 0) as index:
        assert index.entries == 700
    harm(folder, HEADER_COPIES[1] + 30)
    with TimeIndex.open(folder, 0) as index:
        assert index.source == "descriptor"
        assert "header is damaged" in index.problems[0]


def test_the_index_of_another_recording_is_not_used(folder) -> None:
    builder = RecordingBuilder(session_id=5, initial_term_id=99)
    builder.add(b"other")
    assert builder.write(folder) == 1
    write_time_index(folder, 1, [(T0, 0)])
    Path(index_path(folder, 1)).replace(file_of(folder))
    with TimeIndex.open(folder, 0) as index:
        assert index.source == "descriptor"
        assert index.problems == ("the index is not used: it is of recording 1",)


def test_the_index_of_a_recording_that_had_the_id_before_is_not_used(folder) -> None:
    content = file_of(folder).read_bytes()
    header = IndexHeader.decode(content[:BLOCK_LENGTH]).with_changes(start_timestamp=77)
    file_of(folder).write_bytes(header.encode_block() + content[BLOCK_LENGTH:])
    with TimeIndex.open(folder, 0) as index:
        assert index.source == "descriptor"
        assert "another recording that had this id" in index.problems[0]


def test_blocks_of_another_index_are_passed_by(folder) -> None:
    content = file_of(folder).read_bytes()
    header = IndexHeader.decode(content[:BLOCK_LENGTH])
    block = content[BLOCK_LENGTH : 2 * BLOCK_LENGTH]
    # The first block again in place of the second: whole, but not this one.
    file_of(folder).write_bytes(header.encode_block() + block + block + content[3 * BLOCK_LENGTH :])
    with TimeIndex.open(folder, 0) as index:
        assert index.check() == ("damaged blocks of entries: 1",)
        assert index.position_at(T0 + 300 * MS) == 251 * FRAME


def test_an_extension_elsewhere_makes_the_index_stale(folder) -> None:
    with CatalogFile.open(folder, capacity=4096) as catalog:
        catalog.extend_recording(0, 11, 12, 1001)
    with TimeIndex.open(folder, 0) as index:
        assert index.source == "descriptor"
        assert "extended later" in index.problems[0]


def test_entries_behind_the_stop_position_do_not_count(folder) -> None:
    with CatalogFile.open(folder, capacity=4096) as catalog:
        catalog.update_stop_position(0, 300 * FRAME)
    with TimeIndex.open(folder, 0) as index:
        assert index.position_at(T0 + 500 * MS) == 300 * FRAME
        assert index.last_position == 300 * FRAME
        assert [len(times) for times, _ in index.entry_blocks()] == [252, 49]


def test_entries_before_the_start_are_let_go_of_with_it(folder) -> None:
    with CatalogFile.open(folder, capacity=4096) as catalog:
        catalog.update_start_position(0, 512 * FRAME)
        descriptor = catalog.descriptor(0)
    before = file_of(folder).stat().st_size
    forget_before(str(folder), descriptor, FILES)
    forget_before(str(folder), descriptor, FILES)
    with TimeIndex.open(folder, 0) as index:
        assert index.problems == index.check() == ()
        assert index.entries == 700 - 2 * ENTRIES_PER_BLOCK
        assert index.position_at(T0) == 512 * FRAME
        assert index.position_at(T0 + 600 * MS) == 600 * FRAME
        assert index.time_at(512 * FRAME) == T0 + 512 * MS
    assert file_of(folder).stat().st_size == before


def test_files_of_no_recording_are_removed_and_others_left_alone(folder) -> None:
    times = file_of(folder).parent
    for name in ("7.time", "0.time.new", "notes.txt", "x.time"):
        (times / name).write_bytes(b"")
    assert remove_orphans(str(folder), lambda recording_id: recording_id == 0, FILES) == [
        "0.time.new",
        "7.time",
    ]
    assert sorted(path.name for path in times.iterdir()) == ["0.time", "notes.txt", "x.time"]
    assert remove_orphans(str(folder / "none"), lambda _: False, FILES) == []


def test_pages_make_the_index_again(folder) -> None:
    with TimeIndex.open(folder, 0) as index:
        pages = [index.page()]
        while pages[-1].next_page >= 0:
            pages.append(index.page(pages[-1].next_page))
        assert [len(page.entries) // 16 for page in pages] == [252, 252, 196]
        sent = [TimesPage.of(page.answer()) for page in pages]
        assert sent == pages
        again = TimeIndex.from_pages(0, sent)
        for time_ns in range(T0 - MS, T0 + 702 * MS, MS // 2):
            assert again.position_at(time_ns) == index.position_at(time_ns)
            assert again.end_position_at(time_ns) == index.end_position_at(time_ns)
        part = index.page(-1, 300 * FRAME, 400 * FRAME)
        assert part.next_page == -1
        assert memoryview(part.entries).cast("q")[1] == 252 * FRAME


def test_an_unknown_version_is_said_to_be_one(folder) -> None:
    content = bytearray(file_of(folder).read_bytes())
    header = IndexHeader.decode(bytes(content[:BLOCK_LENGTH]))
    (version,) = (field for field in HEADER if field.name == "version")
    data = bytearray(header.encode())
    data[version.offset] = 2
    checksum = checksum_for("CRC-32C")
    data[124:] = checksum.compute(bytes(data[:124])).to_bytes(4, "little", signed=True)
    with pytest.raises(FileFormatError, match="version 2"):
        IndexHeader.decode(bytes(data).ljust(BLOCK_LENGTH, b"\0"))


def test_native_offsets_are_those_of_the_tables() -> None:
    times, positions = array("q", [50, 40, 60]), array("q", [0, 32, 64])
    block = bytes(encode_blocks(times, positions, 9, 77))
    expected = {
        "count": 3,
        "runs_before": 0,
        "runs_after": 1,
        "identity": 77,
        "number": 0,
        "recording_id": 9,
        "prior_max_ns": -(2**63),
        "min_ns": 40,
        "max_ns": 60,
        "sample": 0,
    }
    for field in TRAILER:
        if field.name != "checksum":
            assert value_of(block, field) == expected[field.name], field.name


def value_of(block: bytes, field: Field) -> int:
    data = block[field.offset : field.offset + field.size]
    return int.from_bytes(data, "little", signed=True)


def test_entries_out_of_order_or_of_unlike_number_are_refused() -> None:
    with pytest.raises(ValueError, match="entry 1: position 0 is before 32"):
        TimeIndex.from_entries([1, 2], [32, 0])
    with pytest.raises(ValueError, match="2 times for 1 positions"):
        TimeIndex.from_entries([1, 2], [32])


def test_a_recording_made_elsewhere_gets_what_its_descriptor_tells(folder) -> None:
    file_of(folder).unlink()
    with ArchiveFolder(folder) as opened:
        rebuild_index(opened.recording(0))
        with TimeIndex.open(opened, 0) as index:
            assert (index.source, index.is_rebuilt, index.entries) == ("clock", True, 3)
            assert not index.knows(FRAME)
            assert index.position_at(T0) == 0
            assert index.position_at(T0 + 1001 * MS) == index.end_position


def test_rebuilding_keeps_the_times_that_an_index_has(folder) -> None:
    harm(folder, 2 * BLOCK_LENGTH + 50)
    with ArchiveFolder(folder) as opened:
        rebuild_index(opened.recording(0))
        with TimeIndex.open(opened, 0) as index:
            assert not index.is_rebuilt
            assert index.check() == ()
            assert index.position_at(T0 + 600 * MS) == 600 * FRAME
            assert index.position_at(T0 + 300 * MS) == 251 * FRAME
            known = [index.knows(n * FRAME) for n in (250, 252, 503, 504, 698, 699)]
            assert known == [True, False, False, True, True, False]


def test_an_extension_that_was_killed_at_once_has_only_bounds(tmp_path) -> None:
    """The last entry is the end of what was recorded before, not the time of the frame there."""
    builder = RecordingBuilder()
    for _ in range(200):
        builder.add(bytes(96))
    builder.write(tmp_path)
    write_time_index(tmp_path, 0, [(T0, 0), (T0 + MS, 100 * FRAME)])
    seal_index(str(tmp_path), builder.descriptor(), FILES)
    with TimeIndex.open(tmp_path, 0) as index:
        assert [index.knows(n * FRAME) for n in (99, 100, 150)] == [True, False, False]
        assert index.position_at(T0 + 2 * MS) == 100 * FRAME
        assert index.position_at(T0 + HOUR) == index.end_position
        assert index.problems == ()


@pytest.mark.parametrize("do", ["read", "rebuild"])
def test_the_stop_time_bounds_no_segments_that_came_from_another_recording(tmp_path, do) -> None:
    """They are younger than the recording that they came to, and the end of the index is lost."""
    builder = RecordingBuilder()
    for _ in range(700):
        builder.add(bytes(96))
    builder.write(tmp_path)
    descriptor = builder.descriptor()
    header = IndexHeader.of(descriptor, joined=True)
    assert IndexHeader.decode(header.encode_block()) == header
    assert header.encode()[84:88] == b"\1\0\0\0"
    rows = [(T0 + (HOUR if n >= 300 else 0) + n * MS, n * FRAME) for n in range(701)]
    columns = (array("q", column) for column in zip(*rows, strict=True))
    path = Path(write_index(tmp_path, header, *columns, FILES))
    os.truncate(path, 2 * BLOCK_LENGTH)
    with ArchiveFolder(tmp_path) as opened:
        if do == "rebuild":
            rebuild_index(opened.recording(0))
        with TimeIndex.open(opened, 0) as index:
            assert index.is_joined
            assert index.position_at(T0 + HOUR // 2) < 300 * FRAME
            assert index.end_position_at(T0 + HOUR // 2) == index.end_position
            assert not index.knows(400 * FRAME)


@pytest.mark.parametrize("do", ["read", "rebuild"])
def test_times_that_went_back_in_a_lost_block_stay_unknown(folder, do) -> None:
    """As where older segments had come behind newer ones."""
    rows = [(T0 + n * MS - (HOUR if n >= 300 else 0), n * FRAME) for n in range(700)]
    write_time_index(folder, 0, rows)
    harm(folder, 2 * BLOCK_LENGTH + 50)
    with ArchiveFolder(folder) as opened:
        if do == "rebuild":
            rebuild_index(opened.recording(0))
        with TimeIndex.open(opened, 0) as index:
            for time_ns, position in rows:
                assert index.position_at(time_ns) <= position
                assert index.end_position_at(time_ns + 1) > position
                if index.knows(position):
                    assert index.time_at(position) == time_ns
            assert not index.knows(300 * FRAME)


def test_times_made_of_messages_do_not_spread_over_pauses(tmp_path) -> None:
    """Messages that follow each other closely, an hour apart from the next of them."""
    builder, sent = RecordingBuilder(), []
    time_ns = T0
    for number in range(200):
        time_ns += HOUR if number % 5 == 0 else MS
        sent.append((time_ns, builder.position))
        builder.add(bytes(100), time_ns)
    builder.write(tmp_path)
    with ArchiveFolder(tmp_path) as opened:
        rebuild_index(opened.recording(0), TIME_OF_RESERVED)
        with TimeIndex.open(opened, 0) as index:
            for time_ns, position in sent:
                assert abs(index.time_at(position) - time_ns) < 10 * MS


@pytest.mark.parametrize("offset", [TIME_OF_RESERVED, 4])
def test_times_in_messages_make_an_index(tmp_path, offset) -> None:
    builder = RecordingBuilder()
    positions = []
    for number in range(2000):
        time_ns = T0 + number * MS
        positions.append(builder.position)
        payload = bytes(4) + time_ns.to_bytes(8, "little")
        reserved = time_ns if offset == TIME_OF_RESERVED else 0
        builder.add(payload if number % 7 else bytes(3000), reserved)
    builder.write(tmp_path)
    with ArchiveFolder(tmp_path) as opened:
        rebuild_index(opened.recording(0), offset)
        with TimeIndex.open(opened, 0) as index:
            assert (index.source, index.is_rebuilt, index.problems) == ("channel", True, ())
            assert index.entries > builder.position // 16_384
            for number in range(1, 2000, 50):
                time_ns = T0 + number * MS
                start, end = index.position_at(time_ns), index.end_position_at(time_ns)
                assert start <= positions[number] <= end
                assert positions[number] - start <= 16_384
                assert end - positions[number] <= 16_384


def test_an_active_recording_is_not_rebuilt(tmp_path) -> None:
    builder = RecordingBuilder()
    builder.add(b"x")
    builder.write(tmp_path, stopped=False)
    with ArchiveFolder(tmp_path) as opened, pytest.raises(ArchiveError, match="is active"):
        rebuild_index(opened.recording(0))


@pytest.mark.parametrize(
    ("last", "is_bounded"), [(1023, True), (1025, True), (1024, True), (None, False)]
)
def test_only_what_may_have_come_after_a_stop_has_no_bounds(
    tmp_path: Path, last: int | None, is_bounded: bool
) -> None:
    builder = RecordingBuilder()
    for _ in range(1800):
        builder.add(bytes(96))
    builder.write(tmp_path)
    if last is None:  # the recording stopped where its third segment begins
        times = [(T0, 0), (T0 + MS, FRAME), (T0 + 2 * MS, 2 * 65536)]
        header = IndexHeader.of(builder.descriptor())
        columns = (array("q", column) for column in zip(*times, strict=True))
        write_index(tmp_path, header, *columns, FILES)
    else:
        write_time_index(tmp_path, 0, entries(last + 1))
    with TimeIndex.open(tmp_path, 0) as index:
        assert last is None or index.entries == last + 1
        assert not index.knows(1700 * FRAME)
        assert (index.position_at(T0 + HOUR) == index.end_position) is is_bounded
        assert bool(index.problems) is not is_bounded
