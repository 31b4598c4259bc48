"""Tails: which recording, where its stream is live, when it is over."""

from __future__ import annotations

import io
from collections import deque
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from aerolog.tools.messages.message_output import MessageFormat, MessageWriter
from aerolog.tools.replay.recording_tail import (
    Tail,
    find_recording,
    live_channel_of,
    matching,
    print_tail,
)
from aerolog.transport.errors import AerologError, NotConnectedError
from aerolog.transport.uri import ChannelUri

from .fake_archive import FakeArchive, descriptor


@pytest.mark.parametrize(
    ("stripped", "source", "live"),
    [
        ("aeron:ipc", "aeron:ipc", "aeron:ipc?session-id=99"),
        ("aeron:ipc?session-id=7", "aeron:ipc", "aeron:ipc?session-id=7"),
        (
            "aeron:udp?endpoint=localhost:40123",
            "aeron:ipc",
            "aeron-spy:aeron:udp?endpoint=localhost:40123|session-id=99",
        ),
        (
            "aeron:udp?endpoint=224.0.1.1:40123",
            "10.0.0.1:5555",
            "aeron:udp?endpoint=224.0.1.1:40123|session-id=99",
        ),
    ],
)
def test_a_stream_is_live_where_its_one_publication_can_be_heard(
    stripped: str, source: str, live: str
) -> None:
    recording = descriptor(3, stripped_channel=stripped, source_identity=source)

    assert ChannelUri.parse(live_channel_of(recording)) == ChannelUri.parse(live)


CHANNELS = [
    "aeron:ipc",
    "aeron:ipc?alias=a|session-id=5",
    "aeron:udp?endpoint=localhost:40123|mtu=8k",
    "nonsense",
]


@pytest.mark.parametrize(
    ("channel", "found"),
    [
        ("aeron:ipc", [0, 1]),
        ("aeron:ipc?alias=a", [1]),
        ("aeron:ipc?alias=b", []),
        ("aeron:udp?endpoint=localhost:40123", [2]),
        ("aeron:udp?endpoint=localhost:1", []),
    ],
)
def test_a_channel_matches_recordings_that_have_all_of_it(channel: str, found: list[int]) -> None:
    known = [descriptor(n, original_channel=text) for n, text in enumerate(CHANNELS)]

    assert [one.recording_id for one in matching(known, channel)] == found


def test_the_newest_is_found_and_active_ones_go_first(capsys: pytest.CaptureFixture[str]) -> None:
    archive: Any = FakeArchive(known=[descriptor(n) for n in (3, 4, 5)])

    assert find_recording(archive, "aeron:ipc", 1001).recording_id == 5
    archive.positions = {4: 64}
    assert find_recording(archive, "aeron:ipc", 1001).recording_id == 4
    assert capsys.readouterr().err == ""
    archive.positions = {3: 64, 4: 64}
    assert find_recording(archive, "aeron:ipc", 1001).recording_id == 4
    assert capsys.readouterr().err == "recordings 3, 4 are active: showing 4\n"
    with pytest.raises(AerologError, match="no recording of aeron:ipc stream 1002"):
        find_recording(archive, "aeron:ipc", 1002)


@dataclass
class Trouble:
    error: Exception
    is_fatal: bool


@dataclass
class FakeStream:
    """Gives batches of messages and of events."""

    batches: deque[list[Any]]
    events: deque[list[Any]] = field(default_factory=deque)
    is_live: bool = True
    position: int | None = None
    limits: list[int] = field(default_factory=list)

    def poll_messages(self, limit: int) -> list[Any]:
        self.limits.append(limit)
        batch = self.batches.popleft() if self.batches else []
        if batch:
            self.position = batch[-1].position
        return batch

    def take_events(self) -> list[Any]:
        return self.events.popleft() if self.events else []


def messages(*numbers: int) -> list[Any]:
    return [SimpleNamespace(position=64 * (n + 1), data=b"%d" % n) for n in numbers]


def tail(stream: FakeStream, archive: Any, count: int | None = None) -> bytes:
    out = io.BytesIO()
    writer = MessageWriter(MessageFormat.TEXT, out=out)
    found = Tail(descriptor(3), "aeron:ipc", is_active=True)
    print_tail(archive, stream, found, writer, count=count, trouble=Trouble)
    return out.getvalue()


def test_messages_are_printed_until_the_recording_has_ended() -> None:
    stream = FakeStream(deque([messages(0, 1), [], messages(2)]))

    assert tail(stream, FakeArchive(stops={3: 192})) == b"0\n1\n2\n"


def test_a_recording_that_ends_before_anything_came_is_over() -> None:
    assert tail(FakeStream(deque()), FakeArchive(stops={3: 0})) == b""


def test_enough_messages_end_it() -> None:
    stream = FakeStream(deque([messages(0, 1), messages(2)]))

    assert tail(stream, FakeArchive(), count=3) == b"0\n1\n2\n"
    assert stream.limits == [3, 1]


def test_trouble_that_it_gets_over_is_remarked(capsys: pytest.CaptureFixture[str]) -> None:
    passing = Trouble(RuntimeError("no live image"), is_fatal=False)
    stream = FakeStream(deque([messages(0)]), deque([[passing, "joined"]]))

    assert tail(stream, FakeArchive(stops={3: 64})) == b"0\n"
    assert capsys.readouterr().err == "aerolog: no live image\n"


def test_an_archive_that_goes_away_ends_it() -> None:
    with pytest.raises(NotConnectedError):
        tail(FakeStream(deque()), FakeArchive(is_disconnected=True))
