"""Checks whether the clock is plausible, before anything is deleted for its age.

A clock that is behind keeps too much, which does no harm; a clock that is ahead makes everything
old. The clock is therefore compared with what does not follow it: the machine's uptime, which the
journal's last run and the archive's process have recorded.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aerolog.transport.memory.processes import process_status
from aerolog.transport.time_units import NS_PER_MS, NS_PER_S

if TYPE_CHECKING:
    from aerolog.archive.retention.journal import JournalState

#: Accepted difference of two clocks, and accepted part of the time between two readings.
TOLERANCE_MS: Final = 5 * 60 * 1000
TOLERANCE_PART: Final = 0.001
#: After a longer time without a run or recording, a person has to confirm the clock.
GAP_MAX_MS: Final = 30 * 86_400_000
#: 2017-01-01, before any archive existed: a clock that shows an earlier time is not set.
PLAUSIBLE_MS: Final = 1_483_228_800_000
_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True, slots=True)
class ClockReading:
    """The time, and the uptime, which does not follow the clock.

    Attributes:
        now_ms: time of the clock, epoch milliseconds.
        boot: identifies the machine's boot; "" when it is unknown.
        uptime_ns: time since that boot, standby included, nanoseconds.
    """

    now_ms: int
    boot: str = ""
    uptime_ns: int = 0


@dataclass(frozen=True, slots=True)
class ArchiveAge:
    """The time for which an archive has run, by its mark file and by its process.

    Attributes:
        start_ms: when it started, by the clock, epoch milliseconds.
        process_ns: age of its process, nanoseconds.
    """

    start_ms: int
    process_ns: int


def read_clock() -> ClockReading:
    """Read the machine's clocks, for callers that pass the reading on."""
    try:
        boot = _BOOT_ID.read_text().strip()
    except OSError:
        boot = ""
    return ClockReading(
        time.time_ns() // NS_PER_MS, boot, time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    )


def process_age_ns(pid: int, uptime_ns: int) -> int | None:
    """Return the age of a process in nanoseconds, None when the process is not visible.

    Args:
        pid: the process.
        uptime_ns: the machine's present uptime, nanoseconds.
    """
    status = process_status(pid)
    if status is None:
        return None
    start_ns = status.start_ticks * NS_PER_S // os.sysconf("SC_CLK_TCK")
    return max(0, uptime_ns - start_ns)


def clock_problem(
    clock: ClockReading,
    journal: JournalState,
    *,
    newest_ms: int | None = None,
    archive: ArchiveAge | None = None,
) -> str | None:
    """Return why the clock is not plausible, None when nothing contradicts it.

    Args:
        clock: the present reading.
        journal: the folder's journal, whose last run recorded a reading.
        newest_ms: the latest time in the recordings, epoch milliseconds, None without any.
        archive: the age of the running archive, None when none runs.
    """
    now_ms = clock.now_ms
    if now_ms < PLAUSIBLE_MS:
        return f"the clock says {now_ms} ms since 1970, which is before this was written"
    last_ms = journal.last_ms
    if last_ms is not None and now_ms < last_ms - TOLERANCE_MS:
        return (
            f"the clock is {_span(last_ms - now_ms)} behind the journal's latest line: it has been"
            " set back, or was ahead then"
        )
    run = journal.last_run
    compared = False
    if run is not None and run.boot and run.boot == clock.boot:
        compared = True
        problem = _drift(
            now_ms - run.begin_ms, clock.uptime_ns - run.uptime_ns, "since the last run"
        )
        if problem:
            return problem
    if archive is not None:
        compared = True
        problem = _drift(now_ms - archive.start_ms, archive.process_ns, "since the archive started")
        if problem:
            return problem
    known = [at for at in (None if run is None else run.begin_ms, newest_ms) if at is not None]
    if not compared and known and now_ms - max(known) > GAP_MAX_MS:
        return (
            f"the clock is {_span(now_ms - max(known))} after the latest time that the folder knows"
            " of, and nothing tells whether so much has passed"
        )
    return None


def _drift(clock_ms: int, true_ns: int, since: str) -> str | None:
    """Return a problem when the clock has advanced more than the uptime, else None."""
    true_ms = true_ns // NS_PER_MS
    ahead = clock_ms - true_ms
    if ahead > TOLERANCE_MS + abs(true_ms) * TOLERANCE_PART:
        return f"the clock has gone {_span(ahead)} ahead {since}, by which everything looks older"
    return None


def _span(milliseconds: int) -> str:
    seconds = milliseconds // 1000
    for unit, length in (("days", 86_400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length} {unit}"
    return f"{seconds} seconds"
