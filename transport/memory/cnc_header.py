"""The header of cnc.dat: section lengths, version, pid and start of the driver.

The layout follows spec cnc-and-commands 2.1 to 2.3; ``CncFile`` maps the sections that it
describes. Control path.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import PurePath

from aerolog.transport.errors import ConfigurationError, FileFormatError
from aerolog.transport.memory import broadcast, counters, ring_buffer

FILE_NAME = "cnc.dat"
HEADER_LENGTH = 128
MAJOR, MINOR, PATCH = 0, 2, 0
VERSION = (MAJOR << 16) | (MINOR << 8) | PATCH
HEARTBEAT_CLOSED = -1
DEFAULT_DRIVER_TIMEOUT_MS = 10_000
DEFAULT_PAGE_SIZE = 4096
MAX_PAGE_SIZE = 1 << 30
MAX_FILE_LENGTH = 2**31 - 1

# Version, five section lengths, client liveness timeout, start time, pid, page size
# (spec cnc-and-commands 2.2).
_HEADER = struct.Struct("<6i3qi")
VERSION_OFFSET = 0


def cnc_path(aeron_dir: str) -> str:
    """Return the path of the cnc.dat in an Aeron directory."""
    return str(PurePath(aeron_dir) / FILE_NAME)


def version_text(version: int) -> str:
    """Format a packed version as ``major.minor.patch``."""
    return f"{(version >> 16) & 0xFF}.{(version >> 8) & 0xFF}.{version & 0xFF}"


@dataclass(frozen=True, slots=True)
class CncLengths:
    """Bytes of each section with its trailer, in file order (spec cnc-and-commands 2.1)."""

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
        """Return the lengths of a driver's configuration, with the default for each None.

        Raises:
            ConfigurationError: if the layout cannot have one of the lengths.
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
        """Describe what is wrong with the lengths; None if the sections can be used."""
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
        if self.total > MAX_FILE_LENGTH:
            return f"sections of {self.total} bytes do not fit a file of {MAX_FILE_LENGTH}"
        return None


@dataclass(frozen=True, slots=True)
class CncHeader:
    """The header fields that do not change while a driver runs (spec cnc-and-commands 2.2)."""

    lengths: CncLengths
    client_liveness_timeout_ns: int
    start_timestamp_ms: int
    pid: int
    file_page_size: int = DEFAULT_PAGE_SIZE

    @property
    def file_length(self) -> int:
        """Bytes of the whole file."""
        return -(-self.lengths.total // self.file_page_size) * self.file_page_size

    def fault(self) -> str | None:
        """Describe what is wrong with the header; None if a file can be created from it."""
        size = self.file_page_size
        if not DEFAULT_PAGE_SIZE <= size <= MAX_PAGE_SIZE or size & (size - 1):
            return (
                f"file page size {size} must be a power of two from {DEFAULT_PAGE_SIZE} to "
                f"{MAX_PAGE_SIZE}"
            )
        fault = self.lengths.fault()
        if fault is None and self.file_length > MAX_FILE_LENGTH:
            return f"cnc.dat of {self.file_length} bytes exceeds {MAX_FILE_LENGTH}"
        return fault

    def encode(self) -> bytes:
        """Encode the header with version 0."""
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
        """Decode a header without checking it."""
        _, *fields, liveness, start, pid, page_size = _HEADER.unpack_from(data)
        return cls(CncLengths(*fields), liveness, start, pid, page_size or DEFAULT_PAGE_SIZE)


def check_major(version: int) -> None:
    """Raise an error for a file of another major version (spec cnc-and-commands 2.3)."""
    if version >> 16 != MAJOR:
        raise FileFormatError(
            f"CnC version not compatible: app={version_text(VERSION)} file={version_text(version)}"
        )


def check_client(version: int) -> None:
    """Raise an error for a file that this client cannot use (spec cnc-and-commands 2.3)."""
    check_major(version)
    if (version >> 8) & 0xFF < MINOR:
        raise FileFormatError(
            f"driverVersion={version_text(version)} insufficient for "
            f"clientVersion={version_text(VERSION)}"
        )
