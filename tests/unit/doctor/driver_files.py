"""The files of a driver that never ran: cnc.dat, logs, a loss report."""

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING

from aerolog.transport.concurrent.clock import SystemClock
from aerolog.transport.logbuffer import metadata
from aerolog.transport.logbuffer.descriptor import log_file_length
from aerolog.transport.logbuffer.metadata import LogMetadata, LogType
from aerolog.transport.memory.cnc import CncFile
from aerolog.transport.memory.cnc_header import CncHeader, CncLengths
from aerolog.transport.memory.filesystem import RealFileSystem

if TYPE_CHECKING:
    from pathlib import Path

TERM = 64 * 1024
#: The time of all tests here, see conftest.
NOW_MS = 1_800_000_000_000
LENGTHS = CncLengths(1024 + 768, 1024 + 128, 512 * 4 * 128, 128 * 128, 4096)
_STREAM_KEY = struct.Struct("<qiii")
CHANNEL = "aeron:ipc"


class DriverFiles:
    """A directory as a driver leaves it; its counters are those of tests that allocate them."""

    def __init__(self, folder: Path, *, pid: int | None = None) -> None:
        self.folder = folder
        (folder / "publications").mkdir(parents=True)
        header = CncHeader(LENGTHS, 10_000_000_000, NOW_MS, pid or os.getpid())
        self.cnc = CncFile.create(RealFileSystem(), str(folder), header)
        self.beat()
        self.cnc.publish()
        self.counters = self.cnc.counters_manager(SystemClock())

    def beat(self, age_ms: int = 0) -> None:
        """A sign of life."""
        self.cnc.to_driver.consumer_heartbeat_ms = NOW_MS - age_ms

    def stream_counter(
        self, type_id: int, name: str, registration_id: int, value: int, reference_id: int = 0
    ) -> int:
        """A position counter of stream 1001, session 7."""
        key = _STREAM_KEY.pack(registration_id, 7, 1001, len(CHANNEL)) + CHANNEL.encode()
        label = f"{name}: {registration_id} 7 1001 {CHANNEL}"
        return self.counters.allocate(
            type_id,
            label,
            key,
            registration_id=registration_id,
            owner_id=1,
            reference_id=reference_id,
            value=value,
        )

    def publication(self, *, position: int, read: int, committed: int) -> Path:
        """An IPC publication whose frames up to a position are committed, and its subscriber."""
        self.stream_counter(12, "pub-pos (concurrent)", 10, position)
        self.stream_counter(1, "pub-lmt", 10, read + TERM // 2)
        self.stream_counter(4, "sub-pos", 20, read, reference_id=10)
        meta = LogMetadata(
            correlation_id=10,
            session_id=7,
            stream_id=1001,
            initial_term_id=5,
            term_length=TERM,
            mtu_length=1408,
            type=LogType.PUBLICATION,
            publication_window_length=TERM // 2,
        )
        section = bytearray(metadata.encode(meta))
        term_count, offset = divmod(position, TERM)
        struct.pack_into("<q", section, 8 * (term_count % 3), (5 + term_count) << 32 | offset)
        struct.pack_into("<i", section, 24, term_count)
        struct.pack_into("<q", section, 128, 2**63 - 1)
        struct.pack_into("<i", section, 136, 1)
        data = bytearray(log_file_length(TERM))
        for at in range(term_count * TERM, committed, 64):
            struct.pack_into("<i", data, at % (3 * TERM), 64)
        data[-len(section) :] = section
        path = self.folder / "publications" / "10.logbuffer"
        path.write_bytes(data)
        return path
