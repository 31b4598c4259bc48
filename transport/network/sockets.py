"""Opens the sockets of channel endpoints and makes ports of them (spec wire-protocol 3.1, 3.3).

Addresses are numeric: names and interfaces are resolved before. All functions are for the control
path; a failure is raised as the system's OSError, after all sockets are closed again.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

from aerolog.transport.config.values import whole_number
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.network.port import is_multicast, normal_address
from aerolog.transport.network.socket_port import SocketPort

if TYPE_CHECKING:
    from aerolog.transport.network.port import Address

_LINUX = sys.platform == "linux"
# Options that Python does not name (Linux).
_IP_MULTICAST_ALL = 49
_IPV6_MULTICAST_ALL = 29
_SO_TIMESTAMPNS = 35
_SOL_UDP = 17
_UDP_SEGMENT = 103
_UDP_GRO = 104
_BROADCAST = "255.255.255.255"


def open_send_port(
    remote: Address | None,
    local: Address,
    *,
    control: Address | None = None,
    connect: bool = True,
    interface_index: int = 0,
    ttl: int = 0,
    so_sndbuf: int = 0,
    so_rcvbuf: int = 0,
    offload: bool = True,
    timestamps: bool = False,
) -> SocketPort:
    """Open the port of a send channel endpoint.

    Args:
        remote: the destination of data; None when each send gives its own (multi-destination,
            response).
        local: for unicast the address to bind, with port 0 for any; a wildcard fits either family.
            For multicast the address of the interface.
        control: the group that receivers answer to, with a multicast ``remote`` only; a socket of
            its own receives at this port.
        connect: whether to connect to a unicast ``remote``, so that only it is received from.
        interface_index: the interface for multicast, 0 to find it by ``local``.
        ttl: the multicast time to live, 0 for the system's default.
        so_sndbuf: the length of the send buffer in bytes, 0 for the system's default.
        so_rcvbuf: the length of the receive buffer in bytes, 0 for the system's default.
        offload: whether the kernel divides runs, where it can.
        timestamps: whether the kernel gives the times at which control frames arrive.

    Raises:
        ConfigurationError: the addresses do not fit each other.
        OSError: a socket cannot be opened, bound or connected.
    """
    with ExitStack() as opened:
        if remote is not None and is_multicast(remote):
            if control is None or not is_multicast(control):
                raise ConfigurationError(f"a multicast sender needs its control group: {control}")
            sender = opened.enter_context(_open(remote))
            _send_to_group(sender, local, interface_index, ttl)
            sender.connect(_native(remote))
            receiver = opened.enter_context(_open(control))
            _join(receiver, control, local, interface_index)
        else:
            sender = receiver = opened.enter_context(_open(remote or local))
            sender.bind(_native(_of_family(local, sender)))
            if remote is not None and connect:
                sender.connect(_native(remote))
        _size_buffers(sender, receiver, so_sndbuf, so_rcvbuf)
        return SocketPort.of(
            sender,
            receiver,
            segmentation=offload and _can_segment(sender),
            timestamps=timestamps and _take_timestamps(receiver),
            ttl=_ttl(sender) if ttl else 0,
        )


def open_receive_port(
    endpoint: Address,
    interface: Address | None = None,
    *,
    interface_index: int = 0,
    ttl: int = 0,
    so_sndbuf: int = 0,
    so_rcvbuf: int = 0,
    offload: bool = True,
    timestamps: bool = False,
) -> SocketPort:
    """Open the port of a receive channel endpoint or destination; it is not connected.

    With ``offload`` every buffer given to ``receive`` needs RECEIVE_BUFFER_LENGTH bytes.

    Args:
        endpoint: the address to bind, with port 0 for any, or the multicast group to join.
        interface: the interface's address for multicast; None or a wildcard lets the system choose.
        interface_index: the interface for multicast, 0 to find it by ``interface``.
        ttl: the time to live of answers to the control group, 0 for the system's default.
        so_sndbuf: the length of the send buffer in bytes, 0 for the system's default.
        so_rcvbuf: the length of the receive buffer in bytes, 0 for the system's default.
        offload: whether the kernel joins datagrams, where it can.
        timestamps: whether the kernel gives the times at which datagrams arrive.

    Raises:
        ConfigurationError: the addresses do not fit each other.
        OSError: the socket cannot be opened, bound or joined to the group.
    """
    with ExitStack() as opened:
        sock = opened.enter_context(_open(endpoint))
        multicast = is_multicast(endpoint)
        if multicast:
            local = _of_family(interface or ("0.0.0.0", 0), sock)  # noqa: S104 -- the wildcard
            _join(sock, endpoint, local, interface_index)
            _send_to_group(sock, local, interface_index, ttl)
        elif _native(endpoint)[0] == _BROADCAST:
            # The system would bind to it; the reference's socket does not, and no peer sends there.
            raise OSError(errno.EADDRNOTAVAIL, os.strerror(errno.EADDRNOTAVAIL))
        else:
            sock.bind(_native(endpoint))
        _size_buffers(sock, sock, so_sndbuf, so_rcvbuf)
        return SocketPort.of(
            sock,
            sock,
            segmentation=offload and _can_segment(sock),
            coalescing=offload and _coalesce(sock),
            timestamps=timestamps and _take_timestamps(sock),
            ttl=_ttl(sock) if ttl and multicast else 0,
        )


def _open(address: Address) -> socket.socket:
    """Open a datagram socket of the address's family; an IPv6 socket receives no IPv4."""
    host, _ = normal_address(address)
    if ":" not in host:
        return socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
    sock = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
    sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    return sock


def _native(address: Address) -> tuple[str, int] | tuple[str, int, int, int]:
    """Return the address as the socket module takes it, with a number for the scope."""
    host, port = normal_address(address)
    name, _, scope = host.partition("%")
    return (name, port, 0, _scope_index(scope)) if ":" in name else (name, port)


def _scope_index(scope: str) -> int:
    if not scope:
        return 0
    index = whole_number(scope)
    return socket.if_nametoindex(scope) if index is None else index


def _of_family(local: Address, sock: socket.socket) -> Address:
    """Return the local address, or the socket's wildcard if the local one is of another family."""
    host, port = normal_address(local)
    if (":" in host) == (sock.family == socket.AF_INET6):
        return host, port
    if host not in {"0.0.0.0", "::"}:  # noqa: S104 -- the wildcard
        raise ConfigurationError(f"local address {host} is of another family than its peer's")
    return ("::" if sock.family == socket.AF_INET6 else "0.0.0.0"), port  # noqa: S104


def _join(sock: socket.socket, group: Address, interface: Address, interface_index: int) -> None:
    """Receive one group on one interface, and no other group that this host has joined (3.3)."""
    host, port = normal_address(group)
    local, _ = _of_family(interface, sock)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if sock.family == socket.AF_INET6:
        sock.bind(("::", port))
        membership = socket.inet_pton(socket.AF_INET6, host.partition("%")[0])
        index = _ipv6_index(local, host, interface_index)
        membership += struct.pack("@I", index)
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, membership)
        if _LINUX:
            sock.setsockopt(socket.IPPROTO_IPV6, _IPV6_MULTICAST_ALL, 0)
        return
    sock.bind(("", port))
    membership = socket.inet_aton(host) + socket.inet_aton(local)
    membership += struct.pack("@i", interface_index)
    sock.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, membership)
    if _LINUX:
        sock.setsockopt(socket.IPPROTO_IP, _IP_MULTICAST_ALL, 0)


def _send_to_group(sock: socket.socket, interface: Address, interface_index: int, ttl: int) -> None:
    """Set the interface and the time to live of datagrams that are sent to a group."""
    local, _ = _of_family(interface, sock)
    if sock.family == socket.AF_INET6:
        index = _ipv6_index(local, "", interface_index)
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
        if ttl:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, ttl)
        return
    request = socket.inet_aton("0.0.0.0") + socket.inet_aton(local)  # noqa: S104
    request += struct.pack("@i", interface_index)
    sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, request)
    if ttl:
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, ttl)


def _ipv6_index(local: str, group: str, interface_index: int) -> int:
    """Return an interface index: the given one, that of a scope, or that of the address."""
    scope = local.partition("%")[2] or group.partition("%")[2]
    if interface_index or scope:
        return interface_index or _scope_index(scope)
    if local == "::":
        return 0
    if local == "::1":
        return next((i for i, name in socket.if_nameindex() if name.startswith("lo")), 0)
    return _index_by_address(local)


def _index_by_address(local: str) -> int:
    """Return the index of the interface that has a global IPv6 address (Linux)."""
    wanted = socket.inet_pton(socket.AF_INET6, local).hex()
    try:
        with open("/proc/net/if_inet6", encoding="ascii") as table:  # noqa: PTH123
            rows = [line.split() for line in table]
    except OSError:
        return 0  # this system has no such table, so it chooses the interface itself
    return next((int(row[1], 16) for row in rows if row[0] == wanted), 0)


def _ttl(sock: socket.socket) -> int:
    if sock.family == socket.AF_INET6:
        return sock.getsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS)
    return sock.getsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL)


def _size_buffers(
    sender: socket.socket, receiver: socket.socket, so_sndbuf: int, so_rcvbuf: int
) -> None:
    if so_sndbuf:
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, so_sndbuf)
    if so_rcvbuf:
        receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, so_rcvbuf)


def _can_segment(sock: socket.socket) -> bool:
    """Whether this kernel supports UDP_SEGMENT; a device may still refuse it for a send."""
    if not _LINUX:
        return False
    try:
        sock.getsockopt(_SOL_UDP, _UDP_SEGMENT)
    except OSError:
        return False
    return True


def _coalesce(sock: socket.socket) -> bool:
    """Let the kernel join datagrams; False if it does not support that."""
    if not _LINUX:
        return False
    try:
        sock.setsockopt(_SOL_UDP, _UDP_GRO, 1)
    except OSError:
        return False
    return True


def _take_timestamps(sock: socket.socket) -> bool:
    if not _LINUX:
        return False
    sock.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    return True
