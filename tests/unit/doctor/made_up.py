"""Drivers and archives that are nowhere: what a look could have seen, put together by hand."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from aerolog.archive.format.descriptor import RecordingDescriptor
from aerolog.cluster.files import EntryType, LogEntry
from aerolog.tools.doctor.system_snapshot import (
    ArchiveSnapshot,
    Case,
    ClusterSnapshot,
    ComponentMark,
    Disk,
    DriverSnapshot,
    LogSnapshot,
    OwnerMark,
    Process,
    RecordingSnapshot,
    SystemSnapshot,
)
from aerolog.tools.views.archive_view import SegmentFile
from aerolog.tools.views.counters_snapshot import Counter
from aerolog.tools.views.stream_views import Publisher, Receiver, Sender, StreamView, Subscriber
from aerolog.transport.logbuffer.metadata import LogMetadata, LogType
from aerolog.transport.memory.error_log import ErrorObservation

if TYPE_CHECKING:
    from collections.abc import Sequence

Seen: TypeAlias = DriverSnapshot | ArchiveSnapshot | ClusterSnapshot | SystemSnapshot
NOW_MS = 1_800_000_000_000
TERM = 64 * 1024
PID = 4711
ALIVE = Process(PID, exists=True, state="S")
GONE = Process(PID, exists=False)
IPC = "aeron:ipc"
UDP = "aeron:udp?endpoint=localhost:20121"
GIB = 1 << 30
PLENTY = Disk("/dev/shm", total=8 * GIB, free=6 * GIB, is_memory=True)
SYSTEM_LABELS = {
    26: "Conductor max cycle time doing its work in ns: SHARED",
    27: "Conductor work cycle exceeded threshold count: threshold=100ms SHARED",
    33: "NameResolver exceeded threshold count: threshold=5s",
}


def system(**values: int) -> list[Counter]:
    """System counters with values by number: ``system(c24=3)``."""
    given = {int(name[1:]): value for name, value in values.items()}
    return [
        Counter(
            n, 0, n.to_bytes(4, "little"), SYSTEM_LABELS.get(n, f"c{n}"), given.get(n, 0), n, -1, 0
        )
        for n in range(46)
    ]


def heartbeat(client_id: int, age_ms: int, name: str = "") -> Counter:
    """A client's sign of life."""
    label = f"client-heartbeat: id={client_id} name={name} version=1.51.0 commit=0"
    key = client_id.to_bytes(8, "little")
    return Counter(60 + client_id, 11, key, label, NOW_MS - age_ms, client_id, client_id, 0)


def counter(counter_id: int, type_id: int, label: str, value: int, key: bytes = b"") -> Counter:
    """Any other counter."""
    return Counter(counter_id, type_id, key.ljust(112, b"\0"), label, value, counter_id, 1, 0)


def local_address(counter_id: int, status_id: int, address: str) -> Counter:
    """The counter of an address that a channel is bound to."""
    key = struct.pack("<ii", status_id, len(address)) + address.encode()
    return counter(counter_id, 14, f"rcv-local-sockaddr: {status_id} {address}", 1, key)


def driver(counters: Sequence[Counter] | None = None, **changes: Any) -> DriverSnapshot:
    """A driver in good health, with changes."""
    fields: dict[str, Any] = {
        "aeron_dir": "/dev/shm/aeron-made-up",
        "process": ALIVE,
        "heartbeat_ms": NOW_MS - 500,
        "start_ms": NOW_MS - 3_600_000,
        "max_counters": 65_536,
        "counters": system() if counters is None else counters,
        "error_log_capacity": 4 << 20,
        "loss_report_capacity": 1 << 20,
        "disk": PLENTY,
    }
    return DriverSnapshot(**(fields | changes))


def log(kind: LogType = LogType.PUBLICATION, **changes: Any) -> LogSnapshot:
    """A log of 64 KiB terms; changes to its metadata and to what was seen."""
    seen = {
        name: changes.pop(name)
        for name in ("tail", "blocked_at", "is_connected", "taken", "is_ended")
        if name in changes
    }
    meta: dict[str, Any] = {
        "correlation_id": 10,
        "session_id": 7,
        "stream_id": 1001,
        "initial_term_id": 0,
        "term_length": TERM,
        "mtu_length": 1408,
        "type": kind,
        "publication_window_length": 0 if kind is LogType.IMAGE else TERM // 2,
        "receiver_window_length": TERM if kind is LogType.IMAGE else 0,
        "os_default_socket_rcvbuf_length": 212_992,
        "os_max_socket_rcvbuf_length": 4 << 20,
        "os_default_socket_sndbuf_length": 212_992,
        "os_max_socket_sndbuf_length": 4 << 20,
    }
    fields: dict[str, Any] = {
        "path": "publications/10.logbuffer",
        "length": 3 * TERM + 4096,
        "taken": 3 * TERM + 4096,
        "metadata": LogMetadata(**(meta | changes)),
        "is_connected": True,
    }
    return LogSnapshot(**(fields | seen))


def ipc_stream(position: int, limit: int, *readers: int) -> StreamView:
    """An IPC publication, registration id 10, and the positions of its subscribers."""
    stream = StreamView(7, 1001, IPC, publisher=Publisher(10, 1, IPC, False, position, limit))
    stream.subscribers = [
        Subscriber(20 + n, 2, 10, IPC, at, 80 + n, "reader") for n, at in enumerate(readers)
    ]
    return stream


def sent_stream(position: int, limit: int, sent: int, sender_limit: int) -> StreamView:
    """A network publication, registration id 10, whose receivers are elsewhere."""
    return StreamView(
        7,
        1001,
        UDP,
        publisher=Publisher(10, 1, UDP, False, position, limit),
        sender=Sender(10, sent, sender_limit),
    )


def image_stream(position: int, hwm: int, *readers: int, image_id: int = 30) -> StreamView:
    """An image of a publication elsewhere."""
    stream = StreamView(7, 1001, UDP, receivers=[Receiver(image_id, UDP, position, hwm)])
    stream.subscribers = [
        Subscriber(20 + n, 2, image_id, UDP, at, 80 + n) for n, at in enumerate(readers)
    ]
    return stream


def error(text: str, age_ms: int = 60_000, count: int = 1) -> ErrorObservation:
    """An error in a log."""
    return ErrorObservation(count, NOW_MS - age_ms - 1_000, NOW_MS - age_ms, text)


def descriptor(recording_id: int = 0, **changes: Any) -> RecordingDescriptor:
    """A recording of segments of 64 KiB from 0 to 128 KiB."""
    fields: dict[str, Any] = {
        "recording_id": recording_id,
        "start_timestamp": NOW_MS - 10_000,
        "stop_timestamp": NOW_MS - 1_000,
        "start_position": 0,
        "stop_position": 2 * TERM,
        "initial_term_id": 0,
        "segment_file_length": TERM,
        "term_buffer_length": TERM,
        "mtu_length": 1408,
        "session_id": 7,
        "stream_id": 1001,
        "stripped_channel": IPC,
        "original_channel": IPC,
        "source_identity": IPC,
    }
    return RecordingDescriptor(**(fields | changes))


def segment(base: int, length: int = TERM, recording_id: int = 0) -> SegmentFile:
    """A segment file."""
    return SegmentFile(f"{recording_id}-{base}.rec", base, length, length)


def recording(*segments: SegmentFile, **changes: Any) -> RecordingSnapshot:
    """A recording with its files; two whole ones when none are given."""
    fields = {
        name: changes.pop(name)
        for name in (
            "state",
            "damages",
            "counter_position",
            "recovered_end",
            "index",
            "health",
        )
        if name in changes
    }
    return RecordingSnapshot(
        descriptor(**changes), segments=segments or (segment(0), segment(TERM)), **fields
    )


def archive(*recordings: RecordingSnapshot, **changes: Any) -> ArchiveSnapshot:
    """An archive in good health with recordings."""
    mark = OwnerMark(
        process=ALIVE,
        activity_ms=NOW_MS - 500,
        aeron_dir="/dev/shm/aeron-made-up",
        error_log_capacity=1 << 20,
    )
    fields: dict[str, Any] = {
        "archive_dir": "/data/archive",
        "mark": mark,
        "recordings": recordings,
        "disk": Disk("/data", total=100 * GIB, free=50 * GIB),
        "sees_counters": True,
    }
    return ArchiveSnapshot(**(fields | changes))


def marked(**changes: Any) -> OwnerMark:
    """The mark file of an archive in good health, with changes."""
    mark = archive().mark
    assert mark is not None
    return replace(mark, **changes)


def component(service_id: int = -1, **changes: Any) -> ComponentMark:
    """The mark file of a module or a service in good health, with changes."""
    is_service = service_id >= 0
    fields: dict[str, Any] = {
        "process": ALIVE,
        "activity_ms": NOW_MS - 500,
        "aeron_dir": "/dev/shm/aeron-made-up",
        "start_ms": NOW_MS - 3_600_000,
        "error_log_capacity": 1 << 20,
        "who": f"service {service_id}" if is_service else "consensus module",
        "file": f"cluster-mark-service-{service_id}.dat" if is_service else "cluster-mark.dat",
        "service_id": service_id,
        "version": 768,
    }
    return ComponentMark(**(fields | changes))


def entry(term_id: int = 0, base: int = 0, position: int = -1, **changes: Any) -> LogEntry:
    """A term in recording.log, or with a service id a part of a snapshot."""
    fields: dict[str, Any] = {
        "recording_id": 0,
        "leadership_term_id": term_id,
        "term_base_log_position": base,
        "log_position": position,
        "timestamp": NOW_MS,
        "type": EntryType.SNAPSHOT if "service_id" in changes else EntryType.TERM,
    }
    return LogEntry(**(fields | changes))


def snapshot(position: int, *service_ids: int, recording_id: int = 1) -> list[LogEntry]:
    """The parts of a snapshot in term 0, in the order of a recording log."""
    return [entry(0, 0, position, service_id=one, recording_id=recording_id) for one in service_ids]


def cluster(*entries: LogEntry, **changes: Any) -> ClusterSnapshot:
    """The folder of a node with one service in good health, with changes."""
    fields: dict[str, Any] = {
        "cluster_dir": "/data/cluster",
        "marks": (component(), component(0)),
        "entries": entries or (entry(),),
        "log_end": 64 * max(len(entries), 1),
    }
    return ClusterSnapshot(**(fields | changes))


def look(
    driver_: DriverSnapshot | None = None, archive_: ArchiveSnapshot | None = None, **more: Any
) -> SystemSnapshot:
    """A look at both."""
    fields: dict[str, Any] = {"now_ms": NOW_MS, "monotonic_ns": 2_000_000_000}
    return SystemSnapshot(driver=driver_, archive=archive_, **(fields | more))


def case(
    now: Seen,
    before: Seen | None = None,
) -> Case:
    """A case of one look, or of two that are a second apart."""
    first = None if before is None else replace(_as_look(before), monotonic_ns=1_000_000_000)
    return Case(_as_look(now), first)


def _as_look(seen: Seen) -> SystemSnapshot:
    if isinstance(seen, SystemSnapshot):
        return seen
    if isinstance(seen, ClusterSnapshot):
        return look(cluster=seen)
    return look(seen) if isinstance(seen, DriverSnapshot) else look(None, seen)
