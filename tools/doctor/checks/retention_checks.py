"""Checks of retention: whether old data goes, in time, and what holds it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from aerolog.tools.doctor.checks import disk_checks
from aerolog.tools.doctor.figure_text import names, percent
from aerolog.tools.doctor.findings import Area, FindingKind, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aerolog.tools.doctor.findings import Finding
    from aerolog.tools.doctor.system_snapshot import Case

_kind: Final = partial(FindingKind, Area.RETENTION)

FAILED = _kind(
    "retention-failed",
    Severity.WARNING,
    "the last run of retention, {age!m} ago, did not come to its end: {text}",
    "what it would have let go is still there, and the disk fills meanwhile",
    "remove the cause, then run aerolog retention apply again: it goes on where it stopped",
)
UNFINISHED = _kind(
    "retention-unfinished",
    Severity.WARNING,
    "a run of retention began {age!m} ago, did not end, and does not run any more",
    "its process was killed, or the machine went down; what it had asked for is done, the rest is"
    " not",
    "run aerolog retention apply again: it goes on where that one stopped",
)
BEHIND = _kind(
    "retention-behind",
    Severity.WARNING,
    "retention last ran {age!m} ago and let {gone!b} go, and the archive's disk has {free!b} left"
    " of {total!b} ({percent}%){filling}",
    "its policies let go less than is recorded, holds, replays or exports keep back what they would"
    " let go, or it does not run often enough",
    "aerolog retention plan says what is kept back and why; run it more often (apply --every 1m),"
    " add a policy by free space, release holds that nobody needs, or make the file system larger",
)
UNREADABLE = _kind(
    "retention-unreadable",
    Severity.WARNING,
    "what retention has written cannot be read: {text}",
    "while holds are not known it lets nothing go; without its journal nobody can tell what went",
    "restore the file from a copy, or write the holds anew (aerolog retention hold)",
)
EXPIRED = _kind(
    "hold-expired",
    Severity.NOTICE,
    "{count} holds have ended, on the recordings {ids}; the last one {age!m} ago",
    "what they held goes with the next run of retention, if a policy wants it",
    "hold them again with a later time, or release them (aerolog retention release ID)",
)


def runs_end_well(case: Case) -> Iterator[Finding]:
    """Did the last run do what it was to do?"""
    archive = case.now.archive
    if archive is None or archive.retention is None:
        return
    seen, subject = archive.retention, f"archive {archive.archive_dir}"
    if seen.problems:
        yield UNREADABLE.found(subject, text="; ".join(seen.problems))
    last = seen.last_run
    if last is None or seen.is_running:
        return
    if last.end_ms is None:
        yield UNFINISHED.found(subject, age=case.now.now_ms - last.begin_ms)
    elif last.error is not None:
        yield FAILED.found(subject, age=case.now.now_ms - last.end_ms, text=last.error)


def room_is_made_in_time(case: Case) -> Iterator[Finding]:
    """Does retention keep up with what is recorded?"""
    archive = case.now.archive
    if archive is None or archive.retention is None or archive.disk is None:
        return
    last = archive.retention.last_run
    if last is None or archive.retention.is_running or not disk_checks.is_short_of_room(case):
        return
    yield BEHIND.found(
        f"archive {archive.archive_dir}",
        age=case.now.now_ms - (last.begin_ms if last.end_ms is None else last.end_ms),
        gone=last.bytes,
        refused=last.refused,
        free=archive.disk.free,
        total=archive.disk.total,
        percent=percent(archive.disk.free, archive.disk.total),
        filling=", and fills" if disk_checks.is_filling(case) else "",
    )


def holds_are_in_force(case: Case) -> Iterator[Finding]:
    """Which holds have ended?"""
    archive = case.now.archive
    if archive is None or archive.retention is None:
        return
    ended = [one for one in archive.retention.holds if one.is_over(case.now.now_ms)]
    if ended:
        yield EXPIRED.found(
            f"archive {archive.archive_dir}",
            count=len(ended),
            ids=names([str(one) for one in sorted({one.recording_id for one in ended})]),
            age=case.now.now_ms - max(one.until_ms or 0 for one in ended),
        )


CHECKS: Final = (runs_end_well, room_is_made_in_time, holds_are_in_force)
