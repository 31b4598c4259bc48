"""Captures written by tests, and what tshark makes of them with our dissector."""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
from typing import TYPE_CHECKING, Any, NamedTuple

from prerequisites import program_or_skip

from aerolog.tools.wireshark.dissector_tables import dissector
from aerolog.transport.driver.events.logged_port import LoggedPort
from aerolog.transport.events.event_log import EventLog
from aerolog.transport.network.networks import SYSTEM_NETWORK, WrappedNetwork

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

LINK_TYPE_RAW_IP = 101
UDP = 17
RING_LENGTH = 1 << 24


class Datagram(NamedTuple):
    """One datagram between IPv4 addresses."""

    source: tuple[str, int]
    destination: tuple[str, int]
    data: bytes


def write_pcap(path: Path, datagrams: Iterable[Datagram]) -> Path:
    """A capture of datagrams, a millisecond apart."""
    parts = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 1 << 18, LINK_TYPE_RAW_IP)]
    for index, (source, destination, data) in enumerate(datagrams):
        udp = struct.pack(">HHHH", source[1], destination[1], 8 + len(data), 0) + data
        head = struct.pack(
            ">BBHHHBBH4s4s",
            *(0x45, 0, 20 + len(udp), 0, 0, 64, UDP, 0),
            socket.inet_aton(source[0]),
            socket.inet_aton(destination[0]),
        )
        packet = head + udp
        parts.append(struct.pack("<IIII", 1, index * 1000, len(packet), len(packet)) + packet)
    path.write_bytes(b"".join(parts))
    return path


class Tshark:
    """tshark with our dissector, apart from the plugins and settings of this machine's user."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lua = folder / "aerolog.lua"
        self._lua.write_text(dissector())

    def run(self, *arguments: str) -> str:
        """What it prints; its complaints fail the test."""
        done = subprocess.run(
            ["tshark", "-X", f"lua_script:{self._lua}", *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=60,
            check=False,
            env={**os.environ, "HOME": str(self._folder), "LC_ALL": "C.UTF-8"},
        )
        assert done.returncode == 0, done.stderr
        assert "Lua" not in done.stderr, done.stderr
        return done.stdout

    def packets(self, capture: Path, *arguments: str) -> list[dict[str, Any]]:
        """The layers of every packet."""
        text = self.run("-r", str(capture), "-T", "json", "--no-duplicate-keys", *arguments)
        return [packet["_source"]["layers"] for packet in json.loads(text)]

    def archive_messages(self, capture: Path, *arguments: str) -> list[dict[str, Any]]:
        """The archive's messages in the order of the capture, fields without their prefix."""
        found: list[dict[str, Any]] = []
        for layers in self.packets(capture, *arguments):
            trees = layers.get("aeron_archive", [])
            found += [bare(tree) for tree in (trees if isinstance(trees, list) else [trees])]
        return found


def bare(tree: dict[str, Any]) -> dict[str, Any]:
    """A tree's fields by the last part of their names."""
    return {name.rpartition(".")[2]: value for name, value in tree.items()}


def tshark_or_skip(folder: Path) -> Tshark:
    """tshark; without it a visible skip, or under CI a failure."""
    program_or_skip("tshark")
    return Tshark(folder)


class CapturingNetwork(WrappedNetwork):
    """The machine's network, with a copy of every datagram that a driver sends or receives."""

    def __init__(self) -> None:
        super().__init__(SYSTEM_NETWORK)
        self._log = EventLog(RING_LENGTH)
        self._own: list[tuple[str, int]] = []

    def open_send_port(self, remote: Any, local: Any, **options: Any) -> Any:
        """A port of the machine, noted."""
        return self._noted(self._inner.open_send_port(remote, local, **options), remote)

    def open_receive_port(self, endpoint: Any, interface: Any = None, **options: Any) -> Any:
        """A port of the machine, noted."""
        return self._noted(self._inner.open_receive_port(endpoint, interface, **options), None)

    def _noted(self, port: Any, remote: Any) -> LoggedPort:
        code = 2 * len(self._own) + 1
        noted = LoggedPort(port, self._log, remote, frame_in=code, frame_out=code + 1)
        self._own.append(port.local_address)
        return noted

    def take(self) -> list[Datagram]:
        """Everything since the last call, in order."""
        found: list[Datagram] = []

        def take(code: int, _time: int, length: int, kept: bytes) -> None:
            port, host_length = struct.unpack_from("<ii", kept)
            host = socket.inet_ntoa(kept[8 : 8 + host_length])
            assert len(kept) == length, "a datagram was cut: use a shorter mtu"
            own = ("127.0.0.1", self._own[(code - 1) // 2][1])
            ends = ((host, port), own) if code % 2 else (own, (host, port))
            found.append(Datagram(*ends, kept[8 + host_length :]))

        while self._log.read(take):
            pass
        assert self._log.take_lost() == 0
        return found
