"""What the doctor says: findings for people and for programs, and an exit code."""

from __future__ import annotations

import shutil
import sys
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from aerolog.tools.doctor import figure_text
from aerolog.tools.doctor.check_groups import all_kinds
from aerolog.tools.doctor.findings import Severity, outline, worst
from aerolog.tools.doctor.system_snapshot import ARCHIVE_TIMEOUT_MS, STARTING
from aerolog.tools.terminal.schedule import StyledLine

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from aerolog.tools.doctor.findings import Finding
    from aerolog.tools.doctor.segment_contents import Contents
    from aerolog.tools.doctor.system_snapshot import (
        ArchiveSnapshot,
        Case,
        ClusterSnapshot,
        DriverSnapshot,
        OwnerMark,
        Process,
    )

EXIT_WARNING: Final = 3
EXIT_CRITICAL: Final = 4

_COLOURS: Final = {Severity.CRITICAL: "31;1", Severity.WARNING: "33;1", Severity.NOTICE: "36"}
_WIDTH_MAX: Final = 100


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of one examination.

    Attributes:
        case: what was looked at.
        findings: those that are to be shown, the worst first.
        contents: what was read of segments, None without an archive.
    """

    case: Case
    findings: Sequence[Finding]
    contents: Contents | None = None

    def exit_code(self, fail_on: Severity | None) -> int:
        """0 when nothing is as bad as ``fail_on`` (never when None), else by the worst finding."""
        found = worst(self.findings)
        if fail_on is None or found is None or found < fail_on:
            return 0
        return EXIT_CRITICAL if found is Severity.CRITICAL else EXIT_WARNING

    def as_json(self) -> dict[str, Any]:
        """Everything as one JSON object."""
        found = worst(self.findings)
        return {
            "time_ms": self.case.now.now_ms,
            "status": "healthy" if found is None else found.label,
            "counts": {one.label: self._count(one) for one in reversed(Severity)},
            "findings": [finding.as_json() for finding in self.findings],
            "looked_at": {
                "interval_s": round(self.case.interval_s, 3),
                "driver": _driver_json(self.case.driver, self.case.now.now_ms),
                "archive": _archive_json(
                    self.case.now.archive, self.case.now.now_ms, self.contents
                ),
                "cluster": _cluster_json(self.case.now.cluster, self.case.now.now_ms),
            },
        }

    def lines(self) -> Iterator[str]:
        """The report for people."""
        yield from self._heading()
        for finding in self.findings:
            yield ""
            yield _head(finding.severity, f"{finding.code}  {finding.subject}")
            yield from _indented("", finding.what)
            yield from _indented("why: ", finding.reason)
            yield from _indented("do: ", finding.remedy)
        yield ""
        yield self._summary()

    def _heading(self) -> Iterator[str]:
        driver, archive = self.case.driver, self.case.now.archive
        if driver is not None:
            age_ms = driver.heartbeat_age_ms(self.case.now.now_ms)
            state = _state(driver.process, driver.heartbeat_ms, age_ms, driver.driver_timeout_ms)
            yield f"driver {driver.aeron_dir}, process {driver.process.pid}, {state}"
        if archive is not None:
            yield self._owner(f"archive {archive.archive_dir}", archive.mark)
        cluster = self.case.now.cluster
        if cluster is None:
            return
        if not cluster.marks:
            yield cluster.subject
        for one in cluster.marks:
            yield self._owner(f"{one.who} of {cluster.subject}", one)

    def _owner(self, name: str, mark: OwnerMark | None) -> str:
        """What owns a mark file, and how it is, as far as there is one."""
        if mark is None:
            return name
        age_ms = mark.age_ms(self.case.now.now_ms)
        state = _state(mark.process, mark.activity_ms, age_ms, ARCHIVE_TIMEOUT_MS)
        return f"{name}, process {mark.process.pid}, {state}"

    def _summary(self) -> str:
        counts = [
            f"{self._count(severity)} {_plural(severity, self._count(severity))}"
            for severity in reversed(Severity)
            if self._count(severity)
        ]
        return f"{', '.join(counts) or 'nothing is wrong'}; {'; '.join(self._looked_at())}"

    def _looked_at(self) -> Iterator[str]:
        driver, archive, contents = self.case.driver, self.case.now.archive, self.contents
        if driver is not None:
            yield f"{len(driver.counters):,} counters, {len(driver.streams):,} streams"
        if archive is not None:
            yield f"{len(archive.recordings):,} recordings"
        if archive is not None and contents is not None:
            read = figure_text.bytes_text(contents.bytes_read)
            how = "every frame" if contents.is_deep else "ends of segments, --deep for all"
            yield f"{read} of segments read ({how})"
            if contents.unread:
                yield f"{contents.unread:,} recordings not read into for want of time (--deep)"
        if self.case.now.cluster is not None:
            yield f"{len(self.case.now.cluster.entries):,} entries of recording.log"
        if self.case.before is None:
            yield "one look: what does not move cannot be told"
        else:
            yield f"two looks {self.case.interval_s:.1f} s apart"

    def _count(self, severity: Severity) -> int:
        return sum(finding.severity is severity for finding in self.findings)


def kinds_json() -> list[dict[str, str]]:
    """Everything that can be found."""
    return [
        {
            "code": kind.code,
            "area": kind.area.value,
            "severity": kind.severity.label,
            "what": outline(kind.what),
            "reason": outline(kind.reason),
            "remedy": outline(kind.remedy),
        }
        for kind in all_kinds()
    ]


def kinds_lines() -> Iterator[str]:
    """Everything that can be found, for people; figures by their names."""
    for kind in all_kinds():
        yield _head(kind.severity, f"{kind.code}  ({kind.area.value})")
        yield from _indented("", outline(kind.what))
        yield from _indented("why: ", outline(kind.reason))
        yield from _indented("do: ", outline(kind.remedy))
        yield ""


def _driver_json(driver: DriverSnapshot | None, now_ms: int) -> dict[str, Any] | None:
    if driver is None:
        return None
    return {
        "aeron_dir": driver.aeron_dir,
        "pid": driver.process.pid,
        "alive": driver.is_alive(now_ms),
        "heartbeat_age_ms": driver.heartbeat_age_ms(now_ms) if driver.heartbeat_ms >= 0 else None,
        "counters": len(driver.counters),
        "streams": len(driver.streams),
        "logs": len(driver.logs),
    }


def _archive_json(
    archive: ArchiveSnapshot | None, now_ms: int, contents: Contents | None
) -> dict[str, Any] | None:
    if archive is None:
        return None
    return {
        "archive_dir": archive.archive_dir,
        "pid": None if archive.mark is None else archive.mark.process.pid,
        "alive": archive.is_alive(now_ms),
        "recordings": len(archive.recordings),
        "deep": contents is not None and contents.is_deep,
        "frames": 0 if contents is None else contents.frames,
        "bytes_read": 0 if contents is None else contents.bytes_read,
        "recordings_unread": 0 if contents is None else contents.unread,
    }


def _cluster_json(cluster: ClusterSnapshot | None, now_ms: int) -> dict[str, Any] | None:
    if cluster is None:
        return None
    return {
        "cluster_dir": cluster.cluster_dir,
        "entries": len(cluster.entries),
        "components": [
            {"name": mark.who, "pid": mark.process.pid, "alive": mark.is_alive(now_ms)}
            for mark in cluster.marks
        ],
    }


def _state(process: Process, beat_ms: int, age_ms: int, timeout_ms: int) -> str:
    if beat_ms < 0:
        return "ended"
    if process.has_died(age_ms):
        return "gone"
    if beat_ms == STARTING:
        return "starting"
    age = figure_text.millis_text(max(age_ms, 0))
    return f"{'alive' if age_ms <= timeout_ms else 'dead'}, sign of life {age} ago"


def _head(severity: Severity, text: str) -> StyledLine:
    label = severity.label.upper()
    return StyledLine(f"{label}  {text}", _COLOURS[severity], len(label))


def _plural(severity: Severity, count: int) -> str:
    return severity.label if count == 1 or severity is Severity.CRITICAL else f"{severity.label}s"


def _indented(mark: str, text: str) -> list[str]:
    """A paragraph below a finding; on one line where nobody reads it on a terminal."""
    if not sys.stdout.isatty():
        return [f"  {mark}{text}"]
    width = min(shutil.get_terminal_size((80, 24)).columns, _WIDTH_MAX)
    return textwrap.wrap(
        text,
        width,
        initial_indent=f"  {mark}",
        subsequent_indent=" " * (2 + len(mark)),
        break_long_words=False,
        break_on_hyphens=False,
    )
