"""Takes snapshots of a driver: counters, logs and reports, and what the machine knows of it."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aerolog.tools.doctor.system_snapshot import DriverSnapshot, LogSnapshot
from aerolog.tools.views import machine
from aerolog.tools.views.log_settings import IMAGES, PUBLICATIONS, open_log
from aerolog.tools.views.stream_views import streams
from aerolog.transport.logbuffer import metadata
from aerolog.transport.logbuffer.metadata import (
    END_OF_STREAM_UNKNOWN,
    SHARED_FIELDS,
    LogMetadata,
    LogType,
)
from aerolog.transport.memory import counters
from aerolog.transport.memory.loss_report import FILE_NAME as LOSS_REPORT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aerolog.tools.views.driver_view import DriverView
    from aerolog.tools.views.stream_views import StreamView

#: Logs that are looked at; a driver with more has other ways to be watched.
LOGS_MAX: Final = 20_000
_SUFFIX: Final = ".logbuffer"
_SHARED: Final = {field.name: field for field in SHARED_FIELDS}
_I32: Final = struct.Struct("<i")
_PARTITIONS: Final = 3
_TERM_MIN, _TERM_MAX = 64 * 1024, 1 << 30


def driver_snapshot(view: DriverView) -> DriverSnapshot:
    """Reads everything that checks want to know of a driver; dead ones, too."""
    snapshot = view.counters()
    found = streams(snapshot)
    return DriverSnapshot(
        aeron_dir=view.aeron_dir,
        process=machine.process(view.pid & 0xFFFFFFFF),
        heartbeat_ms=view.heartbeat_ms(),
        start_ms=view.start_ms,
        page_size=view.file_page_size,
        driver_timeout_ms=view.driver_timeout_ms,
        client_liveness_timeout_ns=view.client_liveness_timeout_ns,
        max_counters=view.lengths.counter_values // counters.VALUE_LENGTH,
        counters=list(snapshot),
        streams=found,
        logs=_logs(view.aeron_dir, found),
        errors=view.errors(),
        error_log_capacity=view.lengths.error_log,
        losses=view.losses(),
        loss_report_capacity=_size(Path(view.aeron_dir) / LOSS_REPORT),
        disk=machine.disk(view.aeron_dir),
        sockets=machine.sockets(view.pid & 0xFFFFFFFF),
    )


def _logs(aeron_dir: str, found: list[StreamView]) -> dict[int, LogSnapshot]:
    waiting = _consumers(found)
    logs: dict[int, LogSnapshot] = {}
    for folder in (PUBLICATIONS, IMAGES):
        for path in sorted(_log_files(Path(aeron_dir) / folder)):
            log_id = int(path.name.removesuffix(_SUFFIX))
            if len(logs) >= LOGS_MAX:
                return logs
            log = _log(path, waiting.get(log_id))
            if log is not None:
                logs[log_id] = log
    return logs


def _log_files(folder: Path) -> Iterator[Path]:
    try:
        names = os.listdir(folder)  # noqa: PTH208
    except OSError:
        return
    for name in names:
        if name.endswith(_SUFFIX) and name.removesuffix(_SUFFIX).isdigit():
            yield folder / name


def _consumers(found: list[StreamView]) -> dict[int, int]:
    """The slowest position that waits for frames of a publication, by registration id."""
    slowest: dict[int, int] = {}
    for stream in found:
        if stream.publisher is None:
            continue
        log_id = stream.publisher.registration_id
        positions = [one.position for one in stream.readers_of(log_id)]
        if stream.sender is not None and stream.sender.position is not None:
            positions.append(stream.sender.position)
        if positions:
            slowest[log_id] = min(positions)
    return slowest


def _log(path: Path, consumer: int | None) -> LogSnapshot | None:
    """A log's metadata; None when it is gone, or is no log."""
    try:
        with open_log(path) as log:
            status, section = log.status, log.metadata
            meta = metadata.decode(section)
            tail = -1 if meta.type is LogType.IMAGE else _tail(section, meta)
            blocked = -1
            if consumer is not None and 0 <= consumer < tail:
                blocked = _blocked_at(log.fd, consumer, meta)
    except (OSError, ValueError, struct.error):
        return None
    return LogSnapshot(
        path=f"{path.parent.name}/{path.name}",
        length=status.st_size,
        taken=status.st_blocks * 512,
        metadata=meta,
        is_connected=_shared(section, "is_connected") == 1,
        tail=tail,
        blocked_at=blocked,
        is_ended=_shared(section, "end_of_stream_position") != END_OF_STREAM_UNKNOWN,
    )


def _tail(section: bytes, meta: LogMetadata) -> int:
    """Position up to which publishers have claimed, -1 when the metadata is none."""
    term = meta.term_length
    if not _TERM_MIN <= term <= _TERM_MAX or term & (term - 1):
        return -1
    index = _shared(section, "active_term_count") % _PARTITIONS
    raw = _shared(section, f"term_tail_counter_{index}")
    terms = ((raw >> 32) - meta.initial_term_id) & 0xFFFFFFFF
    return terms * term + min(raw & 0xFFFFFFFF, term)


def _blocked_at(file: int, position: int, meta: LogMetadata) -> int:
    """The position, when the frame there is claimed and not committed; else -1."""
    term = meta.term_length
    at = position // term % _PARTITIONS * term + position % term
    word = os.pread(file, _I32.size, at)
    committed = len(word) == _I32.size and _I32.unpack(word)[0] > 0
    return -1 if committed else position


def _shared(section: bytes, name: str) -> int:
    field = _SHARED[name]
    value: int = struct.unpack_from("<" + field.format, section, field.offset)[0]
    return value


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
