"""The interface parameter: its forms, and which interface is found."""

from ipaddress import ip_address

import pytest

from aerolog.transport.errors import ChannelUriError
from aerolog.transport.network.interfaces import (
    find_local_address,
    is_match,
    parse_interface,
)
from aerolog.transport.network.system_interfaces import system_interfaces


@pytest.mark.parametrize(
    ("text", "name", "ip", "port", "prefix_length"),
    [
        ("127.0.0.1", "", "127.0.0.1", 0, 32),
        ("127.0.0.1:5", "", "127.0.0.1", 5, 32),
        ("127.0.0.1:5/8", "", "127.0.0.1", 5, 8),
        ("localhost/24", "", "127.0.0.1", 0, 24),
        ("[::1]", "", "::1", 0, 128),
        ("[fd00::2]:5/64", "", "fd00::2", 5, 64),
        ("[fe80::1%eth0]", "", "fe80::1", 0, 128),
        ("{lo}", "lo", "0.0.0.0", 0, 0),
        ("{lo}:77", "lo", "0.0.0.0", 77, 0),
        ("{a}b}", "a}b", "0.0.0.0", 0, 0),
    ],
)
def test_an_interface_is_read(hosts, text, name, ip, port, prefix_length):
    search = parse_interface(text, hosts)

    assert (search.name, str(search.ip), search.port, search.prefix_length) == (
        name,
        ip,
        port,
        prefix_length,
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "interface is null or empty"),
        ("localhost:", "invalid port: localhost:"),
        ("localhost:/8", "invalid port"),
        ("localhost/", "invalid subnet: localhost/"),
        ("localhost/33", "invalid subnet"),
        ("localhost/x", "invalid subnet"),
        ("localhost:70000", "port out of range:70000"),
        ("localhost:" + "9" * 50, "port out of range"),
        ("nowhere", "nowhere: Name or service not known"),
        ("{}", "but got '{}'"),
        ("{lo", "but got '{lo'"),
        ("{lo}:", "but got '{lo}:'"),
        ("{lo}:65536", "but got 'port out of range: 65536'"),
    ],
)
def test_what_is_no_interface_is_refused(hosts, text, reason):
    with pytest.raises(ChannelUriError, match=reason.replace("{", r"\{").replace("}", r"\}")):
        parse_interface(text, hosts)


def find(hosts, interfaces, text, *, ip_version=4, is_multicast=True):
    search = parse_interface(text, hosts)
    return find_local_address(search, interfaces, ip_version=ip_version, is_multicast=is_multicast)


@pytest.mark.parametrize(
    ("text", "name", "address"),
    [
        ("0.0.0.0/0", "near0", "10.0.1.7:0"),
        ("10.0.0.0/8", "near0", "10.0.1.7:0"),
        ("10.0.0.1", "wide0", "10.0.0.1:0"),
        ("10.0.1.0:9/24", "near0", "10.0.1.7:9"),
        ("127.0.0.0/8", "lo", "127.0.0.1:0"),
        ("[::]/0", "near0", "fd00:0:0:0:0:0:0:2%near0:0"),
        ("[::1]", "lo", "0:0:0:0:0:0:0:1%lo:0"),
    ],
)
def test_the_longest_network_off_the_loopback_that_is_up_is_found(
    hosts, interfaces, text, name, address
):
    found = find(hosts, interfaces, text)

    assert found.interface.name == name
    assert found.address.canonical == address


@pytest.mark.parametrize(
    ("text", "criteria"),
    [
        ("10.99.99.99", "/10.99.99.99/32"),
        ("10.0.9.1", "/10.0.9.1/32 .*: down0"),
        ("172.16.0.0/16", "/172.16.0.0/16 .*: deaf0"),
        ("alpha/32", "alpha/10.0.0.1/32"),
    ],
)
def test_where_no_interface_fits_the_search_is_named(hosts, interfaces, text, criteria):
    others = [interface for interface in interfaces if interface.name != "wide0"]

    with pytest.raises(ChannelUriError, match=f"matching criteria: {criteria}"):
        find(hosts, others, text)


def test_a_wildcard_needs_no_interface_unless_the_endpoint_is_a_group(hosts):
    found = find(hosts, [], "0.0.0.0:9", is_multicast=False)

    assert (found.address.canonical, found.interface) == ("0.0.0.0:9", None)
    with pytest.raises(ChannelUriError, match="Unable to find"):
        find(hosts, [], "0.0.0.0:9")


def test_a_named_interface_gives_its_first_address_of_the_family(hosts, interfaces):
    assert find(hosts, interfaces, "{near0}").address.canonical == "10.0.1.7:0"
    found = find(hosts, interfaces, "{near0}:5", ip_version=6)
    assert found.address.canonical == "fd00:0:0:0:0:0:0:2%near0:5"
    with pytest.raises(ChannelUriError, match="no INET6 addresses found"):
        find(hosts, interfaces, "{wide0}", ip_version=6)
    with pytest.raises(ChannelUriError, match="unknown interface nosuch0"):
        find(hosts, interfaces, "{nosuch0}")


@pytest.mark.parametrize(
    ("wanted", "ip", "prefix_length", "matches"),
    [
        ("10.0.0.0", "10.255.0.1", 8, True),
        ("10.0.0.0", "11.0.0.1", 8, False),
        ("1.2.3.4", "200.9.9.9", 0, True),
        ("10.0.0.2", "10.0.0.3", 31, True),
        ("10.0.0.2", "10.0.0.3", 32, False),
        ("fd00::", "fd00:0:0:1::9", 64, False),
        ("fd00::", "fd00:0:0:1::9", 63, True),
        ("fd00::", "fd00::2:3:4", 64, True),
        ("::", "fd00::1", 0, True),
        ("0.0.0.0", "::", 0, False),
    ],
)
def test_addresses_match_in_their_first_bits(wanted, ip, prefix_length, matches):
    assert is_match(ip_address(wanted), ip_address(ip), prefix_length) is matches


def test_the_system_has_a_loopback_interface_with_its_address():
    loopback = [interface for interface in system_interfaces() if interface.is_loopback]

    assert loopback
    assert loopback[0].is_up
    assert ip_address("127.0.0.1") in [address.ip for address in loopback[0].addresses]
