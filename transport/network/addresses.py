"""Socket addresses as channels and counters write them (spec wire-protocol 3.2, 4.3)."""

from __future__ import annotations

import socket
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address
from typing import Final

from aerolog.transport.errors import ChannelUriError

MAX_PORT: Final = 65_535
_LAST_BYTE: Final = 0xFF


@dataclass(frozen=True, slots=True)
class SocketAddress:
    """A numeric address and a port.

    Attributes:
        ip: the address, without scope.
        port: 0 to 65535.
        scope: for IPv6, the interface that the address belongs to. As in the reference, addresses
            that differ only in their scope are equal.
    """

    ip: IPv4Address | IPv6Address
    port: int
    scope: str = field(default="", compare=False)

    @property
    def family(self) -> socket.AddressFamily:
        """AF_INET or AF_INET6."""
        return socket.AF_INET if self.ip.version == 4 else socket.AF_INET6

    @property
    def is_multicast(self) -> bool:
        """Whether the address is that of a multicast group."""
        return self.ip.is_multicast

    @property
    def is_wildcard(self) -> bool:
        """Whether the address is the wildcard, which stands for all local addresses."""
        return self.ip.is_unspecified

    @property
    def host(self) -> str:
        """The address without port, as the reference writes it in a canonical form.

        IPv6 is eight groups without leading zeros, and ``%scope`` where it has one.
        """
        if isinstance(self.ip, IPv4Address):
            return str(self.ip)
        groups = ":".join(f"{int(group, 16):x}" for group in self.ip.exploded.split(":"))
        return f"{groups}%{self.scope}" if self.scope else groups

    @property
    def canonical(self) -> str:
        """``host:port`` as it stands in a canonical form, IPv6 without brackets."""
        return f"{self.host}:{self.port}"

    @property
    def label(self) -> str:
        """``host:port`` as it stands in counters, IPv6 in brackets and without scope."""
        if self.ip.version == 4:
            return self.canonical
        return f"[{SocketAddress(self.ip, 0).host}]:{self.port}"

    @property
    def sockaddr(self) -> tuple[str, int] | tuple[str, int, int, int]:
        """Return the address in the form of the ``socket`` module.

        Raises:
            OSError: if the scope is no interface of this machine.
        """
        if self.ip.version == 4:
            return str(self.ip), self.port
        return str(self.ip), self.port, 0, socket.if_nametoindex(self.scope) if self.scope else 0

    def with_port(self, port: int) -> SocketAddress:
        """Return the same address with another port."""
        return SocketAddress(self.ip, port, self.scope)

    def __str__(self) -> str:
        return self.label


WILDCARD_IPV4: Final = SocketAddress(IPv4Address(0), 0)
WILDCARD_IPV6: Final = SocketAddress(IPv6Address(0), 0)


def multicast_control(data: SocketAddress) -> SocketAddress:
    """Return the control address for a multicast data address: last byte + 1, same port.

    Raises:
        ChannelUriError: the last byte of the data address is even.
    """
    packed = data.ip.packed
    if packed[-1] % 2 == 0:
        raise ChannelUriError("multicast data address must be odd")
    next_bytes = packed[:-1] + bytes([(packed[-1] + 1) & _LAST_BYTE])
    return SocketAddress(type(data.ip)(next_bytes), data.port, data.scope)
