"""The native walk over a segment: what it finds, and that it stays within what is there."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import pytest

from aerolog.archive.format import segment_walk as sw
from aerolog.archive.format.checksum import checksum_for
from aerolog.archive.format.segment_window import SegmentWindow
from aerolog.testing.recordings import RecordingBuilder
from aerolog.transport.memory.filesystem import RealFileSystem

if TYPE_CHECKING:
    from pathlib import Path

SEGMENT_LENGTH = 256 * 1024
FRAME = 1056  # of a payload of 1000 bytes


def segment(folder: Path, messages: int = 100, **options: Any) -> Path:
    """The first segment of a recording."""
    builder = RecordingBuilder(segment_length=SEGMENT_LENGTH, **options)
    for _ in range(messages):
        builder.add(b"\x07" * 1000)
    path = folder / "0-0.rec"
    path.write_bytes(bytes(builder.data).ljust(SEGMENT_LENGTH, b"\0")[:SEGMENT_LENGTH])
    return path


def walk(path: Path, *, start: int = 0, room: int = 4096, **options: Any) -> sw.SegmentWalk:
    """Walk a segment with a small window, so that frames lie across its ends."""
    rule = options.pop("rule", sw.WALK_CHECKS)
    walker = sw.SegmentWalk(
        SegmentWindow(room),
        term_length=64 * 1024,
        initial_term_id=7,
        stream_id=10,
        rule=rule,
        **options,
    )
    writable = rule == sw.WALK_STAMPS
    with RealFileSystem().open_data_file(str(path), writable=writable) as file:
        assert walker.walk(file, 0, start, SEGMENT_LENGTH) == walker.status
    return walker


def put(path: Path, at: int, data: bytes) -> None:
    content = bytearray(path.read_bytes())
    content[at : at + len(data)] = data
    path.write_bytes(content)


@pytest.mark.parametrize("room", [4096, 8192, 1024 * 1024])
def test_a_sound_segment_is_walked_to_its_end(room: int, tmp_path: Path) -> None:
    # A term holds 62 frames and padding.
    found = walk(segment(tmp_path), room=room)
    assert found.status == sw.WALK_END
    assert found.offset == 65536 + 38 * FRAME
    assert found.frames == 101
    assert (found.last_offset, found.last_length) == (65536 + 37 * FRAME, FRAME)


@pytest.mark.parametrize("offset", [8, 16, 20])
def test_a_header_that_says_another_place_is_met(offset: int, tmp_path: Path) -> None:
    path = segment(tmp_path)
    put(path, 3 * FRAME + offset, struct.pack("<i", 12345))
    found = walk(path)
    assert (found.status, found.offset) == (sw.WALK_MISMATCH, 3 * FRAME)
    assert 12345 in {found.term_offset, found.stream_id, found.term_id}
    assert found.expected_term_offset == 3 * FRAME
    assert (found.expected_term_id, found.expected_stream_id) == (7, 10)
    assert walk(path, rule=sw.WALK_LENGTHS).offset == 65536 + 38 * FRAME


@pytest.mark.parametrize("name", ["CRC-32", "CRC-32C"])
def test_a_payload_that_does_not_fit_its_checksum_is_met(name: str, tmp_path: Path) -> None:
    checksum = checksum_for(name)
    assert checksum is not None
    path = segment(tmp_path, checksum=checksum)
    assert walk(path, checksum=checksum).status == sw.WALK_END
    put(path, 70 * FRAME, b"\x08")  # behind the first term's padding
    found = walk(path, checksum=checksum)
    assert found.status == sw.WALK_CHECKSUM
    assert found.offset <= 70 * FRAME < found.offset + FRAME
    payload = path.read_bytes()[found.offset + 32 : found.offset + FRAME]
    assert found.expected == checksum.compute(payload)
    assert walk(path).status == sw.WALK_END


def test_stamps_are_what_a_recorder_writes(tmp_path: Path) -> None:
    checksum = checksum_for("CRC-32C")
    (tmp_path / "stamped").mkdir()
    wanted = segment(tmp_path / "stamped", checksum=checksum).read_bytes()
    path = segment(tmp_path)
    found = walk(path, checksum=checksum, rule=sw.WALK_STAMPS)
    assert found.status == sw.WALK_END
    assert path.read_bytes() == wanted


@pytest.mark.parametrize(
    ("length", "status"),
    [
        (5, sw.WALK_MISMATCH),
        (-1, sw.WALK_NEGATIVE),
        (-1280, sw.WALK_NEGATIVE),
        (-(2**31), sw.WALK_TOO_LONG),
        (SEGMENT_LENGTH, sw.WALK_NO_BODY),
        (2**20 + 33, sw.WALK_TOO_LONG),
        (2**31 - 1, sw.WALK_TOO_LONG),
    ],
)
def test_impossible_lengths_are_met_and_not_followed(
    length: int, status: int, tmp_path: Path
) -> None:
    path = segment(tmp_path)
    put(path, 5 * FRAME, struct.pack("<i", length))
    found = walk(path)
    assert found.status == status
    assert found.offset in {5 * FRAME, 5 * FRAME + 32}


@pytest.mark.parametrize("length", [2**31 - 1, 2**31 - 32])
def test_lengths_that_leave_32_bits_end_the_walk_by_lengths(length: int, tmp_path: Path) -> None:
    path = segment(tmp_path)
    put(path, 5 * FRAME, struct.pack("<i", length))
    found = walk(path, rule=sw.WALK_LENGTHS)
    assert (found.status, found.offset) == (sw.WALK_OVERFLOW, 5 * FRAME)
    assert found.found == 5 * FRAME + (length + 31 & ~31) - 2**32


@pytest.mark.parametrize("length", [-5, -100_000, 2**31 - 1])
def test_padding_that_leads_backward_ends_stamping(length: int, tmp_path: Path) -> None:
    path = segment(tmp_path)
    put(path, 5 * FRAME, struct.pack("<iBBH", length, 0, 0xC0, 0))
    found = walk(path, rule=sw.WALK_STAMPS, checksum=checksum_for("CRC-32"))
    assert (found.status, found.offset) == (sw.WALK_BACKWARD, 5 * FRAME)


@pytest.mark.parametrize(
    ("size", "status"),
    [
        (0, sw.WALK_NO_HEADER),
        (10 * FRAME + 31, sw.WALK_NO_HEADER),
        (10 * FRAME + 32, sw.WALK_NO_BODY),
        (11 * FRAME - 1, sw.WALK_NO_BODY),
    ],
)
def test_a_cut_file_ends_the_walk(size: int, status: int, tmp_path: Path) -> None:
    path = segment(tmp_path)
    path.write_bytes(path.read_bytes()[:size])
    found = walk(path)
    assert (found.status, found.offset) == (status, 10 * FRAME if size else 0)


@pytest.mark.parametrize(
    ("start", "limit", "base"), [(-1, 100, 0), (0, 2**31, 0), (2**31, 2**31, 0), (0, 100, -1)]
)
def test_offsets_that_no_segment_has_are_refused(
    start: int, limit: int, base: int, tmp_path: Path
) -> None:
    walker = sw.SegmentWalk(SegmentWindow(4096), term_length=65536, initial_term_id=7, stream_id=10)
    with (
        RealFileSystem().open_data_file(str(segment(tmp_path))) as file,
        pytest.raises(ValueError, match="no segment has bytes"),
    ):
        walker.walk(file, base, start, limit)


@pytest.mark.parametrize(
    "options", [{"term_length": 0}, {"term_length": 1000}, {"chunk_length": 0}, {"rule": 2}]
)
def test_settings_that_make_no_sense_are_refused(options: dict[str, int]) -> None:
    settings = {"term_length": 65536, "initial_term_id": 7, "stream_id": 10, **options}
    with pytest.raises(ValueError, match="power of two|hold no frame|no checksum"):
        sw.SegmentWalk(SegmentWindow(4096), **settings)
