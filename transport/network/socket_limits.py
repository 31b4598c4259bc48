"""The system's limits of UDP socket buffers; each log records them (spec log-buffers 2)."""

from __future__ import annotations

import socket
from dataclasses import dataclass

_MAX_INT32 = 2**31 - 1


@dataclass(frozen=True, slots=True)
class SocketLimits:
    """Default and greatest socket buffer lengths in bytes, as a program may ask for them."""

    default_sndbuf: int
    max_sndbuf: int
    default_rcvbuf: int
    max_rcvbuf: int


def probe_socket_limits() -> SocketLimits:
    """Read the limits from the system by means of a temporary socket."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        default_sndbuf, max_sndbuf = _probe(probe, socket.SO_SNDBUF)
        default_rcvbuf, max_rcvbuf = _probe(probe, socket.SO_RCVBUF)
    return SocketLimits(default_sndbuf, max_sndbuf, default_rcvbuf, max_rcvbuf)


def _probe(probe: socket.socket, option: int) -> tuple[int, int]:
    # Linux reports twice the length that was requested.
    default = probe.getsockopt(socket.SOL_SOCKET, option) // 2
    probe.setsockopt(socket.SOL_SOCKET, option, _MAX_INT32)
    return default, probe.getsockopt(socket.SOL_SOCKET, option) // 2
