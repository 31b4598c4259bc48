"""Checks of processes: is the driver alive, the archive, the clients?"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from aerolog.tools.doctor.findings import Area, FindingKind, Severity
from aerolog.tools.doctor.system_snapshot import ARCHIVE_TIMEOUT_MS, LATE_MS, STARTING
from aerolog.tools.views import counter_keys
from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.time_units import NS_PER_MS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aerolog.tools.doctor.findings import Figure, Finding
    from aerolog.tools.doctor.system_snapshot import Case, OwnerMark, Process


#: A client gives a sign of life twice a second.
_CLIENT_LATE_MS: Final = 5_000
#: Clocks of one machine do not differ; a second is for a beat that is written ahead.
_FUTURE_MS: Final = 1_000

_kind: Final = partial(FindingKind, Area.PROCESSES)

DRIVER_UNREADABLE = _kind(
    "driver-unreadable",
    Severity.CRITICAL,
    "the driver's files cannot be looked at: {fault}",
    "without cnc.dat no client finds the driver, and nothing else can be said about it",
    "follow the remedy in the message; if the driver is gone, start it anew",
)
DRIVER_CLOSED = _kind(
    "driver-closed",
    Severity.CRITICAL,
    "the driver (process {pid}) has ended in good order; its directory is what it left",
    "it was stopped, or asked to terminate; publications and subscriptions are gone with it",
    "start the driver, then its clients",
)
DRIVER_DEAD = _kind(
    "driver-dead",
    Severity.CRITICAL,
    "the driver is dead: process {pid} is gone, its last sign of life is {age_ms!m} old",
    "it crashed or was killed, for example for want of memory: it did not say that it ends",
    "look for the cause in its log and in the kernel's (dmesg, journalctl -k), start it anew;"
    " clients give up after the driver timeout and have to connect again",
)
DRIVER_STUCK = _kind(
    "driver-stuck",
    Severity.CRITICAL,
    "the driver does not work: last sign of life {age_ms!m} ago, more than its timeout of"
    " {timeout_ms!m}; process {pid} is there ({state})",
    "its conductor thread is stopped, starved of CPU, paging, or waits for a disk; clients take the"
    " driver for dead and close",
    "if it is stopped let it go on (kill -CONT {pid}); else see what it waits for (cat"
    " /proc/{pid}/task/*/stat, top -H -p {pid}), give it CPUs of its own and memory enough",
)
DRIVER_LATE = _kind(
    "driver-late",
    Severity.WARNING,
    "the driver is late: last sign of life {age_ms!m} ago (every second is usual)",
    "its conductor does not get its turn; at {timeout_ms!m} clients take it for dead",
    "look at the load of the machine and at the duty-cycle findings; give the conductor a CPU",
)
CLOCK_AHEAD = _kind(
    "clock-stepped",
    Severity.WARNING,
    "the sign of life of {who} lies {ahead_ms!m} in the future",
    "the clock of the machine was set back, or another machine wrote the file: liveness cannot be"
    " judged until the time is caught up with",
    "keep the clock by slewing (chrony, ntpd -x); do not share the directory between machines",
)
ARCHIVE_UNREADABLE = _kind(
    "archive-unreadable",
    Severity.CRITICAL,
    "the archive's folder cannot be looked at: {fault}",
    "without its catalog no recording can be found or replayed; that says nothing of what is in it:"
    " permission may be wanting, the disk may fail, or an empty folder stand where another file"
    " system should be mounted",
    "follow the remedy in the message; mount what is missing before an archive starts in the empty"
    " folder",
)
ARCHIVE_DAMAGED = _kind(
    "archive-damaged",
    Severity.CRITICAL,
    "the archive's catalog is damaged: {fault}",
    "without it no recording can be found or replayed",
    "stop the archive, keep a copy of the folder, and see aerolog explain DIR/archive.catalog",
)
MARK_UNREADABLE = _kind(
    "archive-mark-unreadable",
    Severity.WARNING,
    "the archive's mark file cannot be read: {fault}",
    "whether an archive is running, and which driver it uses, cannot be told",
    "look as the user that owns it, where it may not be read; when no archive runs, start it: it"
    " writes the file anew",
)
ARCHIVE_CLOSED = _kind(
    "archive-closed",
    Severity.NOTICE,
    "no archive runs on this folder: the last one (process {pid}) ended in good order",
    "nothing is recorded and nothing can be replayed; its recordings can be read from the folder",
    "start the archive if there is to be one",
)
ARCHIVE_DEAD = _kind(
    "archive-dead",
    Severity.CRITICAL,
    "the archive is dead: process {pid} is gone, its last sign of life is {age_ms!m} old",
    "it crashed or was killed; what was being recorded has no stop position until it starts again",
    "look for the cause in its log and in the kernel's (dmesg, journalctl -k); start it anew: it"
    " recovers the stop positions from the segments",
)
ARCHIVE_STUCK = _kind(
    "archive-stuck",
    Severity.CRITICAL,
    "the archive does not work: last sign of life {age_ms!m} ago; process {pid} is there ({state})",
    "its conductor is stopped, starved of CPU, or waits for a disk; recordings stand still, and"
    " their publishers with them",
    "if it is stopped let it go on (kill -CONT {pid}); else see what it waits for (iostat -x 1,"
    " top -H -p {pid})",
)
ARCHIVE_LATE = _kind(
    "archive-late",
    Severity.WARNING,
    "the archive is late: last sign of life {age_ms!m} ago (every second is usual)",
    "its conductor does not get its turn or waits for a disk (fsync); control requests wait too",
    "look at the archive's cycle and write times here, and at the load of the machine and the disk",
)
ARCHIVE_STARTING = _kind(
    "archive-starting",
    Severity.NOTICE,
    "an archive (process {pid}) is starting on this folder",
    "it is recovering the ends of recordings; it does not answer yet",
    "look again in a moment; if this stays, look at its log",
)
ARCHIVE_ELSEWHERE = _kind(
    "archive-elsewhere",
    Severity.NOTICE,
    "the archive uses the driver in {archive_aeron_dir}, this one is in {aeron_dir}",
    "positions and counters of the archive's recordings are not among those of this driver",
    "look at the archive's own driver: leave --aeron-dir away",
)
CLIENT_LATE = _kind(
    "client-late",
    Severity.WARNING,
    "client {client_id} {name}gave its last sign of life {age_ms!m} ago; it is closed at"
    " {timeout_ms!m}",
    "its conductor does not run: the process is stopped, in a long pause (collection of garbage,"
    " paging), or an invoker is not called; its subscribers hold back publishers meanwhile",
    "find the process by its name above or by its open files (lsof of cnc.dat); make pauses"
    " shorter, or raise aeron.client.liveness.timeout",
)
CLIENTS_TIMED_OUT = _kind(
    "clients-timed-out",
    Severity.NOTICE,
    "{count!n} clients were closed because they were silent for {timeout_ms!m}"
    " ({new!n} of them while we looked)",
    "they crashed, were killed, or paused for longer than the liveness timeout; an orderly close is"
    " not counted",
    "look for crashed clients; if they live and complain of a timeout, make their pauses shorter or"
    " raise aeron.client.liveness.timeout",
)
COMMANDS_UNBLOCKED = _kind(
    "commands-unblocked",
    Severity.NOTICE,
    "{count!n} commands to the driver were left half written ({new!n} of them while we looked)",
    "a client died between claiming a place in the command buffer and writing into it; the driver"
    " stood still until it unblocked it",
    "find out which client is killed, and why",
)


@dataclass(frozen=True, slots=True)
class LifeKinds:
    """What can be found out about the owner of a mark file by its signs of life."""

    closed: FindingKind
    dead: FindingKind
    starting: FindingKind
    stuck: FindingKind
    late: FindingKind


_OF_ARCHIVES: Final = LifeKinds(
    ARCHIVE_CLOSED, ARCHIVE_DEAD, ARCHIVE_STARTING, ARCHIVE_STUCK, ARCHIVE_LATE
)


def driver_lives(case: Case) -> Iterator[Finding]:
    """Is there a driver, and does it work?"""
    if case.now.driver_fault:
        yield DRIVER_UNREADABLE.found("driver", fault=case.now.driver_fault)
    driver, now_ms = case.driver, case.now.now_ms
    if driver is None:
        return
    subject, process = f"driver {driver.aeron_dir}", driver.process
    if driver.heartbeat_ms < 0:
        yield DRIVER_CLOSED.found(subject, pid=process.pid)
        return
    age_ms = driver.heartbeat_age_ms(now_ms)
    figures = {"pid": process.pid, "age_ms": age_ms, "timeout_ms": driver.driver_timeout_ms}
    if age_ms < -_FUTURE_MS:
        yield CLOCK_AHEAD.found(subject, who="the driver", ahead_ms=-age_ms)
    elif process.has_died(age_ms):
        yield DRIVER_DEAD.found(subject, **figures)
    elif age_ms > driver.driver_timeout_ms:
        yield DRIVER_STUCK.found(subject, **figures, state=_state(process))
    elif age_ms > LATE_MS:
        yield DRIVER_LATE.found(subject, **figures)


def archive_lives(case: Case) -> Iterator[Finding]:
    """Is there an archive, and does it work?"""
    if case.now.archive_fault:
        kind = ARCHIVE_DAMAGED if case.now.archive_is_damaged else ARCHIVE_UNREADABLE
        yield kind.found("archive", fault=case.now.archive_fault)
    archive = case.now.archive
    if archive is None:
        return
    subject = f"archive {archive.archive_dir}"
    if archive.mark_fault:
        yield MARK_UNREADABLE.found(subject, fault=archive.mark_fault)
    if archive.mark is not None:
        yield from _mark(archive.mark, subject, case)


def _mark(mark: OwnerMark, subject: str, case: Case) -> Iterator[Finding]:
    yield from life_of(mark, _OF_ARCHIVES, subject, "the archive", case)
    driver = case.driver
    if mark.activity_ms < 0:
        return
    if driver is not None and not is_same_folder(driver.aeron_dir, mark.aeron_dir):
        yield ARCHIVE_ELSEWHERE.found(
            subject, archive_aeron_dir=mark.aeron_dir, aeron_dir=driver.aeron_dir
        )


def life_of(
    mark: OwnerMark, kinds: LifeKinds, subject: str, owner: str, case: Case, **more: Figure
) -> Iterator[Finding]:
    """What a mark file's signs of life say of its owner; ``more`` is figures of every finding."""
    age_ms = mark.age_ms(case.now.now_ms)
    figures: dict[str, Figure] = {"pid": mark.process.pid, **more}
    if mark.activity_ms < 0:
        yield kinds.closed.found(subject, **figures)
    elif mark.process.has_died(age_ms):
        yield kinds.dead.found(subject, **figures, age_ms=age_ms)
    elif mark.activity_ms == STARTING:
        yield kinds.starting.found(subject, **figures)
    elif age_ms < -_FUTURE_MS:
        yield CLOCK_AHEAD.found(subject, who=owner, ahead_ms=-age_ms)
    elif age_ms >= ARCHIVE_TIMEOUT_MS:
        yield kinds.stuck.found(subject, **figures, age_ms=age_ms, state=_state(mark.process))
    elif age_ms > LATE_MS:
        yield kinds.late.found(subject, **figures, age_ms=age_ms)


def clients_live(case: Case) -> Iterator[Finding]:
    """Do the clients give signs of life?"""
    driver = case.driver
    if driver is None or not driver.is_alive(case.now.now_ms):
        return
    timeout_ms = driver.client_liveness_timeout_ns // NS_PER_MS
    for counter in driver.of_type(CounterType.CLIENT_HEARTBEAT):
        age_ms = case.now.now_ms - counter.value
        if counter.value > 0 and age_ms > max(min(timeout_ms // 2, _CLIENT_LATE_MS), LATE_MS):
            name = counter_keys.client_name(counter.label).strip()
            yield CLIENT_LATE.found(
                f"client {counter.registration_id}",
                client_id=counter.registration_id,
                name=f"({name}) " if name else "",
                age_ms=age_ms,
                timeout_ms=timeout_ms,
            )
    for kind, system_id in (
        (CLIENTS_TIMED_OUT, SystemCounter.CLIENT_TIMEOUTS),
        (COMMANDS_UNBLOCKED, SystemCounter.UNBLOCKED_COMMANDS),
    ):
        counter_ = driver.system.get(system_id)
        if counter_ is not None and counter_.value > 0:
            new = case.growth_of(counter_)
            yield kind.found(
                f"driver {driver.aeron_dir}",
                Severity.WARNING if new else None,
                count=counter_.value,
                new=new,
                timeout_ms=timeout_ms,
            )


def _state(process: Process) -> str:
    return {
        "R": "running",
        "S": "asleep",
        "D": "waiting for a disk",
        "T": "stopped by a signal",
        "t": "stopped by a debugger",
        "Z": "a zombie",
        "I": "idle",
    }.get(process.state, "in an unknown state")


def is_same_folder(one: str, other: str) -> bool:
    """Whether two names are those of one folder; a damaged file may give names of none."""
    if "\0" in one + other:
        return one == other
    return os.path.realpath(one) == os.path.realpath(other)


CHECKS: Final = (driver_lives, archive_lives, clients_live)
