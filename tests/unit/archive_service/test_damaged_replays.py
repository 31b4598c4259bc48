"""A replay that meets damage, wherever it stands: an error, an end, and nothing that is not so."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

from aerolog.archive import protocol as ap
from aerolog.archive.protocol.counter_types import ArchiveCounterType

if TYPE_CHECKING:
    from collections.abc import Callable

REPLAYS = ArchiveCounterType.REPLAY_SESSIONS
FRAME = 1056
COUNT = 70  # the last ones stand in a second segment
PATH = "/archive/0-0.rec"


def recorded(rig) -> int:
    """A stopped recording of a thousand bytes a message; its stop position."""
    rig.start(1)
    publication = rig.publish(1, *(bytes([i]) * 1000 for i in range(COUNT)))
    position: int = publication.position
    publication.close()
    rig.wait(lambda: not rig.archive._conductor.recordings.sessions, "the end of the recording")
    return position


def replay(rig, position: int = 0, **fields) -> int:
    """Ask for a replay; the correlation id."""
    kind = ap.BoundedReplayRequest if "limit_counter_id" in fields else ap.ReplayRequest
    return rig.post(
        kind,
        recording_id=0,
        position=position,
        length=-1,
        replay_stream_id=50,
        replay_channel="aeron:ipc",
        **fields,
    )


def change(rig, at: int, form: str, value: int, path: str = PATH) -> None:
    """Overwrite a field of a stored file."""
    data = bytearray(rig.disk.read_bytes(path))
    struct.pack_into(form, data, at, value)
    rig.disk.write_bytes(path, bytes(data))


def errors(rig, correlation_id: int) -> list[str]:
    return [
        answer.error_message
        for answer in rig.answers(correlation_id)
        if answer.code == ap.ControlResponseCode.ERROR
    ]


def replayed(rig, **fields) -> tuple[list[bytes], str]:
    """What a replay gives until it ends, and the error that the client is told."""
    subscription = rig.aeron.add_subscription("aeron:ipc", 50)
    correlation_id = replay(rig, **fields)
    received: list[bytes] = []

    def told() -> list[str]:
        received.extend(message.data for message in subscription.poll_messages(100))
        return errors(rig, correlation_id)

    (text,) = rig.wait(told, "the error")
    rig.wait(lambda: rig.counter(REPLAYS) == 0, "the replay's end")
    received.extend(message.data for message in subscription.poll_messages(100))
    subscription.close()
    return received, text


FIELDS = {
    "the length is zero": (0, "<i", 0, "unexpected end of recording"),
    "the length is negative": (0, "<i", -32, "unexpected end of recording"),
    "the length holds no header": (0, "<i", 31, "unexpected end of recording"),
    "the length passes the end of the term": (0, "<i", 65536, "unexpected end of recording"),
    "the length takes the next frame in": (0, "<i", 2 * FRAME, "unexpected end of recording"),
    "the type is unknown": (6, "<H", 7, "unknown frame type 7"),
    "the term offset is another": (8, "<i", 32, "wrong frame header"),
    "the stream is another": (16, "<i", 2, "wrong frame header"),
    "the term is another": (20, "<i", 12345, "wrong frame header"),
}


@pytest.mark.parametrize("number", [0, 5], ids=["first frame", "later frame"])
@pytest.mark.parametrize("damage", FIELDS)
def test_a_damaged_header_ends_the_replay_there(rig, damage: str, number: int) -> None:
    recorded(rig)
    offset, form, value, text = FIELDS[damage]
    change(rig, number * FRAME + offset, form, value)
    received, told = replayed(rig)
    assert received == [bytes([i]) * 1000 for i in range(number)]
    assert told.startswith(f"{text} at position={number * FRAME} (segmentFilePosition=0,")
    assert ", recordingId=0, replaySessionId=" in told
    assert told.endswith(", segmentFile=0-0.rec")


@pytest.mark.parametrize("size", [5 * FRAME, 5 * FRAME + 16, 5 * FRAME + 32, 6 * FRAME - 32])
def test_a_file_that_was_cut_off_ends_the_replay_at_its_last_whole_frame(rig, size: int) -> None:
    recorded(rig)
    data = rig.disk.read_bytes(PATH)
    rig.disk.write_bytes(PATH, data[:size])
    received, told = replayed(rig)
    assert received == [bytes([i]) * 1000 for i in range(5)]
    assert told.startswith(f"unexpected end of recording at position={5 * FRAME} ")


@pytest.mark.parametrize(
    ("offset", "form", "value", "text"),
    [
        (0, "<i", 0, "unexpected end of recording"),
        (0, "<i", 4096, "unexpected end of recording"),
        (6, "<H", 9, "unknown frame type 9"),
        (8, "<i", 0, "wrong frame header"),
    ],
)
def test_damaged_padding_ends_the_replay_there(rig, offset, form, value, text) -> None:
    recorded(rig)
    padding = 62 * FRAME  # to the end of the term of 64 KiB
    assert struct.unpack_from("<iHH", rig.disk.read_bytes(PATH), padding)[::2] == (64, 0)
    change(rig, padding + offset, form, value)
    received, told = replayed(rig)
    assert received == [bytes([i]) * 1000 for i in range(62)]
    assert told.startswith(f"{text} at position={padding} ")


def test_padding_that_ends_early_is_told_where_no_frame_follows(rig) -> None:
    recorded(rig)
    change(rig, 62 * FRAME, "<i", 32)
    received, told = replayed(rig)
    assert received == [bytes([i]) * 1000 for i in range(62)]
    assert told.startswith(f"unexpected end of recording at position={62 * FRAME + 32} ")


def test_frames_before_a_wrong_checksum_are_sent_and_none_behind_it(make_rig) -> None:
    rig = make_rig(record_checksum="CRC-32C", replay_checksum="CRC-32C")
    rig.connect()
    recorded(rig)
    change(rig, 7 * FRAME + 900, "<B", 99)
    received, told = replayed(rig)
    assert received == [bytes([i]) * 1000 for i in range(7)]
    assert told.startswith(f"CRC checksum mismatch at position={7 * FRAME} ")


def test_damage_in_a_later_segment_is_told_with_its_file(rig) -> None:
    recorded(rig)
    change(rig, 6, "<H", 5, "/archive/0-65536.rec")
    received, told = replayed(rig)
    assert received == [bytes([i]) * 1000 for i in range(62)]
    assert told.startswith("unknown frame type 5 at position=65536 (segmentFilePosition=65536,")
    assert told.endswith(", segmentFile=0-65536.rec")


def test_a_running_replay_ends_when_its_file_is_cut_off(rig) -> None:
    recorded(rig)
    subscription = rig.aeron.add_subscription("aeron:ipc", 50)
    correlation_id = replay(rig, position=0, file_io_max_length=2112)
    received: list[bytes] = []

    def told() -> list[str]:
        received.extend(message.data for message in subscription.poll_messages(1))
        if len(received) == 2:
            with rig.disk.open_data_file(PATH, writable=True) as file:
                file.set_length(40 * FRAME)
        return errors(rig, correlation_id)

    (text,) = rig.wait(told, "the error")
    assert text.startswith(f"unexpected end of recording at position={40 * FRAME} ")
    assert len(received) >= 2
    assert received == [bytes([i]) * 1000 for i in range(len(received))]
    subscription.close()


@pytest.mark.parametrize("inside", [16, 32, 500])
def test_a_bound_inside_a_frame_is_waited_for(rig, inside: int) -> None:
    recorded(rig)
    bound = rig.aeron.add_counter(1000, "a bound")
    bound.value = 3 * FRAME + inside
    rig.turn(2)
    subscription = rig.aeron.add_subscription("aeron:ipc", 50)
    correlation_id = replay(rig, limit_counter_id=bound.counter_id)
    received: list[bytes] = []

    def count_is(wanted: int) -> Callable[[], bool]:
        def look() -> bool:
            received.extend(message.data for message in subscription.poll_messages(100))
            return len(received) == wanted

        return look

    rig.wait(count_is(3), "what lies before the bound")
    rig.pass_time(50)
    assert rig.counter(REPLAYS) == 1
    bound.value = 5 * FRAME
    rig.wait(count_is(5), "what lies before the new bound")
    bound.value = 6 * FRAME + 64
    rig.wait(count_is(6), "what lies before the last bound")
    bound.close()
    rig.wait(lambda: rig.counter(REPLAYS) == 0, "the replay's end")
    assert errors(rig, correlation_id) == []
    assert count_is(6)()
    subscription.close()
