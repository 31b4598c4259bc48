"""Checks of duty cycles: threads of driver, archive and cluster that take too long."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Final

from aerolog.archive.protocol.counter_types import ArchiveCounterType
from aerolog.cluster.counter_types import ClusterCounterType
from aerolog.tools.doctor.findings import Area, FindingKind, Severity
from aerolog.tools.views import cluster_counters
from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.time_units import NS_PER_MS, NS_PER_S, NS_PER_US

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aerolog.tools.doctor.findings import Finding
    from aerolog.tools.doctor.system_snapshot import Case, DriverSnapshot
    from aerolog.tools.views.counters_snapshot import Counter

#: Name -> system counters of the greatest cycle time and of how often the threshold was passed.
_THREADS: Final = (
    (
        "conductor",
        SystemCounter.CONDUCTOR_MAX_CYCLE_TIME,
        SystemCounter.CONDUCTOR_CYCLE_TIME_THRESHOLD_EXCEEDED,
    ),
    (
        "sender",
        SystemCounter.SENDER_MAX_CYCLE_TIME,
        SystemCounter.SENDER_CYCLE_TIME_THRESHOLD_EXCEEDED,
    ),
    (
        "receiver",
        SystemCounter.RECEIVER_MAX_CYCLE_TIME,
        SystemCounter.RECEIVER_CYCLE_TIME_THRESHOLD_EXCEEDED,
    ),
)
_RESOLVER_MAX: Final = SystemCounter.NAME_RESOLVER_MAX_TIME
_RESOLVER_COUNT: Final = SystemCounter.NAME_RESOLVER_TIME_THRESHOLD_EXCEEDED
_QUEUES: Final = (
    ("receiver", SystemCounter.RECEIVER_PROXY_FAILS),
    ("sender", SystemCounter.SENDER_PROXY_FAILS),
    ("conductor", SystemCounter.CONDUCTOR_PROXY_FAILS),
    ("async executor", SystemCounter.ASYNC_EXECUTOR_PROXY_FAILS),
)
#: Types of the longest duration and of how many passed the threshold (spec cluster 23).
_CLUSTER_CYCLES: Final = (
    (ClusterCounterType.MODULE_MAX_CYCLE, ClusterCounterType.MODULE_CYCLES_EXCEEDED),
    (ClusterCounterType.SERVICE_MAX_CYCLE, ClusterCounterType.SERVICE_CYCLES_EXCEEDED),
)
_CLUSTER_SNAPSHOTS: Final = (
    (ClusterCounterType.MODULE_MAX_SNAPSHOT, ClusterCounterType.MODULE_SNAPSHOTS_EXCEEDED),
    (ClusterCounterType.SERVICE_MAX_SNAPSHOT, ClusterCounterType.SERVICE_SNAPSHOTS_EXCEEDED),
)
_SLOW_IO_NS: Final = 100_000_000
_THRESHOLD: Final = re.compile(r"threshold=(\d+)(ns|us|ms|s)")
_UNIT_NS: Final = {"ns": 1, "us": NS_PER_US, "ms": NS_PER_MS, "s": NS_PER_S}

_kind: Final = partial(FindingKind, Area.CYCLES)

CYCLE_SLOW = _kind(
    "cycle-slow",
    Severity.WARNING,
    "the {thread}'s duty cycle passed its threshold of {threshold!t} {count!n} times ({new!n} of"
    " them while we looked); the longest took {longest!t}",
    "the thread did not get a CPU, paused (garbage, paging, a new file on a slow disk), or has too"
    " much to do; everything it serves waits that long, streams and liveness too",
    "give it a CPU of its own (isolcpus, taskset) and a busier idle strategy; threading mode"
    " DEDICATED; keep the driver's directory in memory; look for pauses of the JVM",
)
CYCLE_WAS_SLOW = _kind(
    "cycle-was-slow",
    Severity.NOTICE,
    "the {thread}'s duty cycle once took {longest!t}; it passed its threshold of {threshold!t}"
    " {count!n} times, none of them while we looked",
    "one long cycle at the start or at a new stream is usual: files are made and addresses resolved"
    " there",
    "nothing if it does not grow; `aerolog doctor --watch` shows when it does",
)
RESOLVER_SLOW = _kind(
    "resolver-slow",
    Severity.WARNING,
    "resolving a name took {longest!t}; {count!n} times longer than {threshold!t}",
    "the name service is slow or does not answer; channels with names open late, and are checked"
    " late for a new address",
    "use addresses, /etc/hosts, a local cache, or the driver's own resolver"
    " (aeron.driver.resolver.name)",
)
QUEUE_FULL = _kind(
    "driver-queue-full",
    Severity.WARNING,
    "the queue to the {thread} was full {count!n} times ({new!n} of them while we looked)",
    "the thread does not take its work as fast as it comes: it is slow, or stands",
    "see its duty cycle; give it a CPU",
)
WRITE_SLOW = _kind(
    "archive-write-slow",
    Severity.WARNING,
    "the longest write of the archive's recorder took {longest!t}",
    "the disk is slow, or every block is synced (aeron.archive.file.sync.level 1 or 2); recordings"
    " and their publishers wait for it",
    "put the archive on a faster disk; raise aeron.archive.file.io.max.length to sync less often;"
    " choose the sync level knowingly; longer terms bridge it",
)
READ_SLOW = _kind(
    "archive-read-slow",
    Severity.NOTICE,
    "the longest read of the archive's replayer took {longest!t}",
    "old segments come from the disk and not from memory, or the disk is busy with recording",
    "separate replays from recordings (another disk, an archive that replicates); more memory",
)
SNAPSHOT_SLOW = _kind(
    "cluster-snapshot-slow",
    Severity.NOTICE,
    "the longest snapshot of the {who} took {longest!t}; {count!n} took longer than {threshold!t}"
    " ({new!n} of them while we looked)",
    "while a snapshot is taken the cluster answers nobody: clients wait, or time out",
    "make the service's state smaller, write it in larger pieces, or put the archive on a faster"
    " disk; take snapshots when few clients wait",
)


def driver_cycles(case: Case) -> Iterator[Finding]:
    """Do the driver's threads work in time?"""
    driver = case.driver
    if driver is None:
        return
    where = f"driver {driver.aeron_dir}"
    for thread, max_id, count_id in _THREADS:
        longest, count = driver.system.get(max_id), driver.system.get(count_id)
        if longest is not None and count is not None and count.value > 0:
            yield _cycle(thread, where, longest.value, count, case.growth_of(count))
    longest, count = driver.system.get(_RESOLVER_MAX), driver.system.get(_RESOLVER_COUNT)
    if longest is not None and count is not None and count.value > 0:
        yield RESOLVER_SLOW.found(
            where, longest=longest.value, count=count.value, threshold=_threshold(count.label)
        )
    for thread, system_id in _QUEUES:
        full = driver.system.get(system_id)
        if full is not None and full.value > 0:
            new = case.growth_of(full)
            severity = Severity.WARNING if new else Severity.NOTICE
            yield QUEUE_FULL.found(where, severity, thread=thread, count=full.value, new=new)


def archive_cycles(case: Case) -> Iterator[Finding]:
    """Do the archive's threads and its disk work in time?"""
    driver = case.driver
    if driver is None:
        return
    longest = {
        _archive_thread(one): one.value for one in driver.of_type(ArchiveCounterType.MAX_CYCLE_TIME)
    }
    for counter in driver.of_type(ArchiveCounterType.CYCLE_TIME_EXCEEDED):
        if counter.value > 0:
            thread, new = _archive_thread(counter), case.growth_of(counter)
            yield _cycle(thread, _archive(counter), longest.get(thread, 0), counter, new)
    for kind, type_id in (
        (WRITE_SLOW, ArchiveCounterType.MAX_WRITE_TIME),
        (READ_SLOW, ArchiveCounterType.MAX_READ_TIME),
    ):
        for counter in driver.of_type(type_id):
            if counter.value >= _SLOW_IO_NS:
                yield kind.found(_archive(counter), longest=counter.value)


def cluster_cycles(case: Case) -> Iterator[Finding]:
    """Do modules and services work in time, and are their snapshots short?"""
    driver = case.driver
    if driver is None:
        return
    for counter, longest in _exceeded(driver, _CLUSTER_CYCLES):
        thread = cluster_counters.component_name(counter)
        where = f"cluster {cluster_counters.cluster_id(counter)}"
        yield _cycle(thread, where, longest, counter, case.growth_of(counter))
    for counter, longest in _exceeded(driver, _CLUSTER_SNAPSHOTS):
        new = case.growth_of(counter)
        yield SNAPSHOT_SLOW.found(
            f"cluster {cluster_counters.cluster_id(counter)}",
            Severity.WARNING if new else None,
            who=cluster_counters.component_name(counter),
            longest=longest,
            threshold=_threshold(counter.label),
            count=counter.value,
            new=new,
        )


def _exceeded(
    driver: DriverSnapshot, types: tuple[tuple[ClusterCounterType, ClusterCounterType], ...]
) -> Iterator[tuple[Counter, int]]:
    """The counters of what passed its threshold, each with the longest duration beside it."""
    for longest_type, exceeded_type in types:
        longest = {one.key[:8]: one.value for one in driver.of_type(longest_type)}
        for counter in driver.of_type(exceeded_type):
            if counter.value > 0:
                yield counter, longest.get(counter.key[:8], 0)


def _cycle(thread: str, where: str, longest: int, count: Counter, new: int) -> Finding:
    kind = CYCLE_SLOW if new else CYCLE_WAS_SLOW
    return kind.found(
        f"{thread} of {where}",
        thread=thread,
        threshold=_threshold(count.label),
        count=count.value,
        new=new,
        longest=longest,
    )


def _archive_thread(counter: Counter) -> str:
    """``archive-conductor`` of its label."""
    return counter.label.partition(" ")[0]


def _archive(counter: Counter) -> str:
    """``archive 7`` by the id at the end of a counter's label."""
    return f"archive {counter.label.rpartition('archiveId=')[2].partition(' ')[0]}"


def _threshold(label: str) -> int:
    """The threshold in a label, nanoseconds; 0 when it does not say."""
    found = _THRESHOLD.search(label)
    return int(found[1]) * _UNIT_NS[found[2]] if found else 0


CHECKS: Final = (driver_cycles, archive_cycles, cluster_cycles)
