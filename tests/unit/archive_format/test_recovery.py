"""Where a recording ends that nobody stopped (spec archive-files 6; 18.5 is made better).

A payload of 1000 bytes takes 1056 bytes: frames 0, 1056, 2112, 3168 (which spans offset 4096).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from aerolog.archive.format.archive_folder import ArchiveFolder
from aerolog.archive.format.catalog_file import CatalogFile, RecoveredRecording
from aerolog.archive.format.checksum import checksum_for
from aerolog.archive.format.crash_repair import finish_interrupted
from aerolog.testing.recordings import RecordingBuilder
from aerolog.transport.errors import FileFormatError

if TYPE_CHECKING:
    from pathlib import Path

PAYLOAD = b"\x11" * 1000
STEP = 1056
PAGE = 4096


def recover(folder: Path, **options: object) -> RecoveredRecording:
    with CatalogFile.open(folder, **options) as catalog:
        recovered = catalog.refresh(77)
        assert catalog.descriptor(0).stop_timestamp == 77
        assert catalog.descriptor(0).stop_position == recovered[0].stop.position
    assert len(recovered) == 1
    return recovered[0]


def active(folder: Path, messages: int, **options: object) -> RecordingBuilder:
    builder = RecordingBuilder(**options)
    for _ in range(messages):
        builder.add(PAYLOAD)
    builder.write(folder, stopped=False)
    return builder


def patch(path: Path, offset: int, data: bytes) -> None:
    content = bytearray(path.read_bytes())
    content[offset : offset + len(data)] = data
    path.write_bytes(content)


def test_the_end_of_the_last_frame_is_the_stop_position(tmp_path: Path) -> None:
    active(tmp_path, 3)
    stop = recover(tmp_path).stop
    assert (stop.position, stop.unverified) == (3 * STEP, None)


def test_a_second_start_recovers_nothing(tmp_path: Path) -> None:
    active(tmp_path, 3)
    recover(tmp_path)
    with CatalogFile.open(tmp_path) as catalog:
        assert catalog.refresh(78) == []
        assert catalog.descriptor(0).stop_timestamp == 77


def test_only_the_last_segment_counts(tmp_path: Path) -> None:
    builder = active(tmp_path, 100)
    (tmp_path / "0-0.rec").unlink()
    assert recover(tmp_path).stop.position == builder.position > 65536


def test_an_empty_last_segment_ends_at_its_base(tmp_path: Path) -> None:
    builder = RecordingBuilder()
    builder.add(PAYLOAD)
    builder.pad()
    builder.write(tmp_path, stopped=False)
    assert (tmp_path / "0-65536.rec").exists()
    assert recover(tmp_path).stop.position == 65536


def test_a_missing_last_segment_ends_with_the_one_before(tmp_path: Path) -> None:
    active(tmp_path, 100)
    (tmp_path / "0-65536.rec").unlink()
    assert recover(tmp_path).stop.position == 65536


def test_without_segments_the_recording_is_empty(tmp_path: Path) -> None:
    active(tmp_path, 0, start_position=4096)
    (tmp_path / "0-0.rec").unlink()
    assert recover(tmp_path).stop.position == 4096


def test_the_scan_starts_where_the_recording_does(tmp_path: Path) -> None:
    builder = active(tmp_path, 2, start_position=69632)
    assert recover(tmp_path).stop.position == builder.position == 69632 + 2 * STEP


def test_a_negative_length_ends_the_data(tmp_path: Path) -> None:
    active(tmp_path, 3)
    patch(tmp_path / "0-0.rec", 2 * STEP, (-1280).to_bytes(4, "little", signed=True))
    assert recover(tmp_path).stop.position == 2 * STEP


def test_a_fragment_whose_second_page_is_zero_is_left_out_and_kept(tmp_path: Path) -> None:
    active(tmp_path, 4)
    path = tmp_path / "0-0.rec"
    patch(path, PAGE, bytes(4 * STEP - PAGE))
    before = path.read_bytes()
    stop = recover(tmp_path).stop
    assert stop.position == 3 * STEP
    assert stop.unverified is not None
    assert (stop.unverified.offset, stop.unverified.length) == (3 * STEP, STEP)
    assert stop.unverified.file == str(path)
    assert "straddling page boundary" in str(stop.unverified)
    assert path.read_bytes() == before


def test_one_word_in_the_second_page_is_enough(tmp_path: Path) -> None:
    active(tmp_path, 4)
    patch(tmp_path / "0-0.rec", PAGE, bytes(4 * STEP - PAGE - 25))
    assert recover(tmp_path).stop.position == 4 * STEP


def test_every_page_of_a_long_fragment_must_hold_something(tmp_path: Path) -> None:
    builder = RecordingBuilder(mtu_length=32 * 1024)
    builder.add(b"\x22" * 20_000)
    builder.write(tmp_path, stopped=False)
    patch(tmp_path / "0-0.rec", 2 * PAGE, bytes(PAGE))
    assert recover(tmp_path).stop.position == 0


def test_a_damaged_fragment_within_one_page_is_accepted(tmp_path: Path) -> None:
    active(tmp_path, 3)
    patch(tmp_path / "0-0.rec", 2 * STEP + 32, bytes(1000))
    assert recover(tmp_path).stop.position == 3 * STEP


def test_a_checksum_accepts_a_fragment_that_is_zero_by_nature(tmp_path: Path) -> None:
    for name, expected in (("CRC-32C", 4 * STEP), (None, 3 * STEP)):
        folder = tmp_path / str(name)
        folder.mkdir()
        checksum = checksum_for(name)
        builder = RecordingBuilder(checksum=checksum)
        for payload in (PAYLOAD, PAYLOAD, PAYLOAD, bytes(1000)):
            builder.add(payload)
        builder.write(folder, stopped=False)
        assert recover(folder, checksum=checksum).stop.position == expected


def test_a_checksum_that_does_not_match_leaves_the_pages_to_decide(tmp_path: Path) -> None:
    checksum = checksum_for("CRC-32")
    builder = RecordingBuilder(checksum=checksum)
    for _ in range(4):
        builder.add(PAYLOAD)
    builder.write(tmp_path, stopped=False)
    patch(tmp_path / "0-0.rec", PAGE, bytes(4 * STEP - PAGE))
    assert recover(tmp_path, checksum=checksum).stop.position == 3 * STEP


def test_padding_across_pages_is_accepted(tmp_path: Path) -> None:
    builder = RecordingBuilder(segment_length=128 * 1024)
    builder.add(PAYLOAD)
    builder.pad()
    builder.write(tmp_path, stopped=False)
    stop = recover(tmp_path).stop
    assert (stop.position, stop.unverified) == (65536, None)


@pytest.mark.parametrize("length", [2**31 - 1, 65536])
@pytest.mark.parametrize("kind", [0, 1])
def test_a_length_that_passes_the_term_is_no_frame(tmp_path: Path, length: int, kind: int) -> None:
    active(tmp_path, 3)
    patch(tmp_path / "0-0.rec", 2 * STEP, length.to_bytes(4, "little"))
    patch(tmp_path / "0-0.rec", 2 * STEP + 6, kind.to_bytes(2, "little"))
    stop = recover(tmp_path).stop
    assert stop.position == 2 * STEP
    assert stop.unverified is not None


def test_a_file_that_ends_inside_a_frame_ends_before_it(tmp_path: Path) -> None:
    active(tmp_path, 3)
    path = tmp_path / "0-0.rec"
    path.write_bytes(path.read_bytes()[: 2 * STEP + 100])
    assert recover(tmp_path).stop.position == 2 * STEP


@pytest.mark.parametrize("length", [0, 5, 31])
def test_a_file_without_a_whole_header_is_empty(tmp_path: Path, length: int) -> None:
    active(tmp_path, 3)
    path = tmp_path / "0-0.rec"
    path.write_bytes(path.read_bytes()[:length])
    assert recover(tmp_path).stop.position == 0


def test_the_reference_counts_pages_from_the_start_of_its_buffer(tmp_path: Path) -> None:
    """Verified on the reference: with start offset 64 the same damage is not seen."""
    for start, expected in ((0, 0), (64, 1)):
        folder = tmp_path / str(start)
        folder.mkdir()
        builder = RecordingBuilder(start_position=start, mtu_length=8192)
        builder.add(b"\x33" * (4000 - start - 32))
        end = builder.add(b"\x33" * 96)
        assert end == 4128
        builder.write(folder, stopped=False)
        patch(folder / "0-0.rec", PAGE, bytes(32))
        assert recover(folder).stop.position == (4128 if expected else 4000)


def test_a_frame_at_the_end_of_a_read_is_judged_by_file_offsets(tmp_path: Path) -> None:
    """Where the reference's page check looks outside its buffer (18.10), ours does not."""
    for damaged in (False, True):
        folder = tmp_path / str(damaged)
        folder.mkdir()
        builder = RecordingBuilder(term_length=128 * 1024, segment_length=128 * 1024)
        while builder.position + STEP <= 65536:
            builder.add(PAYLOAD)
        last = builder.position
        builder.add(PAYLOAD)
        builder.write(folder, stopped=False)
        assert last < 65536 < builder.position
        if damaged:
            patch(folder / "0-0.rec", 65536, bytes(builder.position - 65536))
        with CatalogFile.open(folder) as catalog:
            stop = catalog.refresh(1, io_length=65536)[0].stop
        assert stop.position == (last if damaged else builder.position)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("0-.rec", "no position encoded"),
        ("0-abc.rec", "error parsing long: abc"),
        ("0--5.rec", "negative position encoded"),
        ("0-96.rec", "not a segment of recording 0"),
        ("0-9223372036854710272.rec", "not a segment of recording 0"),
    ],
)
def test_an_impossible_segment_name_is_an_error(tmp_path: Path, name: str, message: str) -> None:
    active(tmp_path, 1)
    (tmp_path / name).write_bytes(b"")
    with CatalogFile.open(tmp_path) as catalog, pytest.raises(FileFormatError, match=message):
        catalog.refresh(1)


def test_files_of_nobody_do_not_matter(tmp_path: Path) -> None:
    active(tmp_path, 1)
    for name in ("foo-1.rec", "x.rec", "77-0.rec"):
        (tmp_path / name).write_bytes(b"garbage")
    assert recover(tmp_path).stop.position == STEP


@pytest.mark.parametrize(
    ("field", "value"), [(60, 1000), (64, 0), (64, 2**31 - 1), (40, 2**63 - 32)]
)
def test_an_impossible_descriptor_is_an_error(tmp_path: Path, field: int, value: int) -> None:
    active(tmp_path, 1)
    size = 8 if field < 56 else 4
    patch(tmp_path / "archive.catalog", 64 + field, value.to_bytes(size, "little"))
    with (
        CatalogFile.open(tmp_path) as catalog,
        pytest.raises(
            FileFormatError, match=r"recording 0: .*archive\.catalog in the entry at offset 32"
        ),
    ):
        catalog.refresh(1)


def test_a_read_only_reader_ends_where_recovery_would(tmp_path: Path) -> None:
    active(tmp_path, 4)
    patch(tmp_path / "0-0.rec", PAGE, bytes(4 * STEP - PAGE))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with ArchiveFolder(tmp_path) as folder:
        recording = folder.recording(0)
        assert recording.end_position == 3 * STEP
        assert [m.payload for m in recording.messages()] == [PAYLOAD] * 3
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(("messages", "stop"), [(3, 3 * STEP), (0, 0)])
def test_a_start_that_is_no_multiple_of_32_is_recovered_from_the_next_one(
    tmp_path: Path, messages: int, stop: int
) -> None:
    active(tmp_path, messages)
    patch(tmp_path / "archive.catalog", 64 + 40, (STEP - 1).to_bytes(8, "little"))
    assert recover(tmp_path).stop.position == max(stop, STEP)


def test_a_start_that_is_no_multiple_of_32_is_the_end_without_segments(tmp_path: Path) -> None:
    active(tmp_path, 1)
    (tmp_path / "0-0.rec").unlink()
    patch(tmp_path / "archive.catalog", 64 + 40, (33).to_bytes(8, "little"))
    assert recover(tmp_path).stop.position == 33


def test_a_recording_whose_end_is_not_found_is_told_and_keeps_its_segments(tmp_path: Path) -> None:
    active(tmp_path, 100)
    active(tmp_path, 3)
    (tmp_path / "0-abc.rec").write_bytes(b"")
    before = {path.name: path.read_bytes() for path in tmp_path.glob("0-*")}
    doubtful: list[int] = []
    with CatalogFile.open(tmp_path) as catalog:
        (recovered,) = catalog.refresh(1, on_doubtful=lambda one, error: doubtful.append(one))
        assert recovered.recording_id == 1
        assert doubtful == [0]
        assert catalog.descriptor(0).is_active
        assert finish_interrupted(catalog, after_crash=True) == []
    assert {path.name: path.read_bytes() for path in tmp_path.glob("0-*")} == before
