"""An archive is killed and comes back: what our client is meanwhile, and how it goes on."""

import asyncio

import pytest

from aerolog.archive.client import ArchiveClientState, RecordingSignal
from aerolog.transport.errors import (
    AeronTimeoutError,
    NotConnectedError,
    ResourceClosedError,
)
from aerolog.transport.uri import ChannelUri

from .conftest import CHANNEL, WAIT_S, Archive, Bench, connect, payload, settle, until

pytestmark = [
    pytest.mark.interop,
    pytest.mark.error_log(
        "control request for unknown session",
        "onPublicationError",
        "controlSessionId=",
        at_times=True,
    ),
]
IMPLEMENTATIONS = ["ours", "reference"]
LIVENESS = {"aeron.client.liveness.timeout": "4s", "aeron.publication.linger.timeout": "200ms"}


@pytest.fixture(params=IMPLEMENTATIONS)
def pair(request, start_server):
    """A driver that soon forgets dead clients, and an archive in a process of its own."""
    driver = start_server("reference", "driver", properties=LIVENESS)
    return driver, start_server(request.param, "archive", aeron_dir=driver.spec.aeron_dir)


def kill(server) -> None:
    """Kill -9; the next archive shall not take the mark file for a live one's."""
    server.process.kill()
    (server.archive_dir / "archive-mark.dat").unlink()


def start_again(start_server, server):
    return start_server(
        server.implementation,
        server.spec.kind,
        aeron_dir=server.spec.aeron_dir,
        archive_dir=server.archive_dir,
    )


def streams(aeron) -> tuple[int, int]:
    """Subscriptions and publications that a client has."""
    return len(aeron.conductor.subscriptions), len(aeron.conductor.publications)


async def lose(archive: Archive) -> None:
    """Ask an archive that was killed.

    The driver gives it up while the request waits for its response, or before it is sent.
    """
    gone = "response channel from archive is not connected|connection to the archive is no longer"
    with pytest.raises(NotConnectedError, match=gone):
        await archive.query_archive_id()
    await until(lambda: archive.client.is_disconnected, "the client to see what it was told")
    assert archive.client.state is ArchiveClientState.DISCONNECTED
    with pytest.raises(ResourceClosedError, match="the archive has disconnected"):
        await archive.query_archive_id()


async def test_a_killed_archive_comes_back_and_its_client_goes_on(
    form, pair, start_server, our_client, stream_id
):
    driver, server = pair
    aeron = our_client(driver.aeron_dir)
    archive = await connect(form, aeron)
    bench = Bench(server, archive, stream_id, start_server)
    seen = []
    archive.client.add_signal_handler(seen.append, kinds=RecordingSignal.EXTEND)
    recording = await bench.stopped(20)
    first_session, asked = archive.client.control_session_id, archive.client.stats.requests
    kill(server)
    await lose(archive)
    server = start_again(start_server, server)
    await archive.reconnect()
    assert archive.client.state is ArchiveClientState.CONNECTED
    assert archive.client.stats.sessions == 2
    assert archive.client.stats.requests > asked
    assert streams(aeron) == (1, 1)
    assert archive.client.control_session_id != first_session

    assert await archive.list_recording(recording.recording_id) == recording
    channel = ChannelUri.parse(CHANNEL).with_position(
        recording.stop_position, recording.initial_term_id, recording.term_buffer_length
    )
    with aeron.add_exclusive_publication(str(channel), stream_id) as publication:
        await archive.extend_recording(recording.recording_id, CHANNEL, stream_id)
        await archive.signal(RecordingSignal.EXTEND)
        await bench.recorded(recording.recording_id, bench.publish(publication, 5, first=20))
    assert [one.recording_id for one in seen] == [recording.recording_id]
    got = await bench.messages(recording.recording_id)
    assert got == [payload(index) for index in range(25)]
    await settle(archive.client.close())
    assert archive.client.state is ArchiveClientState.CLOSED
    assert streams(aeron) == (0, 0)


async def test_reconnecting_to_nobody_fails_leaves_nothing_and_can_be_tried_again(
    form, pair, start_server, our_client
):
    driver, server = pair
    aeron = our_client(driver.aeron_dir)
    archive = await connect(form, aeron, message_timeout=WAIT_S)
    archive.client.options.message_timeout = 1.0
    kill(server)
    await until(lambda: archive.client.is_disconnected, "the driver to give the archive up")
    for _ in range(2):
        with pytest.raises(AeronTimeoutError, match="Archive connect timeout: step=AWAIT_PUB"):
            await archive.reconnect()
        assert archive.client.state is ArchiveClientState.DISCONNECTED
        assert streams(aeron) == (0, 0)
    with pytest.raises(ResourceClosedError, match="the archive has disconnected"):
        await archive.query_archive_id()
    start_again(start_server, server)
    archive.client.options.message_timeout = WAIT_S
    await archive.reconnect()
    assert await archive.query_archive_id() == archive.client.archive_id
    await settle(archive.client.close())
    with pytest.raises(ResourceClosedError, match="^client is closed$"):
        await archive.reconnect()


async def test_a_driver_that_is_lost_too_gets_a_new_own_client(form, start_server, monkeypatch):
    monkeypatch.setenv("AERON_DRIVER_TIMEOUT", "4000")
    server = start_server("ours", "archiving-driver")
    archive = await connect(form, None, aeron_dir=server.aeron_dir)
    lost = archive.client.aeron
    kill(server)
    await until(lambda: lost.closed, "the client to miss its driver")
    assert archive.client.state is ArchiveClientState.DISCONNECTED
    with pytest.raises(AeronTimeoutError):
        await archive.query_archive_id()
    start_again(start_server, server)
    await archive.reconnect()
    assert archive.client.aeron is not lost
    assert await archive.query_archive_id() == archive.client.archive_id
    await settle(archive.client.close())
    assert archive.client.aeron.closed


async def test_a_client_that_was_given_is_not_replaced(form, start_server, monkeypatch, our_client):
    monkeypatch.setenv("AERON_DRIVER_TIMEOUT", "4000")
    server = start_server("ours", "archiving-driver")
    aeron = our_client(server.aeron_dir)
    archive = await connect(form, aeron)
    server.process.kill()
    await until(lambda: aeron.closed, "the client to miss its driver")
    with pytest.raises(ResourceClosedError, match="transport client is closed: make a new one"):
        await archive.reconnect()
    await settle(archive.client.close())


@pytest.mark.parametrize("response_channel", ["aeron:ipc", "aeron:ipc?control-mode=response"])
async def test_a_connected_client_that_reconnects_has_another_session(
    form, any_archive, our_client, response_channel
):
    aeron = our_client(any_archive.aeron_dir)
    archive = await connect(form, aeron, response_channel=response_channel)
    first = archive.client.control_session_id
    await archive.reconnect()
    assert archive.client.control_session_id != first
    assert await archive.query_archive_id() == archive.client.archive_id
    assert streams(aeron) == (1, 1)
    await settle(archive.client.close())


async def test_tasks_that_reconnect_at_once_share_one_session(any_archive, our_client):
    aeron = our_client(any_archive.aeron_dir)
    archive = await connect("awaited", aeron)
    client = archive.client
    await asyncio.wait_for(asyncio.gather(*(client.reconnect() for _ in range(3))), WAIT_S)
    assert client.stats.sessions == 2
    assert streams(aeron) == (1, 1)
    assert await client.query_archive_id() == client.archive_id
    await client.close()


async def test_a_client_closed_while_it_reconnects_stays_closed(any_archive, our_client):
    aeron = our_client(any_archive.aeron_dir)
    client = (await connect("awaited", aeron)).client
    reconnecting = asyncio.create_task(client.reconnect())
    await asyncio.sleep(0)
    await client.close()
    with pytest.raises(ResourceClosedError, match="client is closed"):
        await asyncio.wait_for(reconnecting, WAIT_S)
    assert client.state is ArchiveClientState.CLOSED
    assert streams(aeron) == (0, 0)


async def test_a_client_that_takes_nothing_in_loses_its_session_and_gets_another(
    form, start_server, our_client
):
    pinging = {
        "aeron.archive.session.liveness.check.interval": "1ms",
        "aeron.archive.connect.timeout": "1s",
    }
    server = start_server("reference", "archiving-driver", properties=pinging)
    archive = await connect(form, our_client(server.aeron_dir))
    await until(lambda: archive.client.is_disconnected, "the archive to end the session")
    await archive.reconnect()
    assert [one async for one in archive.signals(3.0)] == []  # takes pings in all the time
    assert archive.client.state is ArchiveClientState.CONNECTED
    assert await archive.query_archive_id() == archive.client.archive_id
    await settle(archive.client.close())
