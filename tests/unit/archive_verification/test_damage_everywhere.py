"""Damage at every structural place of a segment is found there, by recording, position and kind."""

from __future__ import annotations

import os
import struct
from functools import cache
from typing import TYPE_CHECKING

import pytest

from aerolog.archive.format.archive_folder import ArchiveFolder
from aerolog.archive.format.checksum import checksum_for
from aerolog.archive.format.segment import segment_file_name
from aerolog.archive.verification import Kind, verify_recording
from aerolog.archive.verification.recording_verification import verify_opened
from aerolog.archive.verification.segment_check import PIECE_LENGTH_MIN
from aerolog.testing.recordings import RecordingBuilder

if TYPE_CHECKING:
    from pathlib import Path

    from aerolog.archive.verification import Finding

FRAME = 1056
PER_TERM = 62
TERM = 64 * 1024
CHECKSUMS = (None, "CRC-32", "CRC-32C")


@cache
def built(checksum: str | None, **settings: int) -> RecordingBuilder:
    """A recording of a thousand bytes a message, no two alike and none of zeros."""
    builder = RecordingBuilder(checksum=checksum_for(checksum), **settings)
    for number in range(150):
        builder.add(struct.pack("<q", number + 1) * 125)
    return builder


def build(folder: Path, checksum: str | None = None, **settings: int) -> int:
    """Write the recording, stopped; its stop position."""
    builder = built(checksum, **settings)
    builder.write(folder)
    return builder.position


def overwrite(folder: Path, at: int, form: str, *values: int, base: int = 0) -> None:
    with (folder / segment_file_name(0, base)).open("r+b") as file:
        file.seek(at)
        file.write(struct.pack(form, *values))


def only(found: list[Finding]) -> tuple[Kind, int]:
    """The kind and position of the one finding."""
    (finding,) = found
    assert finding.recording_id == 0
    assert f"recording 0 at position {finding.position}: " in finding.text
    assert finding.remedy
    return finding.kind, finding.position


@pytest.mark.parametrize("checksum", CHECKSUMS)
@pytest.mark.parametrize("settings", [{}, {"start_position": 1056}, {"segment_length": 128 * 1024}])
def test_a_sound_recording_has_no_findings(tmp_path, checksum, settings) -> None:
    build(tmp_path, checksum, **settings)
    assert verify_recording(tmp_path, 0) == []
    assert verify_recording(tmp_path, 0, checksum=checksum_for(checksum), threads=1) == []


PLACES = {
    "length of zero": (0, "<i", 0, Kind.TAIL),
    "negative length": (0, "<i", -1056, Kind.LENGTH),
    "length below a header": (0, "<i", 31, Kind.LENGTH),
    "length over the mtu": (0, "<i", 2 * FRAME, Kind.LENGTH),
    "length over the term": (0, "<i", TERM, Kind.LENGTH),
    "largest length": (0, "<i", 2**31 - 1, Kind.LENGTH),
    "version": (4, "<B", 3, Kind.HEADER),
    "type": (6, "<H", 4, Kind.TYPE),
    "type of padding": (6, "<H", 0, Kind.PADDING),
    "term offset": (8, "<i", 64, Kind.HEADER),
    "stream": (16, "<i", 99, Kind.HEADER),
    "term": (20, "<i", 99, Kind.HEADER),
}


@pytest.mark.parametrize(
    ("where", "checksum"), [(0, None), (PER_TERM - 1, None), (PER_TERM + 3, "CRC-32C"), (149, None)]
)
@pytest.mark.parametrize("place", PLACES)
def test_a_damaged_header_is_found(tmp_path, place, where, checksum) -> None:
    build(tmp_path, checksum)
    term, index = divmod(where, PER_TERM)
    at, form, value, kind = PLACES[place]
    position = term * TERM + index * FRAME
    overwrite(tmp_path, index * FRAME + at, form, value, base=term * TERM)
    assert only(verify_recording(tmp_path, 0)) == (kind, position)


@pytest.mark.parametrize("where", [1, 30, 149])
def test_a_session_of_one_frame_is_told_and_no_damage(tmp_path, where) -> None:
    build(tmp_path)
    term, index = divmod(where, PER_TERM)
    overwrite(tmp_path, index * FRAME + 12, "<i", 424242, base=term * TERM)
    found = verify_recording(tmp_path, 0)
    assert only(found) == (Kind.SESSION, term * TERM + index * FRAME)
    assert not found[0].is_damage
    assert "session id 424242" in found[0].text


def test_damage_behind_a_session_of_one_frame_is_found(tmp_path) -> None:
    build(tmp_path)
    overwrite(tmp_path, 5 * FRAME + 12, "<i", 424242)
    overwrite(tmp_path, 9 * FRAME + 16, "<i", 99)
    assert only(verify_recording(tmp_path, 0)) == (Kind.HEADER, 9 * FRAME)


def test_a_session_for_each_frame_is_told_once_a_segment(tmp_path) -> None:
    build(tmp_path)
    for index in range(PER_TERM):
        overwrite(tmp_path, index * FRAME + 12, "<i", 500_000 + index)
    (found,) = verify_recording(tmp_path, 0)
    assert (found.kind, found.position) == (Kind.SESSION, 0)
    assert f"{PER_TERM - 1} frames are like that" in found.text


@pytest.mark.parametrize("frames", [2, 20])
def test_sessions_without_checksums_among_frames_with_them_are_no_damage(tmp_path, frames) -> None:
    build(tmp_path, "CRC-32C")
    for index in range(10, 10 + frames):
        overwrite(tmp_path, index * FRAME + 12, "<i", 424242)
    assert verify_recording(tmp_path, 0) == []


@pytest.mark.parametrize("checksum", ["CRC-32", "CRC-32C"])
@pytest.mark.parametrize("where", [0, 1, 61])
@pytest.mark.parametrize("at", [12, 32, 32 + 500, 32 + 999, 32 + 1010])
def test_a_wrong_checksum_is_found(tmp_path, checksum, where, at) -> None:
    build(tmp_path, checksum)
    byte = (tmp_path / "0-0.rec").read_bytes()[where * FRAME + at]
    overwrite(tmp_path, where * FRAME + at, "<B", byte ^ 0x10)
    assert only(verify_recording(tmp_path, 0)) == (Kind.CHECKSUM, where * FRAME)
    told = verify_recording(tmp_path, 0, checksum=checksum_for(checksum))
    assert only(told) == (Kind.CHECKSUM, where * FRAME)


def test_a_checksum_that_is_asked_for_must_be_there(tmp_path) -> None:
    build(tmp_path)
    found = verify_recording(tmp_path, 0, checksum=checksum_for("CRC-32C"))
    assert [(f.kind, f.position) for f in found] == [
        (Kind.CHECKSUM, base) for base in (0, TERM, 2 * TERM)
    ]


def test_sessions_of_an_extended_recording_are_no_damage(tmp_path) -> None:
    build(tmp_path)
    for index in range(20):  # an earlier run had another session
        overwrite(tmp_path, index * FRAME + 12, "<i", 5)
    assert verify_recording(tmp_path, 0) == []


PADDING_AT = PER_TERM * FRAME  # 64 bytes to the end of the term


@pytest.mark.parametrize(
    ("at", "form", "value", "kind", "position"),
    [
        (0, "<i", 0, Kind.TAIL, PADDING_AT),
        (0, "<i", 96, Kind.LENGTH, PADDING_AT),
        (0, "<i", 32, Kind.TAIL, PADDING_AT + 32),
        (6, "<H", 6, Kind.TYPE, PADDING_AT),
        (8, "<i", 0, Kind.HEADER, PADDING_AT),
        (33, "<B", 1, Kind.PADDING, PADDING_AT),
        (63, "<B", 1, Kind.PADDING, PADDING_AT),
    ],
)
def test_damaged_padding_is_found(tmp_path, at, form, value, kind, position) -> None:
    build(tmp_path)
    overwrite(tmp_path, PADDING_AT + at, form, value)
    assert only(verify_recording(tmp_path, 0)) == (kind, position)


@pytest.mark.parametrize("at", [96, 200_000, (1 << 20) - 1])
def test_padding_longer_than_a_piece_is_read_to_its_end(tmp_path, at) -> None:
    builder = RecordingBuilder(term_length=1 << 20, segment_length=1 << 20)
    builder.add(b"first")
    builder.pad()
    builder.add(b"second")
    builder.write(tmp_path)
    assert 3 * PIECE_LENGTH_MIN < (1 << 20) - 64
    assert verify_recording(tmp_path, 0) == []
    overwrite(tmp_path, at, "<B", 1)
    assert only(verify_recording(tmp_path, 0)) == (Kind.PADDING, 64)


@pytest.mark.parametrize("size", [0, 16, 5 * FRAME, 5 * FRAME + 31, 6 * FRAME - 1])
def test_a_file_that_ends_early_is_found(tmp_path, size) -> None:
    build(tmp_path)
    os.truncate(tmp_path / "0-65536.rec", size)
    assert only(verify_recording(tmp_path, 0)) == (Kind.TAIL, TERM + size // FRAME * FRAME)


def test_the_tail_of_a_stopped_recording_is_missed(tmp_path) -> None:
    stop = build(tmp_path)
    index = (stop - 2 * TERM) // FRAME - 1
    overwrite(tmp_path, index * FRAME, "<264i", *[0] * 264, base=2 * TERM)
    assert only(verify_recording(tmp_path, 0)) == (Kind.TAIL, stop - FRAME)


def test_what_lies_behind_the_end_is_nobodys_business(tmp_path) -> None:
    stop = build(tmp_path)
    overwrite(tmp_path, stop - 2 * TERM, "<i", -7, base=2 * TERM)
    assert verify_recording(tmp_path, 0) == []


def test_missing_segments_are_found_each(tmp_path) -> None:
    build(tmp_path)
    (tmp_path / "0-0.rec").unlink()
    (tmp_path / "0-131072.rec").unlink()
    found = verify_recording(tmp_path, 0)
    assert [(f.kind, f.position) for f in found] == [(Kind.MISSING, 0), (Kind.MISSING, 2 * TERM)]


@pytest.mark.parametrize("what", ["folder", "link"])
def test_what_is_no_file_is_not_read(tmp_path, what) -> None:
    build(tmp_path)
    path = tmp_path / "0-65536.rec"
    path.rename(tmp_path / "elsewhere")
    if what == "folder":
        path.mkdir()
    else:
        path.symlink_to("elsewhere")
    assert only(verify_recording(tmp_path, 0)) == (Kind.UNREADABLE, TERM)


def test_every_damaged_segment_is_told(tmp_path) -> None:
    build(tmp_path)
    for base in (0, TERM, 2 * TERM):
        overwrite(tmp_path, 3 * FRAME + 6, "<H", 9, base=base)
    found = verify_recording(tmp_path, 0, threads=3)
    assert [(f.kind, f.position) for f in found] == [
        (Kind.TYPE, base + 3 * FRAME) for base in (0, TERM, 2 * TERM)
    ]


def test_a_frame_that_spans_two_pieces_is_checked_whole(tmp_path) -> None:
    builder = RecordingBuilder(
        term_length=1 << 20, segment_length=1 << 20, checksum=checksum_for("CRC-32C")
    )
    for number in range(700):
        builder.add(bytes([number % 251 + 1]) * (900 + number % 400))
    builder.write(tmp_path)
    data = (tmp_path / "0-0.rec").read_bytes()
    assert verify_recording(tmp_path, 0) == []
    for at in (256 * 1024 - 1, 256 * 1024, 512 * 1024 - 1, 512 * 1024):
        overwrite(tmp_path, at, "<B", data[at] ^ 1)
        assert len(verify_recording(tmp_path, 0)) == 1
        overwrite(tmp_path, at, "<B", data[at])
    assert verify_recording(tmp_path, 0) == []


def test_a_recording_of_a_folder_is_verified_where_it_is_open(tmp_path) -> None:
    build(tmp_path)
    with ArchiveFolder(tmp_path) as folder:
        assert verify_recording(folder, 0) == []
        assert verify_opened(folder.recording(0)) == []
        assert len(folder.recordings()) == 1
