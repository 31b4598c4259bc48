"""An archive that stands still: our client says what the reference's client says."""

import os
import re
import signal

import peer
import pytest
from waits import wait_until

from aerolog.transport.errors import AeronTimeoutError, BackPressuredError

from .conftest import FORMS, WAIT_S, connect, settle

pytestmark = pytest.mark.interop
TIMEOUT_S = 0.6
LONG_CHANNEL = "aeron:ipc?alias=" + "x" * 4000
# Name and arguments of an operation of ours, and of the reference's client.
TIMED_OUT = [
    (("stop_position", 5), ("getStopPosition", 5)),
    (("list_recordings", 0, 1), ("recordings", {"from_": 0, "count": 1})),
    (("list_recording", 0), ("recordings", {"recording_id": 0})),
    (
        ("list_recording_subscriptions",),
        ("recording_subscriptions", {"channel": "", "stream": 1, "apply_stream": False}),
    ),
]
REFUSED = [
    (("start_recording", LONG_CHANNEL, 1), ("startRecording", LONG_CHANNEL, 1, "LOCAL")),
    (("extend_recording", 1, LONG_CHANNEL, 1), ("extendRecording", 1, LONG_CHANNEL, 1, "LOCAL")),
    (("stop_recording", LONG_CHANNEL, 1), ("stopRecording", LONG_CHANNEL, 1)),
    (("try_stop_recording_subscription", 7), ("tryStopRecording", 7)),
    (("stop_recording_by_identity", 7), ("tryStopRecordingByIdentity", 7)),
    (("start_replay", 1), ("startReplay", 1, 0, -1, "aeron:ipc", 2)),
    (("stop_replay", 1), ("stopReplay", 1)),
    (("stop_all_replays", 1), ("stopAllReplays", 1)),
    (("list_recording", 0), ("recordings", {"recording_id": 0})),
    (("list_recordings",), ("recordings", {"from_": 0, "count": 1})),
    (("list_recordings_for_uri", 0, 1, "", 1), ("recordings", {"channel": "", "stream": 1})),
    (
        ("list_recording_subscriptions",),
        ("recording_subscriptions", {"channel": "", "stream": 1, "apply_stream": False}),
    ),
    (
        ("find_last_matching_recording", 0, "", 1, 1),
        ("findLastMatchingRecording", 0, "", 1, 1),
    ),
    (("start_position", 1), ("getStartPosition", 1)),
    (("stop_position", 1), ("getStopPosition", 1)),
    (("recording_position", 1), ("getRecordingPosition", 1)),
    (("max_recorded_position", 1), ("getMaxRecordedPosition", 1)),
    (("truncate_recording", 1, 0), ("truncateRecording", 1, 0)),
    (("detach_segments", 1, 0), ("detachSegments", 1, 0)),
    (("delete_detached_segments", 1), ("deleteDetachedSegments", 1)),
    (("purge_segments", 1, 0), ("purgeSegments", 1, 0)),
    (("attach_segments", 1), ("attachSegments", 1)),
    (("migrate_segments", 1, 2), ("migrateSegments", 1, 2)),
    (("update_channel", 1, LONG_CHANNEL), ("updateChannel", 1, LONG_CHANNEL)),
    (("replicate", 1, LONG_CHANNEL, 1), ("replicate", 1, 1, 1, LONG_CHANNEL, "")),
    (("try_stop_replication", 1), ("tryStopReplication", 1)),
]


def java_text(archive, method, *arguments):
    """What the reference's client throws."""
    with pytest.raises(peer.JavaError) as thrown:
        if arguments and isinstance(arguments[0], dict):
            getattr(archive, method)(**arguments[0])
        elif method == "recording_subscriptions":
            archive.recording_subscriptions()
        else:
            archive.call(method, *arguments)
    return thrown.value.message.removeprefix("ERROR - ")


async def our_text(archive, error, method, *arguments):
    """What our client raises."""
    with pytest.raises(error) as raised:
        await getattr(archive, method)(*arguments)
    return str(raised.value)


def impatient(client):
    """A reference client that soon has enough of waiting, for its session as for any answer."""

    def connected():
        try:
            return client.archive(message_timeout_ms=round(1000 * TIMEOUT_S))
        except peer.JavaError as error:
            if error.java_class != "TimeoutException":
                raise
            return None

    return wait_until(connected, "a session within the time of one answer")


def plain(text: str) -> str:
    return re.sub(r"correlationId=\d+", "correlationId=N", text)


def fillers():
    """Requests that fill a log, the longest first: each until it finds no room."""
    return [("update_channel", 1, LONG_CHANNEL[:length]) for length in (4000, 1000, 300)] + [
        ("stop_replay", 1)
    ]


async def fill(archive) -> None:
    for method, *arguments in fillers():
        refused = False
        while not refused:
            try:
                await getattr(archive, method)(*arguments)
            except AeronTimeoutError:
                continue
            except BackPressuredError:
                refused = True


def fill_java(archive) -> None:
    names = {"update_channel": "updateChannel", "stop_replay": "stopReplay"}
    for method, *arguments in fillers():
        while (text := java_text(archive, names[method], *arguments)).startswith("awaiting"):
            pass
        assert text.startswith("failed to send")


async def test_our_client_says_what_the_references_says(start_server, java_client, our_client):
    patient = {  # with an archive that stands still
        "aeron.client.liveness.timeout": "100s",
        "aeron.publication.unblock.timeout": "101s",
    }
    driver = start_server("reference", "driver", properties=patient)
    server = start_server("reference", "archive", aeron_dir=driver.spec.aeron_dir)
    client = java_client(driver.aeron_dir)
    client.archive().close()  # the first session is slow: the archive has just been started
    theirs = impatient(client)
    aeron = our_client(driver.aeron_dir)
    ours = [await connect(form, aeron, message_timeout=WAIT_S) for form in FORMS]
    for archive in ours:
        archive.client.options.message_timeout = TIMEOUT_S
    os.kill(server.pid, signal.SIGSTOP)
    try:
        for our_call, their_call in TIMED_OUT:
            text = plain(java_text(theirs, *their_call))
            assert text.startswith("awaiting ")
            for archive in ours:
                assert plain(await our_text(archive, AeronTimeoutError, *our_call)) == text
        fill_java(theirs)
        for archive in ours:
            archive.client.options.message_timeout = 0.05
            await fill(archive)
        for our_call, their_call in REFUSED:
            text = java_text(theirs, *their_call)
            assert text.startswith("failed to send ")
            for archive in ours:
                assert await our_text(archive, BackPressuredError, *our_call) == text
        timeouts = [archive.client.stats.timeouts for archive in ours]
        assert min(timeouts) > len(TIMED_OUT)
    finally:
        os.kill(server.pid, signal.SIGCONT)
    for archive in ours:
        assert archive.client.is_disconnected is False
        await settle(archive.client.close())
