"""Requests and responses over IPC response channels, on both drivers."""

import threading

import pytest

from aerolog.transport.client import ResponseClient, ResponseServer
from aerolog.transport.errors import AeronTimeoutError, PublicationError

pytestmark = pytest.mark.interop


@pytest.fixture
def channels(stream_id):
    return {
        "request": ("aeron:ipc?term-length=64k", stream_id),
        "response": ("aeron:ipc?term-length=64k", stream_id + 80_000),
    }


@pytest.fixture
def serve(aeron, channels):
    """``serve(handler, **options)`` runs a server on a thread of its own."""
    running = []

    def start(handler, **options):
        server = ResponseServer(aeron, **channels, handler=handler, **options)
        thread = threading.Thread(target=server.run)
        thread.start()
        running.append((server, thread))
        return server

    yield start
    for server, thread in running:
        server.stop()
        thread.join(60)
        server.close()


def test_each_client_gets_its_own_responses(aeron, channels, serve):
    serve(lambda _, data: b"answer to " + data)
    clients = [ResponseClient(aeron, **channels) for _ in range(3)]
    for client in clients:
        client.wait_connected(30)
    for number, client in enumerate(clients):
        assert client.request(b"%d" % number, timeout=30) == b"answer to %d" % number
    for client in clients:
        assert client.poll_response() is None
        client.close()


def test_long_requests_and_responses_come_whole(aeron, channels, serve):
    serve(lambda _, data: data * 2)
    with ResponseClient(aeron, **channels).wait_connected(30) as client:
        assert client.request(b"abcd" * 900, timeout=30) == b"abcd" * 1800


def test_correlated_responses_may_come_in_any_order(aeron, channels, serve):
    held = []

    def handler(session, data):
        held.append(data)
        if data != b"go":
            return None
        return b"went"

    serve(handler, correlated=True)
    with ResponseClient(aeron, **channels, correlated=True).wait_connected(30) as client:
        client.publication.wait_connected(30, writable=True)
        with pytest.raises(AeronTimeoutError, match="no response"):
            client.request(b"wait", timeout=0.1)
        assert client.request(b"go", timeout=30) == b"went"
    assert held == [b"wait", b"go"]


def test_a_client_that_left_is_forgotten(aeron, channels, serve, wait_until):
    sessions = []

    def handler(session, data):
        sessions.append(session)
        return data

    server = serve(handler)
    with ResponseClient(aeron, **channels).wait_connected(30) as client:
        client.request(b"x", timeout=30)
        assert len(server.sessions) == 1
    wait_until(lambda: not server.sessions, "the session to go")
    wait_until(lambda: not sessions[0].is_ready, "the response channel to close")
    with pytest.raises(PublicationError):
        sessions[0].send(b"late")
