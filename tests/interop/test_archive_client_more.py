"""Our archive client in other set-ups: archives beside a driver, own clients, lost archives."""

import gc
import pickle
import threading
import time

import pytest

from aerolog.archive.client import (
    AeronArchive,
    ArchiveClientOptions,
    ArchiveConnection,
    RecordingSignal,
)
from aerolog.transport.client import Aeron
from aerolog.transport.errors import (
    AeronTimeoutError,
    ArchiveError,
    ArchiveErrorCode,
    NotConnectedError,
    ResourceClosedError,
)

pytestmark = pytest.mark.interop
CHANNEL = "aeron:ipc?term-length=64k"
IMPLEMENTATIONS = ["ours", "reference"]


# A driver that misses clients soon, though not those that a loaded machine holds up.
FORGETFUL = {
    "aeron.client.liveness.timeout": "5s",
    "aeron.publication.unblock.timeout": "6s",
}


def payload(index: int) -> bytes:
    return b"%06d:" % index + bytes((index + i) & 0xFF for i in range(90))


def record(archive, stream_id: int, count: int, channel: str = CHANNEL):
    """A stopped recording of `count` messages."""
    with archive.add_recorded_exclusive_publication(channel, stream_id) as publication:
        publication.wait_connected(30.0)
        for index in range(count):
            position = publication.send(payload(index), timeout=30.0)
        deadline = time.monotonic() + 30
        while not (found := list(archive.recordings(stream_id=stream_id))):
            assert time.monotonic() < deadline, f"no recording of stream {stream_id}"
        archive.recording_position_counter(found[-1].recording_id).wait(position, timeout=30.0)
        archive.stop_recording_of(publication)
    while (stopped := archive.list_recording(found[-1].recording_id)).is_active:
        assert time.monotonic() < deadline, "the recording did not stop"
    return stopped


@pytest.mark.parametrize("archive_of", IMPLEMENTATIONS)
@pytest.mark.parametrize("driver_of", IMPLEMENTATIONS)
def test_an_archive_runs_beside_either_driver(
    archive_of, driver_of, start_server, our_archive_client, stream_id
):
    driver = start_server(driver_of, "driver")
    start_server(archive_of, "archive", aeron_dir=driver.spec.aeron_dir)
    archive = our_archive_client(driver.aeron_dir)
    recording = record(archive, stream_id, 1000)
    assert [m.data for m in archive.read(recording.recording_id)] == [
        payload(i) for i in range(1000)
    ]


def test_an_own_client_is_made_and_closed(any_archive):
    with AeronArchive(aeron_dir=any_archive.aeron_dir) as archive:
        aeron = archive.aeron
        assert archive.query_archive_id() == archive.archive_id
    assert aeron.closed


def test_a_client_without_a_thread_is_turned_while_waiting(any_archive, our_client, stream_id):
    aeron = our_client(any_archive.aeron_dir, invoker=True)
    with AeronArchive(aeron) as archive:
        recording = record(archive, stream_id, 10)
        assert archive.list_recording(recording.recording_id) == recording


def test_calls_of_several_threads_do_not_mix(any_archive, our_archive_client, stream_id):
    archive = our_archive_client(any_archive.aeron_dir)
    recording = record(archive, stream_id, 10)
    wrong = []

    def ask():
        for _ in range(50):
            if archive.stop_position(recording.recording_id) != recording.stop_position:
                wrong.append("stop")
            if archive.start_position(recording.recording_id) != 0:
                wrong.append("start")

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads)
    assert wrong == []


def test_a_killed_archive_is_noticed_in_the_client_liveness_timeout(
    start_server, our_archive_client
):
    driver = start_server("reference", "driver", properties=FORGETFUL)
    server = start_server("ours", "archive", aeron_dir=driver.spec.aeron_dir)
    archive = our_archive_client(driver.aeron_dir, message_timeout=30)
    server.process.kill()
    with pytest.raises(NotConnectedError):  # long before the message timeout
        archive.query_archive_id()
    deadline = time.monotonic() + 30
    while not archive.is_disconnected:
        archive.poll()
        assert time.monotonic() < deadline
    with pytest.raises(ResourceClosedError):
        archive.query_archive_id()


def test_no_archive_is_a_timeout_that_says_where_it_stood(any_driver, our_client):
    begin = time.monotonic()
    with pytest.raises(AeronTimeoutError, match="AWAIT_PUBLICATION_CONNECTED"):
        AeronArchive(our_client(any_driver.aeron_dir), message_timeout=3, request_stream_id=7777)
    assert time.monotonic() - begin >= 3


def test_a_connection_can_be_polled_from_a_duty_cycle(any_archive, our_client):
    connection = ArchiveConnection(our_client(any_archive.aeron_dir), ArchiveClientOptions())
    deadline = time.monotonic() + 30
    while (session := connection.poll()) is None:
        assert time.monotonic() < deadline
    assert session.archive_id >= 0
    session.close()


def test_control_over_response_channels(any_archive, our_archive_client, stream_id):
    archive = our_archive_client(
        any_archive.aeron_dir, response_channel="aeron:ipc?control-mode=response"
    )
    recording = record(archive, stream_id, 100)
    got = [m.data for m in archive.read(recording.recording_id)]
    assert got == [payload(i) for i in range(100)]


def await_deleted(archive, recording_id: int) -> None:
    """Files go after the answer; until they are gone nothing else of the recording may."""
    signals = archive.signals(30.0, recording_id=recording_id, kinds=RecordingSignal.DELETE)
    assert next(signals).recording_id == recording_id


def test_segments_are_truncated_detached_attached_and_purged(
    java_archive, our_archive_client, stream_id
):
    archive = our_archive_client(java_archive.aeron_dir)
    recording = record(archive, stream_id, 3000)
    identity, segment = recording.recording_id, recording.segment_file_length
    assert recording.stop_position > 3 * segment
    cut = recording.stop_position - recording.stop_position % segment
    assert archive.truncate_recording(identity, cut) >= 1
    await_deleted(archive, identity)
    assert archive.stop_position(identity) == cut
    archive.detach_segments(identity, segment)
    assert archive.start_position(identity) == segment
    assert archive.attach_segments(identity) == 1
    assert archive.start_position(identity) == 0
    archive.detach_segments(identity, segment)
    assert archive.delete_detached_segments(identity) == 1
    await_deleted(archive, identity)
    assert archive.purge_segments(identity, 2 * segment) == 1
    await_deleted(archive, identity)
    assert archive.start_position(identity) == 2 * segment
    assert archive.purge_recording(identity) >= 1
    assert archive.list_recording(identity) is None


def test_segments_migrate_and_channels_change(java_archive, our_archive_client, stream_id):
    archive = our_archive_client(java_archive.aeron_dir)
    recording = record(archive, stream_id, 2000)
    archive.update_channel(recording.recording_id, f"{CHANNEL}|alias=renamed")
    renamed = archive.list_recording(recording.recording_id)
    assert renamed.original_channel == f"{CHANNEL}|alias=renamed"
    assert archive.try_stop_replication(4711) is False
    with pytest.raises(ArchiveError) as refused:
        archive.stop_replication(4711)
    assert refused.value.code == ArchiveErrorCode.UNKNOWN_REPLICATION
    with pytest.raises(ArchiveError):
        archive.migrate_segments(recording.recording_id, recording.recording_id)


def test_a_replay_comes_over_a_response_channel(java_archive, our_archive_client, stream_id):
    archive = our_archive_client(java_archive.aeron_dir)
    recording = record(archive, stream_id, 100)
    with archive.replay(
        recording.recording_id,
        follow=False,
        channel="aeron:ipc?control-mode=response",
        stream_id=stream_id + 50_000,
    ) as subscription:
        got = [m.data for m in subscription.messages(timeout=30.0, until_eos=True)]
    assert got == [payload(i) for i in range(100)]


def test_an_unclosed_client_warns_and_is_closed(any_archive, our_client):
    archive = AeronArchive(our_client(any_archive.aeron_dir))
    publication = archive.conversation.session.stream.publication
    with pytest.warns(ResourceWarning, match="unclosed <AeronArchive"):
        del archive
        gc.collect()
    assert publication.closed


def test_a_client_is_not_pickled(any_archive, our_archive_client):
    with pytest.raises(TypeError, match="pickled"):
        pickle.dumps(our_archive_client(any_archive.aeron_dir))


def test_connecting_with_a_closed_client_is_refused(any_archive):
    aeron = Aeron(any_archive.aeron_dir)
    aeron.close()
    with pytest.raises(ResourceClosedError):
        AeronArchive(aeron)
