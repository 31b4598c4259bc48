"""What the doctor looks at, as plain data: one look at driver, archive, cluster and machine.

Made from the files by `examination`, and by the tests by hand: checks know nothing else. Times are
epoch milliseconds, lengths and positions bytes. What could not be seen is None or missing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.time_units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.cluster.files import LogEntry
    from aerolog.tools.views.archive_view import SegmentFile
    from aerolog.tools.views.companion_views import HealthView, IndexView, RetentionView
    from aerolog.tools.views.counters_snapshot import Counter
    from aerolog.tools.views.stream_views import StreamView
    from aerolog.transport.counters.counter_kind import CounterKind
    from aerolog.transport.logbuffer.metadata import LogMetadata
    from aerolog.transport.memory.error_log import ErrorObservation
    from aerolog.transport.memory.loss_report import LossEntry

#: A driver and an archive give a sign of life every second.
LATE_MS: Final = 3_000
ARCHIVE_TIMEOUT_MS: Final = 10_000
#: The sign of life of an archive that is just starting.
STARTING: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Process:
    """A process by its id.

    Attributes:
        pid: the process id.
        exists: whether there is one; None where that cannot be told from here.
        state: letter of the system: R, S, D (waits for a disk), T (stopped), Z (a zombie); "" when
            not known.
    """

    pid: int
    exists: bool | None = None
    state: str = ""

    def has_died(self, age_ms: int) -> bool:
        """Whether it is gone for good, by the age of its last sign of life.

        One that does not exist here may live in another container: then it gives signs of life.
        """
        return self.state == "Z" or (self.exists is False and age_ms > LATE_MS)


@dataclass(frozen=True, slots=True)
class Disk:
    """The file system of a folder.

    Attributes:
        mount: the folder in which it is mounted.
        total: bytes.
        free: bytes that a process without privileges may still take.
        block_size: bytes.
        is_memory: whether it is tmpfs or hugetlbfs.
    """

    mount: str
    total: int
    free: int
    block_size: int = 4096
    is_memory: bool = False


@dataclass(frozen=True, slots=True)
class LogSnapshot:
    """The metadata of a log file, and what stands at the position that its consumers wait at.

    Attributes:
        path: the path of the file, below the driver's directory.
        length: the length of the file.
        taken: bytes of it that have their place on disk.
        metadata: what does not change.
        is_connected: whether a publication has a subscriber.
        tail: position up to which producers have claimed; of an image -1.
        blocked_at: position of a frame that was claimed and is not committed, with a consumer
            waiting for it; -1 when there is none.
        is_ended: whether its publisher has closed it; it is only read to its end.
    """

    path: str
    length: int
    taken: int
    metadata: LogMetadata
    is_connected: bool = False
    tail: int = -1
    blocked_at: int = -1
    is_ended: bool = False


@dataclass(frozen=True, slots=True)
class Socket:
    """A UDP socket of the driver's machine, as the kernel counts it.

    Attributes:
        port: local.
        drops: datagrams that found the receive buffer full, since it was opened.
        waiting: bytes in its receive buffer.
        inode: tells it from another one of the same port.
    """

    port: int
    drops: int
    waiting: int = 0
    inode: int = 0


@dataclass(frozen=True)
class DriverSnapshot:
    """A driver at one moment."""

    aeron_dir: str
    process: Process
    heartbeat_ms: int
    start_ms: int = 0
    page_size: int = 4096
    driver_timeout_ms: int = 10_000
    client_liveness_timeout_ns: int = 10_000_000_000
    max_counters: int = 0
    counters: Sequence[Counter] = ()
    streams: Sequence[StreamView] = ()
    logs: Mapping[int, LogSnapshot] = field(default_factory=dict)
    errors: Sequence[ErrorObservation] = ()
    error_log_capacity: int = 0
    losses: Sequence[LossEntry] = ()
    loss_report_capacity: int = 0
    disk: Disk | None = None
    sockets: Sequence[Socket] = ()

    @cached_property
    def system(self) -> dict[SystemCounter, Counter]:
        """System counters that the driver has (spec counters 2)."""
        found = {one.registration_id: one for one in self.of_type(CounterType.SYSTEM)}
        return {each: found[each] for each in SystemCounter if each in found}

    @cached_property
    def by_type(self) -> dict[int, list[Counter]]:
        """Counters by type."""
        found: dict[int, list[Counter]] = {}
        for counter in self.counters:
            found.setdefault(counter.type_id, []).append(counter)
        return found

    def of_type(self, type_id: CounterKind) -> list[Counter]:
        """Counters of a type, by id."""
        return self.by_type.get(type_id, [])

    def heartbeat_age_ms(self, now_ms: int) -> int:
        """How old the last sign of life is; negative when it lies in the future."""
        return now_ms - self.heartbeat_ms

    def is_alive(self, now_ms: int) -> bool:
        """Whether it has shown a sign of life within its timeout, and is not gone."""
        age_ms = self.heartbeat_age_ms(now_ms)
        is_fresh = self.heartbeat_ms >= 0 and age_ms <= self.driver_timeout_ms
        return is_fresh and not self.process.has_died(age_ms)


#: The kind of what is no damage: the file cannot be read, and may be sound.
UNREADABLE: Final = "unreadable"


@dataclass(frozen=True, slots=True)
class Damage:
    """Something in an archive's files that cannot be right, or cannot be read.

    Attributes:
        kind: "frame", "checksum" (of frames), "descriptor" (its checksum), "catalog" or UNREADABLE.
        text: what, where, with which value.
        file: the name of the damaged file.
        offset: the place in the file, -1 for the whole file.
        position: the place in the recording, -1 when it is in none.
    """

    kind: str
    text: str
    file: str
    offset: int = -1
    position: int = -1


@dataclass(frozen=True, slots=True)
class RecordingSnapshot:
    """A recording in the catalog with its files.

    Attributes:
        state: the stored state: 0 INVALID, 1 VALID, 2 DELETED.
        segments: files that are there, by position.
        damages: what was found in them.
        counter_position: the value of the recording's rec-pos counter in the archive's driver,
            None without one.
        recovered_end: where the data of an active recording without a counter ends; None if not
            asked.
        index: the time index, None when there is none.
        health: what verification knows of it, None when it knows nothing.
    """

    descriptor: RecordingDescriptor
    state: int = 1
    segments: tuple[SegmentFile, ...] = ()
    damages: tuple[Damage, ...] = ()
    counter_position: int | None = None
    recovered_end: int | None = None
    index: IndexView | None = None
    health: HealthView | None = None

    @property
    def subject(self) -> str:
        """The name of the recording in findings."""
        return f"recording {self.descriptor.recording_id}"

    @property
    def end(self) -> int:
        """Up to which there has to be data, as far as anybody knows."""
        if not self.descriptor.is_active:
            return self.descriptor.stop_position
        for known in (self.counter_position, self.recovered_end):
            if known is not None:
                return known
        return self.descriptor.start_position


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerMark:
    """The mark file of an archive, or of a component of a cluster.

    Attributes:
        activity_ms: last sign of life; -1 after an orderly end, 2**63 - 1 while it starts.
        aeron_dir: the directory of its driver.
    """

    process: Process
    activity_ms: int
    aeron_dir: str
    start_ms: int = 0
    error_log_capacity: int = 0

    def age_ms(self, now_ms: int) -> int:
        """How old the last sign of life is; of one that starts as old as the start."""
        beat_ms = self.start_ms if self.activity_ms == STARTING else self.activity_ms
        return now_ms - beat_ms

    def is_alive(self, now_ms: int) -> bool:
        """Whether there was a sign of life in the last ten seconds, or it starts."""
        is_fresh = self.activity_ms == STARTING or self.age_ms(now_ms) < ARCHIVE_TIMEOUT_MS
        return is_fresh and not self.process.has_died(self.age_ms(now_ms))


@dataclass(frozen=True, slots=True)
class ArchiveSnapshot:
    """An archive's folder at one moment.

    Attributes:
        mark: the mark file, None when there is none or it cannot be read.
        mark_fault: why it cannot be read.
        recordings: the recordings in the catalog, in any state.
        catalog_damages: damages of the catalog's own structure.
        catalog_used: bytes of the catalog that entries take.
        strays: names of segment files that belong to no recording in the catalog.
        leftovers: names of files that a deletion left behind (`.del`).
        misnamed: names with `.rec` that the reference's archive does not start with.
        errors: the entries of the mark file's error log.
        disk: the file system that holds the folder.
        sees_counters: whether the counters of its driver were looked at as well.
        keeps_times: whether there are time indexes.
        is_verified: whether somebody verifies it, or has.
        retention: what lets old data go, None when nothing ever did.
    """

    archive_dir: str
    mark: OwnerMark | None = None
    mark_fault: str = ""
    recordings: Sequence[RecordingSnapshot] = ()
    catalog_damages: Sequence[Damage] = ()
    catalog_used: int = 0
    strays: Sequence[str] = ()
    leftovers: Sequence[str] = ()
    misnamed: Sequence[str] = ()
    errors: Sequence[ErrorObservation] = ()
    disk: Disk | None = None
    sees_counters: bool = False
    keeps_times: bool = False
    is_verified: bool = False
    retention: RetentionView | None = None

    def is_alive(self, now_ms: int) -> bool:
        """Whether an archive is running there, or starting."""
        return self.mark is not None and self.mark.is_alive(now_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentMark(OwnerMark):
    """The mark file of a consensus module, a service's container, or a backup.

    Attributes:
        who: the component in words: ``consensus module``, ``service 0``.
        file: the name of the mark file.
        service_id: the service, -1 for other components.
        cluster_id: the id of the cluster, which its counters have.
        version: packed; -1 after a start that failed, 0 before the end of one.
        errors: the entries of its error log.
    """

    who: str
    file: str
    service_id: int = -1
    cluster_id: int = 0
    version: int
    errors: Sequence[ErrorObservation] = ()


@dataclass(frozen=True, slots=True)
class ClusterSnapshot:
    """The folder of a cluster's node at one moment.

    Attributes:
        marks: the mark files that can be read: the module's first, then those of services.
        mark_faults: why others cannot be read, by the file's name.
        entries: the entries of recording.log, in the order of terms and positions.
        log_fault: why recording.log cannot be read.
        log_end: where its last whole entry ends, bytes.
        log_torn: bytes behind that.
        has_log: whether there is a recording.log.
        state_fault: why node-state.dat cannot be read.
        has_state: whether there is a node-state.dat.
    """

    cluster_dir: str
    marks: Sequence[ComponentMark] = ()
    mark_faults: Mapping[str, str] = field(default_factory=dict)
    entries: Sequence[LogEntry] = ()
    log_fault: str = ""
    log_end: int = 0
    log_torn: int = 0
    has_log: bool = True
    state_fault: str = ""
    has_state: bool = True

    @property
    def subject(self) -> str:
        """The name of the node in findings."""
        return f"cluster {self.cluster_dir}"

    @property
    def module(self) -> ComponentMark | None:
        """The mark file of the module or backup, None when there is none that can be read."""
        return next((mark for mark in self.marks if mark.service_id < 0), None)

    @property
    def services(self) -> list[ComponentMark]:
        """The mark files of services."""
        return [mark for mark in self.marks if mark.service_id >= 0]


@dataclass(frozen=True, slots=True)
class Host:
    """The machine, as far as it matters: its greatest receive buffer, -1 when not known."""

    max_rcvbuf: int = -1


@dataclass(frozen=True, slots=True)
class SystemSnapshot:
    """A snapshot of driver, archive and machine.

    Attributes:
        now_ms: when.
        monotonic_ns: when, by a clock that does not jump.
        driver: None when there is none to look at.
        driver_fault: why the driver's files cannot be read, "" when they can.
        archive: None when there is none to look at.
        archive_fault: why the archive's files cannot be read.
        archive_is_damaged: whether that is because they are damaged.
        cluster: the folder of a cluster's node, None when there is none to look at.
        cluster_fault: why it cannot be looked at.
    """

    now_ms: int
    monotonic_ns: int = 0
    driver: DriverSnapshot | None = None
    driver_fault: str = ""
    archive: ArchiveSnapshot | None = None
    archive_fault: str = ""
    archive_is_damaged: bool = False
    cluster: ClusterSnapshot | None = None
    cluster_fault: str = ""
    host: Host = field(default_factory=Host)


@dataclass(frozen=True, slots=True)
class Case:
    """What a check is given: the look, and the one before it, from which it takes what moves.

    Attributes:
        now: the look.
        before: an earlier one at the same driver and archive, None at the first.
    """

    now: SystemSnapshot
    before: SystemSnapshot | None = None

    @property
    def interval_s(self) -> float:
        """Seconds between the two looks, 0 when there is one."""
        if self.before is None:
            return 0.0
        return (self.now.monotonic_ns - self.before.monotonic_ns) / NS_PER_S

    @property
    def driver(self) -> DriverSnapshot | None:
        """The driver as it is now."""
        return self.now.driver

    @property
    def driver_before(self) -> DriverSnapshot | None:
        """The same driver earlier; None when it is another one by now."""
        before, now = self.before and self.before.driver, self.now.driver
        if not before or not now:
            return None
        same = (before.process.pid, before.start_ms) == (now.process.pid, now.start_ms)
        return before if same else None

    def growth_of(self, counter: Counter) -> int:
        """How much a counter of the driver has grown between the looks; 0 with one look."""
        before = self.driver_before
        if before is None:
            return 0
        was = next((one for one in before.counters if one.id == counter.id), None)
        if was is None or was.registration_id != counter.registration_id:
            return 0
        return max(counter.value - was.value, 0)
