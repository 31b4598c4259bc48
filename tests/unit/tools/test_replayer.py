"""Ranges of replays, and messages put together from what an archive replays."""

import pytest

from aerolog.archive.files.descriptor import RecordingDescriptor
from aerolog.tools.archive_export import Assembler, Row
from aerolog.tools.replayer import range_of
from aerolog.transport.errors import ConfigurationError

DESCRIPTOR = RecordingDescriptor(
    recording_id=3,
    start_timestamp=0,
    start_position=64,
    initial_term_id=7,
    segment_file_length=65536,
    term_buffer_length=65536,
    mtu_length=1408,
    session_id=99,
    stream_id=1002,
    stripped_channel="aeron:ipc",
    original_channel="aeron:ipc",
    source_identity="aeron:ipc",
)


@pytest.mark.parametrize(
    ("position", "length", "expected"),
    [
        (None, None, (64, 1024)),
        (128, None, (128, 1024)),
        (128, 256, (128, 384)),
        (128, 4096, (128, 1024)),
        (1024, None, (1024, 1024)),
    ],
)
def test_a_range_ends_within_what_is_recorded(
    position: int | None, length: int | None, expected: tuple[int, int]
) -> None:
    part = range_of(DESCRIPTOR, 1024, position, length)

    assert (part.start, part.end) == expected
    assert part.length == expected[1] - expected[0]


def test_a_followed_recording_has_no_end_but_the_length() -> None:
    assert range_of(DESCRIPTOR, 1024, None, None, follow_live=True).length is None
    assert range_of(DESCRIPTOR, 1024, None, 9999, follow_live=True).end == 64 + 9999


@pytest.mark.parametrize("position", [0, 63, 1025])
def test_a_position_outside_the_recording_is_refused(position: int) -> None:
    with pytest.raises(ConfigurationError, match=f"position {position} is outside .* 64 to 1024"):
        range_of(DESCRIPTOR, 1024, position, None)


def fragment(position: int, flags: int, payload: bytes) -> Row:
    return Row(position, 7, position - 64, 99, 1002, flags, position, payload)


def test_a_message_has_the_position_of_its_end_and_the_rest_of_its_beginning() -> None:
    assembler = Assembler()

    assert assembler.add(fragment(64, 0x80, b"a")) is None
    assert assembler.add(fragment(128, 0x00, b"b")) is None
    message = assembler.add(fragment(192, 0x40, b"c"))

    assert message == Row(192, 7, 0, 99, 1002, 0xC0, 64, b"abc")
    assembler.finish()
    assert assembler.skipped_fragments == 0


def test_a_whole_message_passes_through() -> None:
    whole = fragment(64, 0xC0, b"a")

    assert Assembler().add(whole) is whole


def test_fragments_without_beginning_or_end_are_counted() -> None:
    assembler = Assembler()

    assert assembler.add(fragment(64, 0x00, b"?")) is None
    assert assembler.add(fragment(128, 0x40, b"?")) is None
    assert assembler.add(fragment(192, 0x80, b"?")) is None
    assert assembler.add(fragment(256, 0x80, b"a")) is None
    assert assembler.add(fragment(320, 0x40, b"b")) is not None
    assert assembler.add(fragment(384, 0x80, b"?")) is None
    assert assembler.add(fragment(448, 0x00, b"?")) is None
    assembler.finish()

    assert assembler.skipped_fragments == 5
