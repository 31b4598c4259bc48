"""Changing the channel of a recording: both archives say the same, and so do their catalogs."""

from __future__ import annotations

import pytest
from archive_storage.teller import FRAME, SEGMENT

from aerolog.archive import protocol as ap

pytestmark = pytest.mark.interop

UPDATE = ap.UpdateChannelRequest
CHANNELS = (
    "aeron:udp?endpoint=localhost:1234|term-length=64k|alias=hello|session-id=7|mtu=1408",
    "aeron:ipc",
    "aeron-spy:aeron:udp?endpoint=localhost:1234",
    "aeron:udp?endpoint=localhost:1234|alias=" + "x" * 500,
    "aeron:ipc?alias=" + "y" * 3000,
    "aeron:ipc?tags=1,2|alias=z",
    "aeron:udp?endpoint=no such host:99999",
)


def test_update_channel_moves_the_entries_behind(alike) -> None:
    def scenario(t) -> None:
        recordings = [t.recorded(100 + index, FRAME) for index in range(3)]
        for channel in CHANNELS:
            t.ask(UPDATE, recording_id=recordings[0], channel=channel)
            for recording in recordings:
                t.describe(recording)
        t.ask(UPDATE, recording_id=recordings[2], channel=CHANNELS[3])
        recordings.append(t.recorded(103, FRAME))
        t.ask(UPDATE, recording_id=recordings[1], channel=CHANNELS[4])
        for recording in recordings:
            t.describe(recording)

    lines = alike(scenario)
    assert sum("relevant_id=0 code=0" in line for line in lines) == len(CHANNELS) + 2


def test_update_channel_of_a_live_recording(alike) -> None:
    def scenario(t) -> None:
        live = t.start(110)
        other = t.start(111)
        live.publish(SEGMENT)
        t.tell("live")
        t.ask(UPDATE, recording_id=live.recording_id, channel=CHANNELS[3])
        live.publish(2 * FRAME)
        other.publish(FRAME)
        other.stop()
        live.stop()
        t.tell("stopped")
        for recording in (live.recording_id, other.recording_id):
            t.describe(recording)
        t.folder()

    assert any(f"stop_position={SEGMENT + 2 * FRAME}" in line for line in alike(scenario))


def test_update_channel_of_an_unknown_recording(alike) -> None:
    def scenario(t) -> None:
        for unknown in (9999, -1, -(2**63), 2**63 - 1):
            for channel in ("aeron:ipc", "garbage"):
                t.ask(UPDATE, recording_id=unknown, channel=channel)

    lines = alike(scenario)
    assert sum("code=2 version=- error_message=" in line for line in lines) == 8


@pytest.mark.error_log(
    "Aeron URIs must start with", "no more input found", "unknown media", "URI length"
)
@pytest.mark.parametrize(
    "channel",
    ["", "garbage", "aeron:ipc?", "aeron:ipc?alias", "aeron:", "aeron:ipc?alias=" + "q" * 5000],
)
def test_update_channel_to_no_channel_has_no_answer(alike, channel: str) -> None:
    def scenario(t) -> None:
        recording = t.recorded(120, FRAME)
        request = t.post(UPDATE, recording_id=recording, channel=channel)
        t.tell("no channel")
        assert not t.find(ap.ControlResponse, request)
        t.describe(recording)
        t.ask(UPDATE, recording_id=recording, channel="aeron:ipc?alias=after")
        t.describe(recording)

    assert any("original_channel=aeron:ipc?alias=after" in line for line in alike(scenario))


def test_update_channel_replaces_what_is_not_ascii(alike) -> None:
    def scenario(t) -> None:
        recording = t.recorded(121, FRAME)
        t.ask(UPDATE, recording_id=recording, channel="aeron:ipc?alias=h\u00e9")
        t.describe(recording)

    assert any("original_channel=aeron:ipc?alias=h?" in line for line in alike(scenario))
