"""The cnc.dat file: how a driver and its clients find each other (spec cnc-and-commands 2).

A driver creates it, fills the header, allocates its counters, starts its heartbeat and only then
calls ``CncFile.publish``, which stores the version. A client connects by waiting for exactly those
steps. Tools open it as it is. Control path; the parts that are handed out say who may use them.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

from aerolog.transport.concurrent.clock import Clock, SystemClock
from aerolog.transport.errors import ConfigurationError, DriverTimeoutError, FileFormatError
from aerolog.transport.memory import broadcast, counters, ring_buffer
from aerolog.transport.memory.broadcast import BroadcastReceiver, BroadcastTransmitter
from aerolog.transport.memory.counters import CountersManager, CountersReader
from aerolog.transport.memory.error_log import DistinctErrorLog, ErrorObservation, read_error_log
from aerolog.transport.memory.filesystem import FileSystem, RealFileSystem
from aerolog.transport.memory.ring_buffer import ManyToOneRingBuffer

if TYPE_CHECKING:
    from aerolog.transport.memory.mapped_file import MappedFile

FILE_NAME = "cnc.dat"
HEADER_LENGTH = 128
MAJOR, MINOR, PATCH = 0, 2, 0
VERSION = (MAJOR << 16) | (MINOR << 8) | PATCH
HEARTBEAT_CLOSED = -1
DEFAULT_DRIVER_TIMEOUT_MS = 10_000
DEFAULT_PAGE_SIZE = 4096
MAX_PAGE_SIZE = 1 << 30

# Spec 2.2: version, five section lengths, client liveness timeout, start time, pid, page size.
_HEADER = struct.Struct("<6i3qi")
_VERSION_OFFSET = 0

_FILE_WAIT_MS = 16
_FIELD_WAIT_MS = 1
_STALE_WAIT_MS = 100

Sleep = Callable[[float], object]


def cnc_path(aeron_dir: str) -> str:
    """Where a directory's cnc.dat is."""
    return str(PurePath(aeron_dir) / FILE_NAME)


def version_text(version: int) -> str:
    """A packed version as ``major.minor.patch``."""
    return f"{(version >> 16) & 0xFF}.{(version >> 8) & 0xFF}.{version & 0xFF}"


@dataclass(frozen=True, slots=True)
class CncLengths:
    """Lengths in bytes of the sections, with their trailers, in file order (spec 2.1)."""

    to_driver: int = (1 << 20) + ring_buffer.TRAILER_LENGTH
    to_clients: int = (1 << 20) + broadcast.TRAILER_LENGTH
    counter_metadata: int = 32 << 20
    counter_values: int = 8 << 20
    error_log: int = 4 << 20

    @classmethod
    def of(
        cls,
        to_driver: int | None = None,
        to_clients: int | None = None,
        counter_values: int | None = None,
        error_log: int | None = None,
    ) -> CncLengths:
        """Lengths as a driver is configured: what is None has its default.

        Raises:
            ConfigurationError: a length that the layout cannot have.
        """
        default = cls()
        values = default.counter_values if counter_values is None else counter_values
        ratio = counters.METADATA_LENGTH // counters.VALUE_LENGTH
        lengths = cls(
            default.to_driver if to_driver is None else to_driver,
            default.to_clients if to_clients is None else to_clients,
            values * ratio,
            values,
            default.error_log if error_log is None else error_log,
        )
        fault = lengths.fault()
        if fault:
            raise ConfigurationError(fault)
        return lengths

    @property
    def total(self) -> int:
        """Bytes of the header and all sections."""
        return (
            HEADER_LENGTH
            + self.to_driver
            + self.to_clients
            + self.counter_metadata
            + self.counter_values
            + self.error_log
        )

    def fault(self) -> str | None:
        """What is wrong with these lengths, None when the sections can be used."""
        for name, length, trailer in (
            ("to-driver buffer", self.to_driver, ring_buffer.TRAILER_LENGTH),
            ("to-clients buffer", self.to_clients, broadcast.TRAILER_LENGTH),
        ):
            capacity = length - trailer
            if capacity < 64 or capacity & (capacity - 1):
                return f"{name} length={length} must be a power of two + {trailer}"
        for name, length, unit in (
            ("counters metadata", self.counter_metadata, counters.METADATA_LENGTH),
            ("counters values", self.counter_values, counters.VALUE_LENGTH),
            ("error log", self.error_log, 8),
        ):
            if length <= 0 or length % unit:
                return f"{name} length={length} must be a positive multiple of {unit}"
        if self.total > 2**31 - 1:
            return f"sections of {self.total} bytes do not fit a file of 2^31 - 1"
        return None


@dataclass(frozen=True, slots=True)
class CncHeader:
    """The header fields that do not change while a driver runs (spec 2.2)."""

    lengths: CncLengths
    client_liveness_timeout_ns: int
    start_timestamp_ms: int
    pid: int
    file_page_size: int = DEFAULT_PAGE_SIZE

    @property
    def file_length(self) -> int:
        """Bytes of the whole file."""
        return -(-self.lengths.total // self.file_page_size) * self.file_page_size

    def encode(self) -> bytes:
        """The header with version 0."""
        sizes = self.lengths
        return _HEADER.pack(
            0,
            sizes.to_driver,
            sizes.to_clients,
            sizes.counter_metadata,
            sizes.counter_values,
            sizes.error_log,
            self.client_liveness_timeout_ns,
            self.start_timestamp_ms,
            self.pid,
            self.file_page_size,
        )

    @classmethod
    def decode(cls, data: bytes | memoryview) -> CncHeader:
        """Read a header; nothing is checked."""
        _, *fields, liveness, start, pid, page_size = _HEADER.unpack_from(data)
        return cls(CncLengths(*fields), liveness, start, pid, page_size or DEFAULT_PAGE_SIZE)


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
        """
        fault = header.lengths.fault()
        if fault:
            raise ConfigurationError(fault)
        size = header.file_page_size
        if not DEFAULT_PAGE_SIZE <= size <= MAX_PAGE_SIZE or size & (size - 1):
            raise ConfigurationError(
                f"file page size {size} must be a power of two from {DEFAULT_PAGE_SIZE} to "
                f"{MAX_PAGE_SIZE}"
            )
        if header.file_length > 2**31 - 1:
            raise ConfigurationError(f"cnc.dat of {header.file_length} bytes exceeds 2^31 - 1")
        mapped = file_system.create_mapped(cnc_path(aeron_dir), header.file_length)
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
        version = mapped.load_i32(_VERSION_OFFSET)
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
        """Open the file of a live driver, waiting for it to start (spec 2.4).

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
        return self.mapped.load_i32(_VERSION_OFFSET)

    @property
    def heartbeat_ms(self) -> int:
        """Epoch milliseconds of the driver's last sign of life; -1 after an orderly close."""
        return self.to_driver.consumer_heartbeat_ms

    def publish(self) -> None:
        """Let clients in: store the version. The heartbeat must stand by then."""
        if self.heartbeat_ms == 0:
            raise RuntimeError(f"{self.path}: the heartbeat must be stored before the version")
        self.mapped.store_i32(_VERSION_OFFSET, VERSION)
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


def check_major(version: int) -> None:
    """Refuse a file of another major version (spec 2.3)."""
    if version >> 16 != MAJOR:
        raise FileFormatError(
            f"CnC version not compatible: app={version_text(VERSION)} file={version_text(version)}"
        )


@dataclass(slots=True)
class _Connector:
    """A client's wait for a live driver; one per attempt."""

    path: str
    timeout_ms: int
    file_system: FileSystem
    clock: Clock
    sleep: Sleep
    deadline_ns: int = 0

    def connect(self) -> CncFile:
        self.deadline_ns = self.clock.now_ns() + self.timeout_ms * 1_000_000
        while True:
            mapped = self._await_file()
            version = self._await_version(mapped)
            check_major(version)
            if (version >> 8) & 0xFF < MINOR:
                raise FileFormatError(
                    f"driverVersion={version_text(version)} insufficient for "
                    f"clientVersion={version_text(VERSION)}"
                )
            if mapped.length < CncHeader.decode(mapped.view(0, HEADER_LENGTH)).lengths.total:
                self._wait(_FIELD_WAIT_MS, f"CnC file length not sufficient: {self.path}")
                continue
            cnc = CncFile(mapped)
            while cnc.heartbeat_ms == 0:
                self._wait(_FIELD_WAIT_MS, f"no driver heartbeat detected: {self.path}")
            if self.clock.now_epoch_ms() - cnc.heartbeat_ms <= self.timeout_ms:
                return cnc
            del cnc, mapped
            self._wait(_STALE_WAIT_MS, f"no driver heartbeat detected: {self.path}")

    def _await_file(self) -> MappedFile:
        while True:
            try:
                return self.file_system.open_mapped(self.path, min_length=HEADER_LENGTH)
            except FileNotFoundError:
                self._wait(_FILE_WAIT_MS, f"CnC file not created: {self.path}")
            except FileFormatError:
                self._wait(_FILE_WAIT_MS, f"CnC file is created but not populated: {self.path}")

    def _await_version(self, mapped: MappedFile) -> int:
        while (version := mapped.load_i32(_VERSION_OFFSET)) == 0:
            self._wait(_FIELD_WAIT_MS, f"CnC file is created but not initialised: {self.path}")
        return version

    def _wait(self, duration_ms: int, message: str) -> None:
        if self.clock.now_ns() >= self.deadline_ns:
            raise DriverTimeoutError(f"{message} (waited {self.timeout_ms} ms)")
        self.sleep(duration_ms / 1000)
