"""Publishers that a persistent subscription does not follow are not held back by it."""

from __future__ import annotations

import pytest
from waits import wait_until

from aerolog.archive.client import FROM_START, AeronArchive, PersistentSubscription
from aerolog.archive.protocol import RecordingSignal
from aerolog.transport.client import Aeron

pytestmark = pytest.mark.interop

CHANNEL = "aeron:ipc?term-length=64k"
MESSAGE = bytes(992)  # 1,024 bytes with its header
HELD = 16
COUNT = 1000  # much more than a log holds
LOCALLY = {"request_channel": "aeron:ipc", "response_channel": "aeron:ipc"}


def recorded_and_truncated(aeron: Aeron, archive: AeronArchive, stream_id: int) -> int:
    """A recording that was truncated to half of its messages."""
    with archive.add_recorded_exclusive_publication(CHANNEL, stream_id) as publication:
        start = next(archive.signals(kinds=RecordingSignal.START, timeout=30))
        for _ in range(2 * HELD):
            publication.send(MESSAGE, timeout=30)
        archive.stop_recording_of(publication)
    archive.truncate_recording(start.recording_id, HELD * 1024)
    return start.recording_id


def test_a_publisher_after_a_truncated_recording_goes_on(session_servers, stream_id: int) -> None:
    server = session_servers("ours", "archiving-driver")
    with Aeron(server.aeron_dir) as aeron, AeronArchive(aeron, **LOCALLY) as archive:
        recording_id = recorded_and_truncated(aeron, archive, stream_id)
        recording = archive.list_recording(recording_id)
        term = recording.initial_term_id + 1
        channel = f"{CHANNEL}|init-term-id={term}|term-id={term}|term-offset=0"
        with (
            PersistentSubscription(
                aeron,
                recording_id=recording_id,
                live_channel=CHANNEL,
                live_stream_id=stream_id,
                start_position=FROM_START,
                replay_channel="aeron:ipc",
                replay_stream_id=stream_id + 50_000,
                message_timeout=300.0,
                **LOCALLY,
            ) as stream,
            aeron.add_exclusive_publication(channel, stream_id) as publication,
        ):
            got: list[bytes] = []

            def turn(wanted: int) -> bool:
                got.extend(message.data for message in stream.poll_messages())
                return len(got) >= wanted

            wait_until(lambda: turn(HELD), "what the recording holds")
            wait_until(lambda: turn(0) and publication.is_connected, "the stream to be awaited")
            sent = 0

            def send() -> bool:
                nonlocal sent
                turn(0)
                sent += publication.offer(MESSAGE) > 0
                return sent >= COUNT

            wait_until(send, "the publisher to go on")
            assert len(got) == HELD
