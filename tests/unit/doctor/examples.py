"""One example of everything that the doctor can find: the code, its severity, the case."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from aerolog.archive.retention.holds import Hold
from aerolog.archive.retention.journal import Run
from aerolog.cluster.errors import ServiceLostError
from aerolog.tools.doctor.findings import Severity
from aerolog.tools.doctor.system_snapshot import (
    Case,
    Damage,
    Disk,
    DriverSnapshot,
    Host,
    Process,
    Socket,
)
from aerolog.tools.views.companion_views import (
    HealthView,
    IndexView,
    RetentionView,
    SegmentHealth,
)
from aerolog.transport.logbuffer.metadata import LogType
from aerolog.transport.memory.error_log import ErrorObservation
from aerolog.transport.memory.loss_report import LossEntry

from .made_up import (
    GIB,
    GONE,
    NOW_MS,
    PID,
    TERM,
    UDP,
    archive,
    case,
    cluster,
    component,
    counter,
    driver,
    entry,
    error,
    heartbeat,
    image_stream,
    ipc_stream,
    local_address,
    log,
    look,
    marked,
    recording,
    segment,
    sent_stream,
    snapshot,
    system,
)

if TYPE_CHECKING:
    from aerolog.tools.views.counters_snapshot import Counter

CRITICAL, WARNING, NOTICE = Severity.CRITICAL, Severity.WARNING, Severity.NOTICE
STOPPED = Process(PID, exists=True, state="T")
ZOMBIE = Process(PID, exists=True, state="Z")
RECEIVING = [
    *system(),
    counter(50, 7, f"rcv-channel: {UDP} 127.0.0.1:20121", 1),
    local_address(51, 50, "127.0.0.1:20121"),
]
LOSS = LossEntry(3, 4_096, NOW_MS - 90_000, NOW_MS - 2_000, 7, 1001, UDP, "10.0.0.9:40000")
OLD_LOSS = replace(LOSS, last_observation_ms=NOW_MS - 3_600_000)
HELD = ipc_stream(32_768, 32_768, 0)
LAST_RUN = Run(1, NOW_MS - 61_000, NOW_MS - 60_000, bytes=3 * GIB)
ACTIVE = {"stop_position": -1, "stop_timestamp": -1}


def grown(number: int, was: int, now: int) -> Case:
    """A system counter that grew between the looks."""
    name = f"c{number}"
    return case(driver(system(**{name: now})), driver(system(**{name: was})))


def cycles(was: int, now: int) -> Case:
    """How often the conductor was too slow."""
    return case(driver(system(c26=250_000_000, c27=now)), driver(system(c26=250_000_000, c27=was)))


def lossy(drops: int = 0, entry: LossEntry = LOSS) -> Case:
    """A driver that has lost something."""
    sockets = [Socket(20121, drops, 0, 99)]
    return case(driver(RECEIVING, losses=[entry], sockets=sockets))


def published(now: int, before: int, term: int = TERM) -> Case:
    """A publication that moves."""
    logs = {10: log(term_length=term, publication_window_length=term // 2)}
    return case(
        driver(streams=[ipc_stream(now, now + term // 2, now)], logs=logs),
        driver(streams=[ipc_stream(before, before + term // 2, before)], logs=logs),
    )


def recorded(now: int, before: int, free: int) -> Case:
    """An archive that records at a rate, on a disk with so much left."""
    disk = Disk("/data", total=free * 4, free=free)
    return case(
        archive(recording(segment(0), counter_position=now, **ACTIVE), disk=disk),
        archive(recording(segment(0), counter_position=before, **ACTIVE), disk=disk),
    )


def indexed(end: int, age_ms: int) -> IndexView:
    """A time index that ends somewhere, with an entry of some age."""
    last_ns = (NOW_MS - age_ms) * 1_000_000
    return IndexView("clock", 9, 4096, last_ns - 10**9, last_ns, end)


def growing(end: int, age_ms: int) -> Case:
    """A recording that was at 50,000 a second ago, and an index that ends somewhere."""
    index = indexed(end, age_ms)
    return case(
        archive(recording(segment(0), counter_position=60_000, index=index, **ACTIVE)),
        archive(recording(segment(0), counter_position=50_000, index=index, **ACTIVE)),
    )


def lost_notes(now: int, before: int) -> Case:
    """An archive that loses times on their way to its indexes."""
    return case(
        driver([*system(), counter(70, 10_012, "Archive Time Notes Lost - archiveId=9", now)]),
        driver([*system(), counter(70, 10_012, "Archive Time Notes Lost - archiveId=9", before)]),
    )


def verified(state: str, text: str = "") -> Case:
    """A recording of two segments whose second one is in some state."""
    faults = () if state == "unchecked" else (SegmentHealth(TERM, state, text),)
    health = HealthView(state, {"sound": 1, state: 1}, faults, NOW_MS - 60_000)
    return case(archive(recording(health=health), is_verified=True))


def retained(free: int = 50 * GIB, run: Run | None = LAST_RUN, **changes: Any) -> Case:
    """An archive with retention, and so much room."""
    disk = Disk("/data", total=100 * GIB, free=free)
    seen = RetentionView(last_run=run, runs=1, **changes)
    return case(archive(retention=seen, disk=disk))


def of_cluster(type_id: int, value: int, label: str = "of a cluster", key: str = "ii") -> Counter:
    """A counter of service 2 of cluster 7, or of its module."""
    return counter(
        200 + type_id, type_id, label, value, struct.pack(f"<{key}", *([7, 2][: len(key)]))
    )


def clustered(*counters: Counter) -> DriverSnapshot:
    """A driver with counters of a cluster."""
    return driver([*system(), *counters])


def counted(type_id: int, was: int, now: int, key: str = "i") -> Case:
    """A counter of a cluster that grew between the looks."""
    return case(
        clustered(of_cluster(type_id, now, key=key)), clustered(of_cluster(type_id, was, key=key))
    )


RECOVERING = counter(
    204, 204, "Cluster recovery: leadershipTermId=-1", 0, struct.pack("<qqqii", -1, 0, 0, 7, 2)
)
ENDED_MODULE = component(activity_ms=-1)
SERVICE_WAS_LOST = ErrorObservation(1, NOW_MS, NOW_MS, str(ServiceLostError(0)))
ONE_MODULE = cluster(marks=[component()])
WHOLE = snapshot(320, 0, -1)
LOG = {"start_position": 0, "stop_position": TERM}

EXAMPLES: list[tuple[str, Severity, Case]] = [
    # Processes.
    ("driver-unreadable", CRITICAL, case(look(None, archive(), driver_fault="no cnc.dat"))),
    ("driver-closed", CRITICAL, case(driver(heartbeat_ms=-1))),
    ("driver-dead", CRITICAL, case(driver(heartbeat_ms=NOW_MS - 4_000, process=GONE))),
    ("driver-dead", CRITICAL, case(driver(process=ZOMBIE))),
    ("driver-stuck", CRITICAL, case(driver(heartbeat_ms=NOW_MS - 11_000, process=STOPPED))),
    ("driver-late", WARNING, case(driver(heartbeat_ms=NOW_MS - 5_000))),
    ("clock-stepped", WARNING, case(driver(heartbeat_ms=NOW_MS + 60_000))),
    ("clock-stepped", WARNING, case(archive(mark=marked(activity_ms=NOW_MS + 60_000)))),
    ("archive-unreadable", CRITICAL, case(look(driver(), archive_fault="catalog cut off"))),
    (
        "archive-damaged",
        CRITICAL,
        case(look(driver(), archive_fault="catalog cut off", archive_is_damaged=True)),
    ),
    ("archive-mark-unreadable", WARNING, case(archive(mark=None, mark_fault="no such file"))),
    ("archive-closed", NOTICE, case(archive(mark=marked(activity_ms=-1)))),
    (
        "archive-dead",
        CRITICAL,
        case(archive(mark=marked(activity_ms=NOW_MS - 5_000, process=GONE))),
    ),
    (
        "archive-dead",
        CRITICAL,
        case(archive(mark=marked(activity_ms=2**63 - 1, start_ms=1, process=GONE))),
    ),
    ("archive-stuck", CRITICAL, case(archive(mark=marked(activity_ms=NOW_MS - 20_000)))),
    ("archive-late", WARNING, case(archive(mark=marked(activity_ms=NOW_MS - 5_000)))),
    ("archive-starting", NOTICE, case(archive(mark=marked(activity_ms=2**63 - 1)))),
    (
        "archive-elsewhere",
        NOTICE,
        case(look(driver(), archive(mark=marked(aeron_dir="/dev/shm/aeron-other")))),
    ),
    ("client-late", WARNING, case(driver([*system(), heartbeat(3, 7_000, "feed")]))),
    ("clients-timed-out", NOTICE, grown(24, 2, 2)),
    ("clients-timed-out", WARNING, grown(24, 2, 3)),
    ("commands-unblocked", NOTICE, case(driver(system(c20=1)))),
    # Publishers and subscribers.
    (
        "publication-blocked",
        CRITICAL,
        case(
            driver(
                streams=[ipc_stream(4_096, 20_000, 4_096)],
                logs={10: log(blocked_at=4_096, tail=8_192)},
            ),
            driver(
                streams=[ipc_stream(4_096, 20_000, 4_096)],
                logs={10: log(blocked_at=4_096, tail=8_192)},
            ),
        ),
    ),
    (
        "publisher-blocked",
        CRITICAL,
        case(driver(streams=[HELD], logs={10: log()}), driver(streams=[HELD], logs={10: log()})),
    ),
    (
        "publisher-blocked",
        CRITICAL,
        case(
            driver(streams=[sent_stream(64_000, 64_000, 32_000, 32_000)]),
            driver(streams=[sent_stream(64_000, 64_000, 32_000, 32_000)]),
        ),
    ),
    (
        "publisher-limited",
        WARNING,
        case(
            driver(streams=[ipc_stream(65_536, 65_536, 32_768)], logs={10: log()}),
            driver(streams=[HELD], logs={10: log()}),
        ),
    ),
    (
        "publisher-unconnected",
        NOTICE,
        case(driver(streams=[ipc_stream(0, 0)], logs={10: log(is_connected=False)})),
    ),
    (
        "subscriber-stopped",
        WARNING,
        case(
            driver(streams=[ipc_stream(9_000, 40_000, 8_000)]),
            driver(streams=[ipc_stream(8_500, 40_000, 8_000)]),
        ),
    ),
    (
        "subscriber-stopped",
        CRITICAL,
        case(driver(streams=[HELD], logs={10: log()}), driver(streams=[HELD], logs={10: log()})),
    ),
    (
        "subscriber-slow",
        WARNING,
        case(driver(streams=[image_stream(90_000, 90_000, 30_000)], logs={30: log(LogType.IMAGE)})),
    ),
    ("publications-unblocked", NOTICE, grown(19, 1, 1)),
    ("publications-unblocked", WARNING, grown(19, 0, 1)),
    ("publications-revoked", NOTICE, grown(40, 1, 1)),
    ("images-rejected", WARNING, grown(42, 0, 1)),
    # Loss.
    ("loss-socket-full", WARNING, lossy(drops=17)),
    ("loss-receiver", WARNING, lossy(drops=17)),
    ("loss-network", WARNING, lossy()),
    ("loss-past", NOTICE, lossy(entry=OLD_LOSS)),
    ("loss-given-up", CRITICAL, grown(23, 0, 5)),
    ("loss-given-up", WARNING, grown(23, 5, 5)),
    ("loss-over-run", WARNING, grown(13, 0, 5)),
    ("loss-under-run", NOTICE, grown(12, 0, 5)),
    ("packets-invalid", WARNING, grown(14, 0, 5)),
    ("sends-short", WARNING, grown(16, 0, 5)),
    ("ttl-asymmetry", WARNING, grown(21, 5, 5)),
    ("retransmits-refused", WARNING, grown(37, 0, 5)),
    ("status-rejected", WARNING, grown(44, 0, 5)),
    (
        "loss-not-repaired",
        CRITICAL,
        case(
            driver(streams=[image_stream(4_096, 9_000)]),
            driver(streams=[image_stream(4_096, 8_000)]),
        ),
    ),
    # Sockets.
    (
        "receive-buffer-small",
        WARNING,
        case(
            driver(
                logs={
                    30: log(
                        LogType.IMAGE,
                        receiver_window_length=256 << 10,
                        socket_rcvbuf_length=128 << 10,
                    )
                }
            )
        ),
    ),
    (
        "receive-buffer-small",
        WARNING,
        case(driver(logs={30: log(LogType.IMAGE, receiver_window_length=1 << 20)})),
    ),
    (
        "receive-buffer-capped",
        WARNING,
        case(driver(logs={30: log(LogType.IMAGE, socket_rcvbuf_length=8 << 20)})),
    ),
    ("send-buffer-small", WARNING, case(driver(logs={10: log(socket_sndbuf_length=1024)}))),
    ("send-buffer-capped", WARNING, case(driver(logs={10: log(socket_sndbuf_length=8 << 20)}))),
    ("host-buffers-small", NOTICE, case(look(driver(RECEIVING), host=Host(max_rcvbuf=212_992)))),
    (
        "channel-errored",
        CRITICAL,
        case(driver([*system(), counter(50, 7, f"rcv-channel: {UDP} ", -1)])),
    ),
    # Duty cycles.
    ("cycle-slow", WARNING, cycles(1, 2)),
    ("cycle-was-slow", NOTICE, cycles(2, 2)),
    ("resolver-slow", WARNING, case(driver(system(c32=6_000_000_000, c33=1)))),
    ("driver-queue-full", WARNING, grown(3, 0, 9)),
    (
        "archive-write-slow",
        WARNING,
        case(
            driver(
                [
                    *system(),
                    counter(
                        70, 105, "archive-recorder max write time in ns - archiveId=9", 200_000_000
                    ),
                ]
            )
        ),
    ),
    (
        "archive-read-slow",
        NOTICE,
        case(
            driver(
                [
                    *system(),
                    counter(
                        70, 108, "archive-replayer max read time in ns - archiveId=9", 200_000_000
                    ),
                ]
            )
        ),
    ),
    # Disks.
    (
        "archive-disk-full",
        CRITICAL,
        case(archive(disk=Disk("/data", total=100 * GIB, free=100 << 20))),
    ),
    ("archive-disk-low", WARNING, case(archive(disk=Disk("/data", total=100 * GIB, free=5 * GIB)))),
    ("archive-disk-filling", WARNING, recorded(2 << 20, 1 << 20, 40 * GIB)),
    ("archive-disk-filling", CRITICAL, recorded(2 << 20, 1 << 20, GIB)),
    (
        "driver-disk-full",
        CRITICAL,
        case(
            driver(
                disk=Disk("/dev/shm", total=64 << 20, free=100_000, is_memory=True),
                logs={10: log()},
            )
        ),
    ),
    (
        "driver-disk-low",
        WARNING,
        case(
            driver(
                disk=Disk("/dev/shm", total=64 << 20, free=5 << 20, is_memory=True),
                logs={10: log()},
            )
        ),
    ),
    ("driver-not-in-memory", NOTICE, case(driver(disk=Disk("/", total=GIB * 9, free=GIB * 8)))),
    # Recordings.
    (
        "recording-without-writer",
        CRITICAL,
        case(archive(recording(**ACTIVE)), archive(recording(**ACTIVE))),
    ),
    (
        "recording-unfinished",
        WARNING,
        case(archive(recording(recovered_end=9_024, **ACTIVE), mark=marked(activity_ms=-1))),
    ),
    ("segment-missing", CRITICAL, case(archive(recording(segment(TERM))))),
    ("segment-cut", CRITICAL, case(archive(recording(segment(0), segment(TERM, 100))))),
    (
        "segment-length",
        WARNING,
        case(archive(recording(segment(0), segment(TERM, 2_048), stop_position=TERM + 1_024))),
    ),
    (
        "segment-unreadable",
        WARNING,
        case(archive(recording(damages=(Damage("unreadable", "I/O error", "0-0.rec", 64, 64),)))),
    ),
    (
        "segment-damaged",
        CRITICAL,
        case(
            archive(
                recording(
                    damages=(Damage("frame", "impossible frame length: -5", "0-0.rec", 64, 64),)
                )
            )
        ),
    ),
    (
        "checksum-wrong",
        CRITICAL,
        case(archive(recording(damages=(Damage("checksum", "2 frames", "0-0.rec", 64, 64),)))),
    ),
    (
        "descriptor-checksum-wrong",
        WARNING,
        case(
            archive(recording(damages=(Damage("descriptor", "0x0badcafe", "archive.catalog", 32),)))
        ),
    ),
    (
        "catalog-damaged",
        CRITICAL,
        case(
            archive(catalog_damages=[Damage("catalog", "length 5 at offset 32", "archive.catalog")])
        ),
    ),
    ("catalog-damaged", CRITICAL, case(archive(recording(term_buffer_length=3)))),
    ("recording-invalid", NOTICE, case(archive(recording(state=0)))),
    ("segments-orphaned", NOTICE, case(archive(strays=["9-0.rec"]))),
    (
        "segments-beside",
        NOTICE,
        case(archive(recording(segment(0), segment(TERM), segment(4 * TERM)))),
    ),
    ("deletions-left", NOTICE, case(archive(leftovers=["0-0.rec.del"]))),
    ("segment-misnamed", WARNING, case(archive(misnamed=["foo-1.rec"]))),
    # Beside the recordings.
    ("index-missing", NOTICE, case(archive(recording(), keeps_times=True))),
    (
        "index-damaged",
        WARNING,
        case(archive(recording(index=IndexView("clock", problems=("block 3 is damaged",))))),
    ),
    (
        "index-stale",
        WARNING,
        case(archive(recording(index=IndexView("descriptor", problems=("it is of 7",))))),
    ),
    (
        "index-unreadable",
        WARNING,
        case(
            archive(recording(index=IndexView("descriptor", problems=("EIO",), is_unreadable=True)))
        ),
    ),
    ("index-behind", WARNING, growing(49_000, 6_000)),
    ("index-notes-lost", NOTICE, lost_notes(9, 9)),
    ("index-notes-lost", WARNING, lost_notes(9, 7)),
    ("health-damaged", CRITICAL, verified("damaged", "impossible frame length -5 at 66,000")),
    ("health-changed", CRITICAL, verified("changed", "another fingerprint")),
    ("health-missing", CRITICAL, verified("missing")),
    ("health-segments-unreadable", WARNING, verified("unreadable", "unreadable, position 65536")),
    (
        "health-unreadable",
        NOTICE,
        case(archive(recording(health=HealthView("unchecked", problems=("cut off",))))),
    ),
    ("never-verified", NOTICE, verified("unchecked")),
    ("never-verified", NOTICE, case(archive(recording(), is_verified=True))),
    (
        "retention-failed",
        WARNING,
        retained(run=replace(LAST_RUN, error="the archive did not answer")),
    ),
    ("retention-unfinished", WARNING, retained(run=replace(LAST_RUN, end_ms=None))),
    ("retention-behind", WARNING, retained(free=5 * GIB)),
    ("retention-unreadable", WARNING, retained(problems=("holds.json: no JSON at line 1",))),
    (
        "hold-expired",
        NOTICE,
        retained(holds=(Hold(3, "audit", NOW_MS - 9_000), Hold(4, "trial"))),
    ),
    # Settings.
    (
        "page-size-mismatch",
        WARNING,
        case(driver(disk=Disk("/huge", total=GIB, free=GIB, block_size=2 << 20, is_memory=True))),
    ),
    ("page-size-differs", WARNING, case(driver(logs={10: log(page_size=1 << 20)}))),
    (
        "window-half-term",
        WARNING,
        case(
            driver(
                streams=[image_stream(0, 0)],
                logs={30: log(LogType.IMAGE, receiver_window_length=TERM // 2)},
            )
        ),
    ),
    ("term-short", WARNING, published(40 << 20, 0)),
    (
        "mtu-large",
        NOTICE,
        case(
            driver(
                streams=[sent_stream(0, 9, 0, 9)],
                logs={10: log(mtu_length=65_504, socket_sndbuf_length=1 << 20)},
            )
        ),
    ),
    (
        "positions-exhausted",
        WARNING,
        case(driver(streams=[ipc_stream((TERM << 31) - TERM, TERM << 31)], logs={10: log()})),
    ),
    (
        "windows-differ",
        NOTICE,
        case(
            driver(
                streams=[image_stream(0, 0), image_stream(0, 0, image_id=31)],
                logs={
                    30: log(LogType.IMAGE),
                    31: log(LogType.IMAGE, receiver_window_length=128 << 10),
                },
            )
        ),
    ),
    (
        "channel-parameter-unknown",
        NOTICE,
        case(driver(streams=[replace(ipc_stream(0, 0), channel="aeron:ipc?alais=x")])),
    ),
    # Rooms of fixed length.
    ("counters-nearly-full", WARNING, case(driver(max_counters=50))),
    ("counters-nearly-full", CRITICAL, case(driver(max_counters=46))),
    (
        "error-log-nearly-full",
        WARNING,
        case(driver(errors=[error("x" * 900)], error_log_capacity=1024)),
    ),
    (
        "error-log-nearly-full",
        WARNING,
        case(archive(errors=[error("x" * 900)], mark=marked(error_log_capacity=1024))),
    ),
    ("loss-report-nearly-full", NOTICE, case(driver(losses=[LOSS] * 7, loss_report_capacity=1024))),
    ("catalog-nearly-full", WARNING, case(archive(catalog_used=2_000_000_000))),
    # Clusters.
    ("cluster-unreadable", CRITICAL, case(look(driver(), cluster_fault="no such folder"))),
    ("cluster-mark-unreadable", WARNING, case(cluster(mark_faults={"cluster-mark.dat": "bad"}))),
    ("cluster-mark-version", WARNING, case(cluster(marks=[component(version=0x10000)]))),
    ("cluster-start-failed", CRITICAL, case(cluster(marks=[component(version=-1)]))),
    ("cluster-closed", NOTICE, case(cluster(marks=[ENDED_MODULE]))),
    (
        "cluster-dead",
        CRITICAL,
        case(cluster(marks=[component(process=GONE, activity_ms=NOW_MS - 4_000)])),
    ),
    (
        "cluster-service-lost",
        CRITICAL,
        case(cluster(marks=[component(activity_ms=-1, errors=[SERVICE_WAS_LOST])])),
    ),
    (
        "cluster-stuck",
        CRITICAL,
        case(cluster(marks=[component(process=STOPPED, activity_ms=NOW_MS - 11_000)])),
    ),
    ("cluster-late", WARNING, case(cluster(marks=[component(0, activity_ms=NOW_MS - 5_000)]))),
    ("cluster-starting", NOTICE, case(cluster(marks=[component(activity_ms=2**63 - 1)]))),
    ("cluster-elsewhere", NOTICE, case(look(driver(aeron_dir="/other"), cluster=ONE_MODULE))),
    ("service-without-module", CRITICAL, case(cluster(marks=[ENDED_MODULE, component(0)]))),
    (
        "service-missing",
        CRITICAL,
        case(clustered(RECOVERING, counter(9, 215, "errors", 0, struct.pack("<ii", 7, 1)))),
    ),
    ("cluster-ending", WARNING, case(clustered(of_cluster(200, 6)))),
    ("cluster-suspended", WARNING, case(clustered(of_cluster(200, 2)))),
    ("cluster-without-leader", WARNING, counted(207, 1, 1)),
    ("cluster-errors", WARNING, counted(212, 1, 2)),
    ("cluster-errors", NOTICE, case(clustered(of_cluster(215, 3)))),
    ("cluster-clients-timed-out", NOTICE, counted(213, 2, 2)),
    ("cluster-clients-timed-out", WARNING, counted(213, 2, 5)),
    ("cluster-clients-missed-messages", NOTICE, counted(1201, 2, 2, "ii")),
    ("cluster-clients-missed-messages", WARNING, counted(1201, 2, 5, "ii")),
    ("cluster-messages-of-strangers", NOTICE, counted(214, 2, 2)),
    ("cluster-messages-of-strangers", WARNING, counted(214, 2, 5)),
    ("cluster-snapshot-slow", WARNING, counted(235, 0, 1)),
    ("cluster-snapshot-slow", NOTICE, counted(237, 1, 1, "ii")),
    ("recording-log-missing", WARNING, case(cluster(has_log=False, has_state=False))),
    ("recording-log-damaged", CRITICAL, case(cluster(log_fault="unknown entry type"))),
    ("recording-log-torn", NOTICE, case(cluster(log_torn=17))),
    ("terms-apart", WARNING, case(cluster(entry(0, 0, 320), entry(1, 640)))),
    ("term-open", WARNING, case(cluster(entry(0, 0), entry(1, 640)))),
    ("snapshot-incomplete", WARNING, case(cluster(entry(), *WHOLE, *snapshot(640, 0)))),
    ("snapshot-incomplete", WARNING, case(cluster(entry(), *snapshot(640, -1)))),
    ("snapshot-ahead", CRITICAL, case(cluster(entry(0, 0, 256), *WHOLE))),
    (
        "log-behind",
        CRITICAL,
        case(look(None, archive(recording(**LOG)), cluster=cluster(entry(0, 0, TERM + 32)))),
    ),
    (
        "cluster-recording-missing",
        CRITICAL,
        case(
            look(
                None,
                archive(recording(**LOG)),
                cluster=cluster(entry(0, 0, TERM), *snapshot(320, -1), marks=[component()]),
            )
        ),
    ),
    ("node-state-damaged", CRITICAL, case(cluster(state_fault="no candidate term"))),
    ("node-state-missing", WARNING, case(cluster(has_state=False))),
    ("cycle-slow", WARNING, counted(217, 0, 1)),
    ("cycle-was-slow", NOTICE, counted(219, 1, 1, "ii")),
    (
        "error-log-nearly-full",
        WARNING,
        case(cluster(marks=[component(errors=[error("x" * 900)], error_log_capacity=1024)])),
    ),
    # Error logs.
    ("error-logged", WARNING, case(cluster(marks=[component(errors=[error("raised")])]))),
    ("error-logged", WARNING, case(driver(errors=[error("io.aeron.X: ERROR - no room\n\tat y")]))),
    ("error-logged-past", NOTICE, case(archive(errors=[error("java.io.IOException", 7_200_000)]))),
    ("errors-more", NOTICE, case(driver(errors=[error(f"no {n}") for n in range(12)]))),
]
