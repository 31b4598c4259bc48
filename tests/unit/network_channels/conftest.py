"""A machine's interfaces and names, the same everywhere."""

from ipaddress import ip_address

import pytest

from aerolog.transport.network.interfaces import InterfaceAddress, NetworkInterface
from aerolog.transport.network.resolvers import DefaultNameResolver
from aerolog.transport.network.udp_channel import ChannelResolver

HOSTS = {
    "": "127.0.0.1",
    "localhost": "127.0.0.1",
    "alpha": "10.0.0.1",
    "six": "fd00::6",
    "group": "224.10.9.9",
}


def interface(name, *addresses, up=True, loopback=False, multicast=True):
    return NetworkInterface(
        name,
        up,
        loopback,
        multicast,
        tuple(InterfaceAddress(ip_address(ip), length) for ip, length in addresses),
    )


INTERFACES = [
    interface("lo", ("127.0.0.1", 8), ("::1", 128), loopback=True, multicast=False),
    interface("down0", ("10.0.9.1", 30), up=False),
    interface("wide0", ("10.0.0.1", 8)),
    interface("near0", ("10.0.1.7", 24), ("fd00::2", 64)),
    interface("deaf0", ("172.16.0.1", 16), multicast=False),
]


def known_host(host):
    if host in HOSTS:
        return ip_address(HOSTS[host])
    try:
        return ip_address(host)
    except ValueError:
        return None


@pytest.fixture
def hosts():
    return known_host


@pytest.fixture
def interfaces():
    return INTERFACES


@pytest.fixture
def channels():
    """Resolves channels; suffixes of channels with port 0 count from 100."""
    return ChannelResolver(
        DefaultNameResolver(known_host),
        interfaces=lambda: INTERFACES,
        platform=known_host,
        suffixes=iter(range(100, 200)),
    )
