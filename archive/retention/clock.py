"""Whether the clock can be believed, before anything is deleted for its age.

A clock that is behind keeps too much, which does no harm; one that is ahead makes everything old.
So the clock is held against what does not follow it: how long the machine has been up, as the
journal's last run and the archive's process saw it.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from aerolog.archive.retention.journal import JournalState

NS_PER_MS: Final = 1_000_000
#: By how much two clocks may differ, and which part of the time between two looks besides.
TOLERANCE_MS: Final = 5 * 60 * 1000
TOLERANCE_PART: Final = 0.001
#: A longer time without any sign is confirmed by a person.
GAP_MAX_MS: Final = 30 * 86_400_000
#: 2017-01-01, before there were archives: whoever says so does not know the time.
PLAUSIBLE_MS: Final = 1_483_228_800_000
_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
_START_TIME_FIELD: Final = 19  # of /proc/PID/stat, behind the name: in ticks since the boot


@dataclass(frozen=True, slots=True)
class ClockReading:
    """The time, and what does not follow the clock.

    Attributes:
        now_ms: epoch milliseconds.
        boot: names the machine's run; "" where it is not known.
        uptime_ns: how long that has lasted, standby included.
    """

    now_ms: int
    boot: str = ""
    uptime_ns: int = 0


@dataclass(frozen=True, slots=True)
class ArchiveAge:
    """A running archive, by its mark file and by its process.

    Attributes:
        start_ms: when it started by the clock.
        process_ns: how long its process has lived.
    """

    start_ms: int
    process_ns: int


def read_clock() -> ClockReading:
    """The machine's clocks."""
    try:
        boot = _BOOT_ID.read_text().strip()
    except OSError:
        boot = ""
    return ClockReading(
        time.time_ns() // NS_PER_MS, boot, time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    )


def process_age_ns(pid: int) -> int | None:
    """How long a process has lived, None when it is not seen from here."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        ticks = int(stat.rpartition(")")[2].split()[_START_TIME_FIELD])
    except (OSError, ValueError, IndexError):
        return None
    start_ns = ticks * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    return max(0, time.clock_gettime_ns(time.CLOCK_BOOTTIME) - start_ns)


def clock_problem(
    clock: ClockReading,
    journal: JournalState,
    *,
    newest_ms: int | None = None,
    archive: ArchiveAge | None = None,
) -> str | None:
    """Why the clock cannot be believed, None when nothing speaks against it.

    Args:
        clock: as it is now.
        journal: of the folder; its last run saw the clock too.
        newest_ms: the latest time that the recordings know of, None without any.
        archive: that runs there, None without one.
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
    """Whether more time has passed by the clock than there was."""
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
