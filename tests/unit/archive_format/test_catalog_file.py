"""The catalog, written and read (spec archive-files 3 to 5, 7)."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

from aerolog.archive.format.catalog_file import CatalogFile
from aerolog.archive.format.catalog_map import CatalogReader
from aerolog.archive.format.checksum import checksum_for
from aerolog.archive.protocol.enums import RecordingState
from aerolog.testing.recordings import RecordingBuilder
from aerolog.transport.errors import (
    ArchiveError,
    ArchiveErrorCode,
    ConfigurationError,
    FileFormatError,
    StorageSpaceError,
)

if TYPE_CHECKING:
    from pathlib import Path

    from aerolog.archive.format.descriptor import RecordingDescriptor

CATALOG = "archive.catalog"


def descriptor(channel: str = "aeron:ipc", **changes: object) -> RecordingDescriptor:
    return RecordingBuilder().descriptor(stopped=False, channel=channel).with_changes(**changes)


def patch(folder: Path, offset: int, data: bytes) -> None:
    path = folder / CATALOG
    content = bytearray(path.read_bytes())
    content[offset : offset + len(data)] = data
    path.write_bytes(content)


def filled(folder: Path, count: int = 3) -> list[int]:
    with CatalogFile.open(folder, capacity=1024) as catalog:
        return [catalog.add_recording(descriptor()) for _ in range(count)]


def test_a_new_file_has_the_stated_header(tmp_path: Path) -> None:
    with CatalogFile.open(tmp_path, capacity=2048) as catalog:
        assert catalog.capacity == 2048
        assert len(catalog) == 0
    content = (tmp_path / CATALOG).read_bytes()
    assert len(content) == 2048
    assert content[:32] == bytes.fromhex("00010300 20000000 0000000000000000 40000000") + bytes(12)


def test_ids_are_given_in_order_and_survive_reopening(tmp_path: Path) -> None:
    assert filled(tmp_path) == [0, 1, 2]
    with CatalogFile.open(tmp_path) as catalog:
        assert catalog.ids() == [0, 1, 2]
        assert catalog.add_recording(descriptor()) == 3
        assert catalog.next_recording_id == 4


def test_a_descriptor_comes_back_as_it_was_added(tmp_path: Path) -> None:
    original = descriptor("aeron:ipc?alias=grün", initial_term_id=-5, start_position=4096)
    with CatalogFile.open(tmp_path) as catalog:
        catalog.add_recording(original)
    with CatalogReader.open(tmp_path) as reader:
        read = reader.descriptor(0)
    assert read == original.with_changes(
        stripped_channel="aeron:ipc?alias=gr?n", original_channel="aeron:ipc?alias=gr?n"
    )


def test_the_file_grows_by_halves(tmp_path: Path) -> None:
    capacities = []
    with CatalogFile.open(tmp_path, capacity=1024) as catalog:
        for _ in range(20):
            catalog.add_recording(descriptor("aeron:ipc?alias=" + "x" * 40))
            if catalog.capacity not in capacities:
                capacities.append(catalog.capacity)
        assert catalog.ids() == list(range(20))
    assert capacities == [1024, 1536, 2304, 3456, 5184]
    with CatalogReader.open(tmp_path) as reader:
        assert reader.ids() == list(range(20))


def test_a_longer_configured_capacity_extends_a_shorter_one_does_not_shrink(tmp_path: Path) -> None:
    filled(tmp_path)
    with CatalogFile.open(tmp_path, capacity=4096) as catalog:
        assert catalog.capacity == 4096
    with CatalogFile.open(tmp_path, capacity=64) as catalog:
        assert catalog.capacity == 4096
        assert catalog.ids() == [0, 1, 2]


@pytest.mark.parametrize("capacity", [31, 0, -1, 2**31])
def test_a_capacity_out_of_range_is_refused(tmp_path: Path, capacity: int) -> None:
    with pytest.raises(ConfigurationError, match=f"got {capacity}"):
        CatalogFile.open(tmp_path, capacity=capacity)
    assert list(tmp_path.iterdir()) == []


def test_stop_extend_and_positions_are_stored(tmp_path: Path) -> None:
    with CatalogFile.open(tmp_path) as catalog:
        catalog.add_recording(descriptor())
        catalog.recording_stopped(0, 4096, 1234)
        stopped = catalog.descriptor(0)
        assert (stopped.stop_position, stopped.stop_timestamp) == (4096, 1234)
        assert not stopped.is_active
        catalog.extend_recording(0, 11, 12, 13)
        extended = catalog.descriptor(0)
        assert extended.is_active
        assert extended.stop_timestamp == -1
        assert (extended.control_session_id, extended.correlation_id) == (11, 12)
        assert extended.session_id == 13
        catalog.update_start_position(0, 64)
        catalog.update_stop_position(0, 128)
        moved = catalog.descriptor(0)
        assert (moved.start_position, moved.stop_position) == (64, 128)
        assert moved.stop_timestamp == -1


def test_a_reader_sees_changes_in_entries_it_knows_and_others_after_reload(tmp_path: Path) -> None:
    with CatalogFile.open(tmp_path, capacity=600) as catalog:
        catalog.add_recording(descriptor())
        with CatalogReader.open(tmp_path) as reader:
            catalog.recording_stopped(0, 96, 5)
            assert reader.descriptor(0).stop_position == 96
            for _ in range(9):
                catalog.add_recording(descriptor())
            assert reader.ids() == [0]
            reader.reload()
            assert reader.ids() == list(range(10))


@pytest.mark.parametrize("state", [RecordingState.DELETED, RecordingState.INVALID])
def test_other_states_leave_the_index_and_ids_are_not_reused(
    tmp_path: Path, state: RecordingState
) -> None:
    filled(tmp_path)
    with CatalogFile.open(tmp_path) as catalog:
        catalog.change_state(2, state)
        assert catalog.ids() == [0, 1]
        with pytest.raises(ArchiveError, match="unknown recording id: 2") as raised:
            catalog.descriptor(2)
        assert raised.value.code == ArchiveErrorCode.UNKNOWN_RECORDING
    with CatalogFile.open(tmp_path) as catalog:
        assert [entry.state for entry in catalog.entries()] == [1, 1, state]
        assert catalog.add_recording(descriptor()) == 3


def test_unknown_ids_are_refused(tmp_path: Path) -> None:
    filled(tmp_path)
    with CatalogReader.open(tmp_path) as reader:
        assert 2 in reader
        assert 3 not in reader
        for recording_id in (3, -1, 2**63):
            with pytest.raises(ArchiveError, match=f"unknown recording id: {recording_id}"):
                reader.entry(recording_id)


def test_find_last_gives_the_newest_match(tmp_path: Path) -> None:
    with CatalogFile.open(tmp_path) as catalog:
        for session_id, channel in ((5, "aeron:ipc?alias=a"), (5, "aeron:ipc?alias=b"), (6, "x")):
            catalog.add_recording(descriptor(channel, session_id=session_id))
        assert catalog.find_last(0, 5, 10, b"") == 1
        assert catalog.find_last(0, 5, 10, b"alias=a") == 0
        assert catalog.find_last(1, 5, 10, b"alias=a") == -1
        assert catalog.find_last(0, 5, 11, b"") == -1
        assert catalog.find_last(0, 6, 10, b"x") == 2


def test_a_descriptor_message_takes_the_entry_from_its_recording_id(tmp_path: Path) -> None:
    filled(tmp_path, 1)
    content = (tmp_path / CATALOG).read_bytes()
    with CatalogReader.open(tmp_path) as reader:
        entry = reader.entry(0)
        assert reader.descriptor_tail(0) == content[32 + 48 : 64 + entry.length]


def test_checksums_of_entries_follow_every_change(tmp_path: Path) -> None:
    checksum = checksum_for("CRC-32")
    assert checksum is not None
    with CatalogFile.open(tmp_path, checksum=checksum) as catalog:
        catalog.add_recording(descriptor())

        def stored_and_computed() -> tuple[int, int]:
            content = (tmp_path / CATALOG).read_bytes()
            length = struct.unpack_from("<i", content, 32)[0]
            return catalog.entry(0).checksum, checksum.compute(content[64 : 64 + length])

        seen = set()
        for change in (
            lambda: None,
            lambda: catalog.recording_stopped(0, 64, 1),
            lambda: catalog.update_start_position(0, 32),
            lambda: catalog.extend_recording(0, 1, 2, 3),
            lambda: catalog.replace_recording(descriptor("aeron:ipc?alias=longer" + "r" * 99)),
            lambda: catalog.replace_recording(descriptor("aeron:ipc")),
        ):
            change()
            stored, computed = stored_and_computed()
            assert stored == computed != 0
            seen.add(stored)
        assert len(seen) >= 5


def test_a_longer_replacement_moves_what_is_behind_it(tmp_path: Path) -> None:
    long_channel = "aeron:ipc?alias=" + "y" * 300
    with CatalogFile.open(tmp_path, capacity=1024) as catalog:
        for stream_id in (1, 2, 3):
            catalog.add_recording(descriptor(stream_id=stream_id))
        catalog.replace_recording(descriptor(long_channel, recording_id=1, stream_id=22))
        assert [catalog.descriptor(i).stream_id for i in range(3)] == [1, 22, 3]
        assert catalog.add_recording(descriptor(stream_id=4)) == 3
    with CatalogFile.open(tmp_path) as catalog:
        assert [d.stream_id for d in catalog.descriptors()] == [1, 22, 3, 4]
        assert catalog.descriptor(1).original_channel == long_channel


def test_a_shorter_replacement_keeps_the_place_and_clears_the_rest(tmp_path: Path) -> None:
    with CatalogFile.open(tmp_path) as catalog:
        catalog.add_recording(descriptor("aeron:ipc?alias=" + "z" * 200))
        length = catalog.entry(0).length
        catalog.replace_recording(descriptor("aeron:ipc"))
        assert catalog.entry(0).length == length
        assert b"z" not in catalog.descriptor_tail(0)


def test_a_file_without_next_id_counts_from_the_last_entry(tmp_path: Path) -> None:
    filled(tmp_path)
    patch(tmp_path, 8, bytes(8))
    with CatalogFile.open(tmp_path) as catalog:
        assert catalog.add_recording(descriptor()) == 3


def test_a_crash_between_entry_and_header_is_mended(tmp_path: Path) -> None:
    filled(tmp_path)
    patch(tmp_path, 8, (2).to_bytes(8, "little"))
    with CatalogFile.open(tmp_path) as catalog:
        assert catalog.next_recording_id == 3
        assert catalog.add_recording(descriptor()) == 3


def test_a_crash_before_the_header_starts_anew_but_not_over_segments(tmp_path: Path) -> None:
    (tmp_path / CATALOG).write_bytes(bytes(1024))
    with CatalogFile.open(tmp_path) as catalog:
        assert catalog.add_recording(descriptor()) == 0
    (tmp_path / CATALOG).write_bytes(bytes(1024))
    (tmp_path / "0-0.rec").write_bytes(bytes(65536))
    with pytest.raises(FileFormatError, match=r"incompatible catalog file version 0\.0\.0"):
        CatalogFile.open(tmp_path)


@pytest.mark.parametrize(
    ("offset", "data", "message"),
    [
        (0, bytes.fromhex("00000200"), r"incompatible catalog file version 2\.0\.0.*offset 0"),
        (0, b"\xff" * 32, "incompatible catalog file version"),
        (16, bytes(4), "invalid alignment of entries.*offset 16: 0"),
        (16, (48).to_bytes(4, "little"), "invalid alignment of entries.*offset 16: 48"),
        (224, (2**31 - 1).to_bytes(4, "little"), "passes the end.*offset 224: 2147483647"),
        (224, (64).to_bytes(4, "little"), "too short for a descriptor.*offset 224: 64"),
        (272, (0).to_bytes(8, "little"), "recordingId 0 is less than or equal to.*offset 272: 0"),
    ],
)
def test_damage_names_file_offset_and_value(
    tmp_path: Path, offset: int, data: bytes, message: str
) -> None:
    filled(tmp_path)
    patch(tmp_path, offset, data)
    for opener in (CatalogReader.open, CatalogFile.open):
        with pytest.raises(FileFormatError, match=message) as raised:
            opener(tmp_path)
        assert str(tmp_path / CATALOG) in str(raised.value)


@pytest.mark.parametrize("length", [1, 16, 31])
def test_a_cut_header_is_refused(tmp_path: Path, length: int) -> None:
    filled(tmp_path)
    path = tmp_path / CATALOG
    path.write_bytes(path.read_bytes()[:length])
    for opener in (CatalogReader.open, CatalogFile.open):
        with pytest.raises(FileFormatError, match=str(path)):
            opener(tmp_path)


def test_a_catalog_cut_inside_an_entry_is_refused(tmp_path: Path) -> None:
    filled(tmp_path)
    path = tmp_path / CATALOG
    path.write_bytes(path.read_bytes()[: 32 + 192 + 100])
    with pytest.raises(FileFormatError, match=r"passes the end of the file.*offset 224"):
        CatalogReader.open(tmp_path)


def test_a_string_that_passes_its_entry_is_refused(tmp_path: Path) -> None:
    filled(tmp_path, 1)
    patch(tmp_path, 32 + 32 + 80, (2**32 - 1).to_bytes(4, "little"))
    with (
        CatalogReader.open(tmp_path) as reader,
        pytest.raises(FileFormatError, match="stripped_channel at offset 80 claims 4294967295"),
    ):
        reader.descriptor(0)


def test_a_next_id_below_the_entries_stops_a_writer_not_a_reader(tmp_path: Path) -> None:
    filled(tmp_path)
    patch(tmp_path, 8, (1).to_bytes(8, "little"))
    with pytest.raises(FileFormatError, match=r"greater or equal to 3, was 1.*offset 8"):
        CatalogFile.open(tmp_path)
    with CatalogReader.open(tmp_path) as reader:
        assert reader.ids() == [0, 1, 2]


def test_a_missing_catalog_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        CatalogReader.open(tmp_path)


def test_a_full_catalog_is_an_error(tmp_path: Path) -> None:
    with CatalogFile.open(tmp_path, capacity=2**31 - 1) as catalog:
        catalog._end = 2**31 - 64
        with pytest.raises(StorageSpaceError, match="catalog is full, max capacity reached"):
            catalog.add_recording(descriptor())
        assert catalog.ids() == []


def test_closing_twice_is_harmless(tmp_path: Path) -> None:
    catalog = CatalogFile.open(tmp_path)
    catalog.add_recording(descriptor())
    catalog.close()
    catalog.close()
    with CatalogReader.open(tmp_path) as reader:
        assert reader.ids() == [0]
