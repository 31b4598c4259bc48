"""Ports for channels with port 0."""

from ipaddress import ip_address

import pytest

from aerolog.transport.network.addresses import SocketAddress
from aerolog.transport.network.wildcard_ports import WildcardPorts

ANY = SocketAddress(ip_address("127.0.0.1"), 0)


def receivers(low, high):
    return WildcardPorts((low, high), is_sender=False)


@pytest.mark.parametrize("port_range", [None, (0, 0)])
def test_without_a_range_the_system_chooses(port_range):
    ports = WildcardPorts(port_range, is_sender=False)

    assert ports.take(ANY) == ANY
    assert ports.take(ANY.with_port(7)) == ANY.with_port(7)


def test_ports_are_handed_out_in_turn_and_again_after_the_last():
    ports = receivers(100, 102)
    taken = [ports.take(ANY) for _ in range(3)]

    assert [address.port for address in taken] == [100, 101, 102]
    ports.release(taken[1])
    ports.release(taken[0])
    assert ports.take(ANY).port == 100
    assert ports.take(ANY).port == 101


def test_a_released_port_waits_for_its_turn():
    ports = receivers(100, 102)
    ports.release(ports.take(ANY))

    assert ports.take(ANY).port == 101


def test_an_exhausted_range_is_an_error_until_a_port_is_released():
    ports = receivers(100, 101)
    taken = [ports.take(ANY), ports.take(ANY)]

    with pytest.raises(OSError, match="no available ports in range 100 101"):
        ports.take(ANY)
    ports.release(taken[0])
    assert ports.take(ANY).port == 100


def test_ports_that_channels_name_are_left_out_while_any_socket_has_them():
    ports = receivers(100, 101)
    named = ANY.with_port(100)
    ports.take(named)
    ports.take(named)
    ports.release(named)

    assert ports.take(ANY).port == 101
    ports.release(named)
    assert ports.take(ANY).port == 100


def test_releasing_what_was_not_taken_changes_nothing():
    ports = receivers(100, 100)
    ports.release(ANY.with_port(100))

    assert ports.take(ANY).port == 100


def test_senders_use_their_range_for_explicit_control_only():
    ports = WildcardPorts((100, 101), is_sender=True)

    assert ports.take(ANY).port == 0
    assert ports.take(ANY, has_explicit_control=True).port == 100


def test_a_range_from_zero_never_hands_out_port_zero():
    assert receivers(0, 1).take(ANY).port == 1
