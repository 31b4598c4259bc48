"""All groups of checks, and an examination that runs them.

A group is a module with ``CHECKS``, functions from a case to findings, and ``KINDS``, what they can
find. A new group is a module and its line here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.tools.doctor import (
    capacity,
    cycles,
    disk,
    errors,
    health,
    loss,
    processes,
    publishers,
    recordings,
    retention,
    settings,
    sockets,
    times,
)
from aerolog.tools.doctor.findings import ranked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from aerolog.tools.doctor.findings import Finding, Kind
    from aerolog.tools.doctor.sight import Case

GROUPS: Final = (
    processes,
    recordings,
    health,
    times,
    retention,
    disk,
    publishers,
    loss,
    sockets,
    cycles,
    settings,
    capacity,
    errors,
)


def examine(case: Case) -> list[Finding]:
    """Runs all checks; the worst findings first."""
    return ranked(finding for check in all_checks() for finding in check(case))


def all_checks() -> Iterator[Callable[[Case], Iterator[Finding]]]:
    """All checks, by group."""
    for group in GROUPS:
        yield from group.CHECKS


def all_kinds() -> Iterator[Kind]:
    """Everything that can be found, by group."""
    for group in GROUPS:
        yield from group.KINDS
