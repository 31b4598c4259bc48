"""Requests and responses over IPC response channels, on both drivers."""

import threading

import pytest

from aerolog.transport.client import Aeron, ResponseClient, ResponseServer
from aerolog.transport.errors import AeronTimeoutError, NotConnectedError, PublicationError

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


class SlowServer:
    """A handler that answers at once, except to ``slow``, for which it waits to be released."""

    def __init__(self):
        self.asked = threading.Event()
        self.released = threading.Event()

    def __call__(self, _session, data):
        if data == b"slow":
            self.asked.set()
            assert self.released.wait(60)
        return b"answer to " + data


@pytest.mark.parametrize("correlated", [False, True])
def test_a_late_response_is_no_answer_to_a_later_request(aeron, channels, serve, correlated):
    handler = SlowServer()
    server = serve(handler, correlated=correlated)
    with ResponseClient(aeron, **channels, correlated=correlated).wait_connected(30) as client:
        client.publication.wait_connected(30, writable=True)
        with pytest.raises(AeronTimeoutError, match="no response"):
            client.request(b"slow", timeout=0.1)
        assert handler.asked.wait(30)
        handler.released.set()
        for number in range(20):
            question = b"%d" % number
            assert client.request(question, timeout=30) == b"answer to " + question
        assert client.poll_response() is None
    assert server.missed <= 1


def test_a_request_that_is_interrupted_is_given_up(aeron, channels, serve, monkeypatch):
    handler = SlowServer()
    serve(handler)
    with ResponseClient(aeron, **channels).wait_connected(30) as client:
        client.publication.wait_connected(30, writable=True)

        def interrupt():
            raise KeyboardInterrupt

        monkeypatch.setattr(client, "poll_response", interrupt)
        with pytest.raises(KeyboardInterrupt):
            client.request(b"slow", timeout=30)
        monkeypatch.undo()
        handler.released.set()
        assert client.request(b"next", timeout=30) == b"answer to next"


@pytest.mark.parametrize("correlated", [False, True])
def test_a_server_that_comes_back_answers_again(
    any_driver, aeron, channels, correlated, wait_until
):
    client = ResponseClient(aeron, **channels, correlated=correlated)
    for life in range(3):
        with Aeron(any_driver.aeron_dir) as own:
            server = ResponseServer(
                own, **channels, handler=lambda _, data: data[::-1], correlated=correlated
            )
            thread = threading.Thread(target=server.run)
            thread.start()
            try:
                question = b"life %d" % life
                assert client.request(question, timeout=30) == question[::-1]
            finally:
                server.stop()
                thread.join(60)
        # A driver gives a server that begins at once the last request again.
        wait_until(lambda: client.server_has_gone, "the client to notice that the server left")
    client.close()


def test_a_wait_ends_when_the_server_goes(any_driver, aeron, channels):
    own = Aeron(any_driver.aeron_dir)
    server = ResponseServer(own, **channels, handler=lambda _, data: own.close())
    thread = threading.Thread(target=server.run)
    thread.start()
    with ResponseClient(aeron, **channels).wait_connected(30) as client:
        with pytest.raises(NotConnectedError, match="gone before its response came"):
            client.request(b"close", timeout=60)
        with pytest.raises(NotConnectedError, match="no server at aeron:ipc"):
            client.request(b"again", timeout=0.1)
    thread.join(60)
    assert not thread.is_alive()


def test_clients_that_leave_or_never_read_do_not_end_the_server(aeron, channels, serve):
    server = serve(lambda _, data: data * 50, send_timeout=0.05)
    silent = ResponseClient(aeron, **channels).wait_connected(30)
    silent.publication.wait_connected(30, writable=True)
    for _ in range(200):
        silent.send_request(b"never read" * 10, timeout=30)
    leaving = ResponseClient(aeron, **channels).wait_connected(30)
    leaving.send_request(b"x", timeout=30)
    leaving.close()
    with ResponseClient(aeron, **channels).wait_connected(30) as client:
        assert client.request(b"y", timeout=30) == b"y" * 50
    silent.close()
    assert server.missed > 0
