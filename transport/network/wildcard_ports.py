"""Assigns ports of a configured range to channels that name port 0 (spec wire-protocol 3.5)."""

from __future__ import annotations

import errno
from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from aerolog.transport.network.addresses import SocketAddress

_ANY: Final = (0, 0)


class WildcardPorts:
    """Assigns the ports of a range one after the other, except those in use.

    Args:
        port_range: lowest and highest port; None or ``(0, 0)`` leaves the choice to the system.
        is_sender: senders use the range only for channels with an explicit control address.
    """

    def __init__(self, port_range: tuple[int, int] | None, *, is_sender: bool) -> None:
        self._low, self._high = port_range or _ANY
        self._is_sender = is_sender
        self._next_port = self._low
        # Several sockets may hold one port: multicast sockets share theirs.
        self._in_use: Counter[int] = Counter()

    @property
    def has_range(self) -> bool:
        """Whether ports come from a range."""
        return (self._low, self._high) != _ANY

    def take(self, address: SocketAddress, *, has_explicit_control: bool = False) -> SocketAddress:
        """Return the address to bind: the given one, with a port of the range if it has port 0.

        The address returned has to be passed to `release` when the socket is closed, or if it is
        not opened.

        Args:
            address: the address in the channel.
            has_explicit_control: whether the channel of a sender has a control address.

        Raises:
            OSError: every port of the range is in use.
        """
        if address.port == 0:
            if not self.has_range or (self._is_sender and not has_explicit_control):
                return address
            address = address.with_port(self._free_port())
        if self.has_range:
            self._in_use[address.port] += 1
        return address

    def release(self, address: SocketAddress) -> None:
        """Return the port of an address to the range after its socket was closed."""
        if self._in_use[address.port] <= 1:
            del self._in_use[address.port]
        else:
            self._in_use[address.port] -= 1

    def _free_port(self) -> int:
        size = self._high - self._low + 1
        for step in range(size):
            port = self._low + (self._next_port - self._low + step) % size
            if port not in self._in_use and port != 0:
                self._next_port = self._low if port == self._high else port + 1
                return port
        raise OSError(errno.EADDRINUSE, f"no available ports in range {self._low} {self._high}")
