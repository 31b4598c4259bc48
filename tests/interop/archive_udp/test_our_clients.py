"""Our archive client over UDP, from a driver elsewhere."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from peer.client import numbered_message
from waits import wait_until

from aerolog.archive.client import AeronArchive, AsyncAeronArchive, SourceLocation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from aerolog.transport.client import Aeron

pytestmark = pytest.mark.interop
COUNT = 1500
LENGTH = 100
RESPONSES = ["aeron:udp?endpoint=127.0.0.1:0", "aeron:udp?control-mode=response|control={address}"]


@pytest.fixture(params=RESPONSES, ids=["endpoint", "response-channel"])
def options(request: pytest.FixtureRequest, site: Any, address: Callable[[], str]) -> dict:
    """Options of a client whose responses come to a port, or over a response channel."""
    return {
        "request_channel": site.control,
        "response_channel": request.param.format(address=address()),
    }


@pytest.fixture
def aeron(site: Any, our_client: Callable[..., Aeron]) -> Aeron:
    """A client of ours on the driver elsewhere."""
    return our_client(site.elsewhere.aeron_dir)


@pytest.fixture
def archive(aeron: Aeron, options: dict) -> Iterator[AeronArchive]:
    """A session of ours."""
    with AeronArchive(aeron, **options) as archive:
        yield archive


def send(aeron: Aeron, channel: str, stream_id: int, count: int = COUNT) -> tuple[Any, int]:
    """A publication with numbered messages in it, and its position."""
    publication = aeron.add_exclusive_publication(channel, stream_id)
    publication.wait_connected(30)
    for index in range(count):
        position = publication.send(numbered_message(index, LENGTH), timeout=30)
    return publication, position


def test_a_stream_is_recorded_and_read(archive, site, channel, stream_id) -> None:
    archive.start_recording(channel, stream_id, SourceLocation.REMOTE)
    publication, position = send(archive.aeron, channel, stream_id)
    publication.close()
    signals = archive.signals(timeout=30)
    started, stopped = next(signals), next(signals)
    assert (started.position, stopped.position) == (0, position)
    archive.stop_recording(channel, stream_id)
    messages = [m.data for m in archive.read(started.recording_id)]
    assert messages == [numbered_message(i, LENGTH) for i in range(COUNT)]
    wait_until(
        lambda: archive.recording_position_counter(started.recording_id) is None,
        "the position counter to be freed",
    )
    site.wait_replays_ended()


def test_a_live_recording_is_followed_to_its_end(archive, site, channel, stream_id) -> None:
    archive.start_recording(channel, stream_id, SourceLocation.REMOTE)
    publication, position = send(archive.aeron, channel, stream_id)
    recording_id = next(archive.signals(timeout=30)).recording_id
    with archive.replay(recording_id) as replay:
        messages = replay.messages(30, until_eos=True)
        assert [next(messages).data for _ in range(COUNT)] == [
            numbered_message(i, LENGTH) for i in range(COUNT)
        ]
        last = publication.send(b"the last", timeout=30)
        publication.close()
        assert [(m.data, m.position) for m in messages] == [(b"the last", last)]
    archive.stop_recording(channel, stream_id)
    site.wait_replays_ended()


def test_two_sessions_share_an_endpoint_and_see_their_own_answers(
    aeron, site, address, channel, stream_id
) -> None:
    responses = f"aeron:udp?endpoint={address()}"
    with (
        AeronArchive(aeron, request_channel=site.control, response_channel=responses) as one,
        AeronArchive(aeron, request_channel=site.control, response_channel=responses) as two,
    ):
        assert one.control_session_id != two.control_session_id
        assert one.archive_id == two.archive_id
        subscription_id = one.start_recording(channel, stream_id, SourceLocation.REMOTE)
        publication, _ = send(aeron, channel, stream_id, 1)
        assert next(one.signals(timeout=30)).position == 0
        assert two.poll_signals() == []
        (listed,) = two.list_recording_subscriptions(stream_id=stream_id)
        assert listed.subscription_id == subscription_id
        two.stop_recording_subscription(subscription_id)
        publication.close()


def test_an_asyncio_session_records_and_reads(aeron, site, options, channel, stream_id) -> None:
    async def run() -> list[bytes]:
        async with await AsyncAeronArchive.connect(aeron, **options) as archive:
            await archive.start_recording(channel, stream_id, SourceLocation.REMOTE)
            publication, position = await asyncio.to_thread(send, aeron, channel, stream_id)
            publication.close()
            (recording,) = [r async for r in archive.recordings(stream_id=stream_id)]
            while await archive.stop_position(recording.recording_id) != position:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            await archive.stop_recording(channel, stream_id)
            return [m.data async for m in archive.read(recording.recording_id)]

    messages = asyncio.run(asyncio.wait_for(run(), 90))
    assert messages == [numbered_message(i, LENGTH) for i in range(COUNT)]
    site.wait_replays_ended()


@pytest.mark.parametrize(
    "makes", [("ours", "ours", "reference"), ("reference", "reference", "ours")]
)
@pytest.mark.parametrize("replies", ["endpoint=[::1]:0", "control-mode=response|control=[::1]:{}"])
def test_everything_over_ipv6(sites, our_client, stream_id, free_port, makes, replies) -> None:
    site = sites.get(*makes, host="[::1]")
    channel = f"aeron:udp?endpoint=[::1]:{free_port('[::1]')}|term-length=64k"
    responses = f"aeron:udp?{replies.format(free_port('[::1]'))}"
    with AeronArchive(
        our_client(site.elsewhere.aeron_dir),
        request_channel=site.control,
        response_channel=responses,
    ) as archive:
        archive.start_recording(channel, stream_id, SourceLocation.REMOTE)
        publication, position = send(archive.aeron, channel, stream_id)
        started = next(archive.signals(timeout=30))
        publication.close()
        assert next(archive.signals(timeout=30)).position == position
        recording = archive.list_recording(started.recording_id)
        assert recording.source_identity.startswith("0:0:0:0:0:0:0:1:")
        messages = [m.data for m in archive.read(started.recording_id)]
        assert messages == [numbered_message(i, LENGTH) for i in range(COUNT)]
        archive.stop_recording(channel, stream_id)
