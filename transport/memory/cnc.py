"""The cnc.dat file: how a driver and its clients find each other (spec cnc-and-commands 1 and 2).

A driver creates it, fills every header field but the version, starts its heartbeat and only then
calls ``CncFile.publish``. A client opens it, waiting for exactly those steps. Control path.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from dataclasses import dataclass

from aerolog.transport.concurrent.clock import Clock, SystemClock
from aerolog.transport.errors import (
    ConfigurationError,
    DriverTimeoutError,
    FileFormatError,
)
from aerolog.transport.memory import ring_buffer
from aerolog.transport.memory.broadcast import BroadcastReceiver, BroadcastTransmitter
from aerolog.transport.memory.broadcast import TRAILER_LENGTH as BROADCAST_TRAILER_LENGTH
from aerolog.transport.memory.counters import (
    METADATA_LENGTH as COUNTER_METADATA_LENGTH,
)
from aerolog.transport.memory.counters import (
    VALUE_LENGTH as COUNTER_VALUE_LENGTH,
)
from aerolog.transport.memory.counters import CountersManager, CountersReader
from aerolog.transport.memory.error_log import DistinctErrorLog, ErrorObservation, read_error_log
from aerolog.transport.memory.filesystem import FileSystem, RealFileSystem
from aerolog.transport.memory.mapped_file import MappedFile
from aerolog.transport.memory.ring_buffer import ManyToOneRingBuffer

FILE_NAME = "cnc.dat"
HEADER_LENGTH = 128
MAJOR, MINOR, PATCH = 0, 2, 0
VERSION = (MAJOR << 16) | (MINOR << 8) | PATCH
HEARTBEAT_CLOSED = -1
DEFAULT_DRIVER_TIMEOUT_MS = 10_000

# Header: offset and struct code of each field (spec 2.2).
VERSION_OFFSET = 0
_HEADER = struct.Struct("<i5iqqqi")
_CLIENT_LIVENESS_OFFSET = 24
