"""Lists the machine's network interfaces through a netlink socket (Linux rtnetlink(7))."""

from __future__ import annotations

import os
import socket
import struct
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from aerolog.transport.network.interfaces import InterfaceAddress, NetworkInterface

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEADER: Final = struct.Struct("=IHHII")  # length, type, flags, sequence, port id
_LINK: Final = struct.Struct("=BxHiII")  # family, type, index, flags, change
_ADDRESS: Final = struct.Struct("=BBBBI")  # family, prefix length, flags, scope, index
_ATTRIBUTE: Final = struct.Struct("=HH")  # length with these four bytes, type
_ERROR: Final = struct.Struct("=i")

_DUMP_REQUEST: Final = 0x301  # NLM_F_REQUEST | NLM_F_DUMP
_GET_LINK, _NEW_LINK, _GET_ADDRESS, _NEW_ADDRESS = 18, 16, 22, 20
_MESSAGE_ERROR, _MESSAGE_DONE = 2, 3
_LINK_NAME: Final = 3
_ADDRESS_PEER, _ADDRESS_LOCAL = 1, 2
_UP, _LOOPBACK, _MULTICAST = 0x1, 0x8, 0x1000
_ADDRESS_LENGTHS: Final = {int(socket.AF_INET): 4, int(socket.AF_INET6): 16}
_RECEIVE_LENGTH: Final = 1 << 17


def system_interfaces() -> list[NetworkInterface]:
    """Return all interfaces in the order of their indexes.

    Raises:
        OSError: the kernel does not answer.
    """
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as kernel:
        kernel.settimeout(5.0)
        kernel.bind((0, 0))
        links = list(_dump(kernel, _GET_LINK, _NEW_LINK))
        addresses = list(_dump(kernel, _GET_ADDRESS, _NEW_ADDRESS))
    return list(_interfaces(links, addresses))


def _interfaces(links: list[bytes], addresses: list[bytes]) -> Iterator[NetworkInterface]:
    by_index: dict[int, list[InterfaceAddress]] = {}
    for message in addresses:
        family, prefix_length, _, _, index = _ADDRESS.unpack_from(message)
        attributes = _attributes(message, _ADDRESS.size)
        raw = attributes.get(_ADDRESS_LOCAL) or attributes.get(_ADDRESS_PEER, b"")
        if len(raw) == _ADDRESS_LENGTHS.get(family):
            found = InterfaceAddress(ip_address(raw), prefix_length)
            by_index.setdefault(index, []).append(found)
    for message in sorted(links, key=lambda link: int(_LINK.unpack_from(link)[2])):
        _, _, index, flags, _ = _LINK.unpack_from(message)
        name = _attributes(message, _LINK.size).get(_LINK_NAME, b"").rstrip(b"\0")
        yield NetworkInterface(
            os.fsdecode(name),
            bool(flags & _UP),
            bool(flags & _LOOPBACK),
            bool(flags & _MULTICAST),
            tuple(by_index.get(index, ())),
        )


def _dump(kernel: socket.socket, request: int, answer: int) -> Iterator[bytes]:
    # The one byte of payload stands for any family; it is padded to four.
    length = _HEADER.size + 1
    kernel.send(_HEADER.pack(length, request, _DUMP_REQUEST, 1, 0) + bytes(4))
    while True:
        data = kernel.recv(_RECEIVE_LENGTH)
        while len(data) >= _HEADER.size:
            length, kind, *_ = _HEADER.unpack_from(data)
            payload = data[_HEADER.size : length]
            if kind == _MESSAGE_DONE:
                return
            if kind == _MESSAGE_ERROR:
                code = -_ERROR.unpack_from(payload)[0]
                raise OSError(code, f"cannot list network interfaces: {os.strerror(code)}")
            if kind == answer:
                yield payload
            data = data[max(_aligned(length), _HEADER.size) :]


def _attributes(message: bytes, start: int) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    offset = start
    while offset + _ATTRIBUTE.size <= len(message):
        length, kind = _ATTRIBUTE.unpack_from(message, offset)
        found[kind] = message[offset + _ATTRIBUTE.size : offset + length]
        offset += max(_aligned(length), _ATTRIBUTE.size)
    return found


def _aligned(length: int) -> int:
    return (length + 3) & ~3
