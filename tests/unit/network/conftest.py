"""Waiting for datagrams that the kernel delivers in its own time."""

import time

import pytest

from aerolog.transport.network.sockets import open_receive_port, open_send_port

LOOPBACK = ("127.0.0.1", 0)
ANY = ("0.0.0.0", 0)


@pytest.fixture
def take():
    """Datagrams of a port, until there are as many as expected."""

    def taken(port, count, timeout_s=5.0):
        deadline = time.monotonic() + timeout_s
        found = []
        while len(found) < count and time.monotonic() < deadline:
            found += port.receive_datagrams()
        assert len(found) == count, f"{len(found)} of {count} datagrams arrived"
        return found

    return taken


@pytest.fixture(params=[True, False], ids=["offload", "plain"])
def pair(request):
    """A receive port, and a send port connected to it."""
    with (
        open_receive_port(LOOPBACK, so_rcvbuf=4 << 20, offload=request.param) as receiver,
        open_send_port(receiver.local_address, ANY, offload=request.param) as sender,
    ):
        yield sender, receiver
