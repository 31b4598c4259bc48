"""Checks of error logs: what driver, archive and cluster have written."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from aerolog.tools.doctor.findings import Area, FindingKind, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from aerolog.tools.doctor.findings import Finding
    from aerolog.tools.doctor.system_snapshot import Case
    from aerolog.transport.memory.error_log import ErrorObservation

_RECENT_MS: Final = 3600_000
#: So many errors of one log are findings of their own.
_SHOWN: Final = 10
_TEXT_MAX: Final = 300

_kind: Final = partial(FindingKind, Area.ERRORS)

LOGGED = _kind(
    "error-logged",
    Severity.WARNING,
    "the {who} has logged {count!n} times, the last time {age_ms!m} ago: {text}",
    "it could not do what it was asked for, or met something it does not expect",
    "`{command}` shows the whole text; often it names the setting or the address to change",
)
LOGGED_PAST = _kind(
    "error-logged-past",
    Severity.NOTICE,
    "the {who} has logged {count!n} times, the last time {age_ms!m} ago: {text}",
    "it is more than an hour old; the log goes back to the start of the {who}",
    "nothing, if the cause is known; `{command}` shows the whole text",
)
MORE = _kind(
    "errors-more",
    Severity.NOTICE,
    "the {who} has logged {count!n} more distinct errors",
    "only the newest are shown here",
    "`{command}` shows all of them",
)


def logs_are_quiet(case: Case) -> Iterator[Finding]:
    """What is in the error logs?"""
    driver, archive = case.driver, case.now.archive
    if driver is not None:
        yield from _log(driver.errors, case.now.now_ms, "driver", f"driver {driver.aeron_dir}")
    if archive is not None:
        where = f"archive {archive.archive_dir}"
        yield from _log(archive.errors, case.now.now_ms, "archive", where)
    cluster = case.now.cluster
    if cluster is not None:
        command = f"aerolog cluster errors {cluster.cluster_dir}"
        for mark in cluster.marks:
            yield from _log(mark.errors, case.now.now_ms, mark.who, cluster.subject, command)


def _log(
    errors: Sequence[ErrorObservation],
    now_ms: int,
    who: str,
    where: str,
    command: str = "aerolog errors",
) -> Iterator[Finding]:
    newest = sorted(errors, key=lambda one: -one.last_ms)
    for one in newest[:_SHOWN]:
        age_ms = max(now_ms - one.last_ms, 0)
        kind = LOGGED if age_ms <= _RECENT_MS else LOGGED_PAST
        yield kind.found(
            where,
            who=who,
            count=one.count,
            age_ms=age_ms,
            text=headline(one.text),
            command=command,
        )
    if len(newest) > _SHOWN:
        yield MORE.found(where, who=who, count=len(newest) - _SHOWN, command=command)


def headline(text: str) -> str:
    """The first line of an error that says something, without its stack trace."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "(no text)")
    return line if len(line) <= _TEXT_MAX else f"{line[:_TEXT_MAX]}..."


CHECKS: Final = (logs_are_quiet,)
