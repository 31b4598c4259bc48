"""The ``interface`` parameter and the search for a local interface (spec wire-protocol 3.4).

`system_interfaces` lists the machine's interfaces; a test or a simulation passes a list of its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import TYPE_CHECKING, Final, NamedTuple

from aerolog.transport.errors import ChannelUriError
from aerolog.transport.network.addresses import MAX_PORT, WILDCARD_IPV4, SocketAddress
from aerolog.transport.network.host_names import UNKNOWN_HOST, IpAddress, platform_address

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_NAMED_FORM: Final = "expected format is '{interface_name}' or '{interface_name}:port', but got"
_FAMILY_NAMES: Final = {4: "INET", 6: "INET6"}
_NAMED: Final = re.compile(r"\{(.+)\}(?::([0-9]+))?", re.ASCII | re.DOTALL)


class InterfaceAddress(NamedTuple):
    """One address of an interface and the length of its network prefix in bits."""

    ip: IpAddress
    prefix_length: int


@dataclass(frozen=True, slots=True)
class NetworkInterface:
    """One interface of the machine, with its addresses in the system's order."""

    name: str
    is_up: bool
    is_loopback: bool
    supports_multicast: bool
    addresses: tuple[InterfaceAddress, ...]


@dataclass(frozen=True, slots=True)
class InterfaceSearch:
    """A parsed ``interface`` parameter.

    Attributes:
        name: name of the interface for the form ``{name}``, else empty.
        ip: the address to search for; the wildcard for the form ``{name}``.
        port: local port; 0 for any.
        prefix_length: number of leading bits that have to match.
        host: the name whose address `ip` is; empty if the parameter has a number.
    """

    name: str
    ip: IpAddress
    port: int
    prefix_length: int
    host: str = ""


ANY_INTERFACE: Final = InterfaceSearch("", WILDCARD_IPV4.ip, 0, 0)


class LocalAddress(NamedTuple):
    """The local address that a search found, and its interface, or None if there is none."""

    address: SocketAddress
    interface: NetworkInterface | None


def parse_interface(
    text: str, resolve: Callable[[str], IpAddress | None] = platform_address
) -> InterfaceSearch:
    """Reads ``{name}[:port]`` or ``host[:port][/prefix]``, IPv6 in brackets.

    Args:
        text: the value of the parameter.
        resolve: the platform's lookup of host names.

    Raises:
        ChannelUriError: if the text has neither form, a number is out of range, or the host is
            unknown.
    """
    if not text:
        raise ChannelUriError("interface is null or empty")
    if text.startswith("{"):
        return _parse_named(text)
    slash, colon, bracket = text.rfind("/"), text.rfind(":"), text.rfind("]")
    host_end = len(text) if slash < 0 else slash
    port_text = ""
    if colon > bracket and (slash < 0 or colon < slash):
        port_text = text[colon + 1 : host_end]
        if not port_text:
            raise ChannelUriError(f"invalid port: {text}")
        host_end = colon
    if slash == len(text) - 1:
        raise ChannelUriError(f"invalid subnet: {text}")
    host = text[:host_end]
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    ip = resolve(host.partition("%")[0])
    if ip is None:
        raise ChannelUriError(f"{host}: Name or service not known", reference_type=UNKNOWN_HOST)
    bits = ip.max_prefixlen
    prefix_length = (
        bits if slash < 0 else _number(text[slash + 1 :], bits, f"invalid subnet: {text}")
    )
    port = _number(port_text, MAX_PORT, f"port out of range:{port_text}") if port_text else 0
    is_number = host.isascii() and str(ip) == host.lower()
    return InterfaceSearch("", ip, port, prefix_length, "" if is_number else host)


def find_local_address(
    search: InterfaceSearch,
    interfaces: Sequence[NetworkInterface],
    *,
    ip_version: int,
    is_multicast: bool,
) -> LocalAddress:
    """Find the local address of a channel and its interface.

    Args:
        search: the parsed parameter.
        interfaces: the interfaces of the machine.
        ip_version: IP version of the endpoint, 4 or 6; for the form ``{name}``.
        is_multicast: whether the endpoint is a multicast group, which needs an interface.

    Raises:
        ChannelUriError: if no interface matches.
    """
    if search.name:
        return _named(search, interfaces, ip_version)
    if not is_multicast and search.ip.is_unspecified:
        return LocalAddress(SocketAddress(search.ip, search.port), None)
    candidates = list(_candidates(search, interfaces))
    candidates.sort(key=lambda found: (found[0].is_loopback, -found[1].prefix_length))
    for interface, found in candidates:
        if interface.is_up and (interface.supports_multicast or interface.is_loopback):
            return LocalAddress(_local(found.ip, search.port, interface), interface)
    tried = ", ".join(interface.name for interface, _ in candidates)
    raise ChannelUriError(
        "Unable to find multicast or loopback interface matching criteria: "
        f"{search.host}/{SocketAddress(search.ip, 0).host}/{search.prefix_length}"
        + (f" not up or without multicast: {tried}" if tried else "")
    )


def _candidates(
    search: InterfaceSearch, interfaces: Sequence[NetworkInterface]
) -> Iterator[tuple[NetworkInterface, InterfaceAddress]]:
    for interface in interfaces:
        for address in interface.addresses:
            if is_match(search.ip, address.ip, search.prefix_length):
                yield interface, address
                break


def is_match(wanted: IpAddress, ip: IpAddress, prefix_length: int) -> bool:
    """Whether two addresses have the same family and equal first ``prefix_length`` bits."""
    if wanted.version != ip.version:
        return False
    shift = ip.max_prefixlen - prefix_length
    return int(wanted) >> shift == int(ip) >> shift


def _named(
    search: InterfaceSearch, interfaces: Sequence[NetworkInterface], ip_version: int
) -> LocalAddress:
    for interface in interfaces:
        if interface.name == search.name:
            for address in interface.addresses:
                if address.ip.version == ip_version:
                    return LocalAddress(_local(address.ip, search.port, interface), interface)
            family = _FAMILY_NAMES[ip_version]
            raise ChannelUriError(f"no {family} addresses found on interface {search.name}")
    raise ChannelUriError(f"unknown interface {search.name}")


def _local(ip: IpAddress, port: int, interface: NetworkInterface) -> SocketAddress:
    return SocketAddress(ip, port, "" if isinstance(ip, IPv4Address) else interface.name)


def _parse_named(text: str) -> InterfaceSearch:
    match = _NAMED.fullmatch(text)
    if match is None:
        raise ChannelUriError(f"{_NAMED_FORM} '{text}'")
    name, digits = match.groups()
    out_of_range = f"{_NAMED_FORM} 'port out of range: {digits}'"
    port = _number(digits, MAX_PORT, out_of_range) if digits else 0
    return InterfaceSearch(name, WILDCARD_IPV4.ip, port, 0)


def _number(digits: str, limit: int, fault: str) -> int:
    significant = digits.lstrip("0")
    if not (digits.isascii() and digits.isdigit()) or len(significant) > len(str(limit)):
        raise ChannelUriError(fault)
    value = int(significant or "0")
    if value > limit:
        raise ChannelUriError(fault)
    return value
