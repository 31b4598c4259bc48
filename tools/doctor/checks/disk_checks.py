"""Checks of disks: room for the archive's segments and for the driver's logs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from aerolog.tools.doctor.figure_text import percent
from aerolog.tools.doctor.findings import Area, FindingKind, Severity
from aerolog.transport.time_units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aerolog.tools.doctor.findings import Figure, Finding
    from aerolog.tools.doctor.system_snapshot import Case, Disk

#: What an archive keeps free by default (aeron.archive.low.storage.space.threshold).
_ARCHIVE_KEEPS: Final = 128 * 1024 * 1024
_SOON_S: Final = 24 * 3600.0
_PERCENT_LOW: Final = 10
_FREE_PLENTY: Final = 100 * 1024 * 1024 * 1024
_LOG_DEFAULT: Final = 3 * 16 * 1024 * 1024

_kind: Final = partial(FindingKind, Area.DISK)

ARCHIVE_FULL = _kind(
    "archive-disk-full",
    Severity.CRITICAL,
    "the archive's disk has {free!b} left of {total!b} ({percent}%): less than the {keeps!b}"
    " that an archive keeps free (aeron.archive.low.storage.space.threshold)",
    "it refuses new recordings, and stops those that it has when a write finds no room",
    "purge old recordings or their old segments (aerolog recordings purge, purge-segments), or make"
    " the file system larger; then start the recordings again",
)
ARCHIVE_LOW = _kind(
    "archive-disk-low",
    Severity.WARNING,
    "the archive's disk has {free!b} left of {total!b} ({percent}%)",
    "recordings stop when it is full",
    "purge or move old recordings, or make the file system larger, before it is full",
)
ARCHIVE_FILLING = _kind(
    "archive-disk-filling",
    Severity.WARNING,
    "recordings grow at {rate!v} and {free!b} are left: full in {left!t}",
    "at this rate recordings stop then",
    "purge or move old recordings, record less, or make the file system larger in time",
)
DRIVER_FULL = _kind(
    "driver-disk-full",
    Severity.CRITICAL,
    "the file system of the driver's directory ({mount}) has {free!b} left of {total!b};"
    " a log file of this driver takes {needed!b}",
    "the next publication or image does not fit: it is refused with an error, or, with sparse"
    " files, a publisher is held back or a process dies by SIGBUS when it touches a page",
    "remove what else lies there (directories of dead drivers: du -sh {mount}/*), mount it larger"
    " (mount -o remount,size=... {mount}), or use shorter terms (term-length)",
)
DRIVER_LOW = _kind(
    "driver-disk-low",
    Severity.WARNING,
    "the file system of the driver's directory ({mount}) has {free!b} left of {total!b}"
    " ({percent}%), sparse logs still want up to {promised!b}",
    "logs are sparse files: they take their room when they are written, and may not find it then",
    "remove what else lies there, mount it larger (mount -o remount,size=... {mount}), or use"
    " shorter terms; sparse=false takes the room at once and fails early",
)
DRIVER_ON_DISK = _kind(
    "driver-not-in-memory",
    Severity.NOTICE,
    "the driver's directory lies on {mount}, which is no memory file system",
    "the system writes its pages to the disk now and then, and threads wait for that",
    "put aeron.dir on /dev/shm or another tmpfs",
)


def archive_has_room(case: Case) -> Iterator[Finding]:
    """Is there room for recordings?"""
    archive = case.now.archive
    if archive is None or archive.disk is None:
        return
    subject, disk = f"archive {archive.archive_dir}", archive.disk
    figures = _figures(disk)
    if disk.free <= _ARCHIVE_KEEPS:
        yield ARCHIVE_FULL.found(subject, keeps=_ARCHIVE_KEEPS, **figures)
    elif _is_low(disk):
        yield ARCHIVE_LOW.found(subject, **figures)
    if is_filling(case):
        rate = _recorded_per_second(case)
        left_s = disk.free / rate
        yield ARCHIVE_FILLING.found(
            subject,
            Severity.CRITICAL if left_s < _SOON_S / 24 else None,
            rate=rate,
            left=int(left_s * NS_PER_S),
            **figures,
        )


def is_short_of_room(case: Case) -> bool:
    """Whether the archive's disk has little room left, or will soon."""
    archive = case.now.archive
    if archive is None or archive.disk is None:
        return False
    return archive.disk.free <= _ARCHIVE_KEEPS or _is_low(archive.disk) or is_filling(case)


def is_filling(case: Case) -> bool:
    """Whether the archive's disk is full within a day at the present rate."""
    archive, rate = case.now.archive, _recorded_per_second(case)
    if archive is None or archive.disk is None:
        return False
    return rate > 0 and archive.disk.free / rate < _SOON_S


def _figures(disk: Disk) -> dict[str, Figure]:
    return {
        "free": disk.free,
        "total": disk.total,
        "percent": percent(disk.free, disk.total),
        "mount": disk.mount,
    }


def _is_low(disk: Disk) -> bool:
    return percent(disk.free, disk.total) < _PERCENT_LOW and disk.free < _FREE_PLENTY


def driver_has_room(case: Case) -> Iterator[Finding]:
    """Is there room for logs?"""
    driver = case.driver
    if driver is None or driver.disk is None:
        return
    subject, disk = f"driver {driver.aeron_dir}", driver.disk
    needed = max((log.length for log in driver.logs.values()), default=_LOG_DEFAULT)
    promised = sum(max(log.length - log.taken, 0) for log in driver.logs.values())
    figures = {**_figures(disk), "needed": needed, "promised": promised}
    if disk.free < needed:
        yield DRIVER_FULL.found(subject, **figures)
    elif disk.free < promised or _is_low(disk):
        yield DRIVER_LOW.found(subject, **figures)
    if not disk.is_memory:
        yield DRIVER_ON_DISK.found(subject, **figures)


def _recorded_per_second(case: Case) -> float:
    """By how much all recordings grow, bytes a second; 0 with one look."""
    before = case.before.archive if case.before is not None else None
    if before is None or case.now.archive is None or case.interval_s <= 0:
        return 0.0
    was = {one.descriptor.recording_id: one.counter_position for one in before.recordings}
    grown = 0
    for one in case.now.archive.recordings:
        earlier = was.get(one.descriptor.recording_id)
        if earlier is not None and one.counter_position is not None:
            grown += max(one.counter_position - earlier, 0)
    return grown / case.interval_s


CHECKS: Final = (archive_has_room, driver_has_room)
