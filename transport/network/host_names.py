"""Resolution of a channel's ``host:port`` (spec channel-uri 7, spec wire-protocol 4.1).

A `NameResolver` finds the addresses of names. It may block, so channels are not resolved on the
conductor's thread.
"""

from __future__ import annotations

import re
import socket
from ipaddress import AddressValueError, IPv4Address, IPv6Address, ip_address
from typing import Final, NamedTuple, Protocol

from aerolog.transport.config.values import ASCII_NUMBER_FORMAT, INT32_MAX
from aerolog.transport.errors import ChannelUriError
from aerolog.transport.network.addresses import MAX_PORT, SocketAddress

NULL_POINTER: Final = "java.lang.NullPointerException"
UNKNOWN_HOST: Final = "java.net.UnknownHostException"

IpAddress = IPv4Address | IPv6Address

_IPV4_OR_NAME: Final = re.compile(r"([^:]*):([0-9]+)", re.ASCII | re.DOTALL)
_IPV6: Final = re.compile(r"\[([0-9a-fA-F:]*)(?:%[0-9A-Za-z_.~-]*)?\](?::([0-9]*))?", re.ASCII)


class NameResolver(Protocol):
    """Knows the addresses of host names."""

    @property
    def name(self) -> str:
        """Name of the resolver in errors about an unknown endpoint."""
        ...

    @property
    def reference_class(self) -> str:
        """Name of the resolver in errors about an unknown control address."""
        ...

    def lookup(self, value: str, param: str, *, is_re_lookup: bool) -> str:
        """Return the ``host:port`` for the value of a parameter, usually the value itself."""

    def resolve(self, host: str, param: str, *, is_re_resolution: bool) -> IpAddress | None:
        """Return the address of a host, or None if it is unknown."""


class HostPort(NamedTuple):
    """The parts of an address text; the scope of an IPv6 one is dropped."""

    host: str
    port: int


def parse_host_port(value: str) -> HostPort:
    """Splits ``host:port``, ``[ipv6]:port`` or ``[ipv6%scope]:port``.

    Raises:
        ChannelUriError: if the text has none of these forms, or the port is out of range.
    """
    if not value:
        raise ChannelUriError("input string must not be null or empty", reference_type=NULL_POINTER)
    if match := _IPV4_OR_NAME.fullmatch(value):
        return HostPort(match[1], _port(match[2]))
    _, colon, rest = value.partition(":")
    if not colon or not rest:
        raise ChannelUriError(f"address:port is required for ipv4: {value}")
    match = _IPV6.fullmatch(value)
    if match is None:
        raise ChannelUriError(f"invalid format: {value}")
    if not match[2]:
        raise ChannelUriError(f"[address]:port is required for ipv6: {value}")
    return HostPort(match[1], _port(match[2]))


def resolve_endpoint(
    value: str, param: str, resolver: NameResolver, *, is_re_resolution: bool = False
) -> SocketAddress:
    """Resolve the address of ``endpoint`` or ``control``.

    Raises:
        ChannelUriError: if it does not parse, or the resolver does not know the host.
    """
    looked_up = value
    if value:
        looked_up = resolver.lookup(value, param, is_re_lookup=is_re_resolution)
    host, port = parse_host_port(looked_up)
    ip = resolver.resolve(host, param, is_re_resolution=is_re_resolution)
    if ip is None:
        known_as = resolver.name if param == "endpoint" else resolver.reference_class
        raise ChannelUriError(
            f"unresolved - {param}={value}, name-resolver={known_as}", reference_type=UNKNOWN_HOST
        )
    return SocketAddress(ip, port)


def platform_address(host: str) -> IpAddress | None:
    """Return the platform's first address of a host, IPv4 before IPv6, or None if it has none.

    Every numeric form that the platform accepts is allowed (``127.1``); an empty host is loopback.
    """
    if not host:
        return IPv4Address("127.0.0.1")
    if not host.isascii() or "\0" in host:
        return None
    if ":" in host:  # an IPv6 literal, which needs no name service
        try:
            return _unmapped(IPv6Address(host))
        except AddressValueError:
            return None
    try:
        found = socket.getaddrinfo(host.encode(), None, type=socket.SOCK_DGRAM)
    except OSError:
        return None
    found.sort(key=lambda info: info[0] != socket.AF_INET)
    return _unmapped(ip_address(str(found[0][4][0]).partition("%")[0])) if found else None


def _unmapped(ip: IpAddress) -> IpAddress:
    mapped = ip.ipv4_mapped if isinstance(ip, IPv6Address) else None
    return ip if mapped is None else mapped


def _port(digits: str) -> int:
    significant = digits.lstrip("0")
    if len(significant) > 10 or int(significant or "0") > INT32_MAX:
        raise ChannelUriError(f"int overflow parsing: {digits}", reference_type=ASCII_NUMBER_FORMAT)
    port = int(significant or "0")
    if port > MAX_PORT:
        raise ChannelUriError(f"port out of range:{port}")
    return port
