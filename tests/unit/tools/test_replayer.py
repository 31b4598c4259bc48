"""Ranges of replays, waiting for their end, messages put together from what is replayed."""

import math
import struct
from types import SimpleNamespace
from typing import Any

import pytest

from aerolog.archive.format.archive_folder import Message
from aerolog.archive.format.descriptor import RecordingDescriptor
from aerolog.tools.export.replayed_recordings import Assembler
from aerolog.tools.replay import replayer
from aerolog.tools.replay.replayer import range_of, wait_replayed
from aerolog.transport.counters.counter_types import CounterType
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


SESSION, STREAM = 99, 1002
NOTHING: dict[int, int] = {}


class Counters:
    """Counters of a replay by type id, one look after the other; the last look stays."""

    def __init__(self, *looks: dict[int, int]) -> None:
        self._looks = list(looks)

    def infos(self) -> list[Any]:
        look = self._looks.pop(0) if len(self._looks) > 1 else self._looks[0]
        key = struct.pack("<qiii", 5, SESSION, STREAM, 0)
        other = SimpleNamespace(
            type_id=CounterType.PUBLISHER_POSITION,
            key=struct.pack("<qiii", 6, SESSION + 1, STREAM, 0),
            value=7,
        )
        return [other, *(SimpleNamespace(type_id=t, key=key, value=v) for t, v in look.items())]


def never() -> float:
    raise AssertionError("the replay was seen")


def archive_seeing(*looks: dict[int, int]) -> Any:
    archive = SimpleNamespace(is_disconnected=False, check_for_error=lambda: None)
    archive.aeron = SimpleNamespace(closed=False, counters=Counters(*looks))
    return archive


@pytest.mark.parametrize("kind", [12, 5], ids=["publication", "image"])
def test_a_replay_is_over_when_what_was_seen_of_it_has_gone(kind: int) -> None:
    archive, seen = archive_seeing(NOTHING, {kind: 64}, {kind: 128}, NOTHING), []

    assert wait_replayed(archive, SESSION, STREAM, seen.append, on_unseen=never)
    assert seen == [64, 128]


def test_a_publication_tells_more_than_an_image() -> None:
    archive, seen = archive_seeing({5: 64, 12: 128}, NOTHING), []

    assert wait_replayed(archive, SESSION, STREAM, seen.append, on_unseen=never)
    assert seen == [128]


def test_a_replay_never_seen_is_given_the_time_it_is_said_to_need(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(replayer, "_APPEAR_TIMEOUT_S", 0.0)
    asked = []

    def patience() -> float:
        asked.append("asked")
        return 0.0

    assert not wait_replayed(
        archive_seeing(NOTHING), SESSION, STREAM, lambda _: None, on_unseen=patience
    )
    assert asked == ["asked"]


def test_a_replay_seen_late_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replayer, "_APPEAR_TIMEOUT_S", 0.0)
    archive = archive_seeing(NOTHING)

    def patience() -> float:
        archive.aeron.counters = Counters(NOTHING, NOTHING, {5: 64}, NOTHING)
        return math.inf

    assert wait_replayed(archive, SESSION, STREAM, lambda _: None, on_unseen=patience)


def fragment(position: int, flags: int, payload: bytes) -> Message:
    return Message(position, 7, position - 64, 99, 1002, flags, position, payload)


def test_a_message_has_the_position_of_its_end_and_the_rest_of_its_beginning() -> None:
    assembler = Assembler()

    assert assembler.add(fragment(64, 0x80, b"a")) is None
    assert assembler.add(fragment(128, 0x00, b"b")) is None
    message = assembler.add(fragment(192, 0x40, b"c"))

    assert message == Message(192, 7, 0, 99, 1002, 0xC0, 64, b"abc")
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
