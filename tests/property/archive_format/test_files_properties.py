"""Arbitrary messages come back; arbitrary bytes never crash a reader (spec archive-files 8)."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aerolog.archive.format.archive_folder import ArchiveFolder, ScanTotals
from aerolog.archive.format.catalog_file import CatalogFile
from aerolog.archive.format.catalog_index import scan_entries
from aerolog.archive.format.catalog_map import CatalogReader
from aerolog.archive.format.checksum import checksum_for, other_checksums
from aerolog.archive.format.descriptor import RecordingDescriptor
from aerolog.archive.format.frame_scan import (
    SCAN_DAMAGED,
    SCAN_FULL,
    SCAN_TOO_LONG,
    SegmentScanner,
)
from aerolog.archive.format.mark_file import ArchiveMarkFile
from aerolog.archive.format.scan_columns import ScanColumns
from aerolog.testing.recordings import RecordingBuilder
from aerolog.transport.errors import AerologError, FileFormatError
from aerolog.transport.memory.mapped_file import MappedFile

QUICK = settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
i32 = st.integers(-(2**31), 2**31 - 1)
i64 = st.integers(-(2**63), 2**63 - 1)
text = st.text(st.characters(min_codepoint=1, max_codepoint=127), max_size=300)
lengths = st.lists(st.integers(0, 8000), max_size=60)


@st.composite
def builders(draw: st.DrawFn) -> tuple[RecordingBuilder, list[bytes]]:
    name = draw(st.sampled_from([None, "CRC-32", "CRC-32C"]))
    builder = RecordingBuilder(
        segment_length=draw(st.sampled_from([64, 128, 256])) * 1024,
        mtu_length=draw(st.sampled_from([64, 1408, 8192])),
        initial_term_id=draw(i32),
        session_id=draw(i32),
        stream_id=draw(i32),
        start_position=draw(st.integers(0, 6000)) * 32,
        checksum=checksum_for(name),
    )
    seed = draw(st.integers(0, 255))
    messages = [
        bytes((seed + i + n) % 256 for n in range(ln)) for i, ln in enumerate(draw(lengths))
    ]
    for message in messages:
        builder.add(message)
    return builder, messages


@QUICK
@given(builders(), st.integers(1, 40), st.integers(0, 20_000))
def test_messages_come_back_whatever_the_batches(
    built: tuple[RecordingBuilder, list[bytes]], rows_max: int, capacity: int
) -> None:
    builder, messages = built
    with tempfile.TemporaryDirectory() as name:
        builder.write(name)
        with ArchiveFolder(name) as folder:
            recording = folder.recording(0)
            totals = ScanTotals(0)
            found = []
            batches = recording.batches(rows_max=rows_max, payload_capacity=capacity, totals=totals)
            for batch in batches:
                assert 0 < batch.rows <= rows_max
                at = batch.column("payload_offset")
                data = batch.column("payload")
                found += [bytes(data[at[i] : at[i + 1]]) for i in range(batch.rows)]
                assert set(batch.column("session_id").tolist()) == {builder.session_id}
            fragments = list(recording.messages(assemble=False))
    assert found == messages
    assert b"".join(f.payload for f in fragments) == b"".join(messages)
    assert (totals.rows, totals.payload_bytes) == (len(messages), sum(map(len, messages)))
    assert totals.frames == len(fragments)
    assert totals.skipped_fragments == totals.checksum_mismatches == 0


@QUICK
@given(builders(), st.data())
def test_any_range_between_messages_gives_the_messages_in_it(
    built: tuple[RecordingBuilder, list[bytes]], data: st.DataObject
) -> None:
    builder, messages = built
    with tempfile.TemporaryDirectory() as name:
        builder.write(name)
        with ArchiveFolder(name) as folder:
            recording = folder.recording(0)
            ends = [builder.start_position, *(m.position for m in recording.messages())]
            first = data.draw(st.integers(0, len(messages)))
            last = data.draw(st.integers(first, len(messages)))
            part = recording.messages(from_position=ends[first], until_position=ends[last])
            assert [m.payload for m in part] == messages[first:last]


@QUICK
@given(builders(), st.lists(st.tuples(st.integers(0, 2**20), st.binary(max_size=12)), max_size=6))
def test_damaged_segments_end_in_rows_or_a_typed_error(
    built: tuple[RecordingBuilder, list[bytes]], damage: list[tuple[int, bytes]]
) -> None:
    builder, _ = built
    with tempfile.TemporaryDirectory() as name:
        builder.write(name, stopped=bool(len(damage) % 2))
        for segment in Path(name).glob("*.rec"):
            content = bytearray(segment.read_bytes())
            for offset, data in damage:
                at = offset % len(content)
                content[at : at + len(data)] = data[: len(content) - at]
            segment.write_bytes(content)
        for assemble in (True, False):
            totals = ScanTotals(0)
            with ArchiveFolder(name) as folder:
                with suppress(FileFormatError):
                    recording = folder.recording(0)
                    for message in recording.messages(assemble=assemble, totals=totals):
                        assert message.stream_id == builder.stream_id
                assert totals.position <= builder.first_base + len(builder.data) + 2**18


@QUICK
@given(
    st.binary(max_size=3000),
    st.integers(0, 40).map(lambda n: n * 32),
    st.integers(0, 5000),
    st.booleans(),
    i32,
)
def test_arbitrary_bytes_never_make_a_scanner_leave_its_segment(
    content: bytes, start: int, span: int, assemble: bool, stream_id: int
) -> None:
    scanner = SegmentScanner(
        content,
        base_position=0,
        start_offset=start,
        end_offset=start + span,
        initial_term_id=0,
        term_length=65536,
        session_id=1,
        stream_id=stream_id,
        assemble=assemble,
    )
    columns = ScanColumns(8, 512)
    for _ in range(200):
        status = scanner.scan(columns)
        assert 0 <= columns.payload_length <= 512
        assert scanner.offset <= max(start + span, start)
        if status == SCAN_TOO_LONG:
            assert columns.rows == 0
            assert 512 < scanner.message_length < 65536
            break
        if status != SCAN_FULL:
            assert bool(scanner.problem) == (status == SCAN_DAMAGED)
            break
        columns = ScanColumns(8, 512)
    else:
        raise AssertionError("the scan does not end")


def valid_frames(content: bytearray, stream_id: int) -> None:
    """Give random bytes the fields that a scanner checks, so that it walks further."""
    for at in range(0, len(content) - 32, 96):
        content[at : at + 2] = (32 + content[at] % 64).to_bytes(2, "little")
        content[at + 2 : at + 4] = b"\0\0"
        content[at + 6 : at + 12] = (1).to_bytes(2, "little") + at.to_bytes(4, "little")
        content[at + 16 : at + 24] = stream_id.to_bytes(4, "little", signed=True) + bytes(4)


@QUICK
@given(st.binary(min_size=200, max_size=3000), i32, st.booleans())
def test_nearly_sound_frames_never_make_a_scanner_leave_its_segment(
    content: bytes, stream_id: int, assemble: bool
) -> None:
    frames = bytearray(content)
    valid_frames(frames, stream_id)
    scanner = SegmentScanner(
        bytes(frames),
        base_position=0,
        start_offset=0,
        end_offset=65536,
        initial_term_id=0,
        term_length=65536,
        session_id=1,
        stream_id=stream_id,
        assemble=assemble,
    )
    columns = ScanColumns(1000, 65536)
    assert scanner.scan(columns) != SCAN_FULL
    assert scanner.offset <= len(content)
    assert scanner.frames <= len(content) // 32


@QUICK
@given(st.binary(min_size=1, max_size=2000), st.sampled_from([32, 64, 128]))
def test_arbitrary_bytes_never_make_a_catalog_walk_leave_the_file(
    content: bytes, alignment: int
) -> None:
    mapped = MappedFile.anonymous(len(content))
    mapped.view()[:] = content
    found = scan_entries(mapped, 0, alignment)
    assert 0 <= found.end_offset <= len(content)
    ids, behind, is_end = found.index.matching(mapped, 0, len(content), None, b"")
    assert is_end
    assert ids == sorted(set(ids))
    assert all(0 <= each <= found.last_id < behind for each in ids)


@QUICK
@given(st.lists(st.tuples(st.integers(0, 1023), st.binary(max_size=9)), max_size=8))
def test_a_damaged_catalog_opens_or_is_a_typed_error(damage: list[tuple[int, bytes]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        with CatalogFile.open(name, capacity=1024) as catalog:
            for _ in range(3):
                catalog.add_recording(RecordingBuilder().descriptor())
        path = Path(name) / "archive.catalog"
        content = bytearray(path.read_bytes())
        for offset, data in damage:
            content[offset : offset + len(data)] = data
        path.write_bytes(content)
        with suppress(FileFormatError), CatalogReader.open(name) as reader:
            for entry in reader.entries():
                assert entry.offset < reader.end_offset <= reader.capacity
                entry.descriptor.check()
        with suppress(AerologError), CatalogFile.open(name) as catalog:
            catalog.refresh(1)
            added = catalog.add_recording(RecordingBuilder().descriptor())
            assert catalog.ids()[-1] == added


@QUICK
@given(st.integers(0, 1023), st.binary(min_size=1, max_size=200))
def test_a_damaged_mark_file_opens_or_is_a_typed_error(offset: int, data: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        content = bytearray(8192 + 4096)
        content[0:8] = bytes.fromhex("8000c80064000200")
        content[8:12] = bytes.fromhex("00010300")
        content[56:60] = (4096).to_bytes(4, "little")
        content[offset : offset + len(data)] = data
        (Path(name) / "archive-mark.dat").write_bytes(content)
        with suppress(FileFormatError):
            mark = ArchiveMarkFile.open(name)
            assert 0 <= mark.header.error_buffer_length <= len(content) - 8192
            assert len(mark.errors()) <= 4096 // 24


@QUICK
@given(st.tuples(*[i64] * 7), st.tuples(*[i32] * 6), text, text, text)
def test_descriptors_round_trip(
    longs: tuple[int, ...], ints: tuple[int, ...], a: str, b: str, c: str
) -> None:
    names = (
        "control_session_id",
        "correlation_id",
        "recording_id",
        "start_timestamp",
        "stop_timestamp",
        "start_position",
        "stop_position",
        "initial_term_id",
        "segment_file_length",
        "term_buffer_length",
        "mtu_length",
        "session_id",
        "stream_id",
    )
    original = RecordingDescriptor(
        **dict(zip(names, (*longs, *ints), strict=True)),
        stripped_channel=a,
        original_channel=b,
        source_identity=c,
    )
    encoded = original.encode()
    assert RecordingDescriptor.decode(encoded) == original
    assert RecordingDescriptor.decode(encoded + b"\0" * 40) == original


@QUICK
@given(st.binary(max_size=500))
def test_arbitrary_bytes_are_a_descriptor_or_a_typed_error(content: bytes) -> None:
    with suppress(FileFormatError):
        descriptor = RecordingDescriptor.decode(content)
        assert len(descriptor.encode()) <= len(content)


@QUICK
@given(st.binary(max_size=2000), st.integers(0, 64))
def test_all_implementations_of_a_checksum_agree(content: bytes, skip: int) -> None:
    part = memoryview(content)[min(skip, len(content)) :]
    for name in ("CRC-32", "CRC-32C"):
        fast = checksum_for(name)
        assert fast is not None
        assert {fast.compute(part)} == {other.compute(part) for other in other_checksums(name)}
