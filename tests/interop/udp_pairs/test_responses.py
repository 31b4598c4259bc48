"""Requests over one driver, responses to the one who asked over the other."""

import pytest
from peer import counters as types
from peer.streams import Receipt, checked_messages, free_port, transfer
from waits import wait_until

from aerolog.transport.client import ResponseClient, ResponseServer
from aerolog.transport.errors import RegistrationError

pytestmark = pytest.mark.interop


@pytest.fixture
def server(link, stream_id):
    request = (f"aeron:udp?endpoint=127.0.0.1:{free_port()}", stream_id)
    response = (f"aeron:udp?control=127.0.0.1:{free_port()}|term-length=64k", stream_id + 50_000)
    with ResponseServer(
        link.subscriber, request=request, response=response, handler=lambda _, data: data[::-1]
    ) as server:
        server.channels = (request, response)
        yield server


def connect(link, server):
    request, response = server.channels
    client = ResponseClient(
        link.publisher,
        request=(request[0] + "|term-length=64k", request[1]),
        response=(response[0].split("|")[0], response[1]),
    )
    wait_until(lambda: server.poll() * 0 + client.is_connected, "the client to be connected")
    return client


def ask(client, server, data):
    client.send_request(data)
    return wait_until(lambda: server.poll() * 0 or client.poll_response(), "the response")[1]


def test_each_client_gets_its_own_responses(link, server):
    clients = [connect(link, server) for _ in range(3)]
    assert len({c.subscription.images[0].session_id for c in clients}) == 3
    for number in range(20):
        for index, client in enumerate(clients):
            question = b"%d of %d " % (number, index) * (1 + 37 * number)
            assert ask(client, server, question) == question[::-1]
    for client in clients:
        assert client.poll_response() is None
        client.close()
    wait_until(lambda: server.poll() * 0 + (not server.sessions), "the server to be alone")


def test_a_client_that_leaves_disturbs_nobody(link, server):
    first, second = connect(link, server), connect(link, server)
    assert ask(first, server, b"abc") == b"cba"
    first.close()
    wait_until(lambda: server.poll() * 0 + (len(server.sessions) == 1), "one to be left")
    assert ask(second, server, b"def") == b"fed"
    third = connect(link, server)
    assert ask(third, server, b"ghi") == b"ihg"


def test_a_long_response_keeps_order(link, server, stream_id):
    client = connect(link, server)
    client.send_request(b"go on")
    wait_until(lambda: server.poll() * 0 or client.poll_response(), "the response")
    (session,) = server.sessions.values()
    receipt = Receipt(client.subscription)
    messages = checked_messages(500, seed=stream_id)
    end = transfer(session.publication, [receipt], messages)
    assert receipt.count == len(messages)
    _, receiving = link.counters()
    key = (session.publication.session_id, session.publication.stream_id)
    wait_until(lambda: receiving.value(types.SENDER_POSITION, *key) == end, "the sender's position")


@pytest.mark.parametrize(
    "parameters", ["", "|response-correlation-id=987654321"], ids=["no image named", "no image"]
)
def test_a_response_publication_needs_its_image(link, stream_id, parameters):
    channel = f"aeron:udp?control=127.0.0.1:{free_port()}|control-mode=response{parameters}"
    with pytest.raises(RegistrationError) as error:
        link.subscriber.add_publication(channel, stream_id)
    assert error.value.code_value in {1, 11}
