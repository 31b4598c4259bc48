"""Reading recordings from a folder: messages, fragments, ranges, damage (spec archive-files 8)."""

from __future__ import annotations

import itertools
from random import Random
from typing import TYPE_CHECKING

import pytest

from aerolog.archive.format.archive_folder import ArchiveFolder, Message, ScanTotals
from aerolog.archive.format.checksum import checksum_for
from aerolog.archive.format.frame_scan import SegmentScanner
from aerolog.archive.format.scan_columns import COLUMNS, ScanColumns
from aerolog.testing.recordings import RecordingBuilder
from aerolog.transport.errors import ArchiveError, FileFormatError
from aerolog.transport.protocol.frame_header import FRAME_HEADER

if TYPE_CHECKING:
    from pathlib import Path

OFFSET = {field.name: field.offset for field in FRAME_HEADER}


def payloads(count: int, longest: int = 5000, seed: int = 3) -> list[bytes]:
    random = Random(seed)
    return [random.randbytes(random.choice([0, 1, 31, 32, 33, longest])) for _ in range(count)]


def write(folder: Path, messages: list[bytes], **options: object) -> RecordingBuilder:
    builder = RecordingBuilder(**options)
    for index, message in enumerate(messages):
        builder.add(message, reserved_value=index)
    builder.write(folder)
    return builder


def read(folder: Path, **options: object) -> list[Message]:
    with ArchiveFolder(folder) as archive:
        return list(archive.recording(0).messages(**options))


def collect(folder: ArchiveFolder, rows: list[bytes]) -> None:
    for message in folder.recording(0).messages():
        rows.append(message.payload)  # noqa: PERF401, the rows before an error count


def patch(path: Path, offset: int, data: bytes) -> None:
    content = bytearray(path.read_bytes())
    content[offset : offset + len(data)] = data
    path.write_bytes(content)


@pytest.mark.parametrize("segment_length", [64 * 1024, 256 * 1024])
@pytest.mark.parametrize("start_position", [0, 4096, 69632])
def test_messages_come_back_in_order_over_terms_and_segments(
    tmp_path: Path, segment_length: int, start_position: int
) -> None:
    messages = payloads(300)
    builder = write(
        tmp_path, messages, segment_length=segment_length, start_position=start_position
    )
    found = read(tmp_path)
    assert [m.payload for m in found] == messages
    assert [m.reserved_value for m in found] == list(range(300))
    assert {m.flags for m in found} == {0xC0}
    assert found[-1].position == builder.position
    assert [m.position for m in found] == sorted({m.position for m in found})


def test_fragments_come_as_they_were_sent(tmp_path: Path) -> None:
    write(tmp_path, [b"a" * 3000, b"b"])
    found = read(tmp_path, assemble=False)
    assert [(len(m.payload), m.flags) for m in found] == [
        (1376, 0x80),
        (1376, 0x00),
        (248, 0x40),
        (1, 0xC0),
    ]
    assert [m.position for m in found] == [1408, 2816, 3104, 3168]


def test_a_message_shows_the_header_of_its_first_frame(tmp_path: Path) -> None:
    write(tmp_path, [b"x", b"a" * 3000], initial_term_id=-3, session_id=-9, stream_id=4)
    message = read(tmp_path)[1]
    assert (message.term_id, message.term_offset) == (-3, 64)
    assert (message.session_id, message.stream_id, message.reserved_value) == (-9, 4, 1)
    assert message.position == 64 + 2 * 1408 + 288


def test_a_range_is_read_from_and_until_positions(tmp_path: Path) -> None:
    messages = payloads(50)
    write(tmp_path, messages)
    ends = [m.position for m in read(tmp_path)]
    part = read(tmp_path, from_position=ends[9], until_position=ends[19])
    assert [m.payload for m in part] == messages[10:20]
    inside = read(tmp_path, from_position=ends[9], until_position=ends[19] - 1)
    assert [m.payload for m in inside] == messages[10:19]
    assert read(tmp_path, from_position=ends[-1]) == []


@pytest.mark.parametrize(
    ("start", "until"), [(33, None), (-32, None), (2**40, None), (64, 32), (None, 2**40)]
)
def test_a_range_outside_the_recording_is_refused(
    tmp_path: Path, start: int | None, until: int | None
) -> None:
    write(tmp_path, payloads(5))
    with pytest.raises(ValueError, match="recording 0 cannot be read from position"):
        read(tmp_path, from_position=start, until_position=until)


def test_fragments_without_their_beginning_or_end_are_skipped_and_counted(tmp_path: Path) -> None:
    write(tmp_path, [b"a" * 3000, b"whole", b"c" * 3000])
    last = read(tmp_path, assemble=False)[-1].position
    totals = ScanTotals(0)
    found = read(tmp_path, from_position=1408, until_position=last - 32, totals=totals)
    assert [m.payload for m in found] == [b"whole"]
    assert totals.skipped_fragments == 4
    assert totals.frames == 5


def test_a_message_cut_short_by_another_is_skipped(tmp_path: Path) -> None:
    write(tmp_path, [b"a" * 2000, b"whole"])
    patch(tmp_path / "0-0.rec", 1408 + OFFSET["flags"], b"\xc0")
    totals = ScanTotals(0)
    found = read(tmp_path, totals=totals)
    assert [len(m.payload) for m in found] == [624, 5]
    assert totals.skipped_fragments == 1


def test_batches_are_bounded_by_rows_and_by_bytes(tmp_path: Path) -> None:
    messages = payloads(200, longest=3000)
    write(tmp_path, messages, segment_length=128 * 1024)
    with ArchiveFolder(tmp_path) as folder:
        by_rows = [b.rows for b in folder.recording(0).batches(rows_max=7)]
        by_bytes = list(folder.recording(0).batches(payload_capacity=4096))
    assert sum(by_rows) == 200
    assert max(by_rows) == 7
    assert by_rows.count(7) == 28
    assert sum(b.rows for b in by_bytes) == 200
    assert max(b.payload_length for b in by_bytes) <= 4096


def test_a_message_longer_than_a_batch_gets_one_of_its_own(tmp_path: Path) -> None:
    messages = [b"s", b"x" * 8000, b"s"]
    write(tmp_path, messages)
    with ArchiveFolder(tmp_path) as folder:
        batches = list(folder.recording(0).batches(payload_capacity=100))
    assert b"".join(bytes(b.column("payload")) for b in batches) == b"".join(messages)
    assert sum(b.rows for b in batches) == 3


def test_wanted_columns_alone_are_filled(tmp_path: Path) -> None:
    messages = payloads(20)
    write(tmp_path, messages)
    with ArchiveFolder(tmp_path) as folder:
        (batch,) = folder.recording(0).batches(columns=("position", "payload_offset"))
    assert set(batch.buffers) == {"position", "payload_offset"}
    offsets = batch.column("payload_offset").tolist()
    assert [b - a for a, b in itertools.pairwise(offsets)] == [len(m) for m in messages]
    with pytest.raises(ValueError, match="no such column: nonsense"):
        ScanColumns(1, 1, ("nonsense",))


@pytest.mark.parametrize("name", ["CRC-32", "CRC-32C"])
def test_checksums_in_place_of_session_ids_are_recognised(tmp_path: Path, name: str) -> None:
    write(tmp_path, payloads(60), checksum=checksum_for(name), session_id=4711)
    totals = ScanTotals(0)
    found = read(tmp_path, assemble=False, totals=totals)
    assert {m.session_id for m in found} == {4711}
    assert totals.checksum_mismatches == 0


def test_an_empty_message_is_no_sign_of_a_checksum(tmp_path: Path) -> None:
    builder = RecordingBuilder(session_id=1)
    for session_id, payload in ((1, b"a"), (0, b""), (2, b"b"), (3, b"c")):
        builder.session_id = session_id
        builder.add(payload)
    builder.write(tmp_path)
    totals = ScanTotals(0)
    assert [m.session_id for m in read(tmp_path, totals=totals)][2:] == [2, 3]
    assert totals.checksum_mismatches == 0


def test_a_frame_that_lost_its_checksum_is_counted(tmp_path: Path) -> None:
    write(tmp_path, [b"p" * 100] * 10, checksum=checksum_for("CRC-32"), session_id=4711)
    patch(tmp_path / "0-0.rec", 5 * 160 + 40, b"!")
    totals = ScanTotals(0)
    found = read(tmp_path, totals=totals)
    assert {m.session_id for m in found} == {4711}
    assert totals.checksum_mismatches == 1


def test_session_ids_of_an_extended_recording_are_kept(tmp_path: Path) -> None:
    builder = RecordingBuilder(session_id=1)
    for session_id in (1, 2, 3):
        builder.session_id = session_id
        for message in payloads(5, seed=session_id):
            builder.add(message)
    builder.write(tmp_path)
    assert [m.session_id for m in read(tmp_path)] == [1] * 5 + [2] * 5 + [3] * 5


@pytest.mark.parametrize(
    ("field", "value", "size", "message"),
    [
        ("frame_length", 31, 4, "impossible frame length.*offset 128: 31"),
        ("frame_length", 2**31 - 1, 4, "impossible frame length.*offset 128: 2147483647"),
        ("frame_length", 0, 4, "unexpected end of recording.*offset 128"),
        ("frame_length", 2**31, 4, "unexpected end of recording.*offset 128"),
        ("type", 5, 2, "unexpected frame type.*offset 134: 5"),
        ("term_offset", 96, 4, "wrong term offset in a frame.*offset 136: 96"),
        ("term_id", 8, 4, "wrong term id in a frame.*offset 148: 8"),
        ("stream_id", 11, 4, "wrong stream id in a frame.*offset 144: 11"),
    ],
)
def test_damage_names_file_offset_and_value_after_the_rows_before_it(
    tmp_path: Path, field: str, value: int, size: int, message: str
) -> None:
    write(tmp_path, [b"x" * 20] * 5)
    patch(tmp_path / "0-0.rec", 128 + OFFSET[field], value.to_bytes(size, "little"))
    with ArchiveFolder(tmp_path) as folder:
        rows: list[bytes] = []
        with pytest.raises(FileFormatError, match=message) as raised:
            collect(folder, rows)
    assert rows == [b"x" * 20] * 2
    assert str(tmp_path / "0-0.rec") in str(raised.value)
    assert "position 128 of recording 0" in str(raised.value)


def test_a_missing_segment_is_named(tmp_path: Path) -> None:
    messages = payloads(300)
    write(tmp_path, messages)
    (tmp_path / "0-65536.rec").unlink()
    with ArchiveFolder(tmp_path) as folder:
        rows: list[bytes] = []
        with pytest.raises(FileFormatError, match=r"recording segment not found: .*0-65536\.rec"):
            collect(folder, rows)
    assert 0 < len(rows) < 300
    assert rows == messages[: len(rows)]


@pytest.mark.parametrize("length", [1, 31, 64, 100, 140])
def test_a_segment_cut_short_is_an_error_not_a_crash(tmp_path: Path, length: int) -> None:
    write(tmp_path, [b"x" * 60] * 5)
    path = tmp_path / "0-0.rec"
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(FileFormatError, match=r"segment ends inside a frame|unexpected end"):
        read(tmp_path)


def test_an_empty_segment_file_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, [b"x"])
    (tmp_path / "0-0.rec").write_bytes(b"")
    with pytest.raises(FileFormatError):
        read(tmp_path)


def test_a_segment_that_ends_with_its_last_frame_is_read(tmp_path: Path) -> None:
    builder = write(tmp_path, [b"x" * 60] * 5)
    path = tmp_path / "0-0.rec"
    path.write_bytes(path.read_bytes()[: builder.position])
    assert len(read(tmp_path)) == 5


@pytest.mark.parametrize(
    ("field", "value"), [(60, 1000), (64, 1000), (64, 0), (40, 33), (48, 2**62), (48, 1)]
)
def test_an_impossible_descriptor_is_an_error(tmp_path: Path, field: int, value: int) -> None:
    write(tmp_path, payloads(5))
    size = 8 if field < 56 else 4
    patch(tmp_path / "archive.catalog", 64 + field, value.to_bytes(size, "little"))
    with pytest.raises(FileFormatError, match=r"archive\.catalog in the entry at offset 32"):
        read(tmp_path)


def test_a_scanner_refuses_ranges_that_are_none() -> None:
    def scanner(**changes: int) -> SegmentScanner:
        options = {
            "base_position": 0,
            "start_offset": 0,
            "end_offset": 64,
            "initial_term_id": 0,
            "term_length": 65536,
            "session_id": 0,
            "stream_id": 0,
        }
        return SegmentScanner(bytes(64), **(options | changes))

    scanner()
    for changes in (
        {"base_position": 1},
        {"base_position": -65536},
        {"base_position": 2**62},
        {"start_offset": 1},
        {"start_offset": -32},
        {"end_offset": -1},
        {"term_length": 1000},
        {"term_length": 0},
    ):
        with pytest.raises(ValueError, match="not a"):
            scanner(**changes)


def test_columns_may_live_in_memory_of_the_caller(tmp_path: Path) -> None:
    write(tmp_path, [b"hello"])
    given: list[bytearray] = []

    def allocate(length: int) -> bytearray:
        given.append(bytearray(length))
        return given[-1]

    with ArchiveFolder(tmp_path) as folder:
        (batch,) = folder.recording(0).batches(allocate=allocate)
    assert len(given) == len(COLUMNS)
    assert any(memory.startswith(b"hello") for memory in given)
    assert batch.column("payload") == b"hello"


def test_memory_that_is_too_short_or_read_only_is_refused() -> None:
    with pytest.raises(ValueError, match="was given"):
        ScanColumns(10, 10, allocate=lambda length: bytearray(length - 1))
    with pytest.raises(BufferError):
        ScanColumns(10, 10, allocate=bytes)


def test_a_recording_that_is_not_there_is_unknown(tmp_path: Path) -> None:
    write(tmp_path, [b"x"])
    with ArchiveFolder(tmp_path) as folder, pytest.raises(ArchiveError, match="recording id: 9"):
        folder.recording(9)


def test_what_was_read_outlives_the_folder(tmp_path: Path) -> None:
    messages = payloads(30)
    write(tmp_path, messages)
    with ArchiveFolder(tmp_path) as folder:
        recording = folder.recording(0)
    assert [m.payload for m in recording.messages()] == messages
