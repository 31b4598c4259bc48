"""The cnc.dat file, in which a driver and its clients find each other (spec cnc-and-commands 2).

A driver creates it, fills the header, allocates its counters, starts its heartbeat and only then
calls ``CncFile.publish``, which stores the version. A client waits for exactly these steps when it
connects; tools open the file without waiting. Control path; the docstrings of the sections say
which threads may use them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

from aerolog.transport.concurrent.clock import Clock, SystemClock
from aerolog.transport.errors import (
    ActiveDriverError,
    ConfigurationError,
    DriverTimeoutError,
    FileFormatError,
)
from aerolog.transport.memory.broadcast import BroadcastReceiver, BroadcastTransmitter
from aerolog.transport.memory.cnc_header import (
    DEFAULT_DRIVER_TIMEOUT_MS,
    HEADER_LENGTH,
    HEARTBEAT_CLOSED,
    VERSION,
    VERSION_OFFSET,
    CncHeader,
    CncLengths,
    check_client,
    check_major,
    cnc_path,
    version_text,
)
from aerolog.transport.memory.counters import CountersManager, CountersReader
from aerolog.transport.memory.error_log import DistinctErrorLog, ErrorObservation, read_error_log
from aerolog.transport.memory.filesystem import FileSystem, RealFileSystem
from aerolog.transport.memory.ring_buffer import ManyToOneRingBuffer
from aerolog.transport.time_units import NS_PER_MS

if TYPE_CHECKING:
    from aerolog.transport.memory.mapped_file import MappedFile

__all__ = [
    "DEFAULT_DRIVER_TIMEOUT_MS",
    "HEADER_LENGTH",
    "VERSION",
    "CncFile",
    "CncHeader",
    "CncLengths",
    "Sleep",
    "check_major",
    "cnc_path",
    "version_text",
]

_FILE_WAIT_MS = 16
_FIELD_WAIT_MS = 1
_STALE_WAIT_MS = 100

Sleep = Callable[[float], object]


class CncFile:
    """A mapped cnc.dat whose header has been checked.

    Attributes:
        mapped: the whole file.
        header: the constant fields of the file.
        to_driver: the ring buffer for commands, which any client may write.
        counters: reader of all counters, for any thread.
    """

    def __init__(self, mapped: MappedFile) -> None:
        self.path = mapped.path
        self.mapped = mapped
        if mapped.length < HEADER_LENGTH:
            raise FileFormatError(f"{self.path} is no cnc.dat: {mapped.length} bytes")
        self.header = CncHeader.decode(mapped.view(0, HEADER_LENGTH))
        lengths = self.header.lengths
        fault = lengths.fault()
        if fault:
            raise FileFormatError(f"{self.path} is no cnc.dat: {fault}")
        if mapped.length < lengths.total:
            raise FileFormatError(
                f"{self.path} is truncated: length={mapped.length}, its header tells of "
                f"{lengths.total}"
            )
        self._to_clients_offset = HEADER_LENGTH + lengths.to_driver
        self._metadata_offset = self._to_clients_offset + lengths.to_clients
        self._values_offset = self._metadata_offset + lengths.counter_metadata
        self._errors_offset = self._values_offset + lengths.counter_values
        self.to_driver = ManyToOneRingBuffer(mapped, HEADER_LENGTH, lengths.to_driver)
        self.counters = CountersReader(
            mapped,
            self._metadata_offset,
            lengths.counter_metadata,
            self._values_offset,
            lengths.counter_values,
        )

    @classmethod
    def create(cls, file_system: FileSystem, aeron_dir: str, header: CncHeader) -> CncFile:
        """Create a driver's file, allocated whole, with every header field but the version.

        Args:
            file_system: the file system of the directory.
            aeron_dir: an existing directory without cnc.dat.
            header: the header to write, whose lengths are checked.

        Raises:
            ConfigurationError: if the lengths or the page size cannot be used.
            StorageSpaceError: if the file does not fit on the disk.
            ActiveDriverError: if another driver created the file first.
        """
        fault = header.fault()
        if fault:
            raise ConfigurationError(fault)
        try:
            mapped = file_system.create_mapped(cnc_path(aeron_dir), header.file_length)
        except FileExistsError:
            raise ActiveDriverError(
                f"{cnc_path(aeron_dir)} appeared meanwhile: another media driver starts there"
            ) from None
        encoded = header.encode()
        mapped.view(0, len(encoded))[:] = encoded
        return cls(mapped)

    @classmethod
    def open(cls, file_system: FileSystem, aeron_dir: str, *, writable: bool = False) -> CncFile:
        """Open the file of a live or dead driver without waiting, as tools do.

        Raises:
            FileNotFoundError: if there is no such file.
            FileFormatError: if it is not initialised, has another major version, or is damaged.
        """
        mapped = file_system.open_mapped(
            cnc_path(aeron_dir), writable=writable, min_length=HEADER_LENGTH
        )
        version = mapped.load_i32(VERSION_OFFSET)
        if version == 0:
            raise FileFormatError(f"{mapped.path} is created but not initialised")
        check_major(version)
        return cls(mapped)

    @classmethod
    def connect(
        cls,
        aeron_dir: str,
        *,
        timeout_ms: int = DEFAULT_DRIVER_TIMEOUT_MS,
        file_system: FileSystem | None = None,
        clock: Clock | None = None,
        sleep: Sleep = time.sleep,
    ) -> CncFile:
        """Open the file of a live driver, waiting for it to start (spec cnc-and-commands 2.4).

        Args:
            aeron_dir: the driver's directory.
            timeout_ms: longest wait, and greatest age of the driver's heartbeat.
            file_system: the machine's file system by default.
            clock: the machine's clocks by default.
            sleep: called with the seconds to wait before the file is opened again.

        Raises:
            DriverTimeoutError: if file, version or a fresh heartbeat does not appear in time.
            FileFormatError: if this client cannot use the version, or if the file is damaged.
        """
        found = _Connector(
            cnc_path(aeron_dir),
            timeout_ms,
            file_system or RealFileSystem(),
            clock or SystemClock(),
            sleep,
        )
        return found.connect()

    @property
    def version(self) -> int:
        """The packed version, 0 until the driver has published the file."""
        return self.mapped.load_i32(VERSION_OFFSET)

    @property
    def heartbeat_ms(self) -> int:
        """Time of the driver's last heartbeat, epoch milliseconds; -1 after an orderly close."""
        return self.to_driver.consumer_heartbeat_ms

    def publish(self) -> None:
        """Store the version, after which clients can connect; the heartbeat must be set before."""
        if self.heartbeat_ms == 0:
            raise RuntimeError(f"{self.path}: the heartbeat must be stored before the version")
        self.mapped.store_i32(VERSION_OFFSET, VERSION)
        self.mapped.flush()

    def mark_closed(self) -> None:
        """Record for clients that the driver has closed in an orderly way."""
        self.to_driver.consumer_heartbeat_ms = HEARTBEAT_CLOSED
        self.mapped.flush()

    def transmitter(self) -> BroadcastTransmitter:
        """The driver's end of the to-clients buffer; one thread only."""
        return BroadcastTransmitter(
            self.mapped, self._to_clients_offset, self.header.lengths.to_clients
        )

    def receiver(self) -> BroadcastReceiver:
        """A new reader of the to-clients buffer, for one thread."""
        return BroadcastReceiver(
            self.mapped, self._to_clients_offset, self.header.lengths.to_clients
        )

    def counters_manager(self, clock: Clock, reuse_timeout_ms: int = 1000) -> CountersManager:
        """The driver's allocator of counters; one thread only."""
        lengths = self.header.lengths
        return CountersManager(
            self.mapped,
            self._metadata_offset,
            lengths.counter_metadata,
            self._values_offset,
            lengths.counter_values,
            clock,
            reuse_timeout_ms,
        )

    def error_log(self, clock: Clock) -> DistinctErrorLog:
        """The driver's error log, for writing."""
        return DistinctErrorLog(
            self.mapped, self._errors_offset, self.header.lengths.error_log, clock
        )

    def errors(self, since_ms: int = 0) -> list[ErrorObservation]:
        """Return the distinct errors last seen at or after a time, epoch milliseconds."""
        return read_error_log(
            self.mapped, self._errors_offset, self.header.lengths.error_log, since_ms
        )


@dataclass(frozen=True, slots=True)
class _NotYet:
    """Why a file cannot be used yet, and when to try again."""

    reason: str
    wait_ms: int
    heartbeat_ms: int | None = None


@dataclass(frozen=True, slots=True)
class _Connector:
    """A client that waits for a live driver."""

    path: str
    timeout_ms: int
    file_system: FileSystem
    clock: Clock
    sleep: Sleep

    def connect(self) -> CncFile:
        deadline_ns = self.clock.now_ns() + self.timeout_ms * NS_PER_MS
        before_ms = None
        while True:
            found = self._look(before_ms)
            if isinstance(found, CncFile):
                return found
            if self.clock.now_ns() >= deadline_ns:
                raise DriverTimeoutError(
                    f"no media driver in {PurePath(self.path).parent}: {found.reason}: {self.path} "
                    f"(waited {self.timeout_ms} ms): start one, or name another directory"
                )
            before_ms = found.heartbeat_ms
            self.sleep(found.wait_ms / 1000)

    def _look(self, before_ms: int | None) -> CncFile | _NotYet:
        """Return the live driver's file, or what it still lacks.

        The file is opened again each time, because a new driver creates its own. A heartbeat that
        has moved since the last look is that of a live driver, whatever the wall clock says.

        Args:
            before_ms: the heartbeat at the last look, None if there was none.
        """
        try:
            mapped = self.file_system.open_mapped(self.path, min_length=HEADER_LENGTH)
        except FileNotFoundError:
            return _NotYet("CnC file not created", _FILE_WAIT_MS)
        except FileFormatError:
            return _NotYet("CnC file is created but not populated", _FILE_WAIT_MS)
        version = mapped.load_i32(VERSION_OFFSET)
        if version == 0:
            return _NotYet("CnC file is created but not initialised", _FIELD_WAIT_MS)
        check_client(version)
        if mapped.length < CncHeader.decode(mapped.view(0, HEADER_LENGTH)).lengths.total:
            return _NotYet("CnC file length not sufficient", _FIELD_WAIT_MS)
        cnc = CncFile(mapped)
        if cnc.heartbeat_ms == 0:
            return _NotYet("no driver heartbeat detected", _FIELD_WAIT_MS)
        heartbeat_ms = cnc.heartbeat_ms
        has_moved = before_ms not in {None, heartbeat_ms} and heartbeat_ms != HEARTBEAT_CLOSED
        if self.clock.now_epoch_ms() - heartbeat_ms > self.timeout_ms and not has_moved:
            return _NotYet("no driver heartbeat detected", _STALE_WAIT_MS, heartbeat_ms)
        return cnc
