"""The asyncio archive client, on our archive and on the reference's."""

import asyncio

import pytest

from aerolog.archive.client import AsyncAeronArchive, RecordingSignal
from aerolog.transport.errors import ArchiveError

pytestmark = pytest.mark.interop
CHANNEL = "aeron:ipc?term-length=64k"


async def record(archive, stream_id: int, count: int) -> int:
    await archive.start_recording(CHANNEL, stream_id)
    with archive.aeron.add_publication(CHANNEL, stream_id) as publication:
        publication.wait_connected(30.0)
        for index in range(count):
            publication.send(b"message %d" % index, timeout=30.0)
    async for signal in archive.signals(timeout=30.0):
        if signal.signal == RecordingSignal.STOP:
            return signal.recording_id
    raise AssertionError("no STOP signal came")


async def test_a_recording_is_made_listed_and_read(any_archive, our_client, stream_id):
    aeron = our_client(any_archive.aeron_dir)
    async with await AsyncAeronArchive.connect(aeron) as archive:
        recording_id = await record(archive, stream_id, 200)
        found = [one async for one in archive.recordings(stream_id=stream_id, page=1)]
        assert [one.recording_id for one in found] == [recording_id]
        got = [message.data async for message in archive.read(recording_id)]
        assert got == [b"message %d" % index for index in range(200)]
        assert await archive.stop_position(recording_id) == found[0].stop_position
        assert await archive.try_stop_recording(CHANNEL, stream_id) is True


async def test_a_replay_comes_over_a_response_channel(java_archive, our_client, stream_id):
    aeron = our_client(java_archive.aeron_dir)
    async with await AsyncAeronArchive.connect(aeron) as archive:
        recording_id = await record(archive, stream_id, 20)
        replay = await archive.replay(
            recording_id,
            follow=False,
            channel="aeron:ipc?control-mode=response",
            stream_id=stream_id + 50_000,
        )
        with replay:
            got = [one.data for one in replay.messages(timeout=30.0, until_eos=True)]
    assert got == [b"message %d" % index for index in range(20)]


async def test_requests_of_several_tasks_find_their_own_answers(any_archive, our_client, stream_id):
    aeron = our_client(any_archive.aeron_dir)
    async with await AsyncAeronArchive.connect(aeron) as archive:
        archive_id = archive.archive_id
        recording_id = await record(archive, stream_id, 10)
        answers = await asyncio.gather(
            archive.start_position(recording_id),
            archive.list_recordings_for_uri(0, 10, "ipc", stream_id),
            archive.stop_position(99_999),
            archive.list_recording(recording_id),
            archive.query_archive_id(),
            return_exceptions=True,
        )
    assert answers[0] == 0
    assert [one.recording_id for one in answers[1]] == [recording_id]
    assert isinstance(answers[2], ArchiveError)
    assert answers[3].recording_id == recording_id
    assert answers[4] == archive_id


async def test_more_requests_than_fit_into_a_log_are_all_answered(any_archive, our_client):
    aeron = our_client(any_archive.aeron_dir)
    async with await AsyncAeronArchive.connect(aeron) as archive:
        archive_id = archive.archive_id
        listings = (archive.list_recordings(0, 3) for _ in range(20))
        answers = await asyncio.gather(
            *(archive.query_archive_id() for _ in range(2000)), *listings
        )
        assert archive.stats.answers == 2020
    assert set(answers[:2000]) == {archive_id}
    assert all(listing == answers[2000] for listing in answers[2001:])


async def test_a_cancelled_request_leaves_the_session_usable(any_archive, our_client):
    aeron = our_client(any_archive.aeron_dir)
    async with await AsyncAeronArchive.connect(aeron) as archive:
        for _ in range(100):  # an archive may be so quick that there is nothing left to cancel
            task = asyncio.create_task(archive.query_archive_id())
            await asyncio.sleep(0)
            if task.cancel():
                with pytest.raises(asyncio.CancelledError):
                    await task
                break
            assert await task == archive.archive_id
        assert task.cancelled()
        assert await archive.query_archive_id() == archive.archive_id


async def test_a_cancelled_connect_leaves_nothing_behind(any_driver, our_client):
    aeron = our_client(any_driver.aeron_dir)
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(AsyncAeronArchive.connect(aeron, request_stream_id=7777), 0.3)
    assert not aeron.conductor.subscriptions
    assert not aeron.conductor.publications
    aeron.add_subscription("aeron:ipc", 7777).close()
