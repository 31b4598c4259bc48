"""Publishers that vanish with their driver: what had come is a finished recording."""

from __future__ import annotations

from typing import Any

import pytest
from peer.client import numbered_message
from waits import wait_until

from aerolog.archive.client import AeronArchive, RecordingSignal, SourceLocation
from aerolog.archive.protocol.counter_types import ArchiveCounterType

pytestmark = pytest.mark.interop
LENGTH = 100
FRAME = 160
SITES = [
    ("ours", "ours", "reference"),
    ("reference", "reference", "ours"),
    ("ours", "ours", "ours"),
]


@pytest.fixture(params=SITES, ids=["-".join(site) for site in SITES])
def site(request: pytest.FixtureRequest, sites: Any) -> Any:
    """An archive, and the driver of the client that asks."""
    return sites.get(*request.param)


def test_a_recording_ends_when_its_publisher_s_driver_is_killed(
    site: Any, start_server: Any, our_client: Any, channel: str, stream_id: int
) -> None:
    doomed = start_server(site.elsewhere.implementation, "driver")
    with AeronArchive(
        our_client(site.elsewhere.aeron_dir),
        request_channel=site.control,
        response_channel=site.responses,
    ) as archive:
        archive.start_recording(channel, stream_id, SourceLocation.REMOTE)
        publisher = our_client(doomed.aeron_dir, on_error=lambda _: None)
        publication = publisher.add_exclusive_publication(channel, stream_id)
        publication.wait_connected(30)
        for index in range(2000):
            position = publication.send(numbered_message(index, LENGTH), timeout=30)
        started = next(archive.signals(timeout=30))
        wait_until(
            lambda: archive.recording_position(started.recording_id) == position,
            "everything to be recorded",
        )
        doomed.process.kill()
        stopped = next(archive.signals(timeout=30))
        assert (stopped.signal, stopped.position) == (RecordingSignal.STOP, position)
        assert archive.stop_position(started.recording_id) == position
        messages = [m.data for m in archive.read(started.recording_id)]
        assert messages == [numbered_message(i, LENGTH) for i in range(2000)]
        # Without auto-stop the archive waits for the next one.
        again = archive.aeron.add_exclusive_publication(channel, stream_id)
        again.wait_connected(30)
        assert next(archive.signals(timeout=30)).signal == RecordingSignal.START
        archive.stop_recording(channel, stream_id)
        again.close()


def test_a_replay_ends_when_its_subscriber_s_driver_is_killed(
    site: Any, start_server: Any, our_client: Any, channel: str, stream_id: int
) -> None:
    doomed = start_server(site.elsewhere.implementation, "driver")
    with AeronArchive(
        our_client(site.elsewhere.aeron_dir),
        request_channel=site.control,
        response_channel=site.responses,
    ) as archive:
        archive.start_recording(channel, stream_id, SourceLocation.REMOTE)
        publication = archive.aeron.add_exclusive_publication(channel, stream_id)
        publication.wait_connected(30)
        for index in range(2000):
            publication.send(numbered_message(index, LENGTH), timeout=30)
        recording_id = next(archive.signals(timeout=30)).recording_id
        subscriber = our_client(doomed.aeron_dir, on_error=lambda _: None)
        subscription = subscriber.add_subscription("aeron:udp?endpoint=127.0.0.1:0", 9)
        wait_until(lambda: subscription.resolved_channel, "the port")
        archive.start_replay(recording_id, subscription.resolved_channel, 9)
        wait_until(lambda: subscription.is_connected, "the replay")
        assert next(subscription.messages(30)).data == numbered_message(0, LENGTH)
        wait_until(
            lambda: site.counter_value(ArchiveCounterType.REPLAY_SESSIONS) == 1,
            "other replays to end",
        )
        doomed.process.kill()
        wait_until(
            lambda: site.counter_value(ArchiveCounterType.REPLAY_SESSIONS) == 0, "the replay to end"
        )
        publication.close()
        archive.stop_recording(channel, stream_id)
