"""Which file is attached: found by its first frame, wherever it begins."""

from __future__ import annotations

import struct

import pytest

from aerolog.archive import protocol as ap
from aerolog.archive.format.frame_walk import first_frame

SEGMENT = 64 * 1024
FRAME = 1024
PER_SEGMENT = 64


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", -1),
        (b"\x01", -1),
        (b"\x01\0\0\0", 0),
        (bytes(32) + b"\x01\0\0\0", 32),
        (bytes(31) + b"\x01\0\0\0\0", -1),
        (struct.pack("<i", -1) + bytes(28) + struct.pack("<i", -(2**31)), -1),
        (struct.pack("<i", -1) + bytes(60) + struct.pack("<i", 2**31 - 1), 64),
        (bytes(4096), -1),
    ],
)
def test_the_first_frame_is_the_first_aligned_length(data: bytes, expected: int) -> None:
    assert first_frame(data) == expected
    assert first_frame(memoryview(bytearray(data))) == expected


def test_segments_are_attached_down_to_the_first_that_is_not_there(rig) -> None:
    rig.recorded(5 * PER_SEGMENT)
    rig.ask(ap.DetachSegmentsRequest, recording_id=0, new_start_position=4 * SEGMENT)
    rig.disk.remove(f"/archive/0-{SEGMENT}.rec")
    assert rig.ask(ap.AttachSegmentsRequest, recording_id=0) == 2
    assert rig.start_position(0) == 2 * SEGMENT


def test_a_segment_that_does_not_fit_ends_with_what_did(rig) -> None:
    rig.recorded(5 * PER_SEGMENT)
    rig.ask(ap.DetachSegmentsRequest, recording_id=0, new_start_position=4 * SEGMENT)
    rig.disk.write_bytes(f"/archive/0-{2 * SEGMENT}.rec", b"x")
    assert rig.refused(ap.AttachSegmentsRequest, recording_id=0) == (
        0,
        f"fileLength=1 not equal to segmentLength={SEGMENT}",
    )
    assert rig.start_position(0) == 3 * SEGMENT


def test_a_recording_that_begins_inside_a_segment_is_attached_from_there(rig) -> None:
    rig.recorded(3 * PER_SEGMENT, position=SEGMENT + 5 * FRAME)
    rig.ask(ap.DetachSegmentsRequest, recording_id=0, new_start_position=2 * SEGMENT)
    assert rig.ask(ap.AttachSegmentsRequest, recording_id=0) == 1
    assert rig.start_position(0) == SEGMENT + 5 * FRAME
