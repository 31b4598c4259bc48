"""Address texts: how they are split, and who is asked for the host."""

from ipaddress import ip_address

import pytest

from aerolog.transport.errors import ChannelUriError
from aerolog.transport.network.host_names import (
    HostPort,
    parse_host_port,
    platform_address,
    resolve_endpoint,
)
from aerolog.transport.network.resolvers import DefaultNameResolver, TimedNameResolver


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("127.0.0.1:40123", "127.0.0.1", 40123),
        ("localhost:0", "localhost", 0),
        (":23500", "", 23500),
        ("a b:1", "a b", 1),
        ("h:0000000000065535", "h", 65535),
        ("[::1]:7", "::1", 7),
        ("[fe80::1%eth0]:7", "fe80::1", 7),
        ("[::1%12~_.-aA]:7", "::1", 7),
        ("[12:34", "[12", 34),
    ],
)
def test_an_address_text_is_split(text, host, port):
    assert parse_host_port(text) == HostPort(host, port)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "must not be null or empty"),
        ("127.0.0.1", "address:port is required for ipv4: 127.0.0.1"),
        ("127.0.0.1:", "address:port is required for ipv4"),
        ("[::1]", r"\[address\]:port is required for ipv6"),
        ("[::1]:", r"\[address\]:port is required for ipv6"),
        ("[::1]x", "invalid format"),
        ("[::1%]]:5", "invalid format"),
        ("127.0.0.1:12ab", "invalid format"),
        ("127.0.0.1:\u0661", "invalid format"),
        ("h:65536", "port out of range:65536"),
        ("h:99999999999999999999", "int overflow parsing"),
        ("h:1\n", "invalid format"),
    ],
)
def test_what_is_no_address_text_is_refused(text, reason):
    with pytest.raises(ChannelUriError, match=reason):
        parse_host_port(text)


def test_an_empty_value_is_the_references_null_pointer():
    with pytest.raises(ChannelUriError) as refused:
        parse_host_port("")

    assert refused.value.reference_type == "java.lang.NullPointerException"


def test_numeric_forms_of_the_platform_are_taken():
    assert platform_address("127.1") == ip_address("127.0.0.1")
    assert platform_address("") == ip_address("127.0.0.1")
    assert platform_address("::ffff:7f00:1") == ip_address("127.0.0.1")


@pytest.mark.parametrize("host", ["a\0b", "h\u00f6st", "1::2::3", "x" * 300, " 127.0.0.1"])
def test_a_host_that_cannot_be_is_unknown(host):
    assert platform_address(host) is None


def test_ipv4_comes_before_ipv6():
    assert platform_address("localhost") == ip_address("127.0.0.1")


@pytest.mark.parametrize(
    ("param", "known_as"),
    [
        ("endpoint", "TimeTracking(io.aeron.driver.DefaultNameResolver)"),
        ("control", "io.aeron.driver.TimeTrackingNameResolver"),
    ],
)
def test_an_unknown_host_is_reported_with_the_resolver_as_the_reference_names_it(param, known_as):
    resolver = TimedNameResolver(
        DefaultNameResolver(lambda host: None), int, lambda duration_ns, name: None
    )

    with pytest.raises(ChannelUriError) as refused:
        resolve_endpoint("nowhere:1", param, resolver)

    assert refused.value.reference_type == "java.net.UnknownHostException"
    assert refused.value.reference_message == (
        f"unresolved - {param}=nowhere:1, name-resolver={known_as}"
    )
