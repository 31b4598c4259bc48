"""How the reference's archive replays damaged segments (spec archive-files 11)."""

from __future__ import annotations

import struct
import time
from typing import TYPE_CHECKING

import pytest

from aerolog.testing.recordings import RecordingBuilder
from aerolog.transport.errors import AeronTimeoutError, ArchiveError, ArchiveErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from aerolog.archive.client import AeronArchive
    from aerolog.transport.client.message import Message

pytestmark = [pytest.mark.interop, pytest.mark.slow]

REPLAY_STREAM = 77
STILL_S = 1.0  # a replay that has sent nothing for so long stands still
COUNT, LENGTH = 20, 400
FRAME = 448  # bytes of a message's frame, aligned
SIXTH = 5 * FRAME
TERM = 64 * 1024
ENDED, STILL = "ended", "still"

#: A place in the segment, and what is written there.
Damage = tuple[int, bytes]


def length(at: int, value: int) -> Damage:
    return at, struct.pack("<i", value)


def kind(at: int, value: int) -> Damage:
    return at + 6, struct.pack("<H", value)


def text(recording_id: int, index: int) -> bytes:
    return struct.pack("<HH", recording_id, index) * (LENGTH // 4)


def add_recording(folder: Path, *damages: Damage, cut: int | None = None) -> int:
    """Write a recording of twenty messages and damage its segment; its id."""
    recording_id = len(list(folder.glob("*.rec")))
    builder = RecordingBuilder(segment_length=2 * TERM)
    for index in range(COUNT):
        builder.add(text(recording_id, index))
    assert builder.write(folder) == recording_id
    path = folder / f"{recording_id}-0.rec"
    content = bytearray(path.read_bytes())
    for at, data in damages:
        content[at : at + len(data)] = data
    path.write_bytes(content[:cut])
    return recording_id


class Replays:
    """Replays by a client of ours: what they deliver, and how they end."""

    def __init__(self, connect: Callable[..., AeronArchive], directory: str) -> None:
        self.archive = connect(directory, message_timeout=2.0)

    def of(self, recording_id: int, position: int = 0) -> tuple[list[Message], str]:
        """The messages of a replay; ENDED, STILL, or the text of the error that ended it."""
        found: list[Message] = []
        gone: list[object] = []
        with self.archive.aeron.add_subscription(
            "aeron:ipc", REPLAY_STREAM, on_image_gone=gone.append
        ) as subscription:
            session_id = self.archive.start_replay(
                recording_id, "aeron:ipc", REPLAY_STREAM, position=position
            )
            last = time.monotonic()
            while time.monotonic() - last < STILL_S:
                messages = subscription.poll_messages(100)
                found += messages
                error = self.archive.poll_for_error()
                if error is not None:
                    return found, error
                if gone and not messages:
                    return found, ENDED
                if messages:
                    last = time.monotonic()
            self.archive.stop_replay(session_id)
        return found, STILL


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of the archive that is to be started."""
    path = tmp_path / "archive"
    path.mkdir()
    return path


def data(messages: list[Message]) -> list[bytes]:
    return [bytes(message.data) for message in messages]


def texts(recording_id: int, *parts: range) -> list[bytes]:
    return [text(recording_id, index) for part in parts for index in part]


def test_damage_ends_a_replay_or_is_sent_or_stops_it(
    start_server, our_archive_client, folder
) -> None:
    ids = {
        "whole": add_recording(folder),
        "zero": add_recording(folder, length(SIXTH, 0)),
        "negative": add_recording(folder, length(SIXTH, -FRAME)),
        "beyond the next frame": add_recording(folder, length(SIXTH, FRAME + 432)),
        "beyond the mtu": add_recording(folder, length(SIXTH, 4 * FRAME + 432)),
        "to the end of the term": add_recording(folder, length(SIXTH, TERM - SIXTH)),
        "padding": add_recording(folder, kind(SIXTH, 0)),
    }
    for field, at in (("term offset", 8), ("term id", 20), ("stream id", 16)):
        ids[f"first {field}"] = add_recording(folder, length(at, 4096))
        ids[f"later {field}"] = add_recording(folder, length(SIXTH + at, 4096))
    server = start_server("reference", "archiving-driver", archive_dir=folder)
    replays = Replays(our_archive_client, server.aeron_dir)
    told = {name: replays.of(recording_id) for name, recording_id in ids.items()}
    for name in ("zero", "negative"):
        messages, end = told[name]
        assert messages == []
        assert end.startswith("unexpected end of recording at position=2240 ")
    expected = {
        "whole": (range(COUNT), ENDED),
        "padding": ([*range(5), *range(6, COUNT)], ENDED),
        "to the end of the term": (range(5), STILL),
        "first term offset": ([], STILL),
        "first term id": ([], STILL),
        "first stream id": (range(COUNT), ENDED),
        "later term offset": (range(COUNT), ENDED),
        "later term id": (range(COUNT), ENDED),
        "later stream id": (range(COUNT), ENDED),
    }
    for name, (indices, end) in expected.items():
        messages, found = told[name]
        assert (data(messages), found) == ([text(ids[name], i) for i in indices], end), name
    for name, count in (("beyond the next frame", 2), ("beyond the mtu", 5)):
        messages, end = told[name]
        recording_id = ids[name]
        assert end == ENDED
        assert len(messages[5].data) == (count - 1) * FRAME + LENGTH
        rest = [text(recording_id, i) for i in (*range(5), *range(5 + count, COUNT))]
        assert data(messages[:5] + messages[6:]) == rest
    for name in ("later term offset", "later term id", "later stream id"):
        with pytest.raises(ArchiveError, match="does not point to a valid frame") as refused:
            replays.of(ids[name], SIXTH)
        assert refused.value.code == ArchiveErrorCode.INVALID_POSITION


def test_behind_a_cut_what_was_read_before_is_sent(
    start_server, our_archive_client, folder
) -> None:
    cut, whole = add_recording(folder, cut=SIXTH + 100), add_recording(folder)
    server = start_server("reference", "archiving-driver", archive_dir=folder)
    replays = Replays(our_archive_client, server.aeron_dir)
    messages, end = replays.of(cut)  # the archive's buffer is still empty
    assert messages == []
    assert end.startswith("unexpected end of recording at position=2688 ")
    replays.of(whole)
    messages, end = replays.of(cut)
    assert end == ENDED
    assert data(messages[:5]) == [text(cut, index) for index in range(5)]
    assert data(messages[6:]) == [text(whole, index) for index in range(6, COUNT)]


@pytest.mark.parametrize("damage", [length(SIXTH, 16), kind(SIXTH, 77)], ids=["length", "type"])
def test_a_short_length_or_an_unknown_type_stops_the_archive(
    start_server, our_archive_client, folder, damage
) -> None:
    recording_id = add_recording(folder, damage)
    server = start_server("reference", "archiving-driver", archive_dir=folder)
    replays = Replays(our_archive_client, server.aeron_dir)
    with replays.archive.aeron.add_subscription("aeron:ipc", REPLAY_STREAM):
        deadline = time.monotonic() + 10
        with pytest.raises(AeronTimeoutError):
            replays.archive.start_replay(recording_id, "aeron:ipc", REPLAY_STREAM)
            while time.monotonic() < deadline:
                replays.archive.list_recording(recording_id)
    server.process.kill()
