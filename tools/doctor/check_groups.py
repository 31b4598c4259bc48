"""All groups of checks, and an examination that runs them.

A group is a module with ``CHECKS``, functions from a case to findings, and the kinds of finding
that these yield. A new group is a module and its line here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.tools.doctor.checks import (
    capacity_checks,
    cluster_checks,
    cycle_checks,
    disk_checks,
    error_checks,
    health_checks,
    loss_checks,
    process_checks,
    publisher_checks,
    recording_checks,
    recording_log_checks,
    retention_checks,
    setting_checks,
    socket_checks,
    time_checks,
)
from aerolog.tools.doctor.findings import FindingKind, ranked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from aerolog.tools.doctor.findings import Finding
    from aerolog.tools.doctor.system_snapshot import Case

GROUPS: Final = (
    process_checks,
    recording_checks,
    health_checks,
    time_checks,
    retention_checks,
    recording_log_checks,
    cluster_checks,
    disk_checks,
    publisher_checks,
    loss_checks,
    socket_checks,
    cycle_checks,
    setting_checks,
    capacity_checks,
    error_checks,
)


def examine(case: Case) -> list[Finding]:
    """Runs all checks; the worst findings first."""
    return ranked(finding for check in all_checks() for finding in check(case))


def all_checks() -> Iterator[Callable[[Case], Iterator[Finding]]]:
    """All checks, by group."""
    for group in GROUPS:
        yield from group.CHECKS


def all_kinds() -> Iterator[FindingKind]:
    """Everything that can be found, by group, in the order in which its module declares it."""
    for group in GROUPS:
        yield from (kind for kind in vars(group).values() if isinstance(kind, FindingKind))
