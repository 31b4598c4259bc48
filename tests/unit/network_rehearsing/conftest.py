"""A simulated host, and the network that a driver with given settings would open ports through."""

import pytest

from aerolog.testing import FakeNetwork, ManualClock
from aerolog.transport.config.sources import Properties
from aerolog.transport.driver.network_supplier import rehearsed
from aerolog.transport.driver.properties import driver_settings
from aerolog.transport.protocol.frame_codec import DataFrame, encode_frame


class Ends:
    """A send port and a receive port of one driver, on one host."""

    def __init__(self, network, host):
        self.receiver = network.open_receive_port((host.ipv4, 4000), so_rcvbuf=4 << 20)
        self.sender = network.open_send_port(
            self.receiver.local_address, (host.ipv4, 0), connect=False, so_rcvbuf=4 << 20
        )

    def data(self, datagrams):
        """Those datagrams that arrive, sent one by one."""
        to = self.receiver.local_address
        for datagram in datagrams:
            self.sender.send_datagrams([datagram], to)
        return [text for text, _, _ in _drained(self.receiver)]

    def control(self, datagrams):
        """Those that arrive on their way back."""
        to = self.sender.local_address
        for datagram in datagrams:
            self.receiver.send_datagrams([datagram], to)
        return [text for text, _, _ in _drained(self.sender)]


def _drained(port):
    found = []
    while taken := port.receive_datagrams():
        found += taken
    return found


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def host(clock):
    return FakeNetwork(clock).host()


@pytest.fixture
def network(clock, host):
    """``network(**settings)``, or with texts by the reference's names in ``properties``."""

    def make(properties=None, environment=None, **options):
        given = Properties.from_environment(environment or {})
        for name, text in (properties or {}).items():
            given.set(name, text, "test")
        return rehearsed(host, driver_settings(given, options), clock)

    return make


@pytest.fixture
def ends(network, host):
    """``ends(**settings)``: the ports of a driver with these settings."""
    return lambda *args, **options: Ends(network(*args, **options), host)


@pytest.fixture
def frames():
    """DATA frames of two streams by turns, 64 bytes each."""
    return [
        encode_frame(DataFrame(i * 64, 1, 10 + i % 2, 7, i.to_bytes(4, "little") + bytes(28)))
        for i in range(400)
    ]
