"""The door through which ports are opened, with a bad network behind it."""

import pytest

from aerolog.testing import FakeNetwork, ManualClock
from aerolog.transport.network.networks import SYSTEM_NETWORK, RehearsedNetwork
from aerolog.transport.network.rehearsal import RehearsedPort
from aerolog.transport.network.rehearsal_options import parse_rehearsal

ANY = ("0.0.0.0", 0)


def all_lost():
    return parse_rehearsal("rate=1")


def talk(network, address, take):
    """What each end hears of a datagram from the other."""
    with (
        network.open_receive_port(address) as receiver,
        network.open_send_port(receiver.local_address, ANY) as sender,
    ):
        assert sender.send_datagrams([b"data"]) == 1
        assert receiver.send_datagrams([b"control"], sender.local_address) == 1
        return [take(receiver), take(sender)]


def heard(port):
    return [text for text, _, _ in port.receive_datagrams()]


@pytest.mark.parametrize(
    ("direction", "expected"),
    [
        ("send_data", [[], [b"control"]]),
        ("send_control", [[b"data"], []]),
        ("receive_data", [[], [b"control"]]),
        ("receive_control", [[b"data"], []]),
    ],
)
def test_each_direction_of_each_end_is_disturbed_on_its_own(direction, expected):
    host = FakeNetwork(ManualClock()).host()
    network = RehearsedNetwork(host, **{direction: all_lost})
    assert talk(network, (host.ipv4, 4000), heard) == expected


def test_an_undisturbed_end_has_its_own_port():
    host = FakeNetwork(ManualClock()).host()
    network = RehearsedNetwork(host, send_data=all_lost)
    receiver = network.open_receive_port((host.ipv4, 4000))
    sender = network.open_send_port(receiver.local_address, ANY, connect=False)
    assert not isinstance(receiver, RehearsedPort)
    assert isinstance(sender, RehearsedPort)
    assert sender.outgoing.dropped == 0


def test_the_system_s_network_has_sockets(take):
    found = talk(SYSTEM_NETWORK, ("127.0.0.1", 0), lambda port: take(port, 1)[0][0])
    assert found == [b"data", b"control"]
