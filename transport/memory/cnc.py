"""The cnc.dat file: how a driver and its clients find each other (spec cnc-and-commands 2).

A driver creates it, fills the header, allocates its counters, starts its heartbeat and only then
calls ``CncFile.publish``, which stores the version. A client connects by waiting for exactly those
steps. Tools open it as it is. Control path; the parts that are handed out say who may use them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
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
        path: of the file.
        mapped: the whole file.
        header: its constant fields.
        to_driver: the ring buffer that any client may write commands to.
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
            file_system: where.
            aeron_dir: an existing directory without cnc.dat.
            header: what it says; its lengths are checked.

        Raises:
            ConfigurationError: lengths or a page size that cannot be used.
            StorageSpaceError: there is no room.
            ActiveDriverError: another driver was faster.
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
        """Open the file of a driver, alive or not, as tools do: without waiting.

        Raises:
            FileNotFoundError: there is none.
            FileFormatError: not initialised, of another major version, or damaged.
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
            timeout_ms: how long to wait, and how old the driver's heartbeat may be.
            file_system: the disk; the machine's by default.
            clock: the time; the machine's by default.
            sleep: called with the seconds to wait between two looks.

        Raises:
            DriverTimeoutError: no file, no version or no fresh heartbeat in time.
            FileFormatError: a version that this client cannot use, or a damaged file.
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
        """Epoch milliseconds of the driver's last sign of life; -1 after an orderly close."""
        return self.to_driver.consumer_heartbeat_ms

    def publish(self) -> None:
        """Let clients in: store the version. The heartbeat must stand by then."""
        if self.heartbeat_ms == 0:
            raise RuntimeError(f"{self.path}: the heartbeat must be stored before the version")
        self.mapped.store_i32(VERSION_OFFSET, VERSION)
        self.mapped.flush()

    def mark_closed(self) -> None:
        """Tell clients that the driver has stopped in order."""
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
        """Distinct errors seen since a time, epoch milliseconds."""
        return read_error_log(
            self.mapped, self._errors_offset, self.header.lengths.error_log, since_ms
        )


@dataclass(frozen=True, slots=True)
class _NotYet:
    """Why a file cannot be used yet, and when to look again."""

    reason: str
    wait_ms: int


@dataclass(frozen=True, slots=True)
class _Connector:
    """A client's wait for a live driver."""

    path: str
    timeout_ms: int
    file_system: FileSystem
    clock: Clock
    sleep: Sleep

    def connect(self) -> CncFile:
        deadline_ns = self.clock.now_ns() + self.timeout_ms * 1_000_000
        while True:
            found = self._look()
            if isinstance(found, CncFile):
                return found
            if self.clock.now_ns() >= deadline_ns:
                raise DriverTimeoutError(
                    f"{found.reason}: {self.path} (waited {self.timeout_ms} ms)"
                )
            self.sleep(found.wait_ms / 1000)

    def _look(self) -> CncFile | _NotYet:
        """The live driver's file, or what it lacks; opened anew, for a new driver makes its own."""
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
        if self.clock.now_epoch_ms() - cnc.heartbeat_ms > self.timeout_ms:
            return _NotYet("no driver heartbeat detected", _STALE_WAIT_MS)
        return cnc
