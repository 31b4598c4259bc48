"""Checks of a cluster's node: do its module and services live, and what do their counters say?"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Final

from aerolog.cluster.counter_types import ClusterCounterType, ElectionState
from aerolog.cluster.errors import SERVICE_LOST
from aerolog.cluster.files.layout import MARK_VERSION
from aerolog.tools.doctor.checks.process_checks import LifeKinds, is_same_folder, life_of
from aerolog.tools.doctor.findings import Area, FindingKind, Severity
from aerolog.tools.views import cluster_counters
from aerolog.tools.views.cluster_counters import cluster_id, component_name
from aerolog.transport.protocol.sbe import semantic_version_major, semantic_version_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aerolog.tools.doctor.findings import Finding
    from aerolog.tools.doctor.system_snapshot import Case, ComponentMark

_FAILED_START: Final = -1
_ENDED: Final = ElectionState.CLOSED

_kind: Final = partial(FindingKind, Area.CLUSTER)

UNREADABLE = _kind(
    "cluster-unreadable",
    Severity.CRITICAL,
    "the cluster's folder cannot be looked at: {fault}",
    "without its files a node knows neither its log nor its votes; that says nothing of what is in"
    " them: permission may be wanting, or an empty folder stand where another file system should be"
    " mounted",
    "follow the remedy in the message; mount what is missing before a node starts in the empty"
    " folder, for it would start as a new member",
)
MARK_UNREADABLE = _kind(
    "cluster-mark-unreadable",
    Severity.WARNING,
    "the mark file {file} cannot be read: {fault}",
    "whether its owner runs, and which driver it uses, cannot be told; the next owner may refuse to"
    " start",
    "look as the user that owns it, where it may not be read; when no node runs, move a damaged"
    " file away: it is written anew at the next start",
)
MARK_VERSION_OTHER = _kind(
    "cluster-mark-version",
    Severity.WARNING,
    "the mark file {file} is of version {version}, this software writes {ours}",
    "a node refuses to start where the major version is another one, and does not read what is in"
    " the file",
    "start the node with the software that wrote the file, or move the file away once no node runs",
)
START_FAILED = _kind(
    "cluster-start-failed",
    Severity.CRITICAL,
    "the last start of the {who} (process {pid}) failed",
    "a setting is wrong, a file is damaged, or the driver or the archive was not there",
    "see why with aerolog cluster errors {folder}, remove the cause, and start it again",
)
CLOSED = _kind(
    "cluster-closed",
    Severity.NOTICE,
    "no {who} runs on this folder: the last one (process {pid}) ended in good order",
    "the node takes no part in its cluster",
    "start it if it is to run",
)
DEAD = _kind(
    "cluster-dead",
    Severity.CRITICAL,
    "the {who} is dead: process {pid} is gone, its last sign of life is {age_ms!m} old",
    "it crashed or was killed; the log and the snapshots are in the archive",
    "look for the cause in its log and in the kernel's (dmesg, journalctl -k); start it again: it"
    " recovers from the newest snapshot and the log. A node ends when one of its services has"
    " ended: start the node again as well",
)
SERVICE_LOST_KIND = _kind(
    "cluster-service-lost",
    Severity.CRITICAL,
    "the node has ended because its service {service_id} had ended, or stood still",
    "a node cannot go on without one of its services, and ends after the driver's"
    " aeron.client.liveness.timeout",
    "see why the service ended with aerolog cluster errors {folder} and in its own output;"
    " then start the node and its service again: both recover from the newest snapshot and the log",
)
STUCK = _kind(
    "cluster-stuck",
    Severity.CRITICAL,
    "the {who} does not work: last sign of life {age_ms!m} ago; process {pid} is there ({state})",
    "its thread is stopped, starved of CPU, or waits for a disk; clients of the cluster wait, and"
    " other members elect another leader",
    "if it is stopped let it go on (kill -CONT {pid}); else see what it waits for (iostat -x 1,"
    " top -H -p {pid})",
)
LATE = _kind(
    "cluster-late",
    Severity.WARNING,
    "the {who} is late: last sign of life {age_ms!m} ago (every second is usual)",
    "its thread does not get its turn, or a service takes long for a message or a snapshot",
    "look at its cycle times here, and at the load of the machine and the disk",
)
STARTING_NOW = _kind(
    "cluster-starting",
    Severity.NOTICE,
    "a {who} (process {pid}) is starting on this folder",
    "it is connecting to its driver and archive; it does not answer yet",
    "look again in a moment; if this stays, look at its log",
)
ELSEWHERE = _kind(
    "cluster-elsewhere",
    Severity.NOTICE,
    "the {who} uses the driver in {cluster_aeron_dir}, this one is in {aeron_dir}",
    "its counters are not among those of this driver",
    "look at the cluster's own driver: leave --aeron-dir away",
)
SERVICE_ALONE = _kind(
    "service-without-module",
    Severity.CRITICAL,
    "{who} (process {pid}) runs, and the consensus module of its node does not",
    "a service without its module gets no messages; it waits for one, or is about to end",
    "start the module, or stop the service",
)
SERVICE_MISSING = _kind(
    "service-missing",
    Severity.CRITICAL,
    "the consensus module recovers and waits for {missing}; {expected!n} services are configured",
    "a node goes on only when all its services have joined: before that it does not answer",
    "start the service containers that are missing, with the ids and the cluster id of this node;"
    " or correct aeron.cluster.service.count",
)
ENDING = _kind(
    "cluster-ending",
    Severity.WARNING,
    "the consensus module's state is {state}: the node is ending or has ended",
    "somebody asked for a shutdown or an abort, or an error ended it; it takes no more messages",
    "start the node again if it is to run; its error log says whether an error ended it",
)
SUSPENDED = _kind(
    "cluster-suspended",
    Severity.WARNING,
    "the cluster is suspended: it reads no messages of clients, and no timers fire",
    "somebody suspended it (the control toggle), for maintenance",
    "resume it when that is done: aerolog cluster resume DIR",
)
ELECTING = _kind(
    "cluster-without-leader",
    Severity.WARNING,
    "an election is under way, in state {state} at both looks",
    "until it ends the cluster does not answer; a member that replays a long log stays here for as"
    " long as that takes",
    "see whether a majority of the members runs and reaches each other; look again, for a replay"
    " ends by itself",
)
ERRORS = _kind(
    "cluster-errors",
    Severity.NOTICE,
    "the {who} has counted {count!n} errors ({new!n} of them while we looked)",
    "it could not do what it was asked for, or a service raised an error",
    "its mark file has the texts: aerolog cluster errors DIR",
)
TIMED_OUT = _kind(
    "cluster-clients-timed-out",
    Severity.NOTICE,
    "{count!n} sessions of clients timed out ({new!n} of them while we looked)",
    "the clients crashed, paused, or do not send keepalives; an orderly close is not counted",
    "look for crashed clients; if they live, make their pauses shorter or raise"
    " aeron.cluster.session.timeout",
)
MISSED = _kind(
    "cluster-clients-missed-messages",
    Severity.NOTICE,
    "clients have missed {count!n} messages of {who} ({new!n} of them while we looked)",
    "they left without closing their sessions, or do not read as fast as the service sends: it"
    " waits for all such clients together for aerolog.cluster.service.send.timeout within a second",
    "see which clients are slow or gone (aerolog stat, streams on the egress stream); have them"
    " read more often, or send them less",
)
STRANGERS = _kind(
    "cluster-messages-of-strangers",
    Severity.NOTICE,
    "{count!n} messages in sessions came from other publications than those of their clients"
    " ({new!n} of them while we looked)",
    "a program sends under the session of another one, by mistake or on purpose; they were dropped",
    "the error log names the session: aerolog cluster errors DIR; each client needs a session"
    " of its own",
)
_LIFE: Final = LifeKinds(CLOSED, DEAD, STARTING_NOW, STUCK, LATE)


def components_live(case: Case) -> Iterator[Finding]:
    """Do the module and the services of the node give signs of life?"""
    if case.now.cluster_fault:
        yield UNREADABLE.found("cluster", fault=case.now.cluster_fault)
    cluster = case.now.cluster
    if cluster is None:
        return
    for file, fault in cluster.mark_faults.items():
        yield MARK_UNREADABLE.found(cluster.subject, file=file, fault=fault)
    for mark in cluster.marks:
        yield from _life(mark, case)
    module, now_ms = cluster.module, case.now.now_ms
    if module is None or module.is_alive(now_ms):
        return
    for error in module.errors:
        lost = re.search(rf"{SERVICE_LOST}(\d+)", error.text)
        if lost is not None:
            yield SERVICE_LOST_KIND.found(
                cluster.subject,
                service_id=int(lost[1]),
                folder=cluster.cluster_dir,
            )
    for mark in cluster.services:
        if mark.is_alive(now_ms):
            yield SERVICE_ALONE.found(cluster.subject, who=mark.who, pid=mark.process.pid)


def _life(mark: ComponentMark, case: Case) -> Iterator[Finding]:
    assert case.now.cluster is not None
    subject = case.now.cluster.subject
    if mark.version == _FAILED_START:
        yield START_FAILED.found(
            subject, who=mark.who, pid=mark.process.pid, folder=case.now.cluster.cluster_dir
        )
        return
    if semantic_version_major(mark.version) != semantic_version_major(MARK_VERSION):
        yield MARK_VERSION_OTHER.found(
            subject,
            file=mark.file,
            version=semantic_version_text(mark.version),
            ours=semantic_version_text(MARK_VERSION),
        )
        return
    yield from life_of(mark, _LIFE, subject, f"the {mark.who}", case, who=mark.who)
    driver = case.driver
    if mark.activity_ms < 0 or driver is None:
        return
    if not is_same_folder(driver.aeron_dir, mark.aeron_dir):
        yield ELSEWHERE.found(
            subject,
            who=mark.who,
            cluster_aeron_dir=mark.aeron_dir,
            aeron_dir=driver.aeron_dir,
        )


def modules_work(case: Case) -> Iterator[Finding]:
    """What do the counters of states say, in a driver that lives?"""
    driver = case.driver
    if driver is None or not driver.is_alive(case.now.now_ms):
        return
    for counter in driver.of_type(ClusterCounterType.MODULE_STATE):
        state = cluster_counters.value_name(counter.type_id, counter.value)
        where = f"cluster {cluster_id(counter)}"
        if state == "SUSPENDED":
            yield SUSPENDED.found(where)
        elif state in {"QUITTING", "TERMINATING", "CLOSED"}:
            yield ENDING.found(where, state=state)
    before = case.driver_before
    earlier = {
        (one.id, one.registration_id): one.value
        for one in (before.of_type(ClusterCounterType.ELECTION_STATE) if before else ())
    }
    for counter in driver.of_type(ClusterCounterType.ELECTION_STATE):
        was = earlier.get((counter.id, counter.registration_id), _ENDED)
        if was == counter.value != _ENDED:
            state = cluster_counters.value_name(counter.type_id, counter.value)
            yield ELECTING.found(
                f"cluster {cluster_id(counter)}", state=state or str(counter.value)
            )
    yield from _services_join(case)


def _services_join(case: Case) -> Iterator[Finding]:
    driver = case.driver
    assert driver is not None
    there = {
        (cluster_id(one), cluster_counters.service_id_of(one.type_id, one.key))
        for one in driver.of_type(ClusterCounterType.SERVICE_ERRORS)
    }
    for counter in driver.of_type(ClusterCounterType.RECOVERY_STATE):
        count = cluster_counters.services_awaited(counter)
        whose = cluster_id(counter)
        missing = [f"service {one}" for one in range(count) if (whose, one) not in there]
        if missing:
            yield SERVICE_MISSING.found(
                f"cluster {whose}", missing=", ".join(missing), expected=count
            )


def counts_stand(case: Case) -> Iterator[Finding]:
    """Have module and services counted errors, or clients that suffer or do harm?"""
    driver = case.driver
    if driver is None:
        return
    for kind, type_id in (
        (ERRORS, ClusterCounterType.MODULE_ERRORS),
        (ERRORS, ClusterCounterType.SERVICE_ERRORS),
        (TIMED_OUT, ClusterCounterType.TIMED_OUT_CLIENTS),
        (MISSED, ClusterCounterType.SERVICE_MISSED),
        (STRANGERS, ClusterCounterType.INVALID_REQUESTS),
    ):
        for counter in driver.of_type(type_id):
            if counter.value > 0:
                new = case.growth_of(counter)
                yield kind.found(
                    f"cluster {cluster_id(counter)}",
                    Severity.WARNING if new else None,
                    who=component_name(counter),
                    count=counter.value,
                    new=new,
                )


CHECKS: Final = (components_live, modules_work, counts_stand)
