"""Files as a driver leaves them, with counters that tests allocate."""

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING

from aerolog.transport.concurrent.clock import SystemClock
from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.memory.cnc import CncFile
from aerolog.transport.memory.cnc_header import CncHeader, CncLengths
from aerolog.transport.memory.filesystem import RealFileSystem
from aerolog.transport.memory.loss_report import FILE_NAME, LossReport

if TYPE_CHECKING:
    from pathlib import Path

LENGTHS = CncLengths(1024 + 768, 1024 + 128, 512 * 4 * 128, 128 * 128, 4096)
START_MS = 1_800_000_000_000
UDP = "aeron:udp?endpoint=localhost:20121"
_STREAM = struct.Struct("<qiii")
_SYSTEM = ("Bytes sent", "Bytes received")


class MadeUpDriver:
    """A driver's directory, alive as far as its files tell."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.clock = SystemClock()
        header = CncHeader(LENGTHS, 10_000_000_000, START_MS, os.getpid())
        self.cnc = CncFile.create(RealFileSystem(), str(folder), header)
        self.beat()
        self.cnc.publish()
        self.counters = self.cnc.counters_manager(self.clock, 0)
        self.error_log = self.cnc.error_log(self.clock)
        self.losses = LossReport(RealFileSystem().create_mapped(str(folder / FILE_NAME), 4096))
        for counter_id, label in enumerate(_SYSTEM):
            self.counters.allocate(
                CounterType.SYSTEM,
                label,
                counter_id.to_bytes(4, "little"),
                counter_id,
                -1,
                value=100 + counter_id,
            )

    def beat(self, age_ms: int = 0) -> None:
        """A sign of life."""
        self.cnc.to_driver.consumer_heartbeat_ms = self.clock.now_epoch_ms() - age_ms

    def stream(
        self,
        type_id: int,
        name: str,
        registration_id: int,
        value: int,
        *,
        channel: str = "aeron:ipc",
        session_id: int = 7,
        stream_id: int = 1001,
        client_id: int = 1,
        reference_id: int = 0,
        suffix: str = "",
    ) -> int:
        """A counter of a stream; the key's channel is cut as a driver cuts it."""
        cut = channel[:92].encode()
        key = _STREAM.pack(registration_id, session_id, stream_id, len(cut)) + cut
        label = f"{name}: {registration_id} {session_id} {stream_id} {channel}{suffix}"
        return self.counters.allocate(
            type_id, label, key, registration_id, client_id, reference_id, value
        )

    def client(self, client_id: int, name: str = "") -> None:
        """A connected client."""
        self.counters.allocate(
            CounterType.CLIENT_HEARTBEAT,
            f"client-heartbeat: id={client_id} name={name} version=1.51.0 commit=0",
            client_id.to_bytes(8, "little"),
            client_id,
            client_id,
            value=self.clock.now_epoch_ms(),
        )

    def ipc(
        self, *, position: int, limit: int, readers: dict[int, int], registration_id: int = 10
    ) -> None:
        """An IPC publication and its subscriptions' positions by registration id."""
        self.stream(12, "pub-pos (concurrent)", registration_id, position)
        self.stream(1, "pub-lmt", registration_id, limit)
        for reader, at in readers.items():
            self.stream(4, "sub-pos", reader, at, reference_id=registration_id, suffix=" @0")

    def sent(
        self, *, position: int, limit: int, sent: int, allowed: int, events: int = 0
    ) -> list[int]:
        """A UDP publication, registration 20; returns the counters' ids."""
        channel = f"{UDP}|term-length=64k"
        return [
            self.stream(type_id, name, 20, value, channel=channel)
            for type_id, name, value in (
                (12, "pub-pos (exclusive)", position),
                (1, "pub-lmt", limit),
                (2, "snd-pos", sent),
                (9, "snd-lmt", allowed),
                (13, "snd-bpe", events),
                (19, "snd-naks-received", 0),
            )
        ]

    def received(
        self, *, hwm: int, position: int, readers: dict[int, int], naks: int = 0
    ) -> list[int]:
        """An image of the same stream, registration 30; returns the counters' ids."""
        ids = [
            self.stream(4, "sub-pos", reader, at, channel=UDP, reference_id=30, suffix=" @0")
            for reader, at in readers.items()
        ]
        return [
            *ids,
            self.stream(3, "rcv-hwm", 30, hwm, channel=UDP),
            self.stream(5, "rcv-pos", 30, position, channel=UDP),
            self.stream(20, "rcv-naks-sent", 30, naks, channel=UDP),
        ]
